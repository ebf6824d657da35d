//! Programs whose memory lies at memory nodes: those of [`farmem::pager`], and the tables `programs` and
//! `faults`.

use super::kind::{Cast, Gathered, Kind, Out, Place, Processes, Shown};
use farmem::local::Setting;
use farmem::pager::{
    Board, Fault, Memory, Order, Outcome, Pattern, Program, Recorded, Settings, Shape, ThreadAccesses,
};
use farmem::trace::Trace;
use process::{Addr, HostId, Hosts, distinct, rng};
use record::Error;
use record::rows::{self, ProgramOutcome};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Bytes, Path, Problem, Time, in_range};

/// Programs on remote memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Farmem {
    /// Where programs run, one each.
    pub programs: Vec<String>,
    /// The memory nodes: programs take them in turn.
    pub memory: Vec<String>,
    /// What each program does to its memory.
    pub pattern: FarmemPattern,
    /// Local memory of each.
    pub local: FarmemLocal,
    /// Size of a page: a power of two.
    pub page: Bytes,
    /// Which pages are local.
    #[serde(flatten)]
    pub paging: Setting,
    /// How pages travel.
    #[serde(flatten)]
    pub settings: Settings,
    /// A page travels as its size divided by this, at least 1.
    pub compression: f64,
}

/// What a program does to its memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FarmemPattern {
    /// What a traced program did.
    Trace {
        /// The trace, in little-endian words.
        words: Vec<u64>,
    },
    /// Accesses that are made up.
    Accesses {
        /// Which page comes next.
        order: Order,
        /// Memory that they go to.
        size: Bytes,
        /// How many.
        accesses: u64,
        /// Part of them that writes.
        writes: f64,
        /// Computed before each.
        compute: Time,
        /// Among how many threads they are shared.
        threads: u32,
    },
    /// A square matrix of float64 is convolved into another.
    Convolution {
        /// Its rows and columns.
        matrix: u32,
        /// Those of the kernel: odd.
        kernel: u32,
        /// How often.
        times: u64,
        /// Before each access to a row's part of a page.
        compute: Time,
        /// Among how many threads the rows are shared.
        threads: u32,
    },
}

/// Size of local memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FarmemLocal {
    /// As much.
    Bytes(Bytes),
    /// Part of the most that the program has in use.
    Share(f64),
}

/// Most pages that a pattern goes to, its matrices' together: a program takes some 40 bytes for each.
const PAGES_MAX: u64 = 1 << 22;
const ACCESSES_MAX: u64 = 1_000_000_000;
const TIMES_MAX: u64 = 1_000_000;
const THREADS_MAX: u32 = 256;

impl Kind for Farmem {
    fn name(&self) -> &'static str {
        "farmem"
    }

    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem> {
        let Place { port, seed, name, .. } = *place;
        let programs = place.names.all(&self.programs, "programs")?;
        let memory = place.names.all(&self.memory, "memory")?;
        check_hosts(&programs, &memory)?;
        let pattern = pattern(self)?;
        let footprint = pattern.footprint();
        let settings = Arc::new(settings(self, footprint)?);
        settings.check()?;
        let mut processes: Processes = Vec::with_capacity(programs.len() + memory.len());
        for host in &memory {
            let node = Memory::new(port, settings.schedule, settings.costs.serve);
            processes.push((*host, Box::new(node)));
        }
        let mut shown = Vec::with_capacity(programs.len());
        for (number, host) in programs.into_iter().enumerate() {
            let (at, board) = (memory[number % memory.len()], Board::default());
            let threads = pattern.threads(seed, &format!("accesses of {name} {number}"));
            shown.push(Shows {
                host,
                memory: at,
                pages: footprint,
                local_pages: u64::from(settings.local.capacity),
                page: self.page,
                threads: threads.len() as u64,
                all_local: threads.iter().map(ThreadAccesses::all_local).max().unwrap_or_default(),
                board: board.clone(),
            });
            let memory = Addr { host: at, port };
            let program = Program::new(number as u64, Arc::clone(&settings), threads, memory, board);
            processes.push((host, Box::new(program)));
        }
        Ok(Cast { processes, shown: Box::new(Programs { all: shown, ..Programs::default() }) })
    }

    fn check_live(&self) -> Result<(), Problem> {
        Err(Problem::new("kind", "farmem is a model of programs: `incast farmem run` runs a real one"))
    }
}

fn wrong<T>(field: impl Into<Path>, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::new(field, message.into()))
}

