//! The sequence of states on a clean path, made of acknowledgements alone.

use super::*;

const MSS: u64 = 1000;

/// A path of so many bytes per second and a round trip, without loss: what is sent at BBR's rate and within
/// its window is acknowledged a round trip later, no faster than the path allows.
struct CleanPath {
    bbr: Bbr,
    window: Window,
    now: Time,
    rtt: Time,
    rate: u64,
    sent: u64,
    acked: u64,
    /// When the next segment may go out, and when the bottleneck is free.
    next_send: Time,
    free_at: Time,
    flying: std::collections::VecDeque<(Time, Time, u64)>,
    states: Vec<(Time, State, u64)>,
}

impl CleanPath {
    fn new(rate: u64, rtt: Time) -> CleanPath {
        CleanPath {
            bbr: Bbr::new(10 * MSS, 7),
            window: Window { cwnd: 10 * MSS, ssthresh: u64::MAX, mss: MSS },
            now: Time::from_secs(1),
            rtt,
            rate,
            sent: 0,
            acked: 0,
            next_send: Time::ZERO,
            free_at: Time::ZERO,
            flying: Default::default(),
            states: Vec::new(),
        }
    }

    fn run(&mut self, until: Time) {
        while self.now < until {
            let may_send = self.sent - self.acked + MSS <= self.window.cwnd;
            let ack_at = self.flying.front().map_or(Time::MAX, |flight| flight.0);
            let send_at = if may_send { self.next_send.max(self.now) } else { Time::MAX };
            if send_at < ack_at {
                self.send(send_at)
            } else {
                self.acknowledge(ack_at)
            }
            let state = (self.now, self.bbr.state, self.bbr.pacing_gain);
            if self.states.last().is_none_or(|last| (last.1, last.2) != (state.1, state.2)) {
                self.states.push(state);
            }
        }
    }

    fn send(&mut self, at: Time) {
        self.now = at;
        let in_flight = self.sent - self.acked;
        self.sent += MSS;
        self.bbr.send(at, self.sent, in_flight, self.rtt);
        self.next_send = at + self.bbr.gap(MSS);
        self.free_at = self.free_at.max(at) + Time::from_ps(MSS * 1_000_000_000_000 / self.rate);
        self.flying.push_back((self.free_at + self.rtt, at, self.sent));
    }

    fn acknowledge(&mut self, at: Time) {
        let (_, sent, end) = self.flying.pop_front().expect("something flies");
        self.now = at;
        self.acked = end;
        let ack = Ack {
            now: at,
            delivered: MSS,
            una: end,
            nxt: self.sent,
            rtt: at - sent,
            srtt: self.rtt,
            in_flight: self.sent - end,
        };
        self.bbr.observe(&mut self.window, &ack, Phase::Open);
    }
}

/// 10 MB/s over 10 ms: 100 segments.
fn path() -> CleanPath {
    CleanPath::new(10_000_000, Time::from_ms(10))
}

#[test]
fn startup_drain_and_then_the_gain_cycle() {
    let mut path = path();
    path.run(Time::from_secs(4));
    let states: Vec<State> = path.states.iter().map(|s| s.1).collect();
    assert_eq!(states[..2], [State::Startup, State::Drain]);
    assert!(states[2..].iter().all(|s| *s == State::ProbeBw));
    // The bandwidth is found exactly, and the round trip up to a segment's own time.
    let bw = path.bbr.btl_bw.max();
    assert!((9_950_000..=10_050_000).contains(&bw), "{bw}");
    assert!(path.bbr.rt_prop >= path.rtt && path.bbr.rt_prop < path.rtt + Time::from_us(200));
    // 1.25, 0.75, and six phases of 1, each about a round trip.
    let gains: Vec<u64> = path.states.iter().skip_while(|s| s.2 != 1250).map(|s| s.2).collect();
    assert!(gains.len() > 60);
    assert!(gains.chunks_exact(3).all(|cycle| cycle == [1250, 750, 1000]), "{gains:?}");
    let starts: Vec<Time> = path.states.iter().filter(|s| s.2 == 1250).map(|s| s.0).collect();
    for pair in starts.windows(2) {
        let rounds = (pair[1] - pair[0]).as_us() / path.rtt.as_us();
        assert!((7..=9).contains(&rounds), "a cycle is eight round trips: {rounds}");
    }
}

