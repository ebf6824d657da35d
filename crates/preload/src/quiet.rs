//! Locks that signals' handlers need too, and that are taken while nothing needed of the stack is away.

use crate::lock::{Held, Lock};
use crate::signals::{self, Waiting};
use crate::stacks;
use std::ops::{Deref, DerefMut};

impl<T> Lock<T> {
    /// As [`Lock::lock`], but with no signals meanwhile: their handlers may call what needs it too, and
    /// mmap(2) is called by some. Nothing that is needed of the stack is away.
    pub(crate) fn quietly(&self) -> Quiet<'_, T> {
        let waiting = signals::wait();
        stacks::stay();
        Quiet { held: self.lock(), _waiting: waiting }
    }
}

/// The right to use the value while no signal comes.
pub(crate) struct Quiet<'a, T> {
    // Given back first.
    held: Held<'a, T>,
    _waiting: Waiting,
}

impl<T> Deref for Quiet<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T> DerefMut for Quiet<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}
