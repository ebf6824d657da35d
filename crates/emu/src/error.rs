//! What can go wrong with guests.

use crate::host::Setting;
use crate::vhost::ring::Wrong;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why an emulation ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A guest's folder can't be used.
    #[error("{}: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The kernel can't be started.
    #[error("the kernel can't be started: {0}")]
    Start(io::Error),
    /// A host can't be a part of this machine.
    #[error(
        "this machine can't have a host of its own for the real clock: {0}. It takes root, /dev/net/tun and \
         util-linux"
    )]
    Apart(io::Error),
    /// What this machine's hosts need fails.
    #[error("hosts on this machine's own clock can't go on: {0}")]
    Here(io::Error),
    /// It is not set up after a long time.
    #[error("{name}: the host is not set up after {} s: its console says how far it is", patience.as_secs())]
    Slow {
        /// The host.
        name: String,
        /// For how long.
        patience: Duration,
    },
    /// What guests compute can't be counted.
    #[error("what hosts compute can't be counted here, for cpu_rate: {0}")]
    Meter(io::Error),
    /// It may not trace its programs.
    #[error(
        "{name}: the kernel may not trace its programs by ptrace here. In a container --cap-add SYS_PTRACE allows \
         it; a kernel from 6.16 on does without (make uml)"
    )]
    NoPtrace {
        /// The host.
        name: String,
    },
    /// It has started and does not ask for its time.
    #[error("{name}: the kernel did not ask for its time: is it built with CONFIG_UML_TIME_TRAVEL_SUPPORT?")]
    NoTimeTravel {
        /// The host.
        name: String,
    },
    /// It said what can't be meant, or nothing more.
    #[error("{name}: the guest can't be talked to: {error}")]
    Broken {
        /// The host.
        name: String,
        /// Why not.
        error: io::Error,
    },
    /// It could not be set up.
    #[error("{name}: the guest could not be set up: its console says why")]
    Unready {
        /// The host.
        name: String,
    },
    /// It does not know a setting, or not this value.
    #[error("{name}: the kernel refuses {} = {}: the host's console says why", setting.name, setting.value)]
    Setting {
        /// The host.
        name: String,
        /// The setting, and what it was to be.
        setting: Setting,
    },
    /// Its kernel ended while the run waited for one of its programs.
    #[error("{name}: the guest ended before its programs: its console says why")]
    Gone {
        /// The host.
        name: String,
    },
    /// It ended before it was up.
    #[error("{name}: the guest ended before it was up: its console says why")]
    Boot {
        /// The host.
        name: String,
    },
    /// Its network card's queues are damaged.
    #[error("{name}: its network card's queue can't be right: {wrong}")]
    Queue {
        /// The host.
        name: String,
        /// How.
        wrong: Wrong,
    },
    /// Somebody has ended the run while a host computed.
    #[error("the run was ended")]
    Stopped,
    /// It computes and computes.
    #[error(
        "{name}: computed for {} s without waiting; time stands still meanwhile. If it has more to compute, \
         set host.kernel.patience; if its memory is full, host.kernel.memory; if it looks for an answer again \
         and again, host.kernel.cpu_rate",
        patience.as_secs()
    )]
    Spins {
        /// The host.
        name: String,
        /// For how long.
        patience: Duration,
    },
}
