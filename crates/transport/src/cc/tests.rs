//! RFC 5681's numbers, through the interface.

use super::*;
use units::Time;

fn control(congestion: Congestion) -> Control {
    let settings = Settings {
        congestion,
        mss: 1000,
        initial_window: 10,
        hystart: false,
        ack_train: false,
        cubic_linux_growth: false,
        dctcp_shift: 4,
        htcp_rtt_scaling: true,
    };
    Control::new(settings, 0)
}

fn ack(delivered: u64) -> Ack {
    Ack { now: Time::ZERO, delivered, una: 0, nxt: 0, rtt: Time::ZERO, srtt: Time::from_ms(1), in_flight: 0 }
}

#[test]
fn slow_start_doubles_and_avoidance_adds_a_segment_a_window() {
    let mut c = control(Congestion::Reno);
    assert_eq!(c.window.cwnd, 10_000);
    for _ in 0..10 {
        c.grow(|| ack(1000));
    }
    assert_eq!(c.window.cwnd, 20_000);
    c.window.ssthresh = 20_000;
    for _ in 0..20 {
        c.grow(|| ack(1000));
    }
    assert_eq!(c.window.cwnd, 21_000);
}

#[test]
fn ssthresh_is_half_the_flight_and_at_least_two_segments() {
    let mut c = control(Congestion::Reno);
    c.reduce(Signal::Loss, 10_000);
    assert_eq!((c.window.cwnd, c.window.ssthresh), (5_000, 5_000));
    c.reduce(Signal::Timeout, 3_000);
    assert_eq!((c.window.cwnd, c.window.ssthresh), (1_000, 2_000));
}

#[test]
fn slow_start_stops_at_ssthresh_within_one_acknowledgement() {
    let mut c = control(Congestion::Reno);
    c.window.ssthresh = 10_500;
    c.grow(|| ack(2_000));
    assert_eq!(c.window.cwnd, 10_500);
}
