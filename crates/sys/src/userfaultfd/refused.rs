//! Why there is no userfaultfd, and the way out: userfaultfd(2), `vm.unprivileged_userfaultfd`.

use std::fmt;
use std::io;

/// Why page faults can't be handled here.
#[derive(Debug)]
pub enum Refused {
    /// This user may not handle faults of system calls.
    Permission,
    /// The kernel was built without it.
    Kernel,
    /// The kernel is too old for what is asked.
    Features,
    /// Anything else.
    Failed(io::Error),
}

impl fmt::Display for Refused {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Permission => to.write_str(
                "this user may not handle page faults of system calls (userfaultfd). One of these allows it: \
                 sysctl -w vm.unprivileged_userfaultfd=1 as root; read and write access to /dev/userfaultfd; \
                 the capability CAP_SYS_PTRACE (in a container: --cap-add SYS_PTRACE, and a seccomp profile that \
                 lets userfaultfd through)",
            ),
            Refused::Kernel => to.write_str(
                "this kernel has no userfaultfd (CONFIG_USERFAULTFD), or a seccomp profile hides it (in a container: \
                 --security-opt seccomp=unconfined)",
            ),
            Refused::Features => to.write_str(
                "this kernel's userfaultfd can't move pages or track writes to them: Linux 6.8 or newer on x86-64 or \
                 arm64 is needed",
            ),
            Refused::Failed(error) => write!(to, "userfaultfd: {error}"),
        }
    }
}

impl std::error::Error for Refused {}
