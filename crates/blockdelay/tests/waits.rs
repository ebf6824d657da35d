//! Reads and writes of a zram device of the test's own wait what was asked for, by another clock than the
//! program's. Root only.
#![expect(clippy::disallowed_methods, reason = "what is tested is time, on a device")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use blockdelay::{Delay, Refused};
use farmem::cost::Cost;
use rustix::time::{ClockId, clock_gettime};
use units::{Rate, Time};

const PAGE: usize = 4096;
const PAGES: usize = 256;

/// A zram device, which is removed again.
struct Zram {
    number: String,
    file: Option<File>,
}

impl Zram {
    /// None where this user can't have one.
    fn new() -> Option<Zram> {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").ok()?.trim().to_owned();
        let mut zram = Zram { number, file: None };
        fs::write(zram.attribute("disksize"), (PAGES * PAGE).to_string()).expect("a new device");
        let device = format!("/dev/zram{}", zram.number);
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(device);
        zram.file = Some(file.expect("root may open it"));
        Some(zram)
    }

    fn attribute(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/sys/block/zram{}/{name}", self.number))
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("open until dropped")
    }

    fn numbers(&self) -> (u32, u32) {
        let device = self.file().metadata().expect("it is open").rdev();
        (rustix::fs::major(device), rustix::fs::minor(device))
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        self.file = None;
        // The kernel may still look at the device's content (udev): again until it lets go.
        let again = |_: &u32| fs::write("/sys/class/zram-control/hot_remove", &self.number).is_err();
        (0..100).take_while(again).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(20)));
    }
}

/// Nanoseconds of a clock that nobody adjusts.
fn now() -> u64 {
    let time = clock_gettime(ClockId::MonotonicRaw);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How long each of so many exchanges of one page took, in ns.
fn exchanges(zram: &Zram, count: usize, write: bool) -> io::Result<Vec<u64>> {
    let mut memory = vec![0u8; 2 * PAGE];
    let at = memory.as_ptr().align_offset(PAGE);
    let page = &mut memory[at..at + PAGE];
    (0..count)
        .map(|turn| {
            // Bytes that no compression makes much shorter, and that differ from page to page.
            let mut state = turn as u32 + 1;
            page.iter_mut().for_each(|byte| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (state >> 24) as u8;
            });
            let offset = ((turn % PAGES) * PAGE) as u64;
            let began = now();
            if write {
                zram.file().write_all_at(page, offset)?
            } else {
                zram.file().read_exact_at(page, offset)?
            }
            Ok(now() - began)
        })
        .collect()
}

fn median(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    values[values.len() / 2] as f64
}

/// What the quicker ones took: others on the machine make some exchanges longer, and none shorter.
fn undisturbed(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    values[values.len() / 10] as f64
}

/// How often a measurement may be repeated: others on the machine make waits longer for a while, a wrong wait
/// stays wrong.
const ATTEMPTS: usize = 4;

#[test]
fn an_exchange_waits_what_was_asked_by_another_clock() {
    let Some(zram) = Zram::new() else {
        return eprintln!("skipped: needs root and zram");
    };
    exchanges(&zram, PAGES, true).expect("the device is open");
    for (us, gbps) in [(1, 100), (10, 40), (20, 10), (100, 1)] {
        let cost = Cost::new(Time::from_us(us), Rate::from_gbps(gbps));
        let asked = cost.fault(1, 0, program_page()).as_ps() as f64 / 1000.0;
        for write in [false, true] {
            let allowed = (0.02 * asked).max(200.0);
            let close = |[program, pure]: &[f64; 2]| *program >= asked - allowed && *pure <= asked + allowed;
            let mut tried = Vec::new();
            let right = (0..ATTEMPTS).any(|_| {
                tried.push(waited(&zram, &cost, write));
                tried.last().is_some_and(close)
            });
            println!("asked {asked:.0} ns, waited {tried:.0?}; write: {write}");
            assert!(right, "asked {asked} ns, waited {tried:?}");
        }
    }
}

/// How much longer an exchange takes with this cost than without the programs, and than with programs that
/// wait for nothing: medians of five turns, in ns. The time that the programs take themselves, some of which
/// passes during the wait, lies between the two.
fn waited(zram: &Zram, cost: &Cost, write: bool) -> [f64; 2] {
    let (major, minor) = zram.numbers();
    let free = Cost::new(Time::ZERO, Rate::from_bps(u64::MAX));
    let timed = || undisturbed(exchanges(zram, 200, write).expect("it is open"));
    let differences = (0..5).map(|_| {
        let bare = timed();
        let none = Delay::new(major, minor, &free).expect("root may");
        let plain = timed();
        drop(none);
        let delay = Delay::new(major, minor, cost).expect("root may");
        let late = timed();
        let [reads, writes] = delay.counters().expect("its counters");
        let (used, idle) = if write { (writes, reads) } else { (reads, writes) };
        assert_eq!((used.requests, used.pages, idle.requests), (200, 200, 0));
        assert!(used.completed > 150, "others come between only now and then: {used:?}");
        assert_eq!(used.nominal_ps, 200 * cost.fault(1, 0, program_page()).as_ps());
        assert!(used.injected_ns * 1000 + 200_000 > used.nominal_ps, "{used:?}");
        assert!(used.own_ns > 0);
        [bare, plain].map(|without| (late - without).max(0.0) as u64)
    });
    let (program, pure) = differences.map(|[program, pure]| (program, pure)).unzip();
    [median(program), median(pure)]
}

fn program_page() -> units::Bytes {
    units::Bytes::new(PAGE as u64)
}

#[test]
fn other_devices_and_later_exchanges_do_not_wait() {
    let (Some(slow), Some(other)) = (Zram::new(), Zram::new()) else {
        return eprintln!("skipped: needs root and zram");
    };
    exchanges(&slow, PAGES, true).expect("it is open");
    exchanges(&other, PAGES, true).expect("it is open");
    let (major, minor) = slow.numbers();
    let cost = Cost::new(Time::from_ms(5), Rate::from_gbps(40));
    let delay = Delay::new(major, minor, &cost).expect("root may");
    assert!(median(exchanges(&other, 20, false).expect("it is open")) < 4e6);
    assert!(median(exchanges(&slow, 20, false).expect("it is open")) > 5e6);
    assert_eq!(delay.counters().expect("its counters")[0].requests, 20);
    drop(delay);
    assert!(median(exchanges(&slow, 20, false).expect("it is open")) < 4e6);
}

#[test]
fn write_back_that_nobody_waits_for_is_counted_all_the_same() {
    let Some(zram) = Zram::new() else {
        return eprintln!("skipped: needs root and zram");
    };
    let (major, minor) = zram.numbers();
    let cost = Cost::new(Time::from_ms(5), Rate::from_gbps(40)).without_write_back();
    let delay = Delay::new(major, minor, &cost).expect("root may");
    assert!(median(exchanges(&zram, 20, true).expect("it is open")) < 4e6);
    let [_, writes] = delay.counters().expect("its counters");
    assert_eq!((writes.requests, writes.nominal_ps), (20, 0));
}

#[test]
fn a_wait_that_would_hold_the_processor_too_long_is_refused() {
    let cost = Cost::new(Time::from_ms(11), Rate::from_gbps(40));
    let refused = Delay::new(1, 1, &cost).expect_err("too long");
    assert!(matches!(refused, Refused::TooLong(_)));
    assert!(refused.to_string().contains("at most 0.01 s is allowed"), "{refused}");
}
