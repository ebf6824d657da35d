//! The receiving side: which chunk is requested from which parent.
//!
//! Every missing chunk is requested from one parent at a time, so each arrives once. The plan decides the
//! parent ([`Order`]): it gets standing orders for its share at once, and sends each chunk when it has it.
//! When the plan changes, a chunk whose parent changes is withdrawn (`Drop`), and requested from the new
//! parent when the old one says that it wasn't sent (`Dropped`). When a parent has nothing to send while
//! another has a queue, a part of the queue moves in the same way. Only chunks that the new parent has stay
//! moved; the others come back, so no hosts wait in a cycle.

mod balance;
mod parent;

use self::parent::Parent;
use crate::transfer::chunks::Chunks;
use crate::transfer::message::Message;
use crate::transfer::order::Order;
use crate::transfer::ranked::{AWAITED, OTHER, OWN};
use crate::transfer::set::ChunkSet;
use process::wire::Malformed;
use process::{HostId, StreamId};
use std::collections::BTreeMap;

/// Looks for which a parent that had nothing for another's queue is left alone.
const REST: u32 = 4;

/// Messages and where they go.
pub(crate) type Out = Vec<(StreamId, Message)>;

/// What a node fetches, and where.
#[derive(Debug)]
pub(crate) struct Fetch {
    chunks: Chunks,
    /// Missing and asked of nobody.
    loose: ChunkSet,
    parents: BTreeMap<HostId, Parent>,
    order: Option<Order>,
    /// Trees that this node is in, and its parent in each.
    mine: BTreeMap<u32, HostId>,
    /// Chunks that are to come from a certain host, whatever the trees say.
    direct: BTreeMap<u32, HostId>,
    /// Where chunks go when they have been taken back.
    moves: BTreeMap<u32, HostId>,
    /// Chunks that children wait for.
    awaited: ChunkSet,
}

impl Fetch {
    /// Fetches `missing`.
    pub(crate) fn new(chunks: Chunks, missing: ChunkSet) -> Fetch {
        Fetch {
            chunks,
            loose: missing,
            parents: BTreeMap::new(),
            order: None,
            mine: BTreeMap::new(),
            direct: BTreeMap::new(),
            moves: BTreeMap::new(),
            awaited: ChunkSet::default(),
        }
    }

    /// All parents.
    pub(crate) fn parents(&self) -> impl Iterator<Item = (HostId, &Parent)> {
        self.parents.iter().map(|(host, parent)| (*host, parent))
    }

    /// At which rate the plan lets data come, in bit/s.
    pub(crate) fn planned(&self) -> u64 {
        self.parents.values().map(|parent| parent.rate).sum()
    }

    /// A new plan: the rates of all trees, and this node's parent in those that it is in.
    pub(crate) fn plan(&mut self, rates: &[u64], mine: &[(u32, HostId)], out: &mut Out) {
        self.order = (!rates.is_empty()).then(|| Order::new(rates, self.chunks.count()));
        self.mine = mine.iter().copied().collect();
        if rates.is_empty() {
            self.direct.clear();
            self.parents.values_mut().for_each(|parent| parent.direct = false);
        }
        self.parents.values_mut().for_each(|parent| parent.rate = 0);
        for (tree, host) in mine {
            self.parents.entry(*host).or_default().rate += rates[*tree as usize];
        }
        self.rearrange(out);
    }

    /// From now on these chunks come from these hosts.
    pub(crate) fn fetch_directly(&mut self, from: BTreeMap<u32, HostId>, out: &mut Out) {
        for host in from.values() {
            self.parents.entry(*host).or_default().direct = true;
        }
        self.direct.extend(from);
        self.rearrange(out);
    }

    /// Whether it fetches from certain hosts.
    pub(crate) fn is_direct(&self) -> bool {
        !self.direct.is_empty()
    }

    /// The hosts from which it fetches certain chunks that are missing.
    pub(crate) fn holders(&self) -> impl Iterator<Item = HostId> {
        self.parents.iter().filter(|(_, parent)| parent.direct).map(|(host, _)| *host)
    }

