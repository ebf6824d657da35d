//! From what the fabric says of buffers, ways and pauses to their tables.

use crate::names::PortNames;
use fabric::{Cause, EqualPaths, Fabric, Level, NodeId};
use record::rows::{self, PauseCause};
use record::{Error, Tables};
use sim::Records;
use units::Time;

/// Names of what the tables are about.
pub(crate) struct Named<'a> {
    pub ports: &'a PortNames,
    /// Hosts, then switches.
    pub nodes: &'a [String],
}

impl Named<'_> {
    /// Writes samples of queues, of shared memory and of PFC.
    pub(crate) fn samples(&self, records: &Records, tables: &mut Tables) -> Result<(), Error> {
        for (time, port, class, level) in &records.queues {
            tables.queues_series.push(rows::QueueSample {
                time_ps: time.as_ps(),
                port: &self.ports[*port],
                class: *class,
                queue_bytes: level.bytes,
                queue_max_bytes: level.recent_max,
            })?;
        }
        for (time, switch, level) in &records.pools {
            tables.pools_series.push(rows::PoolSample {
                time_ps: time.as_ps(),
                switch: &self.nodes[*switch as usize],
                used_bytes: level.used.bytes,
                used_max_bytes: level.used.recent_max,
                headroom_bytes: level.headroom.bytes,
                headroom_max_bytes: level.headroom.recent_max,
            })?;
        }
        for (time, sample) in &records.pauses {
            tables.pauses_series.push(rows::PauseSample {
                time_ps: time.as_ps(),
                port: &self.ports[sample.port],
                class: sample.class,
                held_bytes: sample.group.held.bytes,
                held_max_bytes: sample.group.held.recent_max,
                headroom_bytes: sample.group.headroom.bytes,
                headroom_max_bytes: sample.group.headroom.recent_max,
                xoff_sent: sample.xoff_sent,
                paused_ps: sample.paused.as_ps(),
            })?;
        }
        Ok(())
    }

    /// Writes the watermarks of the whole run, the groups of ECMP, and why there were pauses.
    pub(crate) fn totals<B: Copy + Default>(
        &self,
        network: &Fabric<B>,
        now: Time,
        groups: &[EqualPaths],
        tables: &mut Tables,
    ) -> Result<(), Error> {
        for (id, port) in self.ports.iter() {
            for (class, Level { max, .. }) in (0..).zip(network.queue_levels(id)) {
                tables.queues.push(rows::Queue { port, class, queue_max_bytes: max })?;
            }
        }
        for (number, switch) in (0..).zip(self.nodes) {
            let Some(level) = network.pool_level(NodeId(number)) else { continue };
            tables.pools.push(rows::Pool {
                switch,
                size_bytes: level.size,
                used_max_bytes: level.used.max,
                headroom_size_bytes: level.headroom_size,
                headroom_max_bytes: level.headroom.max,
            })?;
        }
        self.ways(groups, tables)?;
        self.pauses(network, now, tables)
    }

    fn ways(&self, groups: &[EqualPaths], tables: &mut Tables) -> Result<(), Error> {
        let (mut last, mut group) = (None, 0);
        for EqualPaths { node, ports, destinations } in groups {
            group = if last == Some(node) { group + 1 } else { 0 };
            last = Some(node);
            for port in ports {
                let (node, port) = (&self.nodes[node.0 as usize], &self.ports[*port]);
                tables.ways.push(rows::EcmpWay {
                    node,
                    group,
                    port,
                    destinations: u64::from(*destinations),
                })?;
            }
        }
        Ok(())
    }

    fn pauses<B: Copy + Default>(
        &self,
        network: &Fabric<B>,
        now: Time,
        tables: &mut Tables,
    ) -> Result<(), Error> {
        for (port, class, cause, totals) in network.pause_causes(now) {
            let (cause, egress) = match cause {
                Cause::Congested(egress) => (PauseCause::Congested, Some(egress)),
                Cause::Paused(egress) => (PauseCause::Paused, Some(egress)),
                Cause::Storm => (PauseCause::Storm, None),
            };
            tables.pause_causes.push(rows::PauseCauses {
                port: &self.ports[port],
                class,
                paused: &self.ports[network.reverse(port)],
                cause,
                egress: egress.map(|egress| &self.ports[egress]),
                pauses: totals.pauses,
                asked_ps: totals.asked.as_ps(),
                asked_max_ps: totals.asked_max.as_ps(),
            })?;
        }
        Ok(())
    }
}
