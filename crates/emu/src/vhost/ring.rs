//! A split virtqueue from the device's side: Virtual I/O Device (VIRTIO) 1.2, section 2.7.
//!
//! Everything in it is the guest's, and hostile: an index, an address or a length may be anything. Whatever
//! can't be is an error, and no chain is followed for more descriptors than the queue has.

use super::memory::Memory;
use sys::shared::Outside;

/// Greatest queue (2.7): also the greatest number of descriptors in a chain.
pub const SIZE_MAX: u32 = 32_768;

/// `VIRTQ_DESC_F_NEXT`, `VIRTQ_DESC_F_WRITE`.
const NEXT: u16 = 1;
const WRITE: u16 = 2;
/// Bytes of a descriptor.
const DESCRIPTOR: u64 = 16;

/// What a guest does wrong in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// An address outside of its memory.
    #[error("an address is outside of the guest's memory")]
    Address,
    /// A descriptor that the queue does not have.
    #[error("descriptor {0} is outside of the queue")]
    Descriptor(u16),
    /// A chain that never ends.
    #[error("a chain of descriptors has no end")]
    Loop,
    /// More new entries than the queue has.
    #[error("{0} new entries are more than the queue has")]
    Entries(u16),
    /// A buffer to read where one to write is due, or the other way round.
    #[error("a descriptor goes the wrong way")]
    Way,
    /// Work for the network card that does not go with the packet.
    #[error("a packet can't be cut or summed up as its header asks")]
    Offload,
    /// A frame that is shorter than its header, or longer than any frame.
    #[error("a frame of {0} bytes")]
    Frame(usize),
}

impl From<Outside> for Wrong {
    fn from(Outside: Outside) -> Wrong {
        Wrong::Address
    }
}

/// A part of the guest's memory.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    address: u64,
    len: u32,
    writable: bool,
}

/// A queue that the guest has set up.
#[derive(Debug, Default)]
pub struct Ring {
    /// Entries; 0 before it is set up.
    pub size: u32,
    /// Where its three parts are in the guest's memory.
    pub descriptors: u64,
    /// The driver's part: heads of chains that are available.
    pub available: u64,
    /// The device's part: heads of chains that are used.
    pub used: u64,
    /// The next available entry to take, and the next used one to give (free running).
    pub next_available: u16,
    next_used: u16,
    /// What was given when the guest was last called.
    called_at: u16,
    /// `VIRTIO_F_EVENT_IDX`: both say from which entry on they want to be called.
    pub event_index: bool,
    chain: Vec<Buffer>,
}

impl Ring {
    /// A queue of `size` entries whose parts are at these places.
    pub fn at(size: u32, descriptors: u64, available: u64, used: u64) -> Ring {
        Ring { size, descriptors, available, used, ..Ring::default() }
    }

    /// Begins at entry `base`.
    pub fn reset(&mut self, base: u16) {
        (self.next_available, self.next_used, self.called_at) = (base, base, base);
    }

    /// Chains that wait to be taken.
    ///
    /// # Errors
    /// More than the queue has.
    pub fn waiting(&self, memory: &Memory) -> Result<u16, Wrong> {
        if self.size == 0 {
            return Ok(0);
        }
        let index = memory.load_u16(self.available.wrapping_add(2))?;
        let waiting = index.wrapping_sub(self.next_available);
        if u32::from(waiting) > self.size { Err(Wrong::Entries(waiting)) } else { Ok(waiting) }
    }

    /// Takes the next available chain; its head.
    fn take(&mut self, memory: &Memory) -> Result<Option<u16>, Wrong> {
        if self.waiting(memory)? == 0 {
            return Ok(None);
        }
        let slot = u64::from(u32::from(self.next_available) % self.size);
        let head = memory.load_u16(self.available.wrapping_add(4 + 2 * slot))?;
        self.follow(memory, head)?;
        self.next_available = self.next_available.wrapping_add(1);
        Ok(Some(head))
    }

    /// Reads the buffers of a chain.
    fn follow(&mut self, memory: &Memory, head: u16) -> Result<(), Wrong> {
        self.chain.clear();
        let mut at = head;
        loop {
            if u32::from(at) >= self.size {
                return Err(Wrong::Descriptor(at));
            }
            if self.chain.len() as u32 >= self.size {
                return Err(Wrong::Loop);
            }
            let mut raw = [0; DESCRIPTOR as usize];
            memory.read(self.descriptors.wrapping_add(DESCRIPTOR * u64::from(at)), &mut raw)?;
            let (address, rest) = raw.split_at(8);
            let word = |at: usize| u16::from_le_bytes([rest[at], rest[at + 1]]);
            let flags = word(4);
            self.chain.push(Buffer {
                address: u64::from_le_bytes(address.try_into().expect("eight bytes")),
                len: u32::from_le_bytes(rest[..4].try_into().expect("four bytes")),
                writable: flags & WRITE != 0,
            });
            if flags & NEXT == 0 {
                return Ok(());
            }
            at = word(6);
        }
    }

