//! Programs that the kernel runs at its own events: bpf(2), Documentation/bpf/ in Linux's source.
//!
//! Maps that programs count in, types that describe them (BTF), and programs that the kernel checks and
//! loads. They are attached to raw tracepoints, until the descriptor is closed. What a program does is its
//! author's business: instructions come as numbers.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP_ELEM: libc::c_int = 1;
const PROG_LOAD: libc::c_int = 5;
const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
const BTF_LOAD: libc::c_int = 18;
const PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
/// Bytes of what the kernel's verifier says of a program that it refuses.
const LOG: usize = 1 << 16;

/// What a map is; numbers of `enum bpf_map_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Values by their place.
    Array = 2,
    /// The same, each processor its own.
    ArrayAProcessor = 6,
}

/// Memory that programs and this process share.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    key: u32,
    value: u32,
}

/// The types of a program's functions.
#[derive(Debug)]
pub struct Types(OwnedFd);

/// A program that the kernel has found safe.
#[derive(Debug)]
pub struct Program(OwnedFd);

/// A program at its event; dropped, it is there no longer.
#[derive(Debug)]
pub struct Attached(#[expect(dead_code, reason = "what matters is when it is closed")] OwnedFd);

/// Where in a program a function begins, and its type's number.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Function {
    /// The function's first instruction.
    pub instruction: u32,
    /// Its type's number in [`Types`].
    pub type_id: u32,
}

#[derive(Default)]
#[repr(C)]
struct MapAttributes {
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
}

#[derive(Default)]
#[repr(C)]
struct ElementAttributes {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[derive(Default)]
#[repr(C)]
struct ProgramAttributes {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_kind: u32,
    types: u32,
    function_bytes: u32,
    functions: u64,
    function_count: u32,
    line_bytes: u32,
}

#[derive(Default)]
#[repr(C)]
struct TypesAttributes {
    types: u64,
    log: u64,
    bytes: u32,
    log_bytes: u32,
    log_level: u32,
    padding: u32,
}

#[derive(Default)]
#[repr(C)]
struct TracepointAttributes {
    name: u64,
    program: u32,
    padding: u32,
}

/// What the kernel answers: a number, a descriptor's for the commands that make one.
///
/// # Safety
/// `attributes` is the start of the command's part of `union bpf_attr`, and each address in it is valid for
/// what the command does there.
unsafe fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<RawFd> {
    // SAFETY: the structure is as long as is said; the rest is the caller's promise.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, command, attributes as *mut T, size_of::<T>()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as RawFd) }
}

/// # Safety
/// `fd` is new, and nobody else's.
unsafe fn owned(fd: RawFd) -> OwnedFd {
    // SAFETY: the caller's promise.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

impl Map {
    /// A new one: bytes of a key and of a value, and how many values at most.
    ///
    /// # Errors
    /// What the kernel says: `EPERM` to those without `CAP_BPF`.
    pub fn new(kind: Kind, key: u32, value: u32, entries: u32) -> io::Result<Map> {
        let mut attributes = MapAttributes { kind: kind as u32, key, value, entries };
        // SAFETY: no address in it; the descriptor is new.
        let fd = unsafe { owned(bpf(MAP_CREATE, &mut attributes)?) };
        Ok(Map { fd, key, value })
    }

    /// The number by which instructions name it.
    pub fn number(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// The value of a key, in a map with one for all processors.
    ///
    /// # Errors
    /// `ENOENT` where there is none.
    ///
    /// # Panics
    /// On a key of another length.
    pub fn value(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        assert_eq!(key.len(), self.key as usize, "keys have one length");
        let mut value = vec![0; self.value as usize];
        let mut attributes = ElementAttributes {
            map: self.number() as u32,
            key: key.as_ptr() as u64,
            value: value.as_mut_ptr() as u64,
            ..Default::default()
        };
        // SAFETY: the kernel reads a key and writes a value of the lengths that the map was made with, and
        // these are as long.
        unsafe { bpf(MAP_LOOKUP_ELEM, &mut attributes)? };
        Ok(value)
    }
}

impl Types {
    /// Types in BTF's form (Documentation/bpf/btf.rst).
    ///
    /// # Errors
    /// What the kernel says: `EINVAL` for those that are none.
    pub fn load(bytes: &[u8]) -> io::Result<Types> {
        let mut attributes =
            TypesAttributes { types: bytes.as_ptr() as u64, bytes: bytes.len() as u32, ..Default::default() };
        // SAFETY: the kernel reads so many bytes; the descriptor is new.
        Ok(Types(unsafe { owned(bpf(BTF_LOAD, &mut attributes)?) }))
    }
}

impl Program {
    /// Has the kernel check a program for a raw tracepoint, one number an instruction, and keep it.
    ///
    /// The license says whether helpers may be called that are for GPL programs alone.
    ///
    /// # Errors
    /// What the kernel says; with the verifier's last words where it refuses the program itself.
    pub fn load(
        instructions: &[u64],
        license: &str,
        types: &Types,
        functions: &[Function],
    ) -> io::Result<Program> {
        let license = CString::new(license)?;
        let mut log = vec![0u8; LOG];
        let mut attributes = ProgramAttributes {
            kind: PROG_TYPE_RAW_TRACEPOINT,
            instruction_count: instructions.len() as u32,
            instructions: instructions.as_ptr() as u64,
            license: license.as_ptr() as u64,
            log_level: 1,
            log_bytes: LOG as u32,
            log: log.as_mut_ptr() as u64,
            types: types.0.as_raw_fd() as u32,
            function_bytes: size_of::<Function>() as u32,
            functions: functions.as_ptr() as u64,
            function_count: functions.len() as u32,
            ..Default::default()
        };
        // SAFETY: the kernel reads instructions, functions and license, and writes the log, all as long as is
        // said or ended by zero; what it accepts it has found safe itself. The descriptor is new.
        match unsafe { bpf(PROG_LOAD, &mut attributes) } {
            // SAFETY: as above.
            Ok(fd) => Ok(Program(unsafe { owned(fd) })),
            Err(error) if log[0] == 0 => Err(error),
            Err(error) => Err(io::Error::new(error.kind(), format!("{error}; {}", last_lines(&log)))),
        }
    }

    /// Runs it at each event of this name, until the answer is dropped.
    ///
    /// # Errors
    /// What the kernel says: `ENOENT` where there is no such tracepoint.
    pub fn attach(&self, tracepoint: &str) -> io::Result<Attached> {
        let name = CString::new(tracepoint)?;
        let mut attributes = TracepointAttributes {
            name: name.as_ptr() as u64,
            program: self.0.as_raw_fd() as u32,
            padding: 0,
        };
        // SAFETY: the name ends with zero; the descriptor is new.
        Ok(Attached(unsafe { owned(bpf(RAW_TRACEPOINT_OPEN, &mut attributes)?) }))
    }
}

/// Of what the verifier says, the end tells why.
fn last_lines(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("processed ")).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_log_the_end_is_told() {
        let mut log =
            b"0: (b7) r0 = 0\n1: (85) call\nunknown func bpf_loop#181\nprocessed 2 insns\n".to_vec();
        log.resize(500, 0);
        assert_eq!(last_lines(&log), "0: (b7) r0 = 0; 1: (85) call; unknown func bpf_loop#181");
        assert_eq!(last_lines(&[]), "");
    }

    #[test]
    #[should_panic(expected = "one length")]
    fn a_key_of_another_length_is_not_sent() {
        let fd = std::fs::File::open("/dev/null").expect("there is one").into();
        let _ = Map { fd, key: 4, value: 8 }.value(&[0; 8]);
    }
}
