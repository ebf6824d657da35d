//! Processor time and processor affinity. Pages: clock_gettime(2), sched_setaffinity(2).

use rustix::thread::CpuSet;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
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

impl Pinned {
    /// The other processors on which the thread may have run before.
    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        (0..CpuSet::MAX_CPU).filter(|cpu| self.before.is_set(*cpu) && *cpu != self.cpu)
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

/// How long a thread has waited for a processor, though it could have gone on.
#[derive(Debug)]
pub struct Waits(File);

impl Waits {
    /// Of the calling thread.
    ///
    /// # Errors
    /// A kernel that does not count it.
    pub fn here() -> io::Result<Waits> {
        File::open("/proc/thread-self/schedstat").map(Waits)
    }

    /// So far.
    ///
    /// # Errors
    /// None that is known of.
    pub fn so_far(&self) -> io::Result<Duration> {
        let mut text = [0; 80];
        let len = self.0.read_at(&mut text, 0)?;
        // Time on a processor, time that it waited for one, times that it had one (sched-stats.rst).
        let words = std::str::from_utf8(&text[..len]).ok().into_iter().flat_map(|text| text.split(' '));
        let waited = words.skip(1).find_map(|word| word.parse().ok());
        waited.map(Duration::from_nanos).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Until this is dropped, the calling thread precedes all that have no such precedence themselves, never runs
/// for long at a time where others wait (sched_setattr(2)), and its sleeps are no longer than asked for
/// (`PR_SET_TIMERSLACK` of prctl(2)). What it starts is as others are, but for its sleeps.
///
/// It has no real-time policy: one that is always busy would keep others from its processor, and Linux then
/// gives them 50 ms at a time.
#[derive(Debug)]
pub struct First {
    /// Nanoseconds that its sleeps might be longer before.
    slack: u64,
}

impl First {
    /// Gives the calling thread precedence.
    ///
    /// # Errors
    /// What the kernel says: it may not be allowed.
    pub fn here() -> io::Result<First> {
        schedule(-20, SLICE)?;
        let slack = rustix::thread::current_timer_slack()?;
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        Ok(First { slack })
    }
}

impl Drop for First {
    fn drop(&mut self) {
        // It may always be given up.
        schedule(0, Duration::ZERO).ok();
        rustix::thread::set_current_timer_slack(NonZeroU64::new(self.slack)).ok();
    }
}

/// What runs beside the first thread runs for so long at a time.
const SLICE: Duration = Duration::from_micros(100);

/// The nice value of the calling thread, and how long it runs at a time where others wait; zero: the usual.
fn schedule(nice: i32, slice: Duration) -> io::Result<()> {
    // SAFETY: a structure of integers may be zero.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    attributes.size = size_of_val(&attributes) as u32;
    attributes.sched_policy = libc::SCHED_OTHER as u32;
    attributes.sched_flags = libc::SCHED_FLAG_RESET_ON_FORK as u64;
    attributes.sched_nice = nice;
    attributes.sched_runtime = slice.as_nanos() as u64;
    // SAFETY: the kernel reads the structure only.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
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
        assert_eq!(pinned.others().count() + 1, before.len());
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
    fn a_thread_that_shares_its_processor_waits_for_it() {
        let pinned = Pinned::here().unwrap();
        let waits = Waits::here().unwrap();
        let before = waits.so_far().unwrap();
        let work = || {
            let begun = thread_time();
            while thread_time() - begun < Duration::from_millis(20) {}
        };
        // It is on this processor too.
        let other = std::thread::spawn(work);
        work();
        other.join().unwrap();
        assert!(waits.so_far().unwrap() > before);
        drop(pinned);
    }

    #[test]
    fn a_thread_comes_first_for_a_while() {
        // SAFETY: it is asked for its own value.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let before = nice();
        let first = std::thread::spawn(move || {
            let first = First::here().ok()?;
            let while_first = nice();
            let child = std::thread::spawn(nice).join().unwrap();
            drop(first);
            Some((while_first, child, nice()))
        });
        // Without the right to it nothing changes.
        assert!(matches!(first.join().unwrap(), None | Some((-20, 0, 0))));
        assert_eq!(nice(), before);
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
