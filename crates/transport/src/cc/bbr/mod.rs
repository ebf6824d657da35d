//! BBR, version 1: sends at the bottleneck's rate, as a model of the path has it.
//!
//! The model is the greatest delivery rate of ten round trips and the least round-trip time of ten seconds.
//! Integers only: gains in thousandths, rates in bytes per second. A send quantum is one segment, for there
//! is no segmentation offload here. ECN is ignored. Source: draft-cardwell-iccrg-bbr-congestion-control-00,
//! section 4, read against this file function by function; names as there. What differs: the send quantum
//! (4.2.2 leaves it open); the end of an idle restart waits for an acknowledgement that delivers something,
//! as in Linux; the filter of 4.1.1.2 is exact.

use super::filter::WindowedMax;
use super::input::{Ack, Phase, Window};
use super::pacer::Pacer;
use super::rate::{RateSample, RateSampler};
use units::Time;

/// BBRBtlBwFilterLen, in round trips.
const BTL_BW_FILTER: u64 = 10;
/// RTpropFilterLen.
const RT_PROP_FILTER: Time = Time::from_secs(10);
/// BBRHighGain: 2 / ln 2.
const HIGH_GAIN: u64 = 2885;
const UNIT: u64 = 1000;
/// BBRMinPipeCwnd, in segments.
const MIN_PIPE: u64 = 4;
const PROBE_RTT_DURATION: Time = Time::from_ms(200);
/// BBRGainCycle.
const GAIN_CYCLE: [u64; 8] = [1250, 750, 1000, 1000, 1000, 1000, 1000, 1000];
/// The round-trip time that the first pacing rate assumes without a sample.
const NOMINAL_RTT: Time = Time::from_ms(1);

/// BBR.state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR's variables.
#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    pub rate: RateSampler,
    pub pacer: Pacer,
    state: State,
    pacing_gain: u64,
    cwnd_gain: u64,
    /// Bytes per second; zero before anything was sent.
    pacing_rate: u64,
    btl_bw: WindowedMax,
    /// [`Time::MAX`] before the first sample.
    rt_prop: Time,
    rt_prop_stamp: Time,
    rt_prop_expired: bool,
    next_round_delivered: u64,
    round_count: u64,
    round_start: bool,
    filled_pipe: bool,
    full_bw: u64,
    full_bw_count: u32,
    cycle_index: usize,
    cycle_stamp: Time,
    /// [`Time::ZERO`] for none.
    probe_rtt_done_stamp: Time,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    prior_cwnd: u64,
    packet_conservation: bool,
    recovering: bool,
    /// Bytes found lost since the last acknowledgement.
    lost: u64,
    initial_cwnd: u64,
    /// Draws the first phase of a gain cycle.
    draw: u64,
}

impl Bbr {
    /// `draw` differs between connections: it decides where their gain cycles begin.
    pub fn new(initial_cwnd: u64, draw: u32) -> Bbr {
        Bbr {
            rate: RateSampler::default(),
            pacer: Pacer::default(),
            state: State::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0,
            btl_bw: WindowedMax::new(BTL_BW_FILTER),
            rt_prop: Time::MAX,
            rt_prop_stamp: Time::ZERO,
            rt_prop_expired: false,
            next_round_delivered: 0,
            round_count: 0,
            round_start: false,
            filled_pipe: false,
            full_bw: 0,
            full_bw_count: 0,
            cycle_index: 0,
            cycle_stamp: Time::ZERO,
            probe_rtt_done_stamp: Time::ZERO,
            probe_rtt_round_done: false,
            idle_restart: false,
            prior_cwnd: 0,
            packet_conservation: false,
            recovering: false,
            lost: 0,
            initial_cwnd,
            draw: u64::from(draw),
        }
    }

    /// Moves its times.
    pub fn shift(&mut self, by: Time) {
        self.rt_prop_stamp += by;
        self.cycle_stamp += by;
        if self.probe_rtt_done_stamp != Time::ZERO {
            self.probe_rtt_done_stamp += by;
        }
        self.rate.shift(by);
        for time in [&mut self.pacer.next, &mut self.pacer.probe_at, &mut self.pacer.shown] {
            *time = time.saturating_add(by);
        }
    }

