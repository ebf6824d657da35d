//! Settings for hosts or switches by their names.

use serde::{Deserialize, Serialize};

/// Settings for the hosts or switches whose name matches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule<T> {
    /// A name; `*` stands for any text.
    pub pattern: String,
    /// The settings.
    pub config: T,
}
