//! Cores and disks: work takes its time, and waits for what came before it.

use crate::host::NORMAL;
use crate::key::Kind;
use crate::run::Sim;
use process::Event;
use units::{Bytes, Time};

/// Work under way on a core or a disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    process: u32,
    token: u64,
    life: u32,
    disk: bool,
    /// Grows from one to the next.
    number: u64,
}

impl Work {
    /// Its place among works that are done at the same time.
    pub(crate) fn rank(&self) -> (u32, u64) {
        (self.process, self.number)
    }
}

impl Sim {
    /// Occupies the core that is free first.
    pub(crate) fn compute(&mut self, process: u32, token: u64, time: Time) {
        let host = &mut self.net.hosts[self.processes[process as usize].host as usize];
        let time = time.mul_div(NORMAL, host.speed);
        let core = host.cores.iter_mut().min().expect("a host has a core");
        let now = self.net.now;
        let begins = *core <= now;
        let end = now.max(*core).saturating_add(time);
        *core = end;
        if begins && host.cores.iter().all(|free| *free > now) {
            host.busy_since = now;
        }
        host.core_busy += time;
        let life = host.life;
        self.finish_work_at(end, Work { process, token, life, disk: false, number: self.works_begun });
    }

    /// Queues for the disk, first come first served.
    pub(crate) fn disk(&mut self, process: u32, token: u64, bytes: u64) {
        let host = &mut self.net.hosts[self.processes[process as usize].host as usize];
        let time = host.config.disk.time_for(Bytes::new(bytes)).mul_div(NORMAL, host.speed);
        let end = self.net.now.max(host.disk_free).saturating_add(time);
        host.disk_free = end;
        host.disk_busy += time;
        let life = host.life;
        self.finish_work_at(end, Work { process, token, life, disk: true, number: self.works_begun });
    }

    fn finish_work_at(&mut self, end: Time, work: Work) {
        self.works_begun += 1;
        let slot = self.works.insert(work);
        self.net.outside.at(end, Kind::Work, slot);
    }

    pub(crate) fn on_work(&mut self, slot: u32) {
        let Some(work) = self.works.remove(slot) else { return };
        let host = self.processes[work.process as usize].host;
        if self.net.hosts[host as usize].life != work.life {
            return; // The host has crashed since.
        }
        let Work { process, token, .. } = work;
        self.tell(process, if work.disk { Event::DiskDone { token } } else { Event::Computed { token } });
    }
}