fn check_hosts(programs: &[HostId], memory: &[HostId]) -> Result<(), Problem> {
    for (field, hosts) in [("programs", programs), ("memory", memory)] {
        if hosts.is_empty() {
            return wrong(field, "no host: at least one is needed");
        }
        distinct(field, hosts)?;
    }
    match memory.iter().find(|host| programs.contains(host)) {
        Some(host) => wrong("memory", format!("host number {} runs a program: its memory is local", host.0)),
        None => Ok(()),
    }
}

/// What programs do, ready to be gone through.
enum Accesses {
    Recorded(Arc<Recorded>),
    /// Among so many threads.
    Made(Pattern, u32),
}

impl Accesses {
    /// Pages in use at most.
    fn footprint(&self) -> u64 {
        match self {
            Accesses::Recorded(recorded) => recorded.steps.footprint.into(),
            Accesses::Made(pattern, _) => pattern.pages.into(),
        }
    }

    /// Those of a program's threads, of which each has random streams of its own.
    fn threads(&self, seed: u64, name: &str) -> Vec<ThreadAccesses> {
        let stream = |thread| match thread {
            0 => rng::stream(seed, name),
            _ => rng::stream(seed, &format!("{name} thread {thread}")),
        };
        match self {
            Accesses::Recorded(recorded) => ThreadAccesses::recorded(recorded),
            Accesses::Made(pattern, threads) => {
                ThreadAccesses::made(*pattern, (0..*threads).map(stream).collect())
            }
        }
    }
}

fn settings(spec: &Farmem, footprint: u64) -> Result<Settings, Problem> {
    let page = spec.page.get();
    let pages = match spec.local {
        FarmemLocal::Bytes(bytes) => bytes.get() / page,
        FarmemLocal::Share(share) => (footprint as f64 * share) as u64,
    };
    if pages == 0 || pages >= 1 << 31 {
        let of = format!("{pages} pages of {page} bytes");
        return wrong("local", format!("{of}: at least one and fewer than 2^31 are allowed"));
    }
    in_range("compression", spec.compression, 1.0..=1000.0)?;
    Ok(Settings {
        local: Setting { capacity: pages as u32, ..spec.paging },
        page: Bytes::new((page as f64 / spec.compression).ceil() as u64),
        ..spec.settings
    })
}

fn pattern(spec: &Farmem) -> Result<Accesses, Problem> {
    let page = spec.page.get();
    if !page.is_power_of_two() || !(4096..=2 << 20).contains(&page) {
        return wrong("page", format!("{} is not allowed: a power of two from 4 KiB to 2 MiB is", spec.page));
    }
    match &spec.pattern {
        FarmemPattern::Trace { words } => recorded(words, page),
        FarmemPattern::Accesses { order, size, accesses, writes, compute, threads } => {
            if let Order::Zipf(skew) = order {
                in_range(["pattern", "skew"], *skew, 0.01..=10.0)?;
            }
            let pages = size.get().div_ceil(page);
            if !(1..=PAGES_MAX).contains(&pages) {
                return wrong(["pattern", "size"], format!("{pages} pages: 1 to {PAGES_MAX} are allowed"));
            }
            in_range(["pattern", "accesses"], *accesses, 1..=ACCESSES_MAX)?;
            in_range(["pattern", "writes"], *writes, 0.0..=1.0)?;
            let (shape, pages, times) = (Shape::Ordered(*order), pages as u32, *accesses);
            made(Pattern { shape, pages, times, writes: *writes, compute: *compute }, *threads)
        }
        FarmemPattern::Convolution { matrix, kernel, times, compute, threads } => {
            let row = 8 * u64::from(*matrix);
            if kernel % 2 == 0 || kernel > matrix {
                return wrong(
                    ["pattern", "kernel"],
                    format!("{kernel}: an odd number up to {matrix} is allowed"),
                );
            }
            in_range(["pattern", "times"], *times, 1..=TIMES_MAX)?;
            if row.saturating_mul(u64::from(*matrix)).div_ceil(page) > PAGES_MAX / 2 {
                return wrong(["pattern", "matrix"], format!("{matrix}: more than {PAGES_MAX} pages"));
            }
            let pattern = Pattern::convolution(*matrix, row, *kernel, page, *times, *compute);
            if pattern.accesses() > ACCESSES_MAX {
                return wrong(["pattern", "times"], format!("{times}: more than {ACCESSES_MAX} accesses"));
            }
            made(pattern, *threads)
        }
    }
}

/// Each thread has something of its own to do.
fn made(pattern: Pattern, threads: u32) -> Result<Accesses, Problem> {
    let most = pattern.parts().min(pattern.pages.into()).min(THREADS_MAX.into());
    if !(1..=most).contains(&threads.into()) {
        let message = format!("{threads}: 1 to {most} are allowed, each with accesses and pages of its own");
        return wrong(["pattern", "threads"], message);
    }
    Ok(Accesses::Made(pattern, threads))
}