    /// A segment that ends at `end` goes out, with `in_flight` bytes before it (BBRInitPacingRate of
    /// 4.2.1, BBRHandleRestartFromIdle of 4.3.4.4).
    pub fn send(&mut self, now: Time, end: u64, in_flight: u64, srtt: Time) {
        if self.pacing_rate == 0 {
            let rtt = if srtt == Time::ZERO { NOMINAL_RTT } else { srtt };
            // BBRInit: the handshake's round trip is the first.
            self.rt_prop = if srtt == Time::ZERO { Time::MAX } else { srtt };
            self.rt_prop_stamp = now;
            self.pacing_rate = scaled(self.initial_cwnd * 1_000_000 / rtt.as_us().max(1), HIGH_GAIN);
        }
        if in_flight == 0 && self.rate.app_limited != 0 {
            self.idle_restart = true;
            if self.state == State::ProbeBw {
                self.set_pacing_rate(UNIT);
            }
        }
        self.rate.send(now, end, in_flight == 0);
    }

    /// How long the sender waits after so many bytes.
    pub fn gap(&self, bytes: u64) -> Time {
        let ps = u128::from(bytes) * 1_000_000_000_000 / u128::from(self.pacing_rate.max(1));
        Time::from_ps(ps as u64)
    }

    /// So many bytes are thought lost.
    pub fn lose(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// BBRUpdateOnACK (3.5.2): the model, the state, and then rate and window.
    #[inline(never)]
    pub fn observe(&mut self, window: &mut Window, ack: &Ack, phase: Phase) {
        let min_rtt = if self.rt_prop == Time::MAX { Time::ZERO } else { self.rt_prop };
        let sample = self.rate.acknowledge(ack.now, ack.una, ack.delivered, min_rtt);
        self.follow(window, ack, phase);
        self.update_btl_bw(&sample, ack);
        self.check_cycle_phase(window, ack);
        self.check_full_pipe(&sample);
        self.check_drain(window, ack);
        self.update_rt_prop(ack);
        self.check_probe_rtt(window, ack);
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(window, ack);
        self.lost = 0;
    }

    /// Entering and leaving loss recovery (4.2.3.4): packet conservation for a round trip.
    fn follow(&mut self, window: &mut Window, ack: &Ack, phase: Phase) {
        let recovering = phase >= Phase::Recovery;
        if recovering && !self.recovering {
            self.save_cwnd(window);
            if phase == Phase::Recovery {
                window.cwnd = ack.in_flight + ack.delivered.max(window.mss);
                self.packet_conservation = true;
                self.next_round_delivered = self.rate.delivered;
            }
        } else if !recovering && self.recovering {
            self.packet_conservation = false;
            self.restore_cwnd(window);
        }
        self.recovering = recovering;
    }

    /// 4.2.3.4, upon a retransmission timeout: one segment, until recovery is over.
    pub fn time_out(&mut self, window: &mut Window) {
        self.save_cwnd(window);
        self.recovering = true;
        self.packet_conservation = false;
        window.cwnd = window.mss;
    }

    /// 4.1.1: the round count, and the bandwidth filter.
    fn update_btl_bw(&mut self, sample: &RateSample, ack: &Ack) {
        self.round_start = ack.delivered > 0 && sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.next_round_delivered = self.rate.delivered;
            self.round_count += 1;
            self.packet_conservation = false;
        }
        if sample.delivery_rate >= self.btl_bw.max().max(1)
            || !sample.is_app_limited && sample.delivery_rate > 0
        {
            self.btl_bw.push(self.round_count, sample.delivery_rate);
        }
    }

    /// BBRInflight (4.2.3.2).
    fn inflight(&self, window: &Window, gain: u64) -> u64 {
        if self.rt_prop == Time::MAX {
            return self.initial_cwnd;
        }
        let bdp = u128::from(self.btl_bw.max()) * u128::from(self.rt_prop.as_ps()) / 1_000_000_000_000;
        scaled(bdp as u64, gain) + 3 * window.mss
    }

    /// 4.3.4.3: the gain cycle.
    fn check_cycle_phase(&mut self, window: &Window, ack: &Ack) {
        if self.state != State::ProbeBw {
            return;
        }
        let full_length = ack.now.saturating_sub(self.cycle_stamp) > self.rt_prop;
        let prior_in_flight = ack.in_flight + ack.delivered + self.lost;
        let next = if self.pacing_gain == UNIT {
            full_length
        } else if self.pacing_gain > UNIT {
            full_length && (self.lost > 0 || prior_in_flight >= self.inflight(window, self.pacing_gain))
        } else {
            full_length || prior_in_flight <= self.inflight(window, UNIT)
        };
        if next {
            self.advance_cycle_phase(ack.now);
        }
    }

