//! A child whose addresses are not randomised, and that ends with its parent: personality(2),
//! `PR_SET_PDEATHSIG` of prctl(2), pidfd_open(2).

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How a child begins.
#[derive(Clone, Debug, Default)]
pub struct Begin {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment, whole.
    pub environment: Vec<(OsString, OsString)>,
    /// It reads from a pipe ([`Child::stdin`]); otherwise there is nothing to read.
    pub reads: bool,
}

impl Begin {
    /// Starts it in a folder; also where all that it prints can be read, without waiting for it.
    ///
    /// # Errors
    /// A program that can't be run.
    pub fn start(&self, folder: &Path) -> io::Result<(Child, OwnedFd)> {
        let (read, output) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&read, OFlags::NONBLOCK)?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .current_dir(folder)
            .stdin(if self.reads { Stdio::piped() } else { Stdio::null() })
            .stdout(output.try_clone()?)
            .stderr(output)
            // Ctrl-C is for the parent, which ends its children in order.
            .process_group(0);
        // SAFETY: both calls are safe between fork and exec: they are plain system calls.
        unsafe {
            command.pre_exec(|| {
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1
                    || libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) == -1
                {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
        Ok((command.spawn()?, read))
    }
}

/// Is readable once `child` has ended.
///
/// # Errors
/// As pidfd_open(2).
pub fn exit_of(child: &Child) -> io::Result<OwnedFd> {
    let pid = Pid::from_child(child);
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}