fn recorded(words: &[u64], page: u64) -> Result<Accesses, Problem> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let trace = Trace::read(&bytes).map_err(|error| Problem::new(["pattern", "file"], error))?;
    let (bits, traced) = (page.trailing_zeros() as u8, trace.header.page_bits);
    let Some(recorded) = Recorded::new(&trace, bits) else {
        let message =
            format!("{page} bytes: the trace has pages of {} bytes, and more is allowed", 1u64 << traced);
        return wrong("page", message);
    };
    if recorded.steps.footprint == 0 {
        return wrong(["pattern", "file"], "nothing is accessed in it");
    }
    Ok(Accesses::Recorded(Arc::new(recorded)))
}

/// What a program shows of itself.
struct Shows {
    host: HostId,
    memory: HostId,
    /// Pages that it has in use at most, and those that fit into local memory.
    pages: u64,
    local_pages: u64,
    page: Bytes,
    threads: u64,
    /// What it takes with all memory local.
    all_local: Time,
    board: Board,
}

/// What the programs of a job show of themselves.
#[derive(Default)]
struct Programs {
    all: Vec<Shows>,
    faults: Gathered<Fault>,
}

impl Shown for Programs {
    fn gather(&mut self) -> Option<Time> {
        self.faults.add(self.all.iter().map(|program| program.board.take_faults()), |fault| fault.end)
    }

    fn write_first(&mut self, out: &mut Out<'_>) -> Result<Option<Time>, Error> {
        if let Some((number, fault)) = self.faults.take_first() {
            let Fault { start, end, page, fetched, written_back } = fault;
            out.tables.faults.push(rows::PageFault {
                start_ps: start.as_ps(),
                job: out.job,
                host: out.host(self.all[number].host),
                page,
                latency_ps: end.saturating_sub(start).as_ps(),
                fetched: fetched.into(),
                written_back: written_back.into(),
            })?;
        }
        Ok(self.faults.first_at())
    }

    /// Writes what each program came to; all is done when no program's memory was lost.
    fn totals(&mut self, out: &mut Out<'_>) -> Result<bool, Error> {
        let mut whole = true;
        for program in &self.all {
            let totals = program.board.totals();
            let counts = &totals.counts;
            whole &= totals.outcome != Outcome::Lost;
            out.tables.programs.push(rows::RemoteProgram {
                job: out.job,
                host: out.host(program.host),
                memory: out.host(program.memory),
                outcome: match totals.outcome {
                    Outcome::Finished => ProgramOutcome::Finished,
                    Outcome::Lost => ProgramOutcome::Lost,
                    Outcome::Unfinished => ProgramOutcome::Unfinished,
                },
                page_bytes: program.page.get(),
                pages: program.pages,
                local_pages: program.local_pages,
                threads: program.threads,
                all_local_ps: program.all_local.as_ps(),
                start_ps: totals.begin.map(Time::as_ps),
                end_ps: totals.end.map(Time::as_ps),
                stall_ps: totals.stall.as_ps(),
                accesses: counts.accesses(),
                hits: counts.hits,
                cold: counts.cold,
                faults: counts.faults,
                fetched: counts.fetched,
                requests: counts.requests,
                written_back: counts.written_back,
                sends: counts.sends,
                received_bytes: totals.received_bytes,
                sent_bytes: totals.sent_bytes,
                restarts: totals.restarts,
            })?;
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// Flattened settings do not let unknown fields through.
    #[test]
    fn a_field_that_nobody_knows_is_refused() {
        let text = r#"{
            "programs": [], "memory": [], "local": {"share": 0.5}, "page": 4096, "policy": "lru",
            "read_ahead": 0, "pages_a_request": 1, "write_back": "after", "write_buffer": 64,
            "schedule": "fifo", "compression": 1.5,
            "pattern": {"kind": "trace", "words": []},
            "costs": {"handler": 0, "compress": 0, "decompress": 0, "serve": 0}
        }"#;
        let farmem: Farmem = serde_json::from_str(text).unwrap();
        assert_eq!((farmem.settings.write_buffer, farmem.paging.batch), (64, 1));
        assert_eq!(serde_json::to_value(&farmem).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        let more = text.replace(r#""page""#, r#""capacity": 7, "page""#);
        let error = serde_json::from_str::<Farmem>(&more).unwrap_err().to_string();
        assert!(error.contains("unknown field `capacity`"), "{error}");
    }
}
