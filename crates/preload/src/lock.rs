//! A lock that needs nothing of the program: a futex(2) in this library's own data (Drepper, Futexes are
//! tricky, mutex 2).
//!
//! The forking thread holds all of them meanwhile, and may pass through them ([`forking`]): the C library
//! allocates on the way.

use crate::raw;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

/// The thread that forks.
static FORKING: AtomicUsize = AtomicUsize::new(0);

fn me() -> usize {
    // SAFETY: reads a register of this thread.
    unsafe { libc::pthread_self() as usize }
}

/// What one thread at a time may use.
pub(crate) struct Lock<T> {
    /// 0 free, 1 taken, 2 taken and somebody waits.
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by the holder of the lock only.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Lock<T> {
        Lock { word: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    #[inline]
    pub(crate) fn lock(&self) -> Held<'_, T> {
        let mine = self.word.compare_exchange(0, 1, Acquire, Relaxed).is_ok() || self.wait();
        Held { lock: self, mine }
    }

    /// Only when nobody has it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<Held<'_, T>> {
        // Not `then_some`: that would make a `Held` anyway, whose end gives back what another thread has.
        self.word.compare_exchange(0, 1, Acquire, Relaxed).is_ok().then(|| Held { lock: self, mine: true })
    }

    /// False when this thread holds it already, because it forks.
    #[cold]
    fn wait(&self) -> bool {
        if FORKING.load(Relaxed) == me() {
            return false;
        }
        while self.word.swap(2, Acquire) != 0 {
            raw::wait(&self.word, 2);
        }
        true
    }

    /// Takes it until [`Lock::release`].
    pub(crate) fn hold(&self) {
        std::mem::forget(self.lock());
    }

    /// Gives back what [`Lock::hold`] took; in a child, too, where nobody waits.
    pub(crate) fn release(&self) {
        if self.word.swap(0, Release) == 2 {
            raw::wake(&self.word, 1);
        }
    }
}

/// From now on this thread holds all locks, or (false) no longer.
pub(crate) fn forking(yes: bool) {
    FORKING.store(if yes { me() } else { 0 }, Relaxed);
}

/// The right to use the value.
pub(crate) struct Held<'a, T> {
    lock: &'a Lock<T>,
    mine: bool,
}

impl<T> Deref for Held<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.mine {
            self.lock.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;

    #[test]
    fn one_thread_at_a_time_has_the_value() {
        static COUNT: Lock<u64> = Lock::new(0);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| (0..20_000).for_each(|_| *COUNT.lock() += 1));
            }
        });
        assert_eq!(*COUNT.lock(), 80_000);
        assert_eq!(COUNT.word.load(Relaxed), 0, "free, and nobody waits");
    }

    #[test]
    fn trying_takes_nothing_from_the_holder() {
        let lock = Lock::new(());
        let held = lock.lock();
        assert!(lock.try_lock().is_none());
        assert_eq!(lock.word.load(Relaxed), 1, "still held");
        drop(held);
        assert!(lock.try_lock().is_some());
    }

    #[test]
    fn the_thread_that_forks_passes_through_what_it_holds() {
        alone!({
            static LOCK: Lock<u8> = Lock::new(1);
            LOCK.hold();
            forking(true);
            *LOCK.lock() += 1;
            assert!(LOCK.try_lock().is_none(), "passing through gives nothing back");
            forking(false);
            LOCK.release();
            assert_eq!(LOCK.try_lock().map(|value| *value), Some(2));
        });
    }
}
