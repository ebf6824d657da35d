//! A block device that answers as late as remote memory: each page that is read from it or written to it
//! waits as [`farmem::cost`] says, in the requesting thread.
//!
//! The waits are made by a BPF program at `block_bio_queue` (`program`). It is assembled here
//! (`assembler`) for the running kernel (`layout`), so that no compiler, no headers and no module are
//! needed. Linux 5.17 and newer (`bpf_loop`), with BTF. The choice of the device and of its users is not made
//! here.
//!
//! The first zram device answers as late as memory that is 10 µs and a link of 40 Gb/s away (root only):
//!
//! ```no_run
//! use blockdelay::Delay;
//! use farmem::cost::Cost;
//! use std::os::unix::fs::MetadataExt;
//! use units::{Rate, Time};
//!
//! let number = std::fs::metadata("/dev/zram0")?.rdev();
//! let cost = Cost::new(Time::from_us(10), Rate::from_gbps(40));
//! let delay = Delay::new(rustix::fs::major(number), rustix::fs::minor(number), &cost)?;
//! // Here a program swaps to the device. It answers late until `delay` is dropped.
//! let [reads, writes] = delay.counters()?;
//! println!("pages read: {}, written: {}", reads.pages, writes.pages);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A distance that would keep the processor busy for too long is refused before the kernel is asked:
//!
//! ```
//! # use blockdelay::{Delay, Refused};
//! # use farmem::cost::Cost;
//! # use units::{Rate, Time};
//! let cost = Cost::new(Time::from_ms(20), Rate::from_gbps(40));
//! assert!(matches!(Delay::new(251, 0, &cost), Err(Refused::TooLong(_))));
//! ```

mod assembler;
mod layout;
mod program;

use std::fs;
use std::io;

use farmem::cost::Cost;
use sys::bpf::{Attached, Function, Kind, Map, Program, Types};
use units::Time;

use crate::layout::Layout;
use crate::program::Maps;

/// The longest wait: the processor is kept busy for so long, and nobody else gets it.
pub const LONGEST: Time = Time::from_ms(10);
const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Why no device can be made slow here.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Longer than [`LONGEST`].
    #[error(
        "a page would take {}: at most {} is allowed, because the processor is kept busy for so long", seconds(.0), seconds(&LONGEST)
    )]
    TooLong(Time),
    /// No description of the kernel's types, or not in a form that is known.
    #[error("this kernel doesn't describe its types in {TYPES}: one built with CONFIG_DEBUG_INFO_BTF=y does")]
    Types,
    /// The right to load programs.
    #[error(
        "this user may load no BPF programs: it takes root (CAP_BPF and CAP_PERFMON), and a kernel that isn't locked down"
    )]
    Permission,
    /// Anything else.
    #[error(
        "the kernel takes no BPF program at {0}: {1}; Linux 5.17 or newer with CONFIG_BPF_SYSCALL=y and CONFIG_BPF_EVENTS=y does"
    )]
    Kernel(&'static str, io::Error),
}

fn seconds(time: &Time) -> String {
    format!("{} s", time.as_secs_f64())
}

impl Refused {
    fn at(what: &'static str) -> impl Fn(io::Error) -> Refused {
        move |error| match error.raw_os_error() {
            Some(EPERM) => Refused::Permission,
            _ => Refused::Kernel(what, error),
        }
    }
}

/// errno(3)
const EPERM: i32 = 1;

/// A direction's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// I/Os.
    pub requests: u64,
    /// Pages in them.
    pub pages: u64,
    /// What they cost, in ps.
    pub nominal_ps: u64,
    /// What was waited, in ns.
    pub injected_ns: u64,
    /// I/Os whose end was seen.
    pub completed: u64,
    /// What the device itself took for these, in ns.
    pub own_ns: u64,
}

impl Counters {
    fn of(words: &[u64]) -> Counters {
        let [requests, pages, nominal_ps, injected_ns, completed, own_ns] = words[..program::COUNTERS] else {
            unreachable!("a direction has so many")
        };
        Counters { requests, pages, nominal_ps, injected_ns, completed, own_ns }
    }
}

/// A device that answers late, until this is dropped.
#[derive(Debug)]
pub struct Delay {
    counters: Map,
    _attached: [Attached; 2],
}

impl Delay {
    /// From now on, for the device of this number.
    ///
    /// # Errors
    /// What lacks, with the way out.
    pub fn new(major: u32, minor: u32, cost: &Cost) -> Result<Delay, Refused> {
        let longest = cost.fault(1, 0, program::PAGE).max(cost.fault(0, 1, program::PAGE));
        if longest > LONGEST {
            return Err(Refused::TooLong(longest));
        }
        let layout = fs::read(TYPES).ok().and_then(|btf| Layout::read(&btf)).ok_or(Refused::Types)?;
        let counters = Map::new(Kind::Array, 4, 2 * program::COUNTERS_BYTES as u32, 1);
        let counters = counters.map_err(Refused::at("its counters"))?;
        let latest = Map::new(Kind::ArrayAProcessor, 4, program::LATEST_BYTES, 1);
        let latest = latest.map_err(Refused::at("its counters"))?;
        let maps = Maps { counters: counters.number(), latest: latest.number() };
        let completed = attach("block_bio_complete", &program::complete(maps), &[])?;
        // As the kernel has it inside: MKDEV of include/linux/kdev_t.h.
        let (queue, spin) = program::queue(major << 20 | minor, cost, &layout, maps);
        let queued = attach(
            "block_bio_queue",
            &queue,
            &[Function { instruction: spin, type_id: layout::CALLED_BACK }],
        )?;
        Ok(Delay { counters, _attached: [queued, completed] })
    }

    /// Reads and writes until now.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn counters(&self) -> io::Result<[Counters; 2]> {
        let value = self.counters.value(&[0; 4])?;
        let words: Vec<u64> =
            value.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight"))).collect();
        Ok([&words[..program::COUNTERS], &words[program::COUNTERS..]].map(Counters::of))
    }
}

fn attach(event: &'static str, instructions: &[u64], others: &[Function]) -> Result<Attached, Refused> {
    let types = Types::load(&layout::functions()).map_err(Refused::at(event))?;
    let functions = [&[Function { instruction: 0, type_id: layout::MAIN }], others].concat();
    let program = Program::load(instructions, program::LICENSE, &types, &functions);
    program.and_then(|program| program.attach(event)).map_err(Refused::at(event))
}
