//! Which Linux hosts have.

use std::path::Path;

/// What stands before the version, in a kernel's program and in `/proc/version`.
const BANNER: &[u8] = b"Linux version ";

/// The version of a kernel that is a program, if it says so.
pub fn of_program(kernel: &Path) -> Option<String> {
    version(&std::fs::read(kernel).ok()?)
}

/// The version of this machine's kernel.
pub fn here() -> Option<String> {
    version(&std::fs::read("/proc/version").ok()?)
}

fn version(bytes: &[u8]) -> Option<String> {
    let begin = bytes.windows(BANNER.len()).position(|window| window == BANNER)? + BANNER.len();
    let word = bytes[begin..].split(u8::is_ascii_whitespace).next()?;
    String::from_utf8(word.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_says_its_version() {
        assert_eq!(version(b"\0\0Linux version 6.12.117 (root@vm)\0").as_deref(), Some("6.12.117"));
        assert_eq!(version(b"Linux version ").as_deref(), Some(""));
        assert_eq!(version(b"Linux"), None);
        assert!(here().is_some());
    }
}
