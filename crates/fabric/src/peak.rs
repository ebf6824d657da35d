//! The greatest that something has been: since it was last asked for, and in all. Switches call the former a
//! watermark (SONiC, `show queue watermark`).

/// How much of something is in use, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Now.
    pub bytes: u64,
    /// The most since the watermarks were restarted.
    pub recent_max: u64,
    /// The most in all.
    pub max: u64,
}

/// A watermark.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Peak {
    recent: u64,
    before: u64,
}

impl Peak {
    /// Notes a value.
    #[inline(always)]
    pub(crate) fn note(&mut self, value: u64) {
        if value > self.recent {
            self.recent = value;
        }
    }

    /// The watermarks of what is `bytes` now.
    pub(crate) fn level(&self, bytes: u64) -> Level {
        let recent_max = self.recent.max(bytes);
        Level { bytes, recent_max, max: recent_max.max(self.before) }
    }

    /// A new interval begins, with what is there `now`.
    pub(crate) fn restart(&mut self, now: u64) {
        (self.before, self.recent) = (self.before.max(self.recent), now);
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Peak};

    #[test]
    fn each_interval_has_its_own_peak() {
        let mut peak = Peak::default();
        [3, 7, 2].into_iter().for_each(|value| peak.note(value));
        assert_eq!(peak.level(2), Level { bytes: 2, recent_max: 7, max: 7 });
        peak.restart(2);
        assert_eq!(peak.level(2), Level { bytes: 2, recent_max: 2, max: 7 }, "what is there counts");
        peak.note(5);
        assert_eq!(peak.level(0), Level { bytes: 0, recent_max: 5, max: 7 });
    }
}