    /// Takes the next chain and copies its bytes, `most` at most; its head.
    ///
    /// # Errors
    /// A chain that can't be, or that is longer.
    pub fn read(&mut self, memory: &Memory, most: usize, into: &mut Vec<u8>) -> Result<Option<u16>, Wrong> {
        let Some(head) = self.take(memory)? else { return Ok(None) };
        into.clear();
        for buffer in &self.chain {
            if buffer.writable {
                return Err(Wrong::Way);
            }
            let begin = into.len();
            let end = begin + buffer.len as usize;
            if end > most {
                return Err(Wrong::Frame(end));
            }
            into.resize(end, 0);
            memory.read(buffer.address, &mut into[begin..])?;
        }
        Ok(Some(head))
    }

    /// Copies `bytes` into the next chain, as far as that has room; its head and how many were copied.
    ///
    /// # Errors
    /// A chain that can't be.
    pub fn write(&mut self, memory: &Memory, bytes: &[u8]) -> Result<Option<(u16, usize)>, Wrong> {
        let Some(head) = self.take(memory)? else { return Ok(None) };
        let mut left = bytes;
        for buffer in &self.chain {
            if !buffer.writable {
                return Err(Wrong::Way);
            }
            let (now, later) = left.split_at(left.len().min(buffer.len as usize));
            memory.write(buffer.address, now)?;
            left = later;
        }
        Ok(Some((head, bytes.len() - left.len())))
    }

    /// Takes back the last chains that were taken and not given.
    pub fn untake(&mut self, chains: u16) {
        self.next_available = self.next_available.wrapping_sub(chains);
    }

    /// Gives a chain back, of which `written` bytes were written. It is seen with [`Ring::publish`].
    ///
    /// # Errors
    /// A queue outside of the guest's memory.
    pub fn give(&mut self, memory: &Memory, head: u16, written: usize) -> Result<(), Wrong> {
        let slot = u64::from(u32::from(self.next_used) % self.size);
        let mut raw = [0; 8];
        raw[..4].copy_from_slice(&u32::from(head).to_le_bytes());
        raw[4..].copy_from_slice(&(written as u32).to_le_bytes());
        memory.write(self.used.wrapping_add(4 + 8 * slot), &raw)?;
        self.next_used = self.next_used.wrapping_add(1);
        Ok(())
    }

    /// Shows the guest what was given; whether it wants to be called for that.
    ///
    /// # Errors
    /// A queue outside of the guest's memory.
    pub fn publish(&mut self, memory: &Memory) -> Result<bool, Wrong> {
        if self.size == 0 {
            return Ok(false);
        }
        memory.store_u16(self.used.wrapping_add(2), self.next_used)?;
        let given = self.next_used.wrapping_sub(self.called_at);
        if given == 0 {
            return Ok(false);
        }
        let wants = if self.event_index {
            // 2.7.7.2: the entry that it names is among the new ones.
            let named = memory.load_u16(self.available.wrapping_add(4 + 2 * u64::from(self.size)))?;
            self.next_used.wrapping_sub(named).wrapping_sub(1) < given
        } else {
            memory.load_u16(self.available)? & 1 == 0
        };
        self.called_at = self.next_used;
        Ok(wants)
    }

