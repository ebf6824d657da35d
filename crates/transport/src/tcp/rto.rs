//! Round-trip estimation and the retransmission timeout.
//!
//! Source: RFC 6298 (2.1 to 2.5, 5.5 to 5.7); the least and greatest timeout are settings.
//! Karn's rule (no sample from a segment sent twice) is kept by the caller, which knows the segments.

use units::Time;

/// SRTT, RTTVAR, RTO and the least round-trip time seen.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: Time,
    rttvar: Time,
    min_rtt: Time,
    /// SRTT + 4 RTTVAR between the bounds, without back-off.
    base: Time,
    backoff: u32,
    min: Time,
    max: Time,
}

impl RttEstimator {
    pub fn new(initial: Time, min: Time, max: Time) -> RttEstimator {
        // So that sums with it cannot overflow.
        let max = max.min(Time::from_secs(86_400));
        RttEstimator {
            srtt: Time::ZERO,
            rttvar: Time::ZERO,
            min_rtt: Time::MAX,
            base: initial.min(max),
            backoff: 0,
            min: min.min(max),
            max,
        }
    }

    /// Takes a round-trip sample (RFC 6298 2.2, 2.3) and ends the back-off (5.7).
    #[inline(always)]
    pub fn sample(&mut self, rtt: Time) {
        self.min_rtt = self.min_rtt.min(rtt);
        let r = rtt.as_ps() as i64;
        if self.srtt == Time::ZERO {
            return self.first_sample(rtt);
        }
        let srtt = self.srtt.as_ps() as i64;
        let rttvar = self.rttvar.as_ps() as i64;
        let rttvar = rttvar + (((srtt - r).abs() - rttvar) >> 2);
        let srtt = srtt + ((r - srtt) >> 3);
        self.rttvar = Time::from_ps(rttvar as u64);
        self.srtt = Time::from_ps(srtt.max(1) as u64);
        self.update();
    }

    #[cold]
    fn first_sample(&mut self, rtt: Time) {
        self.srtt = rtt.max(Time::from_ps(1));
        self.rttvar = Time::from_ps(rtt.as_ps() / 2);
        self.update();
    }

    #[inline]
    fn update(&mut self) {
        let rto = Time::from_ps(self.srtt.as_ps() + 4 * self.rttvar.as_ps());
        self.base = rto.max(self.min).min(self.max);
        self.backoff = 0;
    }

    /// The timer expired: doubles the timeout (5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// The handshake's timer expired: data starts with at least 3 s (5.7), within the bounds.
    pub fn restart_after_lost_syn(&mut self) {
        self.base = self.base.max(Time::from_secs(3)).min(self.max);
        self.backoff = 0;
    }

    /// The retransmission timeout now.
    #[inline]
    pub fn rto(&self) -> Time {
        if self.backoff == 0 { self.base } else { self.backed_off() }
    }

    #[cold]
    fn backed_off(&self) -> Time {
        self.base.saturating_mul(1 << self.backoff.min(32)).min(self.max)
    }

    /// The same with a clock of granularity `g`, which a small variation does not fall below (2.3).
    pub fn rto_by_ticks(&self, g: Time) -> Time {
        if !self.has_sample() {
            return self.rto();
        }
        let rto = self.srtt + Time::from_ps(4 * self.rttvar.as_ps()).max(g);
        rto.max(self.base).min(self.max).saturating_mul(1 << self.backoff.min(32)).min(self.max)
    }

    /// How long so many timeouts in a row take.
    pub fn spent(&self, timeouts: u32) -> Time {
        let mut spent = Time::ZERO;
        for number in 0..timeouts {
            let timeout = self.base.saturating_mul(1 << number.min(32));
            if timeout >= self.max {
                return spent.saturating_add(self.max.saturating_mul(u64::from(timeouts - number)));
            }
            spent = spent.saturating_add(timeout);
        }
        spent
    }

    /// The probe timeout without what the peer's delay adds (RFC 8985 7.2): two round trips, or a second
    /// before there is a sample.
    #[inline]
    pub fn two_srtt(&self) -> Time {
        if self.has_sample() { Time::from_ps(2 * self.srtt.as_ps()) } else { Time::from_secs(1) }
    }

