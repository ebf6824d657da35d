//! What servers say to each other, taken apart, and how long it is on the wire.

use crate::seal::TAG;

/// Version of this form.
pub const VERSION: u8 = 2;
/// Bytes before the first record.
pub const HEADER: usize = 16;
/// Bytes of a walker without what is optional.
pub const WALKER: usize = 40;
/// Bytes of the end of a walk without a path.
pub(crate) const ENDED: usize = 32;
/// Bytes of a walker alone in its datagram, under a key.
pub(crate) const LONE: usize = HEADER + WALKER + TAG;
/// Largest UDP payload over IPv4.
pub const DATAGRAM_MAX: usize = 65_507;
/// Stands for "no node": nodes are numbered below it.
pub const NO_NODE: u32 = u32::MAX;

/// Which walk it is, and which attempt at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WalkId {
    /// The node where it begins.
    pub start: u32,
    /// Its number among the walks from there.
    pub number: u32,
    /// Which generation of it, from 1: a lost walker is generated again under the next.
    pub attempt: u16,
    /// Life of the source: a restarted server is another one.
    pub epoch: u16,
    /// When it was generated, nanoseconds by the source's clock.
    pub born_ns: u64,
}

/// A random walker (RWer) on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walker {
    /// Which walk.
    pub id: WalkId,
    /// The server that generated it.
    pub source: u16,
    /// The node where it is.
    pub at: u32,
    /// The node where it was before, for second-order walks.
    pub previous: Option<u32>,
    /// A neighbour that was drawn and not accepted yet: whether it is next to `previous`, only another server
    /// knows.
    pub candidate: Option<u32>,
    /// Steps so far.
    pub steps: u32,
    /// State of its own random stream: where it goes doesn't depend on when and where it is served.
    pub random: u64,
    /// The nodes passed, the start first; empty when paths are not asked for.
    pub path: Vec<u32>,
}

/// A walk that has come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which walk.
    pub id: WalkId,
    /// The node where it ended.
    pub end: u32,
    /// Its steps.
    pub steps: u32,
    /// The nodes passed, as in [`Walker`].
    pub path: Vec<u32>,
}

/// What the end of a walk says, wherever it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End<'a> {
    pub id: WalkId,
    pub end: u32,
    pub steps: u32,
    pub path: &'a [u32],
}

impl Ended {
    pub(crate) fn view(&self) -> End<'_> {
        End { id: self.id, end: self.end, steps: self.steps, path: &self.path }
    }
}

/// Something in a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A walker comes.
    Walker(Walker),
    /// A walk of the receiver's has ended.
    Ended(Ended),
    /// A walker of the receiver's was dropped: the direct notification, told to another server.
    Dropped(WalkId),
}

/// Why a datagram is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is none of ours.
    #[error("no datagram of random walks")]
    Foreign,
    /// It is of another version.
    #[error("version {0}: {VERSION} is understood")]
    Version(u8),
    /// It belongs to another job.
    #[error("of another job")]
    Job,
    /// Its tag is missing or wrong.
    #[error("not authentic")]
    Tag,
    /// It ends too early, goes on for too long, or a field has no meaning.
    #[error("malformed")]
    Malformed,
}
