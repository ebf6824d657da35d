//! A node's periodic work: its measurements, silent parents and members, plans that are due, and its
//! progress.

use super::coordinator::Stand;
use super::message::Message;
use super::node::{Node, PLAN};
use super::progress::{Receiver, Sample};
use super::set::ChunkSet;
use process::{Context, HostId, StreamId};
use std::collections::BTreeMap;
use units::Time;

/// Looks for which a stream has brought nothing before it may lead nowhere.
const LOOKS_QUIET: u32 = 2;

impl Node {
    pub(super) fn tick(&mut self, cx: &mut dyn Context) {
        self.ticking = false;
        if self.over || self.failed {
            return cx.finish();
        }
        self.tick_on(cx);
        let now = cx.now();
        self.notice_a_stop(now);
        self.sample(now);
        let edges = self.serve.edges(now);
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.measure(self.me, &edges, now);
        } else if let Some(stream) = self.follow.stream {
            self.links.send(stream, &Message::Report { chunks: self.have, edges }, cx);
        }
        self.look_at_coordinator(cx);
        self.connect(cx);
        self.look_at_parents(cx);
        self.look_at_members(cx);
        self.show();
    }

    /// Whether this host itself stood still, as one that is suspended does: then others were not silent.
    fn notice_a_stop(&mut self, now: Time) {
        let still = now.saturating_sub(self.ticked).saturating_sub(self.config.settings.report);
        self.ticked = now;
        if still >= self.config.settings.silence {
            self.follow.stood_still(still);
            if let Some(coordinator) = &mut self.coordinator {
                coordinator.stood_still(still);
            }
        }
    }

    /// Shares queues, and gives up what the dead owe.
    fn look_at_parents(&mut self, cx: &mut dyn Context) {
        let looks = self.config.settings.silence.as_ps() / self.config.settings.report.as_ps();
        for (host, stream) in self.fetch.overdue(looks as u32) {
            self.drop_parent(host, stream, cx);
        }
        for stream in self.fetch.spent() {
            self.links.close(stream, cx);
        }
        let mut out = Vec::new();
        self.fetch.missing(ChunkSet::default(), &mut out);
        self.fetch.balance(&mut out);
        self.send_all(out, cx);
    }

    /// The coordinator is not heard: streams that bring nothing may lead nowhere, and those that are opened
    /// now get through as soon as anything does. TCP itself would try ever more rarely.
    pub(super) fn drop_quiet_parents(&mut self, cx: &mut dyn Context) {
        for (host, stream) in self.fetch.quiet(LOOKS_QUIET) {
            self.drop_parent(host, stream, cx);
        }
    }

    fn drop_parent(&mut self, host: HostId, stream: StreamId, cx: &mut dyn Context) {
        self.fetch.lost(host, stream);
        self.links.abort(stream, cx);
    }

    /// As the coordinator: which hosts are gone, what has changed, is it over.
    fn look_at_members(&mut self, cx: &mut dyn Context) {
        let Some(coordinator) = &mut self.coordinator else { return };
        let mut out = Vec::new();
        let (stand, gone) = coordinator.tick(&self.config, cx.now(), &mut out);
        self.send_all(out, cx);
        gone.into_iter().for_each(|host| self.lose(host, cx));
        self.gather(cx);
        self.plan_when_due(cx);
        if stand == Stand::Over {
            let members: Vec<StreamId> = self.members();
            members.into_iter().for_each(|stream| self.links.send(stream, &Message::Finish, cx));
            self.finish(cx);
        }
    }

    /// Streams of members.
    pub(super) fn members(&self) -> Vec<StreamId> {
        let members = self.coordinator.iter().flat_map(|coordinator| coordinator.members.values());
        members.filter_map(|member| member.stream).collect()
    }

    /// Plans if it is time, or sets a timer for it.
    pub(super) fn plan_when_due(&mut self, cx: &mut dyn Context) {
        let Some(coordinator) = &mut self.coordinator else { return };
        let mut out = Vec::new();
        let now = cx.now();
        let planned = coordinator.plan(&self.config, now, &mut out);
        if let Some(due) = coordinator.due().filter(|due| *due > now) {
            cx.set_timer(PLAN, due.saturating_sub(now));
        }
        self.send_all(out, cx);
        if let Err(reason) = planned {
            self.abandon(&reason, cx);
        }
    }

    /// Notes how far it is, if it is time.
    pub(super) fn sample(&mut self, now: Time) {
        let Some(interval) = self.config.sample else { return };
        if self.sampled.is_none_or(|before| now >= before.saturating_add(interval)) {
            self.sampled = Some(now);
            let (bytes, planned) = (self.bytes(), self.fetch.planned());
            let (received, sent) = (self.received, self.serve.sent);
            self.board.sample(Sample { time: now, bytes, received, sent, planned });
        }
    }

    /// Shows how far it is.
    pub(super) fn show(&self) {
        let bytes_of = |chunks: u32| (u64::from(chunks) * self.chunks().size()).min(self.chunks().bytes());
        let receivers = self.coordinator.iter().flat_map(|coordinator| &coordinator.members);
        let receivers = receivers.map(|(host, member)| {
            let receiver = Receiver {
                present: member.stream.is_some(),
                bytes: if member.complete { self.chunks().bytes() } else { bytes_of(member.chunks) },
                complete: member.complete,
                failed: member.failed.clone(),
                stalled: member.stalled,
                rate: member.rate,
                planned: member.planned,
            };
            (*host, receiver)
        });
        let receivers: BTreeMap<HostId, Receiver> = receivers.collect();
        let (chunks, bytes) = (self.have, self.bytes());
        let coordinator = if self.coordinator.is_some() { Some(self.me) } else { self.follow.trusted() };
        self.board.change(|progress| {
            (progress.chunks, progress.bytes) = (chunks, bytes);
            (progress.received, progress.sent) = (self.received, self.serve.sent);
            progress.planned = self.fetch.planned();
            progress.parents = self.fetch.parents().map(|(host, parent)| (host, parent.bytes)).collect();
            (progress.coordinator, progress.receivers) = (coordinator, receivers);
        });
    }
}