    fn advance_cycle_phase(&mut self, now: Time) {
        self.cycle_stamp = now;
        self.cycle_index = (self.cycle_index + 1) % GAIN_CYCLE.len();
        self.pacing_gain = GAIN_CYCLE[self.cycle_index];
    }

    /// 4.3.2.2: three rounds without a quarter more of bandwidth.
    fn check_full_pipe(&mut self, sample: &RateSample) {
        if self.filled_pipe || !self.round_start || sample.is_app_limited {
            return;
        }
        if 4 * self.btl_bw.max() >= 5 * self.full_bw {
            self.full_bw = self.btl_bw.max();
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= 3;
    }

    /// 4.3.3.
    fn check_drain(&mut self, window: &Window, ack: &Ack) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
            self.pacing_gain = UNIT * UNIT / HIGH_GAIN;
            self.cwnd_gain = HIGH_GAIN;
        }
        if self.state == State::Drain && ack.in_flight <= self.inflight(window, UNIT) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// 4.3.4.2 and 4.3.4.3.
    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        self.cwnd_gain = 2 * UNIT;
        // Any phase but the draining one, by a generator of the connection's own.
        self.draw = self.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.cycle_index = GAIN_CYCLE.len() - 1 - (self.draw >> 33) as usize % (GAIN_CYCLE.len() - 1);
        self.advance_cycle_phase(now);
    }

    /// 4.1.2.
    fn update_rt_prop(&mut self, ack: &Ack) {
        self.rt_prop_expired = ack.now > self.rt_prop_stamp.saturating_add(RT_PROP_FILTER);
        if ack.rtt != Time::ZERO && (ack.rtt <= self.rt_prop || self.rt_prop_expired) {
            self.rt_prop = ack.rtt;
            self.rt_prop_stamp = ack.now;
        }
    }

    /// 4.3.5.
    fn check_probe_rtt(&mut self, window: &mut Window, ack: &Ack) {
        if self.state != State::ProbeRtt && self.rt_prop_expired && !self.idle_restart {
            self.save_cwnd(window);
            self.state = State::ProbeRtt;
            self.pacing_gain = UNIT;
            self.cwnd_gain = UNIT;
            self.probe_rtt_done_stamp = Time::ZERO;
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(window, ack);
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, window: &mut Window, ack: &Ack) {
        // The low rates of this state are no measure of the path.
        self.rate.limit_by_application(ack.in_flight);
        if self.probe_rtt_done_stamp == Time::ZERO {
            if ack.in_flight <= MIN_PIPE * window.mss {
                self.probe_rtt_done_stamp = ack.now + PROBE_RTT_DURATION;
                self.probe_rtt_round_done = false;
                self.next_round_delivered = self.rate.delivered;
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done && ack.now > self.probe_rtt_done_stamp {
            self.rt_prop_stamp = ack.now;
            self.restore_cwnd(window);
            if self.filled_pipe {
                self.enter_probe_bw(ack.now);
            } else {
                self.state = State::Startup;
                self.pacing_gain = HIGH_GAIN;
                self.cwnd_gain = HIGH_GAIN;
            }
        }
    }

    /// 4.2.1: before the pipe is full the rate only rises.
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = scaled(self.btl_bw.max(), gain);
        if rate > self.pacing_rate || (self.filled_pipe && rate > 0) {
            self.pacing_rate = rate;
        }
    }

    /// 4.2.3.4 to 4.2.3.6.
    fn set_cwnd(&mut self, window: &mut Window, ack: &Ack) {
        let least = MIN_PIPE * window.mss;
        let target = self.inflight(window, self.cwnd_gain);
        if self.recovering && self.lost > 0 {
            window.cwnd = window.cwnd.saturating_sub(self.lost).max(window.mss);
        }
        if self.packet_conservation {
            window.cwnd = window.cwnd.max(ack.in_flight + ack.delivered);
        } else {
            if self.filled_pipe {
                window.cwnd = (window.cwnd + ack.delivered).min(target);
            } else if window.cwnd < target || self.rate.delivered < self.initial_cwnd {
                window.cwnd += ack.delivered;
            }
            window.cwnd = window.cwnd.max(least);
        }
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(least);
        }
    }

    fn save_cwnd(&mut self, window: &Window) {
        let keeps = self.recovering || self.state == State::ProbeRtt;
        self.prior_cwnd = if keeps { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    fn restore_cwnd(&mut self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }
}

/// `value` times a gain in thousandths.
fn scaled(value: u64, gain: u64) -> u64 {
    (u128::from(value) * u128::from(gain) / u128::from(UNIT)) as u64
}

#[cfg(test)]
mod tests;
