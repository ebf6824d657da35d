//! The guest's memory, as it was shared by `VHOST_USER_SET_MEM_TABLE`.

use std::io;
use std::os::fd::OwnedFd;
use sys::shared::{Outside, Shared};

/// Parts of memory at most (vhost-user, "Memory regions description").
pub const PARTS_MAX: usize = 8;
/// Bytes of a part at most.
const PART_MAX: u64 = 1 << 36;

/// A part of the guest's memory.
#[derive(Debug)]
struct Part {
    /// Where it is for the queues.
    guest: u64,
    /// Where it is for whoever says where the queues are.
    user: u64,
    mapped: Shared,
}

/// All parts.
#[derive(Debug, Default)]
pub struct Memory(Vec<Part>);

impl Memory {
    /// Adds a part: `size` bytes from `offset` of a file on.
    ///
    /// # Errors
    /// A part that can't be mapped, or one too many.
    pub fn add(&mut self, guest: u64, user: u64, size: u64, file: &OwnedFd, offset: u64) -> io::Result<()> {
        if self.0.len() >= PARTS_MAX || size > PART_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "more memory than a guest can have"));
        }
        self.0.push(Part { guest, user, mapped: Shared::map(file, offset, size as usize)? });
        Ok(())
    }

    /// Where a place of the guest's process is for the queues.
    pub fn of_user(&self, address: u64) -> Option<u64> {
        self.0.iter().find_map(|part| {
            let at = address.checked_sub(part.user)?;
            (at < part.mapped.len() as u64).then(|| part.guest.wrapping_add(at))
        })
    }

    /// Copies from the guest.
    ///
    /// # Errors
    /// A place that is not, or not wholly, in one part.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Outside> {
        let (part, at) = self.find(address)?;
        part.read(at, into)
    }

    /// Copies to the guest.
    ///
    /// # Errors
    /// As [`Memory::read`].
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Outside> {
        let (part, at) = self.find(address)?;
        part.write(at, bytes)
    }

    /// A word of a queue.
    ///
    /// # Errors
    /// As [`Memory::read`], and a place that is not aligned.
    pub fn load_u16(&self, address: u64) -> Result<u16, Outside> {
        let (part, at) = self.find(address)?;
        part.load_u16(at).map(u16::from_le)
    }

    /// Writes a word of a queue.
    ///
    /// # Errors
    /// As [`Memory::load_u16`].
    pub fn store_u16(&self, address: u64, value: u16) -> Result<(), Outside> {
        let (part, at) = self.find(address)?;
        part.store_u16(at, value.to_le())
    }

    fn find(&self, address: u64) -> Result<(&Shared, usize), Outside> {
        let find = |part: &'_ Part| {
            let at = address.checked_sub(part.guest)?;
            (at <= part.mapped.len() as u64).then_some(at as usize)
        };
        self.0.iter().find_map(|part| find(part).map(|at| (&part.mapped, at))).ok_or(Outside)
    }
}
