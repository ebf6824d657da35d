//! What is counted, in a file that outlives the program however it ends: names in the first page, numbers in
//! the second. In the third are the places of the program's memory elsewhere ([`crate::elsewhere`]): address
//! and bytes of each. In the fourth is why this library ended the program, where that could not be printed.

use crate::elsewhere::MOST;
use crate::layout::{self, BASE};
use crate::lock::Lock;
use crate::raw;
use farmem::cost::Crossing;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};
use sys::file::allocate;

/// A number that only its writer's thread raises.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, more: u64) {
        self.0.store(self.0.load(Relaxed) + more, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(crate) fn raise_to(&self, value: u64) {
        self.0.fetch_max(value, Relaxed);
    }

    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }
}

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// The numbers of one process.
        #[repr(C)]
        #[derive(Default)]
        pub(crate) struct Stats { $($(#[$doc])* pub(crate) $name: Count),+ }
        const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

stats! {
    /// 1 since memory is remote.
    remote,
    /// Page faults that fetched.
    faults,
    /// Pages of zeros that were touched first.
    first_touches,
    /// Pages that had been touched before memory became remote.
    adopted,
    /// Faults of local pages that were out of reach, to see whether they are used: nothing is fetched, and
    /// nobody waits.
    soft_faults,
    /// Faults of pages that were there when their turn came.
    again,
    /// Pages from remote memory, those fetched ahead too.
    pages_in,
    /// Pages to remote memory.
    pages_out,
    /// Pages that left without being sent, because nobody had written to them.
    pages_dropped,
    bytes_in,
    bytes_out,
    /// Waits that were asked for, in ps.
    nominal_ps,
    /// What the link made waits longer, because it sent the pages of other threads' faults.
    queued_ps,
    /// Waits that took place; those of several threads at the same time count each.
    injected_ps,
    /// Time in the handler beyond these waits.
    own_ns,
    /// What these faults took on their way to the handler and back ([`crate::trip`]).
    trips_ns,
    /// What a wait of so many ns hides of that, if each fault that exchanges pages waits so long.
    hides_500,
    hides_1000,
    hides_1500,
    hides_2000,
    hides_3000,
    hides_4000,
    hides_8000,
    hides_32000,
    /// Of that, waits for a memory server.
    server_ns,
    /// Pages that were compressed, or not because they did not get smaller.
    packed,
    pack_ns,
    /// Pages that were decompressed.
    unpacked,
    unpack_ns,
    /// Of the trace; and why it lacks its end: 1 for no space, 2 if it would be too long, 0 if it has one.
    traced_bytes,
    untraced,
    /// Most bytes that the program had.
    asked_bytes,
    /// Most bytes in use at a time: pages that were touched and not given back; and those of now, once memory
    /// is remote.
    touched_bytes,
    in_use_bytes,
    /// First address of the program's memory, and bytes from there to the mirror; and behind that, of all
    /// else that is not the program's.
    memory_at,
    memory_bytes,
    beside_bytes,
    /// The heap that is never remote: its first address, its addresses, and the bytes in it that this library
    /// has allocated.
    private_at,
    private_bytes,
    library_bytes,
}

impl Stats {
    /// A fault took so long in the handler, beyond its wait, and on its way there and back.
    pub(crate) fn handled(&self, own_ns: u64, trip_ns: u64) {
        self.own_ns.add(own_ns);
        self.trips_ns.add(trip_ns);
    }

    /// One fault.
    pub(crate) fn exchange(&self, fetched: Crossing, sent: Crossing) {
        let ours = if fetched.pages > 0 { &self.faults } else { &self.first_touches };
        ours.add(1);
        self.pages_in.add(fetched.pages);
        self.pages_out.add(sent.pages);
        self.bytes_in.add(fetched.bytes);
        self.bytes_out.add(sent.bytes);
    }

    /// A fault that exchanges pages did so much before it would wait.
    pub(crate) fn before_the_wait(&self, work_ns: u64) {
        let hides = [
            (&self.hides_500, 500),
            (&self.hides_1000, 1000),
            (&self.hides_1500, 1500),
            (&self.hides_2000, 2000),
            (&self.hides_3000, 3000),
            (&self.hides_4000, 4000),
            (&self.hides_8000, 8000),
            (&self.hides_32000, 32_000),
        ];
        hides.iter().for_each(|(count, wait_ns)| count.add(work_ns.min(*wait_ns)));
    }

    /// Time that compression has taken so far, each way.
    pub(crate) fn packing_ns(&self) -> u64 {
        self.pack_ns.get() + self.unpack_ns.get()
    }
}

/// Until there is a file, numbers go nowhere.
static NOWHERE: Stats = const {
    // SAFETY: numbers of zero bits are zero.
    unsafe { std::mem::zeroed() }
};
static WHERE: AtomicPtr<Stats> = AtomicPtr::new(std::ptr::null_mut());

/// The numbers of this process.
pub(crate) fn stats() -> &'static Stats {
    let at = WHERE.load(Relaxed);
    if at.is_null() {
        return &NOWHERE;
    }
    // SAFETY: it points to a mapping that is never undone and as long as a `Stats`; all its bits mean
    // numbers.
    unsafe { &*at }
}

/// Memory of the program's lies there; of no bytes, there is none.
pub(crate) fn place(slot: usize, start: usize, bytes: usize) {
    let at = WHERE.load(Relaxed);
    if at.is_null() {
        return;
    }
    // SAFETY: the page behind the numbers, which is mapped with them, has room for so many places.
    let places = unsafe { &*at.cast::<u8>().add(BASE).cast::<[[AtomicU64; 2]; MOST]>() };
    places[slot][1].store(0, Relaxed);
    places[slot][0].store(start as u64, Relaxed);
    places[slot][1].store(bytes as u64, Relaxed);
}

/// The page for the reason, in the last file that could be made: a child that can't make one has its
/// parent's.
static WHY: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());

/// Writes down why the program ends, for the launcher.
pub(crate) fn why(text: &str) {
    let at = WHY.load(Relaxed);
    if !at.is_null() {
        let bytes = text.len().min(BASE);
        // SAFETY: a page that is mapped, of which nothing else is written.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), at, bytes) };
    }
}

/// The file's name.
static PATH: Lock<Option<PathBuf>> = Lock::new(None);

/// Makes this process's file in the folder. Without one the program runs all the same.
pub(crate) fn begin(folder: &str) {
    WHERE.store(std::ptr::null_mut(), Relaxed);
    if !folder.is_empty()
        && let Ok(at) = map(folder)
    {
        WHERE.store(at as *mut Stats, Relaxed);
        WHY.store((at + 2 * BASE) as *mut u8, Relaxed);
        let stats = stats();
        stats.memory_at.set(layout::start() as u64);
        stats.memory_bytes.set(layout::BYTES as u64);
        stats.beside_bytes.set(layout::BESIDE_BYTES as u64);
    }
}

/// The name of a file beside that of this process's numbers; nothing where there is none.
pub(crate) fn beside(kind: &str) -> Option<PathBuf> {
    PATH.lock().as_ref().map(|path| path.with_extension(kind))
}

fn map(folder: &str) -> io::Result<usize> {
    let (mut file, path) = create(Path::new(folder))?;
    *PATH.lock() = Some(path);
    // A write to a mapping that finds the disk full would end the program (SIGBUS, mmap(2)).
    allocate(&file, 4 * BASE as u64)?;
    file.write_all(NAMES.join("\n").as_bytes())?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    raw::map(0, 3 * BASE, protection, libc::MAP_SHARED, file.as_raw_fd(), BASE as i64)
}

/// A process that becomes another program keeps its number: each program has a file.
fn create(folder: &Path) -> io::Result<(File, PathBuf)> {
    for program in 0..100_000 {
        let path = folder.join(format!("{}-{program}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done.map(|file| (file, path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;

    #[test]
    fn numbers_lie_behind_their_names_in_a_file_for_each_program() {
        alone!({
            let folder = tempfile::tempdir().expect("a folder");
            begin(folder.path().to_str().expect("a name"));
            stats().before_the_wait(1200);
            stats().exchange(Crossing { pages: 2, bytes: 8000 }, Crossing::default());
            stats().exchange(Crossing::default(), Crossing { pages: 1, bytes: 4096 });
            let path = folder.path().join(format!("{}-0", std::process::id()));
            let bytes = std::fs::read(&path).expect("a file");
            assert_eq!(bytes.len(), 4 * BASE);
            let names = std::str::from_utf8(&bytes[..BASE]).expect("text").trim_end_matches('\0');
            let number = |name: &str| {
                let at = names.lines().position(|each| each == name).expect(name);
                u64::from_ne_bytes(*bytes[BASE + 8 * at..].first_chunk().expect("a number"))
            };
            assert_eq!(["faults", "first_touches", "pages_in", "pages_out"].map(number), [1, 1, 2, 1]);
            assert_eq!(
                ["bytes_in", "hides_500", "hides_1000", "hides_1500"].map(number),
                [8000, 500, 1000, 1200]
            );
            assert_eq!(number("memory_at"), layout::start() as u64);
            assert_eq!(beside("trace"), Some(path.with_extension("trace")));
            why("because");
            let bytes = std::fs::read(&path).expect("a file");
            assert!(bytes[3 * BASE..].starts_with(b"because\0"));

            begin(folder.path().to_str().expect("a name"));
            assert_eq!(
                beside("trace").and_then(|path| path.file_stem().map(|stem| stem.to_owned())),
                Some(format!("{}-1", std::process::id()).into()),
                "the same number, and another program"
            );
        });
    }

    #[test]
    fn without_a_file_numbers_go_nowhere_and_nothing_fails() {
        stats().faults.add(1);
        assert!(beside("trace").is_none());
    }
}
