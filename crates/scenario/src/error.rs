//! Why a run of a scenario did not come to its end.

use std::path::PathBuf;
use units::Problem;

/// Why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario can't run.
    #[error(transparent)]
    Scenario(#[from] Problem),
    /// An emulated host could not go on.
    #[error(transparent)]
    Emulation(#[from] emu::Error),
    /// The processes of an emulated host reported nothing.
    #[error("{name}: the host's processes have not reported: {} says why", output.display())]
    Member {
        /// The host.
        name: String,
        /// What they have printed.
        output: PathBuf,
    },
    /// The scenario has emulated hosts, and there is no kernel for them.
    #[error("emulated hosts need their kernel: make uml builds it")]
    NoKernel,
    /// Results could not be written.
    #[error(transparent)]
    Record(#[from] record::Error),
}
