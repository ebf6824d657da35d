//! Why a run of a scenario did not come to its end.

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
    /// The scenario has programs, and there is no kernel to run them.
    #[error("programs need the kernel of emulated hosts: make uml builds it")]
    NoKernel,
    /// Results could not be written.
    #[error(transparent)]
    Record(#[from] record::Error),
}