#[test]
fn the_handshakes_round_trip_is_the_first_estimate() {
    let mut bbr = Bbr::new(10 * MSS, 0);
    bbr.send(Time::from_secs(1), MSS, 0, Time::from_ms(8));
    assert_eq!((bbr.rt_prop, bbr.rt_prop_stamp), (Time::from_ms(8), Time::from_secs(1)));
    let mut unknown = Bbr::new(10 * MSS, 0);
    unknown.send(Time::from_secs(1), MSS, 0, Time::ZERO);
    assert_eq!(unknown.rt_prop, Time::MAX);
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut bbr = Bbr::new(10 * MSS, 0);
    let grow = |bbr: &mut Bbr, bandwidth| {
        bbr.round_count += 1;
        bbr.round_start = true;
        bbr.btl_bw.push(bbr.round_count, bandwidth);
        bbr.check_full_pipe(&RateSample { delivery_rate: bandwidth, ..RateSample::default() });
        bbr.filled_pipe
    };
    assert!(!grow(&mut bbr, 1000));
    // A quarter more counts as growth, less doesn't.
    assert!(!grow(&mut bbr, 1250));
    assert!(!grow(&mut bbr, 1500));
    assert!(!grow(&mut bbr, 1562));
    assert_eq!(bbr.full_bw_count, 2);
    assert!(!grow(&mut bbr, 1563));
    assert_eq!(bbr.full_bw_count, 0);
    assert!(!grow(&mut bbr, 1600));
    assert!(!grow(&mut bbr, 1600));
    assert!(grow(&mut bbr, 1600));
}

#[test]
fn a_round_limited_by_the_application_does_not_end_startup() {
    let mut bbr = Bbr::new(10 * MSS, 0);
    for _ in 0..10 {
        bbr.round_start = true;
        bbr.check_full_pipe(&RateSample { is_app_limited: true, ..RateSample::default() });
    }
    assert!(!bbr.filled_pipe);
}

#[test]
fn probe_rtt_comes_every_ten_seconds_without_a_new_minimum_and_lasts_200_ms_and_a_round() {
    let mut path = path();
    path.run(Time::from_secs(35));
    let probes: Vec<usize> =
        (0..path.states.len()).filter(|&i| path.states[i].1 == State::ProbeRtt).collect();
    assert!(probes.len() >= 2, "{}", probes.len());
    for &index in &probes {
        let length = path.states[index + 1].0 - path.states[index].0;
        assert!(length >= Time::from_ms(200) && length < Time::from_ms(240), "{length}");
        assert_eq!(path.states[index + 1].1, State::ProbeBw);
    }
    for pair in probes.windows(2) {
        let apart = path.states[pair[1]].0 - path.states[pair[0]].0;
        assert!(apart >= Time::from_secs(10) && apart < Time::from_ms(10_700), "{apart}");
    }
}

#[test]
fn the_queue_in_probe_bw_is_small_and_the_path_full() {
    let mut path = path();
    path.run(Time::from_secs(3));
    let before = path.acked;
    path.run(Time::from_secs(8));
    let rate = (path.acked - before) / 5;
    assert!(rate > 9_800_000, "{rate} bytes per second of 10 MB/s");
    assert!(path.window.cwnd <= 2 * 100 * MSS + 8 * MSS, "twice the product and the quanta");
    assert!(path.free_at.saturating_sub(path.now) < Time::from_ms(5), "a quarter of a round trip at most");
}

#[test]
fn the_drain_gain_is_the_inverse_of_startups() {
    let mut bbr = Bbr::new(10 * MSS, 0);
    let window = Window { cwnd: 10 * MSS, ssthresh: u64::MAX, mss: MSS };
    bbr.filled_pipe = true;
    bbr.rt_prop = Time::from_ms(10);
    bbr.btl_bw.push(1, 1_000_000);
    let ack = Ack {
        now: Time::from_secs(1),
        delivered: MSS,
        una: 0,
        nxt: 0,
        rtt: Time::ZERO,
        srtt: Time::ZERO,
        // Above the product of 10 kB and three quanta.
        in_flight: 13_001,
    };
    bbr.check_drain(&window, &ack);
    assert_eq!((bbr.state, bbr.pacing_gain), (State::Drain, 346));
    bbr.check_drain(&window, &Ack { in_flight: 13_000, ..ack });
    assert_eq!(bbr.state, State::ProbeBw);
    assert_ne!(bbr.pacing_gain, 750, "not in the draining phase");
}
