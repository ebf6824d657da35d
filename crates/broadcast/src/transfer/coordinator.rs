//! Membership and plans: run by the source, and if it fails by the first host that has everything.
//!
//! Members open a stream to the coordinator and join. It plans for the members present, and again when one
//! joins, leaves or stalls, or a link changes. A silent member is planned around until it is heard again. A
//! member that receives nothing although its parent could send does not relay until it receives something
//! again. A member that gets nothing for longer, while it and its parents are heard, may have no way to them
//! (a firewall between two hosts): then neither relays for a while, so that it is served by others, and in
//! the end by the coordinator. At the end every member has everything, has failed, or was away for too long.

use super::config::Config;
use super::message::{Edge, Message};
use super::probing::Probing;
use super::replan::Planning;
use super::set::ChunkSet;
use process::{HostId, StreamId};
use std::collections::{BTreeMap, BTreeSet};
use units::{Bytes, Rate, Time};

/// Joins within this time share a plan.
const GATHER: Time = Time::from_ms(50);
/// Hosts that have everything, as many as members are told of.
const SUCCESSORS: usize = 16;

/// A destination, as the coordinator sees it.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its stream, while it takes part.
    pub stream: Option<StreamId>,
    heard: Time,
    /// When it last got a chunk.
    moved: Time,
    /// Chunks that it has.
    pub chunks: u32,
    /// It has everything, and has checked it.
    pub complete: bool,
    /// It can't go on: why.
    pub failed: Option<String>,
    /// It gets nothing though its parent could send.
    pub stalled: bool,
    /// It does not relay until then: there may be no way between it and another.
    parted: Option<Time>,
    /// At which rate the plan lets it receive, in bit/s.
    pub planned: u64,
    /// At which rate it received of late, in bit/s.
    pub rate: u64,
    /// What its parents could not send since it last got a chunk.
    held: bool,
    asks_root: bool,
    /// What it had when it joined.
    have: ChunkSet,
}

impl Member {
    fn absent(now: Time) -> Member {
        Member {
            stream: None,
            heard: now,
            moved: now,
            chunks: 0,
            complete: false,
            failed: None,
            stalled: false,
            parted: None,
            planned: 0,
            rate: 0,
            held: false,
            asks_root: false,
            have: ChunkSet::default(),
        }
    }

    /// How long it may get nothing: it takes a while until a chunk is there whole.
    fn patience(&self, config: &Config) -> Time {
        let chunk = Rate::from_bps(self.planned.max(1)).time_for(Bytes::new(config.chunks.size()));
        config.settings.silence.max(chunk.saturating_mul(4))
    }

    /// Whether it has got nothing for so long that its parents may be out of reach.
    fn is_stuck(&self, config: &Config, now: Time) -> bool {
        let waits = self.is_present() && self.planned > 0 && self.chunks < config.chunks.count();
        waits && now > self.moved.saturating_add(self.patience(config).saturating_mul(2))
    }

    fn is_present(&self) -> bool {
        self.stream.is_some() && self.failed.is_none()
    }
}

/// Messages to members.
pub(crate) type Out = Vec<(StreamId, Message)>;

/// What a look at the time leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    Going,
    /// Everybody has everything, has failed, or is gone.
    Over,
}

/// The coordinator's part of a node.
#[derive(Debug)]
pub(crate) struct Coordinator {
    me: HostId,
    pub members: BTreeMap<HostId, Member>,
    planning: Planning,
    /// Rates of hosts, when the topology says nothing of them.
    pub probing: Option<Probing>,
    pub version: u32,
    /// A plan is due then.
    due: Option<Time>,
    /// This node has everything to give.
    is_full: bool,
    began: Time,
    pub over: bool,
}

impl Coordinator {
    pub(crate) fn new(config: &Config, me: HostId, is_full: bool, now: Time) -> Coordinator {
        let others = config.destinations.iter().filter(|host| **host != me);
        Coordinator {
            me,
            members: others.map(|host| (*host, Member::absent(now))).collect(),
            planning: Planning::new(config),
            probing: config.unknown.then(|| Probing::new(config.chunks.size())),
            version: 0,
            due: None,
            is_full,
            began: now,
            over: false,
        }
    }

