//! What a server counts, and its samples over time. The server alone writes them; drivers and views read them
//! while it runs. A counter is read as it is at the moment: several of them need not be of the same moment.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use units::Time;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counters, as the server writes them.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub(crate) $name: Counter,)*
        }

        /// The counters at a moment.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Totals {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            /// What they show now.
            pub fn totals(&self) -> Totals {
                Totals { $($name: self.$name.get(),)* }
            }
        }

        impl Totals {
            /// Names and values, in order.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Walks that are to be finished.
    required,
    /// Walkers generated, lost ones again included.
    generated,
    /// Of these, those of walks that had been begun before: the document's additional runs.
    additional,
    /// Walks finished, each counted once.
    finished,
    /// Walks given up, since as many attempts as are allowed have timed out.
    given_up,
    /// Of the finished walks, those that ended by an attempt that had been given up.
    late,
    /// Confirmations of walks that had been finished before.
    again,
    /// Walkers given up by timeout.
    lost_timeout,
    /// Walkers given up because this server, where they were born, dropped them.
    lost_direct,
    /// Walkers given up because another server said that it had dropped them.
    lost_remote,
    /// Checks before generation that found a loss.
    loss_checks,
    /// Sleeps between generations.
    sleeps,
    /// Walkers that came from other servers, dropped ones included.
    arrived,
    /// Walkers served.
    served,
    /// Steps walked here.
    steps,
    /// Walkers dropped by RED's chance.
    drops_early,
    /// Walkers dropped at RED's upper threshold.
    drops_forced,
    /// Walkers dropped because the queue was full.
    drops_full,
    /// Walkers dropped because they had waited for too long.
    drops_wait,
    /// Of all dropped walkers, those born here.
    drops_own,
    /// Datagrams sent.
    sent_datagrams,
    /// Their bytes, UDP and IP headers not counted.
    sent_bytes,
    /// Datagrams received and understood.
    received_datagrams,
    /// Datagrams refused: none of random walks, another version, another job, malformed.
    refused_datagrams,
    /// Datagrams refused: without the job's tag, or from an address that is no member's.
    refused_strangers,
    /// Records refused: of nodes or walks that are not this server's.
    refused_records,
    /// Batches of changes of the graph that could not be applied.
    refused_changes,
    /// Finished walks that could not be kept, or not be read back after a crash: they were walked again.
    refused_snapshots,
    /// Starts after a crash.
    restarts,
    /// Of the finished walks, those of before the last crash, which were kept.
    restored,
    /// When the last walk was finished, in picoseconds; 0: not yet.
    finished_ps,
}

/// A number that one thread writes and others read.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Without an atomic addition: there is only one writer.
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.get() + n, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A server at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When.
    pub time: Time,
    /// Walkers that wait.
    pub queue: u64,
    /// Most that waited since the sample before.
    pub queue_max: u64,
    /// T: walkers older than it count as lost.
    pub timeout: Time,
    /// The counters so far.
    pub totals: Totals,
}

/// Where a server shows how it does.
#[derive(Debug, Default)]
pub struct Board {
    /// Its counters.
    pub counters: Counters,
    samples: Mutex<Vec<Sample>>,
}

impl Board {
    pub(crate) fn note(&self, sample: Sample) {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
    }

    /// Hands out the samples taken since the last call.
    pub fn take_samples(&self) -> Vec<Sample> {
        std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
