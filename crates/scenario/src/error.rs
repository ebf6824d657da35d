//! Why a run of a scenario did not come to its end.

use units::Problem;

/// Why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario can't run.
    #[error(transparent)]
    Scenario(#[from] Problem),
    /// Results could not be written.
    #[error(transparent)]
    Record(#[from] record::Error),
}
