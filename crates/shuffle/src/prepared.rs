//! What follows from a job: its maps, which reduce gets which part of their output, where blocks are.

use crate::job::{Framework, Job};
use process::HostId;
use rand::{Rng, RngExt};
use units::{Bytes, Rate, Time};

/// Millionths: parts of a whole without floats.
pub(crate) const MILLION: u64 = 1_000_000;
/// Part of the sort buffer at which a map spills (`mapreduce.map.sort.spill.percent`).
const SPILL_PERCENT: u64 = 80;
/// A map output of more than this part of the shuffle buffer goes to disk
/// (`mapreduce.reduce.shuffle.memory.limit.percent`).
const LARGE_PERCENT: u64 = 25;

/// A job and all that is drawn for it before it begins.
#[derive(Debug)]
pub(crate) struct PreparedJob {
    pub job: Job,
    /// Every node listens on it.
    pub port: u16,
    pub maps: u32,
    /// Data nodes of each block, in the order in which a reader tries them.
    pub replicas: Vec<Vec<HostId>>,
    /// Of what is read back from a local disk, millionths that the page cache doesn't have.
    pub uncached: u64,
    /// A map spills when so much is collected.
    pub spill_at: u64,
    /// A reduce begins no fetch while more than this is in its buffer.
    pub buffer_limit: u64,
    /// So much fetched and not yet merged is merged to disk.
    pub merge_limit: u64,
    /// Larger map outputs don't go through the buffer.
    pub large: u64,
}

fn percent(bytes: u64, percent: u64) -> u64 {
    (u128::from(bytes) * u128::from(percent) / 100) as u64
}

impl PreparedJob {
    pub(crate) fn new(job: Job, port: u16, rng: &mut dyn Rng) -> PreparedJob {
        let maps = job.maps() as u32;
        let copies = job.input_replication as usize;
        let replicas = (0..maps).map(|_| sample(&job.data, copies, None, rng)).collect();
        let buffer_limit = part_of(job.reduce_memory, job.shuffle_buffer).max(1);
        PreparedJob {
            port,
            maps,
            replicas,
            uncached: MILLION - part_of(MILLION, job.costs.page_cache),
            spill_at: percent(job.io_sort, SPILL_PERCENT).max(1),
            buffer_limit,
            merge_limit: part_of(buffer_limit, job.merge_at).max(1),
            large: percent(buffer_limit, LARGE_PERCENT),
            job,
        }
    }

    pub(crate) fn tez(&self) -> bool {
        self.job.framework == Framework::Tez
    }

    /// Until the ResourceManager agrees that the job is over: its first answer never does, and the
    /// application master asks again a heartbeat later (RMCommunicator.doUnregistration). Tez asks sooner.
    pub(crate) fn unregistering(&self) -> Time {
        if self.tez() { Time::ZERO } else { self.job.costs.master_heartbeat }
    }

    /// Bytes of input, and of output, of a map.
    pub(crate) fn split(&self, map: u32) -> u64 {
        self.job.block.min(self.job.bytes - u64::from(map) * self.job.block)
    }

    /// Bytes of the output of `map` for `reduce`. TeraSort samples its keys, so parts are even; what doesn't
    /// divide is spread in rotation.
    pub(crate) fn part(&self, map: u32, reduce: u32) -> u64 {
        let (split, reduces) = (self.split(map), u64::from(self.job.reduces));
        let turn = (u64::from(map) + u64::from(reduce)) % reduces;
        split / reduces + u64::from(turn < split % reduces)
    }

    /// Of so many bytes read back from a local disk, those that the disk has to read.
    pub(crate) fn disk_part(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * u128::from(self.uncached) / u128::from(MILLION)) as u64
    }

    /// How much slower than average a task is, in millionths.
    pub(crate) fn draw_slowness(&self, rng: &mut dyn Rng) -> u64 {
        let spread = part_of(MILLION, self.job.costs.variation);
        rng.random_range(MILLION - spread..=MILLION + spread)
    }
}

/// Time of a core for `bytes` at `rate`, of a task that is so slow.
pub(crate) fn core_time(rate: Rate, bytes: u64, slowness: u64) -> Time {
    rate.time_for(Bytes::new(bytes)).mul_div(slowness, MILLION)
}

/// `n` different members in random order, not `without` if there are enough others.
pub(crate) fn sample(
    members: &[HostId],
    n: usize,
    without: Option<HostId>,
    rng: &mut dyn Rng,
) -> Vec<HostId> {
    let mut left: Vec<HostId> = members.iter().copied().filter(|host| Some(*host) != without).collect();
    if left.len() < n {
        left = members.to_vec();
    }
    let n = n.min(left.len());
    for at in 0..n {
        let other = rng.random_range(at as u64..left.len() as u64) as usize;
        left.swap(at, other);
    }
    left.truncate(n);
    left
}

/// A part of a number, rounded down; `part` is 0 to 1.
fn part_of(number: u64, part: f64) -> u64 {
    (number as f64 * part) as u64
}
