//! Plans that follow links, against the plan that knows what will happen: at each time the best for the rates
//! that links then have.

use super::support::{MBPS, MIB, config, run_lengths, star};
use crate::algorithm::{Algorithm, plan};
use crate::topology::{NodeId, Topology};
use crate::transfer::{Config, Settings, chunk_size};
use sim::{Change, LinkChange};
use units::{Rate, Time};

/// What a link of 1500 byte packets carries of TCP's payload.
const PAYLOAD: f64 = 1448.0 / 1538.0;

/// From a time on, the link of a host has this rate in Mb/s.
type Step = (Time, u32, u64);

/// Seconds until each destination has everything by plans that know all.
fn bound(topology: &Topology, steps: &[Step], bytes: u64) -> Vec<f64> {
    let mut topology = topology.clone();
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let mut left = vec![bytes as f64 * 8.0; hosts.len() - 1];
    let mut done = vec![f64::INFINITY; left.len()];
    let (mut now, mut steps) = (0.0, steps.iter().peekable());
    while done.iter().any(|at| at.is_infinite()) {
        let rates = plan(Algorithm::Stable, &topology, hosts[0], &hosts[1..], 0).unwrap().rates();
        let next = steps.next();
        let until = next.map_or(f64::INFINITY, |step| step.0.as_secs_f64());
        for (host, rate) in rates.iter().enumerate() {
            let rate = rate.as_bps() as f64 * PAYLOAD;
            if left[host] > 0.0 {
                let at = now + left[host] / rate;
                left[host] = if until.is_finite() { left[host] - rate * (until - now) } else { 0.0 };
                if at <= until {
                    done[host] = at;
                }
            }
        }
        if let Some((at, host, mbps)) = next {
            now = at.as_secs_f64();
            let link = topology.leaving(NodeId(*host))[0];
            topology.set_capacity(link, Rate::from_bps(mbps * MBPS));
            topology.set_capacity(link.reverse(), Rate::from_bps(mbps * MBPS));
        }
    }
    done
}

/// Time by plans that know all over time taken, for each destination.
fn ratios(topology: &Topology, steps: &[Step], bytes: u64, replan: bool) -> Vec<f64> {
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let first = plan(Algorithm::Stable, topology, hosts[0], &hosts[1..], 0).unwrap();
    let settings = Settings { replan, ..Settings::default() };
    let config = Config { settings, ..config(topology.clone(), bytes, chunk_size(&first, bytes)) };
    let switch = fabric::NodeId(hosts.len() as u32);
    let change = |(at, host, mbps): &Step| {
        (*at, Change::Link(fabric::NodeId(*host), switch, LinkChange::Rate(Rate::from_bps(mbps * MBPS))))
    };
    let run = run_lengths(&config, steps.iter().map(change).collect());
    let bound = bound(topology, steps, bytes);
    (1..hosts.len()).map(|host| bound[host - 1] / run.completed(host)).collect()
}

fn mean(ratios: &[f64]) -> f64 {
    ratios.iter().sum::<f64>() / ratios.len() as f64
}

fn least(ratios: &[f64]) -> f64 {
    ratios.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The link of a host is at `low` and at 20 Mb/s in turn, so long each.
fn turns(host: u32, every: Time, times: u64, low: u64) -> Vec<Step> {
    (1..=times).map(|turn| (every.saturating_mul(turn), host, if turn % 2 == 1 { low } else { 20 })).collect()
}

fn equal(receivers: usize) -> Topology {
    star(&vec![(20, 20); receivers + 1])
}

const SECOND: Time = Time::from_secs(1);

#[test]
fn a_link_that_halves_costs_the_others_the_time_to_find_out() {
    for (receivers, host) in [(7, 1), (20, 5)] {
        let ratios = ratios(&equal(receivers), &turns(host, SECOND.saturating_mul(3), 1, 10), 20 * MIB, true);
        assert!(mean(&ratios) > 0.93 && least(&ratios) > 0.9, "{receivers} receivers: {ratios:?}");
    }
}

#[test]
fn a_link_that_recovers_is_used_again() {
    let ratios = ratios(&equal(7), &turns(1, SECOND.saturating_mul(3), 2, 10), 20 * MIB, true);
    assert!(mean(&ratios) > 0.93 && least(&ratios) > 0.92, "{ratios:?}");
}

#[test]
fn a_link_that_flips_costs_only_its_host() {
    let ratios = ratios(&equal(7), &turns(1, SECOND.saturating_mul(4), 100, 6), 20 * MIB, true);
    assert!(least(&ratios[1..]) > 0.9 && ratios[0] > 0.8, "{ratios:?}");
}

#[test]
fn the_sources_link_is_told_from_those_of_its_children() {
    let ratios = ratios(&equal(7), &turns(0, SECOND.saturating_mul(3), 2, 10), 20 * MIB, true);
    assert!(least(&ratios) > 0.95, "{ratios:?}");
}

#[test]
fn one_slow_receiver_among_seven_costs_nothing() {
    let mut links = vec![(20, 20); 8];
    links[4] = (2, 2);
    let ratios = ratios(&star(&links), &[], 20 * MIB, true);
    assert!(least(&ratios) > 0.95, "{ratios:?}");
}

/// One transfer says little: of 20, with the change at other times, the slowest host keeps 0.3 to 0.8.
#[test]
fn hosts_that_all_differ_keep_most_of_their_rates() {
    let topology = star(&[20, 20, 16, 12, 8, 4, 20, 18].map(|rate| (rate, rate)));
    let all = [2600, 3000, 3400].map(|change| {
        let ratios = ratios(&topology, &turns(1, Time::from_ms(change), 1, 10), 20 * MIB, true);
        (mean(&ratios), least(&ratios))
    });
    let (means, leasts): (Vec<f64>, Vec<f64>) = all.into_iter().unzip();
    assert!(mean(&means) > 0.8 && mean(&leasts) > 0.45, "{means:?} {leasts:?}");
}

#[test]
fn hosts_that_all_differ_and_stay_as_they_are_have_the_first_plan() {
    let rates = [20, 20, 16, 12, 8, 4, 20, 18];
    let ratios = ratios(&star(&rates.map(|rate| (rate, rate))), &[], 60 * MIB, true);
    assert!(least(&ratios) > 0.94, "{ratios:?}");
}
