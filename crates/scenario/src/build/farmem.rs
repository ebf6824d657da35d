//! Programs of a scenario on remote memory, and their memory nodes, as those of [`farmem::pager`].

use super::jobs::Look;
use crate::problem::Problem;
use crate::spec::{
    Farmem, FarmemLocal, FarmemOrder, FarmemPattern, FarmemPolicy, FarmemSchedule, FarmemWriteBack,
};
use farmem::cache::Policy;
use farmem::local::Setting;
use farmem::pager::{
    Board, Costs, Memory, Pattern, Program, Recorded, Schedule, Settings, Shape, Source, WriteBack,
};
use farmem::trace::Trace;
use process::{Addr, HostId, Process, rng};
use std::sync::Arc;
use units::{Bytes, Time};

type Processes = Vec<(HostId, Box<dyn Process>)>;
type Wrong = (String, String);

/// What the programs of a job show of themselves.
pub(crate) struct Shown {
    /// Number of the job.
    pub job: usize,
    pub programs: Vec<ProgramShown>,
}

/// A program.
pub(crate) struct ProgramShown {
    pub host: HostId,
    pub memory: HostId,
    /// Pages that it has in use at most, and those that fit into local memory.
    pub pages: u64,
    pub local_pages: u64,
    pub page: Bytes,
    /// What it takes with all memory local.
    pub all_local: Time,
    pub board: Board,
}

/// Most pages that a pattern goes to, its matrices' together: a program takes some 40 bytes for each.
const PAGES_MAX: u64 = 1 << 22;
const ACCESSES_MAX: u64 = 1_000_000_000;
const TIMES_MAX: u64 = 1_000_000;

/// The programs and memory nodes of a job, by number and name of the run's seed.
pub(super) fn processes(
    spec: &Farmem,
    look: &Look<'_>,
    (index, port): (usize, u16),
    (seed, name): (u64, &str),
) -> Result<(Processes, Shown), Problem> {
    let problem = |(field, message): Wrong| Problem::new(format!("{}.{field}", look.path), message);
    let programs = look.hosts(&spec.programs, "programs")?;
    let memory = look.hosts(&spec.memory, "memory")?;
    check_hosts(&programs, &memory).map_err(problem)?;
    let pattern = pattern(spec).map_err(problem)?;
    let footprint = pattern.footprint();
    let settings = Arc::new(settings(spec, footprint).map_err(problem)?);
    settings.check().map_err(|wrong| problem((wrong.field.into(), wrong.message)))?;
    let mut processes: Processes = Vec::with_capacity(programs.len() + memory.len());
    for host in &memory {
        let node = Memory::new(port, settings.schedule, settings.costs.serve);
        processes.push((*host, Box::new(node)));
    }
    let mut shown = Shown { job: index, programs: Vec::with_capacity(programs.len()) };
    for (number, host) in programs.into_iter().enumerate() {
        let (at, board) = (memory[number % memory.len()], Board::default());
        let source = match &pattern {
            Accesses::Recorded(recorded) => Source::recorded(Arc::clone(recorded)),
            Accesses::Made(pattern) => {
                Source::made(*pattern, rng::stream(seed, &format!("accesses of {name} {number}")))
            }
        };
        shown.programs.push(ProgramShown {
            host,
            memory: at,
            pages: footprint,
            local_pages: u64::from(settings.local.capacity),
            page: spec.page,
            all_local: source.all_local(),
            board: board.clone(),
        });
        let memory = Addr { host: at, port };
        let program = Program::new(number as u64, Arc::clone(&settings), source, memory, board);
        processes.push((host, Box::new(program)));
    }
    Ok((processes, shown))
}

fn wrong<T>(field: &str, message: impl Into<String>) -> Result<T, Wrong> {
    Err((field.into(), message.into()))
}

fn check_hosts(programs: &[HostId], memory: &[HostId]) -> Result<(), Wrong> {
    for (field, hosts) in [("programs", programs), ("memory", memory)] {
        if hosts.is_empty() {
            return wrong(field, "no host: at least one is needed");
        }
        let mut sorted = hosts.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong(field, format!("host number {} stands there twice", pair[0].0));
        }
    }
    match memory.iter().find(|host| programs.contains(host)) {
        Some(host) => wrong("memory", format!("host number {} runs a program: its memory is local", host.0)),
        None => Ok(()),
    }
}

/// What programs do, ready to be gone through.
enum Accesses {
    Recorded(Arc<Recorded>),
    Made(Pattern),
}

impl Accesses {
    /// Pages in use at most.
    fn footprint(&self) -> u64 {
        match self {
            Accesses::Recorded(recorded) => recorded.steps.footprint.into(),
            Accesses::Made(pattern) => pattern.pages.into(),
        }
    }
}