    /// Takes back what is asked of the wrong parent, and asks for the rest.
    fn rearrange(&mut self, out: &mut Out) {
        self.moves.clear();
        let hosts: Vec<HostId> = self.parents.keys().copied().collect();
        for host in hosts {
            let astray = |chunk: &u32| self.place(*chunk).is_none_or(|(at, _)| at != host);
            let parent = &self.parents[&host];
            let set: ChunkSet = parent.orders.iter().filter(astray).collect();
            let pace = parent.pace();
            if let Some(stream) = parent.stream {
                self.take_back(host, &set, out);
                out.push((stream, pace));
            }
        }
        self.rank(out);
        self.hand_out(out);
    }

    fn take_back(&mut self, host: HostId, set: &ChunkSet, out: &mut Out) {
        let Some(parent) = self.parents.get_mut(&host) else { return };
        let set: ChunkSet = set.iter().filter(|chunk| parent.dropping.insert(*chunk)).collect();
        if let Some(stream) = parent.stream.filter(|_| !set.is_empty()) {
            out.push((stream, Message::Drop { set }));
        }
    }

    /// Which parent a chunk comes from, and in which class.
    fn place(&self, chunk: u32) -> Option<(HostId, u8)> {
        let (host, own) = if let Some(host) = self.direct.get(&chunk) {
            (*host, true)
        } else {
            let (tree, own) = self.order.as_ref()?.choose(chunk, self.mine.keys().copied())?;
            (self.mine[&tree], own)
        };
        let awaited = self.awaited.contains(chunk);
        Some((
            host,
            if awaited {
                AWAITED
            } else if own {
                OWN
            } else {
                OTHER
            },
        ))
    }

    /// These are the chunks that children wait for: they are to come first, so that nobody behind has nothing
    /// to do while this node catches up on what others have.
    pub(crate) fn awaited(&mut self, awaited: ChunkSet, out: &mut Out) {
        if awaited != self.awaited {
            self.awaited = awaited;
            self.rank(out);
        }
    }

    /// Tells parents of orders whose class has changed.
    fn rank(&mut self, out: &mut Out) {
        let mut ranks: BTreeMap<(HostId, u8), ChunkSet> = BTreeMap::new();
        for (host, parent) in &self.parents {
            for chunk in parent.orders.iter() {
                let Some((at, class)) = self.place(chunk) else { continue };
                if at == *host && parent.orders.class(chunk) != Some(class) {
                    ranks.entry((*host, class)).or_default().insert(chunk);
                }
            }
        }
        for ((host, class), set) in ranks {
            let Some(parent) = self.parents.get_mut(&host) else { continue };
            set.iter().for_each(|chunk| parent.orders.insert(class, chunk));
            out.extend(parent.stream.map(|stream| (stream, Message::Rank { class, set })));
        }
    }

    /// Asks for what is asked of nobody, where the parent can be asked.
    fn hand_out(&mut self, out: &mut Out) {
        let mut wants: BTreeMap<(StreamId, u8), ChunkSet> = BTreeMap::new();
        for chunk in self.loose.iter().collect::<Vec<_>>() {
            let Some((host, class)) = self.place(chunk) else { continue };
            let parent = self.parents.get_mut(&host).expect("the plan's parents are there");
            if let Some(stream) = parent.stream {
                parent.orders.insert(class, chunk);
                self.loose.remove(chunk);
                wants.entry((stream, class)).or_default().insert(chunk);
            }
        }
        let want = |((stream, class), set)| (stream, Message::Want { class, now: false, set });
        out.extend(wants.into_iter().map(want));
    }

    /// Parents of the plan that there is no stream to.
    pub(crate) fn unconnected(&self) -> Vec<HostId> {
        let without =
            |(_, parent): &(&HostId, &Parent)| (parent.rate > 0 || parent.direct) && parent.stream.is_none();
        self.parents.iter().filter(without).map(|(host, _)| *host).collect()
    }

    /// A stream to a parent is open.
    pub(crate) fn connected(&mut self, host: HostId, stream: StreamId, out: &mut Out) {
        let Some(parent) = self.parents.get_mut(&host) else { return };
        (parent.stream, parent.got, parent.ready, parent.quiet) = (Some(stream), 0, 0, 0);
        out.extend([(stream, Message::Fetch), (stream, parent.pace())]);
        self.hand_out(out);
    }

