//! The PFC watchdog: finds queues that PAUSE frames hold up for too long, acts, and restores them.
//!
//! Source: SONiC's PFC watchdog. At each poll a queue that holds packets, has sent none since the last poll
//! and is paused comes one poll nearer to a storm; in a storm, each poll without a PAUSE frame since the last
//! one brings it nearer to its end. Polls are at multiples of the interval, as if they had gone on all the
//! time; they are left out while nothing is paused, where they could find nothing.

use super::classes;
use crate::config::WatchdogAction;
use crate::driver::{Driver, PortEvent};
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::packet::{Discard, Packet};
use units::Time;

impl<B: Copy + Default> Fabric<B> {
    /// A pause has begun at `id`: its switch's watchdog looks at the next poll.
    pub(crate) fn start_polls<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let classes = self.ports[id.index()].cold.classes.as_ref();
        let Some(pfc) = classes.and_then(|classes| classes.pfc) else { return };
        let pfc = &mut self.pfcs[pfc as usize];
        if let Some(watchdog) = pfc.config.watchdog.filter(|_| pfc.poll_at == Time::ZERO) {
            let poll = watchdog.poll.as_ps();
            pfc.poll_at = Time::from_ps((now.as_ps() / poll + 1) * poll);
            driver.schedule(pfc.poll_at, PortEvent::Timer(PortId(pfc.first)));
        }
    }

    /// A look at all queues of the switch whose first port is `id`, if it is time.
    pub(crate) fn poll<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let classes = self.ports[id.index()].cold.classes.as_ref();
        let Some(pfc) = classes.and_then(|classes| classes.pfc) else { return };
        let pfc = &mut self.pfcs[pfc as usize];
        if pfc.first != id.0 || pfc.poll_at != now {
            return;
        }
        let config = pfc.config.watchdog.expect("polls are the watchdog's");
        let (ports, mask) = (pfc.ports(), pfc.config.classes);
        pfc.poll_at = Time::ZERO;
        let mut go_on = None;
        for port in ports {
            for class in super::classes(mask) {
                let packets = self.class_packets(port, class);
                let pausing = self.pausing(port);
                let change = pausing.watch(now, class, packets, &config);
                if pausing.is_paused(class) || pausing.watch[usize::from(class)].storm {
                    go_on = Some(port);
                }
                if let Some(storm) = change {
                    driver.storm(now, port, class, storm);
                    self.act(now, port, class, storm, config.action, driver);
                }
            }
        }
        if let Some(port) = go_on {
            self.start_polls(now, port, driver);
        }
    }

    fn class_packets(&self, id: PortId, class: u8) -> u32 {
        let classes = self.ports[id.index()].cold.classes.as_ref();
        classes.map_or(0, |classes| classes.queues[usize::from(class)].packets)
    }

    /// A storm begins or ends at `id`.
    fn act<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        class: u8,
        storm: bool,
        action: WatchdogAction,
        driver: &mut D,
    ) {
        let bit = 1 << class;
        let classes = self.ports[id.index()].cold.classes.as_mut().expect("a scheduled port");
        let mask = match action {
            WatchdogAction::Drop => &mut classes.dropping,
            WatchdogAction::Forward => &mut classes.ignoring,
        };
        *mask = if storm { *mask | bit } else { *mask & !bit };
        if storm && action == WatchdogAction::Drop {
            for packet in self.drain_class(now, id, usize::from(class), driver) {
                self.discard_in_storm(now, id, &packet, driver);
            }
        }
        self.obey(now, id, driver);
    }

    pub(crate) fn discard_in_storm<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        packet: &Packet<B>,
        driver: &mut D,
    ) {
        self.pausing(id).counters[usize::from(packet.class)].storm_drops += 1;
        self.discard(now, id, packet, Discard::Watchdog, driver);
    }

    /// Whether a watchdog looks at the queues of `id`.
    pub fn has_watchdog(&self, id: PortId) -> bool {
        let pfc = self.ports[id.index()].cold.classes.as_ref().and_then(|classes| classes.pfc);
        pfc.is_some_and(|pfc| self.pfcs[pfc as usize].config.watchdog.is_some())
    }

    /// The queues of `id` that are in a storm.
    pub fn storms(&self, id: PortId) -> impl Iterator<Item = u8> {
        let watch = self.ports[id.index()].cold.pausing.as_deref().map(|pausing| pausing.watch);
        classes(u8::MAX).filter(move |class| watch.is_some_and(|watch| watch[usize::from(*class)].storm))
    }
}