    /// Tells the guest from which entry on it is to say that there are more: from the next on, or, while
    /// `busy`, not before the queue has gone round.
    ///
    /// # Errors
    /// A queue outside of the guest's memory.
    pub fn ask(&self, memory: &Memory, busy: bool) -> Result<(), Wrong> {
        if self.event_index {
            let at = self.used.wrapping_add(4 + 8 * u64::from(self.size));
            let next = if busy { self.next_available.wrapping_sub(1) } else { self.next_available };
            memory.store_u16(at, next)?;
        } else {
            memory.store_u16(self.used, u16::from(busy))?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    /// Where a guest has its memory, for the queues.
    const BASE: u64 = 0x1000_0000;
    const LEN: u64 = 1 << 16;
    const SIZE: u32 = 4;
    const AVAILABLE: u64 = BASE + 0x100;
    const USED: u64 = BASE + 0x200;
    const DATA: u64 = BASE + 0x1000;

    /// A queue as its driver sees it.
    pub(crate) struct Driver {
        pub memory: Memory,
        pub ring: Ring,
    }

    impl Driver {
        pub(crate) fn new(event_index: bool) -> Driver {
            let file = memfd_create("guest", MemfdFlags::CLOEXEC).unwrap();
            ftruncate(&file, LEN).unwrap();
            let mut memory = Memory::default();
            memory.add(BASE, 0, LEN, &file, 0).unwrap();
            let ring = Ring { event_index, ..Ring::at(SIZE, BASE, AVAILABLE, USED) };
            Driver { memory, ring }
        }

        fn describe(&self, at: u16, address: u64, len: u32, flags: u16, next: u16) {
            let mut raw = address.to_le_bytes().to_vec();
            raw.extend(len.to_le_bytes());
            raw.extend(flags.to_le_bytes());
            raw.extend(next.to_le_bytes());
            self.memory.write(BASE + DESCRIPTOR * u64::from(at), &raw).unwrap();
        }

        /// Makes a chain available.
        fn offer(&self, head: u16) {
            let index = self.memory.load_u16(AVAILABLE + 2).unwrap();
            let slot = u64::from(u32::from(index) % SIZE);
            self.memory.store_u16(AVAILABLE + 4 + 2 * slot, head).unwrap();
            self.memory.store_u16(AVAILABLE + 2, index.wrapping_add(1)).unwrap();
        }

        /// The entry that the device gave last: (head, bytes written).
        fn last_used(&self) -> (u32, u32) {
            let index = self.memory.load_u16(USED + 2).unwrap().wrapping_sub(1);
            let mut raw = [0; 8];
            self.memory.read(USED + 4 + 8 * u64::from(u32::from(index) % SIZE), &mut raw).unwrap();
            let word = |at: usize| u32::from_le_bytes(raw[at..at + 4].try_into().unwrap());
            (word(0), word(4))
        }
    }

    #[test]
    fn a_chain_is_read_and_given_back() {
        let mut driver = Driver::new(false);
        driver.memory.write(DATA, b"hello").unwrap();
        driver.memory.write(DATA + 64, b" world").unwrap();
        driver.describe(2, DATA, 5, NEXT, 0);
        driver.describe(0, DATA + 64, 6, 0, 0);
        driver.offer(2);
        let mut read = Vec::new();
        assert_eq!(driver.ring.read(&driver.memory, 100, &mut read), Ok(Some(2)));
        assert_eq!(read, b"hello world");
        assert_eq!(driver.ring.read(&driver.memory, 100, &mut read), Ok(None));
        driver.ring.give(&driver.memory, 2, 0).unwrap();
        assert_eq!(driver.ring.publish(&driver.memory), Ok(true));
        assert_eq!(driver.last_used(), (2, 0));
        assert_eq!(driver.ring.publish(&driver.memory), Ok(false), "nothing new");
    }

    #[test]
    fn a_chain_is_written_as_far_as_it_has_room() {
        let mut driver = Driver::new(false);
        driver.describe(0, DATA, 4, WRITE | NEXT, 1);
        driver.describe(1, DATA + 64, 4, WRITE, 0);
        driver.offer(0);
        driver.offer(0);
        assert_eq!(driver.ring.write(&driver.memory, b"abcdef"), Ok(Some((0, 6))));
        assert_eq!(driver.ring.write(&driver.memory, b"abcdefghi"), Ok(Some((0, 8))));
        let mut read = [0; 4];
        driver.memory.read(DATA + 64, &mut read).unwrap();
        assert_eq!(&read, b"efgh");
    }

    #[test]
    fn a_guest_is_called_from_the_entry_on_that_it_names() {
        let mut driver = Driver::new(true);
        driver.describe(0, DATA, 4, WRITE, 0);
        let named = AVAILABLE + 4 + 2 * u64::from(SIZE);
        let mut give = |names: u16| {
            driver.memory.store_u16(named, names).unwrap();
            driver.offer(0);
            driver.ring.write(&driver.memory, b"x").unwrap();
            driver.ring.give(&driver.memory, 0, 1).unwrap();
            driver.ring.publish(&driver.memory).unwrap()
        };
        assert!(give(0));
        assert!(!give(3));
        assert!(!give(3));
        assert!(give(3));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let read = |prepare: &dyn Fn(&mut Driver)| {
            let mut driver = Driver::new(false);
            driver.describe(0, DATA, 4, 0, 0);
            prepare(&mut driver);
            driver.ring.read(&driver.memory, 64, &mut Vec::new())
        };
        let beyond = |d: &mut Driver| d.offer(SIZE as u16);
        assert_eq!(read(&beyond), Err(Wrong::Descriptor(SIZE as u16)));
        let endless = |d: &mut Driver| {
            d.describe(0, DATA, 1, NEXT, 1);
            d.describe(1, DATA, 1, NEXT, 0);
            d.offer(0);
        };
        assert_eq!(read(&endless), Err(Wrong::Loop));
        let too_many = |d: &mut Driver| d.memory.store_u16(AVAILABLE + 2, 5).unwrap();
        assert_eq!(read(&too_many), Err(Wrong::Entries(5)));
        let outside = |d: &mut Driver| {
            d.describe(0, BASE + LEN - 2, 4, 0, 0);
            d.offer(0);
        };
        assert_eq!(read(&outside), Err(Wrong::Address));
        let below = |d: &mut Driver| {
            d.describe(0, u64::MAX - 1, 4, 0, 0);
            d.offer(0);
        };
        assert_eq!(read(&below), Err(Wrong::Address));
        let long = |d: &mut Driver| {
            d.describe(0, DATA, 65, 0, 0);
            d.offer(0);
        };
        assert_eq!(read(&long), Err(Wrong::Frame(65)));
        let other_way = |d: &mut Driver| {
            d.describe(0, DATA, 4, WRITE, 0);
            d.offer(0);
        };
        assert_eq!(read(&other_way), Err(Wrong::Way));
        let nowhere = |d: &mut Driver| d.ring.available = 3;
        assert_eq!(read(&nowhere), Err(Wrong::Address));
    }
}
