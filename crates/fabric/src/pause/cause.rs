//! Why peers are asked to pause: where most of what had come from them waited.
//!
//! A pause is counted from XOFF to XON at the port that asks for it. It says of itself only which port that
//! is; where its packets wait tells congestion from a pause that spreads.

use super::classes;
use crate::fabric::Fabric;
use crate::ids::PortId;
use std::collections::BTreeMap;
use units::Time;

/// Why a peer is asked to pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Most of the memory was held by packets that waited at this port, which was sending.
    Congested(PortId),
    /// The same at a port that was paused itself.
    Paused(PortId),
    /// A broken host asks for it.
    Storm,
}

/// Pauses with one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseTotals {
    /// How many.
    pub pauses: u64,
    /// Time from XOFF to XON, summed.
    pub asked: Time,
    /// The longest of these times.
    pub asked_max: Time,
}

impl CauseTotals {
    fn add(&mut self, asked: Time) {
        self.pauses += 1;
        self.asked += asked;
        self.asked_max = self.asked_max.max(asked);
    }
}

/// A port that asks for pauses, the class, and why.
type Key = (PortId, u8, Cause);

/// Pauses so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Causes {
    /// Those that last, with when they began.
    open: BTreeMap<(PortId, u8), (Time, Cause)>,
    over: BTreeMap<Key, CauseTotals>,
}

impl Causes {
    /// Adds those at the ports of other switches.
    pub(crate) fn join(&mut self, mut others: Causes) {
        self.open.append(&mut others.open);
        self.over.append(&mut others.over);
    }
}

impl<B: Copy + Default> Fabric<B> {
    /// Finds out from now on why peers are asked to pause.
    pub fn explain_pauses(&mut self) {
        self.causes.get_or_insert_default();
    }

    /// Why peers have been asked to pause, by port and class; pauses that last count up to `now`.
    pub fn pause_causes(&self, now: Time) -> Vec<(PortId, u8, Cause, CauseTotals)> {
        let mut found = self.causes.as_deref().cloned().unwrap_or_default();
        for (&(port, class), &(since, cause)) in &found.open {
            found.over.entry((port, class, cause)).or_default().add(now - since);
        }
        found.over.into_iter().map(|((port, class, cause), totals)| (port, class, cause, totals)).collect()
    }

    /// The peer at `own` is about to learn what is wanted of `class`: a pause may begin or end.
    #[cold]
    pub(crate) fn note_cause(&mut self, now: Time, own: PortId, class: u8) {
        let is_wanted = self.wanted(own) & (1 << class) != 0;
        let Some(causes) = &self.causes else { return };
        let open = causes.open.get(&(own, class)).copied();
        match open {
            None if is_wanted => {
                let cause = self.cause(own, class);
                let open = self.causes.as_mut().map(|causes| &mut causes.open);
                if let (Some(cause), Some(open)) = (cause, open) {
                    open.insert((own, class), (now, cause));
                }
            }
            Some((since, cause)) if !is_wanted => {
                let Some(causes) = &mut self.causes else { return };
                causes.open.remove(&(own, class));
                causes.over.entry((own, class, cause)).or_default().add(now - since);
            }
            _ => {}
        }
    }

    /// Why the peer at `own` is to pause `class`, unless nothing that came from it waits any more.
    fn cause(&self, own: PortId, class: u8) -> Option<Cause> {
        let cold = &self.ports[own.index()].cold;
        if cold.pausing.as_ref().is_some_and(|pausing| classes(pausing.storming).any(|of| of == class)) {
            return Some(Cause::Storm);
        }
        let pfc = &self.pfcs[cold.classes.as_ref()?.pfc? as usize];
        let held = pfc.ports().map(|egress| (self.held_for((egress, class), own), egress));
        // Of equal ones the first.
        let most = held.max_by_key(|&(bytes, egress)| (bytes, std::cmp::Reverse(egress)));
        let (_, egress) = most.filter(|(bytes, _)| *bytes > 0)?;
        let paused = self.ports[egress.index()].cold.classes.as_ref()?.paused & (1 << class) != 0;
        Some(if paused { Cause::Paused(egress) } else { Cause::Congested(egress) })
    }
}
