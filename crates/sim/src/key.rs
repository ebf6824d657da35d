//! The key of an event: what kind, and which one. Among events of the same time it is the order.

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