    /// A stream to a parent is gone; what was asked there is asked again.
    pub(crate) fn lost(&mut self, host: HostId, stream: StreamId) {
        let Some(parent) = self.parents.get_mut(&host).filter(|parent| parent.stream == Some(stream)) else {
            return;
        };
        parent.stream = None;
        parent.dropping = ChunkSet::default();
        for chunk in std::mem::take(&mut parent.orders).iter() {
            self.loose.insert(chunk);
            self.moves.remove(&chunk);
        }
    }

    /// Streams to hosts that are no parents any more and bring nothing more.
    pub(crate) fn spent(&mut self) -> Vec<StreamId> {
        let mut spent = Vec::new();
        self.parents.retain(|_, parent| {
            let over = parent.rate == 0 && !parent.direct && parent.orders.is_empty();
            spent.extend(parent.stream.filter(|_| over));
            !over
        });
        spent
    }

    /// A chunk came. An error when it wasn't asked of this parent.
    pub(crate) fn came(&mut self, host: HostId, chunk: u32, ready: u32) -> Result<(), Malformed> {
        let parent = self.parents.get_mut(&host).ok_or(Malformed)?;
        if parent.orders.remove(chunk).is_none() {
            return Err(Malformed);
        }
        parent.dropping.remove(chunk);
        self.moves.remove(&chunk);
        (parent.ready, parent.active, parent.quiet) = (ready, true, 0);
        parent.bytes += self.chunks.len(chunk);
        Ok(())
    }

    /// A chunk that came is kept, or is thrown away: its parent may send another.
    pub(crate) fn settled(&mut self, host: HostId, stream: StreamId, out: &mut Out) {
        if let Some(parent) = self.parents.get_mut(&host).filter(|parent| parent.stream == Some(stream)) {
            parent.got += 1;
            out.push((stream, Message::Got { chunks: parent.got }));
        }
    }

    /// A chunk is damaged: another parent is asked, if there is one that has it.
    pub(crate) fn damaged(&mut self, host: HostId, chunk: u32, out: &mut Out) {
        let other = |(other, parent): &(&HostId, &mut Parent)| **other != host && parent.stream.is_some();
        match self.parents.iter_mut().find(other) {
            Some((_, parent)) => {
                parent.orders.insert(AWAITED, chunk);
                let set = [chunk].into_iter().collect();
                let stream = parent.stream.expect("it was looked for");
                out.push((stream, Message::Want { class: AWAITED, now: true, set }));
            }
            None => self.missing([chunk].into_iter().collect(), out),
        }
    }

    /// Chunks that were there are to be fetched again.
    pub(crate) fn missing(&mut self, set: ChunkSet, out: &mut Out) {
        set.iter().for_each(|chunk| {
            self.loose.insert(chunk);
        });
        self.hand_out(out);
    }

    /// A parent won't send these.
    pub(crate) fn dropped(&mut self, host: HostId, set: &ChunkSet, out: &mut Out) {
        let Some(parent) = self.parents.get_mut(&host) else { return };
        let mut visits: BTreeMap<HostId, ChunkSet> = BTreeMap::new();
        for chunk in set.iter() {
            if parent.orders.remove(chunk).is_none() {
                continue;
            }
            if !parent.dropping.remove(chunk) {
                // It was asked for what it would have at hand, and hasn't.
                parent.rest = REST;
            }
            match self.moves.remove(&chunk) {
                Some(to) => {
                    visits.entry(to).or_default().insert(chunk);
                }
                None => {
                    self.loose.insert(chunk);
                }
            }
        }
        for (to, set) in visits {
            self.visit(to, set, out);
        }
        self.hand_out(out);
    }

    /// Asks a parent for what it has of these.
    fn visit(&mut self, host: HostId, set: ChunkSet, out: &mut Out) {
        let parent = self.parents.get_mut(&host);
        let Some((parent, stream)) = parent.and_then(|p| p.stream.map(|stream| (p, stream))) else {
            set.iter().for_each(|chunk| {
                self.loose.insert(chunk);
            });
            return;
        };
        set.iter().for_each(|chunk| {
            parent.orders.insert(OWN, chunk);
        });
        out.push((stream, Message::Want { class: OWN, now: true, set }));
    }
}

#[cfg(test)]
mod tests;