    /// This node has everything now.
    pub(crate) fn fill(&mut self, now: Time) {
        self.is_full = true;
        self.due = Some(now);
    }

    /// The time of the next plan, if one is due.
    pub(crate) fn due(&self) -> Option<Time> {
        self.due
    }

    fn plan_soon(&mut self, now: Time) {
        let at = now.saturating_add(GATHER);
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// A host joins. The stream that it had before, if any; nothing is to be had from a stranger.
    pub(crate) fn join(
        &mut self,
        host: HostId,
        stream: StreamId,
        have: ChunkSet,
        now: Time,
    ) -> Result<Option<StreamId>, ()> {
        let member = self.members.get_mut(&host).ok_or(())?;
        let before = member.stream.replace(stream);
        (member.heard, member.moved, member.chunks) = (now, now, have.len());
        (member.complete, member.failed, member.stalled) = (false, None, false);
        member.have = have;
        self.over = false;
        if self.members.values().all(Member::is_present) {
            self.due = Some(now);
        } else {
            self.plan_soon(now);
        }
        Ok(before.filter(|before| *before != stream))
    }

    fn member(&mut self, host: HostId, now: Time) -> Option<&mut Member> {
        let member = self.members.get_mut(&host)?;
        member.heard = now;
        Some(member)
    }

    /// A member reports.
    pub(crate) fn report(&mut self, config: &Config, host: HostId, chunks: u32, edges: &[Edge], now: Time) {
        let Some(member) = self.member(host, now) else { return };
        if chunks > member.chunks {
            let time = now.saturating_sub(member.moved).as_us().max(1);
            let bytes = u64::from(chunks - member.chunks) * config.chunks.size();
            member.rate = (u128::from(bytes) * 8_000_000 / u128::from(time)) as u64;
            (member.moved, member.held) = (now, false);
            if std::mem::take(&mut member.stalled) {
                self.plan_soon(now);
            }
        }
        if let Some(member) = self.members.get_mut(&host) {
            member.chunks = chunks;
        }
        self.measure(host, edges, now);
    }

    /// How data went from a parent to its children.
    pub(crate) fn measure(&mut self, parent: HostId, edges: &[Edge], now: Time) {
        for edge in edges {
            self.planning.measure(parent, edge, now);
            if let Some(child) = self.members.get_mut(&edge.child) {
                child.held |= edge.bytes == 0 && edge.network_micros > 0;
            }
        }
    }

    /// A member has everything.
    pub(crate) fn complete(&mut self, host: HostId, now: Time) {
        let Some(member) = self.member(host, now) else { return };
        member.complete = true;
        if member.parted.is_some() {
            self.plan_soon(now);
        }
    }

    /// A member can't go on.
    pub(crate) fn failed(&mut self, host: HostId, reason: String, now: Time) {
        if let Some(member) = self.member(host, now) {
            member.failed = Some(reason);
            self.plan_soon(now);
        }
    }

    /// A member asks for the hash of all.
    pub(crate) fn ask_root(&mut self, host: HostId, now: Time) {
        if let Some(member) = self.member(host, now) {
            member.asks_root = true;
        }
    }

    /// The hosts that wait for the hash of all.
    pub(crate) fn root_wanted(&mut self) -> Vec<StreamId> {
        let asks = |member: &mut Member| member.stream.filter(|_| std::mem::take(&mut member.asks_root));
        self.members.values_mut().filter_map(asks).collect()
    }

    /// Whether anybody waits for the hash of all.
    pub(crate) fn is_root_wanted(&self) -> bool {
        self.members.values().any(|member| member.asks_root)
    }

    /// A host is gone; its stream with this node, if there is one, and the hosts to tell.
    pub(crate) fn lose(&mut self, host: HostId, now: Time, out: &mut Out) -> Option<StreamId> {
        let stream = self.members.get_mut(&host)?.stream.take()?;
        if let Some(probing) = &mut self.probing {
            probing.forget(host);
        }
        if let Some(member) = self.members.get_mut(&host) {
            self.planning.outage(host, member.heard);
            (member.heard, member.rate, member.planned) = (now, 0, 0);
        }
        let others = self.members.values().filter_map(|member| member.stream);
        out.extend(others.map(|stream| (stream, Message::Gone { host })));
        self.plan_soon(now);
        Some(stream)
    }

    /// A member cannot reach another: it is gone if it has been silent for two reports.
    pub(crate) fn is_silent(&self, config: &Config, host: HostId, now: Time) -> bool {
        let late = config.settings.report.saturating_mul(2);
        self.members.get(&host).is_some_and(|m| m.stream.is_some() && now > m.heard.saturating_add(late))
    }

    /// Sees to what time brings: hosts that are silent or stalled, changed links, the end. Returns hosts that
    /// are gone.
    pub(crate) fn tick(&mut self, config: &Config, now: Time, out: &mut Out) -> (Stand, Vec<HostId>) {
        let silent = |member: &Member| {
            member.stream.is_some() && now > member.heard.saturating_add(config.settings.silence)
        };
        let gone: Vec<HostId> =
            self.members.iter().filter(|(_, member)| silent(member)).map(|(host, _)| *host).collect();
        for member in self.members.values_mut().filter(|member| member.is_present()) {
            let waits = !member.complete && member.held && !member.stalled;
            if waits && now > member.moved.saturating_add(member.patience(config)) {
                member.stalled = true;
                self.due = Some(now);
            }
        }
        self.part(config, now, out);
        if config.settings.replan && self.planning.look(config.unknown, now) {
            self.due = Some(now);
        }
        let complete: Vec<HostId> = config
            .destinations
            .iter()
            .filter(|host| self.members.get(host).is_some_and(|m| m.complete && m.is_present()))
            .take(SUCCESSORS)
            .copied()
            .collect();
        for stream in self.members.values().filter_map(|member| member.stream) {
            out.push((stream, Message::Beat { complete: complete.clone() }));
        }
        (self.stand(config, now), gone)
    }

    /// Members that get nothing from parents that are there, and these parents, relay no longer; later they
    /// do again.
    fn part(&mut self, config: &Config, now: Time, out: &mut Out) {
        let shares = self.planning.shares();
        let parents = |host: &HostId| {
            let all = shares.get(host).into_iter().flat_map(|share| &share.mine).map(|(_, parent)| *parent);
            all.collect::<BTreeSet<HostId>>()
        };
        let stuck = self.members.iter().filter(|(_, member)| member.is_stuck(config, now));
        let stuck: Vec<(HostId, BTreeSet<HostId>)> = stuck.map(|(host, _)| (*host, parents(host))).collect();
        let until = now.saturating_add(config.settings.patience);
        for (host, parents) in stuck {
            let is_there = |parent: &HostId| self.members.get(parent).is_some_and(Member::is_present);
            let parents: Vec<HostId> = parents.into_iter().filter(is_there).collect();
            let Some(member) = self.members.get_mut(&host) else { continue };
            let since = std::mem::replace(&mut member.moved, now);
            if let Some(stream) = member.stream {
                out.extend(parents.iter().map(|parent| (stream, Message::Gone { host: *parent })));
            }
            for each in parents.iter().chain((!parents.is_empty()).then_some(&host)) {
                // Their links were blamed for what did not come.
                self.planning.outage(*each, since);
                if let Some(member) = self.members.get_mut(each) {
                    member.parted = Some(until);
                    self.due = Some(now);
                }
            }
        }
        for member in self.members.values_mut() {
            if member.parted.take_if(|until| now > *until).is_some() {
                self.due = Some(now);
            }
        }
    }

    fn stand(&self, config: &Config, now: Time) -> Stand {
        let settled = |member: &Member| {
            let away = member.stream.is_none() && now > member.heard.saturating_add(config.settings.patience);
            member.complete || member.failed.is_some() || away
        };
        if self.is_full && self.members.values().all(settled) { Stand::Over } else { Stand::Going }
    }

    /// A train has left or arrived: when nobody waits for one, a plan for the known rates is due. Hosts whose
    /// trains are still on their way get their place in the next.
    pub(crate) fn probed(&mut self, now: Time) {
        let Some(probing) = &self.probing else { return };
        let waits = |(host, member): (&HostId, &Member)| member.is_present() && probing.awaits(*host);
        let rates = probing.rates();
        if !rates.is_empty() && !self.members.iter().any(waits) {
            self.planning.learn(self.me, &rates);
            self.due = Some(now);
        }
    }

    /// Plans, when it is time, and tells everybody.
    ///
    /// # Errors
    /// No plan can be made: why.
    pub(crate) fn plan(&mut self, config: &Config, now: Time, out: &mut Out) -> Result<(), String> {
        if self.due.is_none_or(|due| due > now) || !self.is_full {
            return Ok(());
        }
        self.due = None;
        // One that has everything, and gives nothing, would take what others need.
        let takes_part =
            |member: &Member| member.is_present() && !(member.complete && member.parted.is_some());
        let there = |(host, member): (&HostId, &Member)| takes_part(member).then_some(*host);
        let members: Vec<HostId> = self.members.iter().filter_map(there).collect();
        if members.is_empty() {
            return Ok(());
        }
        let relays = |host: &&HostId| !self.members[host].stalled && self.members[host].parted.is_none();
        let leaves: Vec<HostId> = members.iter().filter(|host| !relays(host)).copied().collect();
        let is_unknown = |host: &HostId| self.probing.as_ref().is_some_and(|all| all.is_unknown(*host));
        let (unknown, known): (Vec<HostId>, Vec<HostId>) = members.iter().partition(|host| is_unknown(host));
        self.planning.plan(config, self.me, (&known, &unknown), &leaves, now)?;
        if let Some(probing) = &mut self.probing {
            probing.planned(&known);
        }
        self.version += 1;
        let (rates, mut shares) = (self.planning.rates(), self.planning.shares());
        for host in members {
            let share = shares.remove(&host).unwrap_or_default();
            let Some(member) = self.members.get_mut(&host) else { continue };
            member.planned = share.rate;
            let Some(stream) = member.stream else { continue };
            let (rates, mine) = (rates.clone(), share.mine);
            out.push((stream, Message::Plan { version: self.version, rates, mine }));
        }
        Ok(())
    }

    /// For a node that took over with an incomplete copy, after members had time to join: which hosts have
    /// the chunks that it lacks.
    ///
    /// # Errors
    /// How many chunks nobody has.
    pub(crate) fn holders(&self, missing: &ChunkSet) -> Result<BTreeMap<u32, HostId>, u32> {
        let mut found = BTreeMap::new();
        let mut none = 0;
        for chunk in missing.iter() {
            // Members in turn, so that none sends all.
            let has = |(_, member): &(&HostId, &Member)| member.is_present() && member.have.contains(chunk);
            let holders: Vec<HostId> = self.members.iter().filter(has).map(|(host, _)| *host).collect();
            match holders.get(chunk as usize % holders.len().max(1)) {
                Some(host) => {
                    found.insert(chunk, *host);
                }
                None => none += 1,
            }
        }
        if none == 0 { Ok(found) } else { Err(none) }
    }

    /// Whether members have had time to join.
    pub(crate) fn has_gathered(&self, config: &Config, now: Time) -> bool {
        // They look for it at different moments, each for as long as a silence lasts.
        now > self.began.saturating_add(config.settings.silence.saturating_mul(2))
    }

    /// This host stood still for so long: silence during that time was its own.
    pub(crate) fn stood_still(&mut self, time: Time) {
        for member in self.members.values_mut() {
            member.heard = member.heard.saturating_add(time);
            member.moved = member.moved.saturating_add(time);
        }
    }

    /// Whether a host has been away for longer than anybody waits for it.
    pub(crate) fn is_given_up(&self, config: &Config, host: HostId, now: Time) -> bool {
        self.members.get(&host).is_none_or(|member| {
            member.failed.is_some()
                || member.stream.is_none() && now > member.heard.saturating_add(config.settings.patience)
        })
    }
}
