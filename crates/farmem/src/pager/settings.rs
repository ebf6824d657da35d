//! How pages travel: the settings that a program and its memory node share.

use crate::cache::Policy;
use crate::local::Setting;
use serde::{Deserialize, Serialize};
use units::{Bytes, Problem, Time, in_range};

/// When a fault sends back the pages that leave for the one it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteBack {
    /// Before it fetches, and it waits until they are there: the document's formula in both directions.
    Before,
    /// Behind its request, and it does not wait, as long as no more pages are on their way back than the
    /// buffer holds.
    After,
}

/// Which transfer goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Each in its turn, on one stream.
    Fifo,
    /// Fetches before write-backs: these have a stream of their own, and are served last at the memory node.
    ReadsFirst,
    /// The same, and of the fetches that wait at a memory node the one of the fewest pages.
    ShortestFirst,
}

impl Schedule {
    /// Whether write-backs have a stream of their own.
    pub(super) fn apart(self) -> bool {
        self != Schedule::Fifo
    }
}

/// How long things take on one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// A fault is handled, one that fetches nothing too.
    pub handler: Time,
    /// A page is compressed.
    pub compress: Time,
    /// A page is decompressed.
    pub decompress: Time,
    /// The memory node reads or writes a page.
    pub serve: Time,
}

/// A program's setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Its local memory. Scenarios say the rest of it next to these settings.
    #[serde(skip, default = "unknown")]
    pub local: Setting,
    /// Bytes of a page as it travels: compressed, if it is. It follows from the page's size.
    #[serde(skip, default = "no_bytes")]
    pub page: Bytes,
    /// When pages are sent back.
    pub write_back: WriteBack,
    /// With [`WriteBack::After`]: pages on their way back at most.
    pub write_buffer: u32,
    /// Which transfer goes first.
    pub schedule: Schedule,
    /// How long things take.
    pub costs: Costs,
}

fn unknown() -> Setting {
    Setting::new(0, Policy::Lru)
}

fn no_bytes() -> Bytes {
    Bytes::new(0)
}

/// Most pages of a request.
pub(super) const REQUEST_MAX: u32 = 512;

impl Settings {
    /// Whether a program can run with them.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn check(&self) -> Result<(), Problem> {
        let Setting { capacity, read_ahead, pages_a_request, .. } = self.local;
        in_range("local", capacity, 1..=(1 << 31) - 1)?;
        in_range("read_ahead", read_ahead, 0..=REQUEST_MAX - 1)?;
        in_range("pages_a_request", pages_a_request, 1..=REQUEST_MAX)?;
        in_range("page", self.page.get(), 1..=2 << 20)?;
        match self.write_back {
            WriteBack::Before => Ok(()),
            WriteBack::After => in_range("write_buffer", self.write_buffer, 1..=1 << 20),
        }
    }
}