fn settings(spec: &Farmem, footprint: u64) -> Result<Settings, Wrong> {
    let page = spec.page.get();
    let pages = match spec.local {
        FarmemLocal::Bytes(bytes) => bytes.get() / page,
        FarmemLocal::Share(share) => (footprint as f64 * share) as u64,
    };
    if pages == 0 || pages >= 1 << 31 {
        let of = format!("{pages} pages of {page} bytes");
        return wrong("local", format!("{of}: at least one and fewer than 2^31 are allowed"));
    }
    if !(1.0..=1000.0).contains(&spec.compression) {
        return wrong("compression", format!("{}: 1 to 1000 is allowed", spec.compression));
    }
    Ok(Settings {
        local: Setting {
            policy: match spec.policy {
                FarmemPolicy::Fifo => Policy::Fifo,
                FarmemPolicy::Clock => Policy::Clock,
                FarmemPolicy::Lru => Policy::Lru,
            },
            read_ahead: spec.read_ahead,
            pages_a_request: spec.pages_a_request,
            ..Setting::new(pages as u32, Policy::Fifo)
        },
        page: Bytes::new((page as f64 / spec.compression).ceil() as u64),
        write_back: match spec.write_back {
            FarmemWriteBack::Before => WriteBack::Before,
            FarmemWriteBack::After => WriteBack::After { most: spec.write_buffer },
        },
        schedule: match spec.schedule {
            FarmemSchedule::Fifo => Schedule::Fifo,
            FarmemSchedule::ReadsFirst => Schedule::ReadsFirst,
            FarmemSchedule::ShortestFirst => Schedule::ShortestFirst,
        },
        costs: Costs {
            handler: spec.costs.handler,
            compress: spec.costs.compress,
            decompress: spec.costs.decompress,
            serve: spec.costs.serve,
        },
    })
}

fn pattern(spec: &Farmem) -> Result<Accesses, Wrong> {
    let page = spec.page.get();
    if !page.is_power_of_two() || !(4096..=2 << 20).contains(&page) {
        return wrong("page", format!("{} is not allowed: a power of two from 4 KiB to 2 MiB is", spec.page));
    }
    match &spec.pattern {
        FarmemPattern::Trace { words } => recorded(words, page),
        FarmemPattern::Accesses { order, size, accesses, writes, compute } => {
            let shape = match *order {
                FarmemOrder::Sequential => Shape::Sequential,
                FarmemOrder::Random => Shape::Random,
                FarmemOrder::Zipf(skew) if (0.01..=10.0).contains(&skew) => Shape::Zipf { skew },
                FarmemOrder::Zipf(skew) => {
                    return wrong("pattern.skew", format!("{skew}: 0.01 to 10 is allowed"));
                }
            };
            let pages = size.get().div_ceil(page);
            if !(1..=PAGES_MAX).contains(&pages) {
                return wrong("pattern.size", format!("{pages} pages: 1 to {PAGES_MAX} are allowed"));
            }
            if !(1..=ACCESSES_MAX).contains(accesses) {
                return wrong("pattern.accesses", format!("{accesses}: 1 to {ACCESSES_MAX} are allowed"));
            }
            if !(0.0..=1.0).contains(writes) {
                return wrong("pattern.writes", format!("{writes}: 0 to 1 is allowed"));
            }
            let (pages, times) = (pages as u32, *accesses);
            Ok(Accesses::Made(Pattern { shape, pages, times, writes: *writes, compute: *compute }))
        }
        FarmemPattern::Convolution { matrix, kernel, times, compute } => {
            let row = 8 * u64::from(*matrix);
            if kernel % 2 == 0 || kernel > matrix {
                return wrong("pattern.kernel", format!("{kernel}: an odd number up to {matrix} is allowed"));
            }
            if !(1..=TIMES_MAX).contains(times) {
                return wrong("pattern.times", format!("{times}: 1 to {TIMES_MAX} are allowed"));
            }
            if row.saturating_mul(u64::from(*matrix)).div_ceil(page) > PAGES_MAX / 2 {
                return wrong("pattern.matrix", format!("{matrix}: more than {PAGES_MAX} pages"));
            }
            let pattern = Pattern::convolution(*matrix, row, *kernel, page, *times, *compute);
            if pattern.accesses() > ACCESSES_MAX {
                return wrong("pattern.times", format!("{times}: more than {ACCESSES_MAX} accesses"));
            }
            Ok(Accesses::Made(pattern))
        }
    }
}

fn recorded(words: &[u64], page: u64) -> Result<Accesses, Wrong> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let trace = Trace::read(&bytes).map_err(|error| ("pattern.file".into(), error.to_string()))?;
    let (bits, traced) = (page.trailing_zeros() as u8, trace.header.page_bits);
    let Some(recorded) = Recorded::new(&trace, bits) else {
        let message =
            format!("{page} bytes: the trace has pages of {} bytes, and more is allowed", 1u64 << traced);
        return wrong("page", message);
    };
    if recorded.steps.footprint == 0 {
        return wrong("pattern.file", "nothing is accessed in it");
    }
    Ok(Accesses::Recorded(Arc::new(recorded)))
}