    /// Whether there has been a sample.
    #[inline]
    pub fn has_sample(&self) -> bool {
        self.srtt != Time::ZERO
    }
    /// Smoothed round-trip time; zero before the first sample.
    #[inline]
    pub fn srtt(&self) -> Time {
        self.srtt
    }
    /// Least round-trip time; [`Time::MAX`] before the first sample.
    #[inline]
    pub fn min_rtt(&self) -> Time {
        self.min_rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> RttEstimator {
        RttEstimator::new(Time::from_secs(1), Time::from_us(1), Time::from_secs(60))
    }

    #[test]
    fn the_first_sample_sets_srtt_r_and_rttvar_half_of_it() {
        let mut e = estimator();
        assert_eq!(e.rto(), Time::from_secs(1));
        e.sample(Time::from_ms(100));
        assert_eq!(e.srtt(), Time::from_ms(100));
        // RTO = R + 4 * R/2.
        assert_eq!(e.rto(), Time::from_ms(300));
    }

    #[test]
    fn later_samples_weigh_an_eighth_and_a_quarter() {
        let mut e = estimator();
        e.sample(Time::from_ms(100));
        e.sample(Time::from_ms(180));
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5; SRTT = 7/8 * 100 + 1/8 * 180 = 110.
        assert_eq!(e.srtt(), Time::from_ms(110));
        assert_eq!(e.rto(), Time::from_ms(340));
    }

    #[test]
    fn the_bounds_hold_and_back_off_doubles_up_to_the_greatest() {
        let mut e = RttEstimator::new(Time::from_secs(1), Time::from_ms(200), Time::from_secs(1));
        e.sample(Time::from_us(50));
        assert_eq!(e.rto(), Time::from_ms(200));
        e.back_off();
        assert_eq!(e.rto(), Time::from_ms(400));
        e.back_off();
        e.back_off();
        assert_eq!(e.rto(), Time::from_secs(1));
        e.sample(Time::from_us(50));
        assert_eq!(e.rto(), Time::from_ms(200));
    }

    #[test]
    fn least_and_greatest_alike_are_a_fixed_timeout() {
        let mut e = RttEstimator::new(Time::from_secs(1), Time::from_ms(250), Time::from_ms(250));
        assert_eq!(e.rto(), Time::from_ms(250), "before the first sample too");
        for rtt in [1, 900, 3] {
            e.sample(Time::from_ms(rtt));
            e.back_off();
            assert_eq!(e.rto(), Time::from_ms(250));
        }
        assert_eq!(e.spent(400), Time::from_secs(100));
    }

    #[test]
    fn timeouts_in_a_row_add_up() {
        let mut e = RttEstimator::new(Time::from_secs(1), Time::from_ms(200), Time::from_secs(120));
        e.sample(Time::from_ms(1));
        assert_eq!(e.spent(3), Time::from_ms(200 + 400 + 800));
        // Linux's 924.6 s for tcp_retries2 = 15.
        assert_eq!(e.spent(16), Time::from_ms(924_600));
    }

    #[test]
    fn a_coarse_clock_adds_at_least_a_tick() {
        let mut e = estimator();
        e.sample(Time::from_ms(8));
        for _ in 0..40 {
            e.sample(Time::from_ms(8));
        }
        // RTTVAR is all but nothing by now: RTO = SRTT + G.
        assert!(e.rto() < Time::from_ms(9));
        assert_eq!(e.rto_by_ticks(Time::from_ms(10)), Time::from_ms(18));
        e.back_off();
        assert_eq!(e.rto_by_ticks(Time::from_ms(10)), Time::from_ms(36));
        let mut wide = estimator();
        wide.sample(Time::from_ms(8));
        assert_eq!(wide.rto_by_ticks(Time::from_ms(10)), Time::from_ms(24), "4 RTTVAR is more than a tick");
    }

    #[test]
    fn a_lost_syn_gives_three_seconds() {
        let mut e = estimator();
        e.back_off();
        e.restart_after_lost_syn();
        assert_eq!(e.rto(), Time::from_secs(3));
    }
}
