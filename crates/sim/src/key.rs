//! The key of an event: what kind, and which one. Among events of the same time it is the order.

use units::Time;

/// Kinds of events, in the order in which those of the same time happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A job starts, a fault strikes, samples are taken.
    Control,
    /// A port's transmitter is free.
    Transmit,
    /// A packet reaches the far end of a link.
    Arrive,
    /// A host's NIC has room: its first port.
    Nic,
    /// A connection's timer.
    Endpoint,
    /// A process's timer.
    Timer,
    /// A core or a disk has done its work.
    Work,
    /// A pause of a port ends or is renewed, or its switch's watchdog looks.
    Pause,
    /// A host's port has room in a class; or at all, where it is not the first.
    Room,
    /// A packet has had its time at its host.
    Received,
    /// A host that is not simulated wants to go on.
    Outsider,
}

const INDEX_BITS: u32 = 28;

#[inline]
pub(crate) fn key(kind: Kind, index: u32) -> u32 {
    debug_assert!(index < 1 << INDEX_BITS);
    ((kind as u32) << INDEX_BITS) | index
}

/// Whether the index of `key` is a place in memory, which the model knows nothing of.
#[inline]
pub(crate) fn is_place(key: u32) -> bool {
    (key >> INDEX_BITS).wrapping_sub(Kind::Endpoint as u32) <= Kind::Work as u32 - Kind::Endpoint as u32
}

/// `key` without its index.
#[inline]
pub(crate) fn kind_of(key: u32) -> u32 {
    key >> INDEX_BITS
}

/// What `key` is about, if it is of this kind.
#[inline]
pub(crate) fn index_of(key: u32, kind: Kind) -> Option<u32> {
    let index = key.wrapping_sub((kind as u32) << INDEX_BITS);
    (index < 1 << INDEX_BITS).then_some(index)
}

#[inline]
pub(crate) fn split(key: u32) -> (Kind, u32) {
    let kind = match key >> INDEX_BITS {
        0 => Kind::Control,
        1 => Kind::Transmit,
        2 => Kind::Arrive,
        3 => Kind::Nic,
        4 => Kind::Endpoint,
        5 => Kind::Timer,
        6 => Kind::Work,
        7 => Kind::Pause,
        8 => Kind::Room,
        9 => Kind::Received,
        _ => Kind::Outsider,
    };
    (kind, key & ((1 << INDEX_BITS) - 1))
}

/// An event's part in the fingerprint, which is their sum: so it does not depend on the order in which they
/// are computed. Of indices that are places in memory the kind is enough.
#[inline]
pub(crate) fn mixed(time: Time, key: u32) -> u64 {
    let key = if is_place(key) { kind_of(key) } else { key };
    let word = (time.as_ps() ^ (u64::from(key) << 32)).wrapping_mul(0x517c_c1b7_2722_0a95);
    (word ^ (word >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
