//! How full buffers are, and their watermarks: queues, the groups of PFC, the memory that a switch shares.
//!
//! Source: what SONiC's `show queue watermark`, `show priority-group watermark`, `show buffer_pool watermark`
//! and `show headroom-pool watermark` tell apart. Queues are in IP bytes, memory is in whole cells.

use crate::fabric::Fabric;
use crate::ids::{NodeId, PortId};
use crate::peak::Level;
use units::Time;

/// What PFC counts for a port and class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupLevel {
    /// Memory of what came in by the port, headroom included.
    pub held: Level,
    /// The part of it that is headroom.
    pub headroom: Level,
}

/// The memory that the ports of a switch share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolLevel {
    /// Shared memory: what reserves and headroom leave.
    pub size: u64,
    /// Shared memory in use.
    pub used: Level,
    /// Memory set aside as headroom of PFC.
    pub headroom_size: u64,
    /// Headroom in use.
    pub headroom: Level,
}

impl<B: Copy + Default> Fabric<B> {
    /// The queue of each class of `id`; none where all classes share one.
    pub fn queue_levels(&self, id: PortId) -> Vec<Level> {
        let classes = self.ports[id.index()].cold.classes.as_ref();
        let queues = classes.map(|classes| &classes.queues).filter(|queues| queues.len() > 1);
        queues.into_iter().flatten().map(|queue| queue.max_bytes.level(queue.bytes)).collect()
    }

    /// What PFC counts for `id` and `class`, at switches that have it.
    pub fn group_level(&self, id: PortId, class: u8) -> Option<GroupLevel> {
        let pfc = self.ports[id.index()].cold.classes.as_ref()?.pfc?;
        let group = self.pfcs[pfc as usize].group(id, class);
        let (held, headroom) = (group.held_max.level(group.held), group.headroom_max.level(group.headroom));
        Some(GroupLevel { held, headroom })
    }

    /// The memory that the ports of `switch` share, if they do.
    pub fn pool_level(&self, switch: NodeId) -> Option<PoolLevel> {
        let classes = self.ports[self.ports_of(switch).next()?.index()].cold.classes.as_ref()?;
        let pool = &self.pools[classes.pool? as usize];
        let (headroom_size, headroom) =
            classes.pfc.map(|pfc| self.pfcs[pfc as usize].headroom()).unwrap_or_default();
        Some(PoolLevel { size: pool.shared(), used: pool.level(), headroom_size, headroom })
    }

    /// Begins a new interval for the watermarks of `id`: the port's, its classes' and its groups'.
    pub fn restart_watermarks(&mut self, now: Time, id: PortId) {
        let bytes = self.sample(now, id).queue_bytes;
        let port = &mut self.ports[id.index()];
        port.restart_longest(bytes);
        if let Some(cells) = &mut port.cold.cells {
            cells.restart_longest(now);
        }
        let Some(classes) = &mut port.cold.classes else { return };
        classes.queues.iter_mut().for_each(|queue| queue.max_bytes.restart(queue.bytes));
        if let Some(pfc) = classes.pfc {
            self.pfcs[pfc as usize].restart_watermarks(id);
        }
    }

    /// Begins a new interval for the watermarks of the memory of `switch`.
    pub fn restart_pool_watermarks(&mut self, switch: NodeId) {
        let first = self.ports_of(switch).next();
        let Some(classes) = first.and_then(|port| self.ports[port.index()].cold.classes.as_ref()) else {
            return;
        };
        if let Some(pool) = classes.pool {
            self.pools[pool as usize].restart_watermark();
        }
        if let Some(pfc) = classes.pfc {
            self.pfcs[pfc as usize].restart_headroom_watermark();
        }
    }
}
