//! Processor time and processor affinity. Pages: clock_gettime(2), sched_setaffinity(2).

use rustix::thread::CpuSet;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Processor time that this process has used, all threads together.
pub fn process_time() -> Duration {
    clock(ClockId::ProcessCPUTime)
}

/// Processor time that the calling thread has used.
pub fn thread_time() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

/// Processor time that a thread of this process has used; none where there is no such thread.
pub fn time_of_thread(thread: u32) -> Option<Duration> {
    // Linux has no name for this clock: CPUCLOCK_SCHED and CPUCLOCK_PERTHREAD_MASK of <linux/posix-timers.h>.
    let clock = (!thread as i32) << 3 | 2 | 4;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to this place only.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Nanoseconds of a clock that only goes on.
#[inline]
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Processors that the calling thread may run on.
///
/// # Errors
/// What the kernel says.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// Keeps the calling thread on one processor.
///
/// # Errors
/// When there is no such processor, or the thread may not run on it.
pub fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// The processors of all [`Pinned`] threads of this process.
static PINNED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The calling thread stays on one processor, and so does each process that it starts, until this is dropped.
/// Of the processors that it may run on it is the one with the fewest other such threads.
#[derive(Debug)]
pub struct Pinned {
    cpu: usize,
    before: CpuSet,
}

impl Pinned {
    /// Pins the calling thread.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn here() -> io::Result<Pinned> {
        let before = rustix::thread::sched_getaffinity(None)?;
        let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
        let others = |cpu: &usize| pinned.iter().filter(|other| *other == cpu).count();
        // Of several, the one where it runs: other programs that pin themselves are elsewhere, most likely.
        let here = rustix::thread::sched_getcpu();
        let cpu = allowed()?
            .into_iter()
            .min_by_key(|cpu| (others(cpu), *cpu != here))
            .ok_or(io::ErrorKind::NotFound)?;
        pin(cpu)?;
        pinned.push(cpu);
        Ok(Pinned { cpu, before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let mut pinned = PINNED.lock().unwrap_or_else(PoisonError::into_inner);
        pinned.iter().position(|cpu| *cpu == self.cpu).map(|at| pinned.swap_remove(at));
        // Where it may not run any more, it stays where it is.
        rustix::thread::sched_setaffinity(None, &self.before).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_for_a_while() {
        let before = allowed().unwrap();
        let pinned = Pinned::here().unwrap();
        assert_eq!(allowed().unwrap(), [pinned.cpu]);
        drop(pinned);
        assert_eq!(allowed().unwrap(), before);
    }

    use std::hint::black_box;

    #[test]
    fn work_takes_processor_time() {
        let (process, thread) = (process_time(), thread_time());
        let mut sum = 0u64;
        while thread_time() - thread < Duration::from_millis(5) {
            sum = black_box(sum.wrapping_mul(3) + 1);
        }
        assert!(process_time() - process >= Duration::from_millis(5));
    }

    #[test]
    fn a_thread_stays_where_it_is_put() {
        let cpu = *allowed().unwrap().last().unwrap();
        std::thread::spawn(move || {
            pin(cpu).unwrap();
            assert_eq!(allowed().unwrap(), [cpu]);
        })
        .join()
        .unwrap();
        assert!(pin(CpuSet::MAX_CPU).is_err());
    }
}
