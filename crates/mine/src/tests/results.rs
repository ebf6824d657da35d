//! What nodes find is what one node finds: for each algorithm and exchange, with any memory, and in the same
//! bytes.

use super::support::{Cluster, alone, pack, shares, transactions};
use crate::node::{Algorithm, Costs, Exchange, Order, Settings};
use crate::progress::Progress;
use crate::single;
use units::Time;

const LONG: Time = Time::from_secs(1000);

pub fn exchanges() -> [Exchange; 4] {
    let combined = |transactions| Exchange::Combined { transactions };
    [Exchange::Plain, combined(Some(30)), combined(None), Exchange::Frequent]
}

pub const ALGORITHMS: [Algorithm; 3] = [Algorithm::Npa, Algorithm::Hpa, Algorithm::HpaEld];

fn settings(algorithm: Algorithm, exchange: Exchange) -> Settings {
    Settings { algorithm, exchange, duplicated: 8, block: 256, ..Settings::new(12, vec![]) }
}

#[test]
fn each_algorithm_and_exchange_finds_what_one_node_finds() {
    let all = transactions(300, 30, 1);
    let wanted = alone(&all, 12, None);
    assert!(wanted.len() >= 4, "{} levels", wanted.len());
    for nodes in [1, 2, 3, 5, 8, 16] {
        for (at, algorithm) in ALGORITHMS.into_iter().enumerate() {
            for exchange in exchanges() {
                let settings = settings(algorithm, exchange);
                let cluster = Cluster::new(settings, Costs::default(), shares(&all, nodes));
                assert!(cluster.world(at as u64).finish(LONG), "{nodes} nodes, {algorithm:?}, {exchange:?}");
                cluster.assert_found(&wanted);
            }
        }
    }
}

#[test]
fn short_memory_means_more_scans_and_the_same_result() {
    let all = transactions(400, 60, 2);
    let wanted = alone(&all, 12, None);
    let scans = |algorithm, exchange, memory, nodes| {
        let settings = Settings { memory, ..settings(algorithm, exchange) };
        let cluster = Cluster::new(settings, Costs::default(), shares(&all, nodes));
        assert!(cluster.world(7).finish(LONG));
        cluster.assert_found(&wanted);
        let passes = cluster.boards[0].progress().passes;
        [passes[1].scans, passes[2].scans]
    };
    for algorithm in ALGORITHMS {
        for exchange in exchanges() {
            let [pairs, triples] = scans(algorithm, exchange, 1024, 2);
            assert!(pairs > 2 && triples > 2, "{algorithm:?}, {exchange:?}: {pairs}, {triples}");
            assert_eq!(scans(algorithm, exchange, 1 << 20, 2), [1, 1]);
        }
    }
    // The whole cluster's memory counts for HPA; for NPA it doesn't.
    let of = |algorithm, nodes| scans(algorithm, Exchange::Plain, 1024, nodes)[0];
    assert!(of(Algorithm::Hpa, 8) * 4 <= of(Algorithm::Hpa, 2) * 2, "{}", of(Algorithm::Hpa, 8));
    assert!(of(Algorithm::Npa, 8) * 2 > of(Algorithm::Npa, 2));
}

#[test]
fn one_node_with_short_memory_scans_more_often_too() {
    let all = transactions(400, 60, 2);
    for threads in [1, 3] {
        let found = |memory| {
            let settings = single::Settings { minimum: 12, longest: None, memory, threads };
            single::mine(pack(&all), &settings, &Progress::default()).unwrap()
        };
        let ((levels, passes), (wanted, once)) = (found(1 << 10), found(1 << 20));
        assert!(levels == wanted && passes.iter().zip(&once).all(|(a, b)| a.candidates == b.candidates));
        assert!(passes[1].scans > 2 && passes[2].scans > 2, "{passes:?}");
        assert!(once.iter().all(|pass| pass.scans == 1), "{once:?}");
    }
}

#[test]
fn fewer_bytes_go_when_counts_are_combined_and_fewest_when_they_are_frequent() {
    let all = transactions(3000, 200, 3);
    let sent = |exchange| {
        let mut settings = Settings { block: 8192, ..settings(Algorithm::Hpa, exchange) };
        settings.derived.minimum = 40;
        let cluster = Cluster::new(settings, Costs::default(), shares(&all, 4));
        assert!(cluster.world(1).finish(LONG), "{:?}", cluster.boards);
        cluster.boards.iter().map(|board| board.progress().passes[1].sent_bytes).sum::<u64>()
    };
    let sent: Vec<u64> = exchanges().into_iter().map(sent).collect();
    assert!(sent.is_sorted_by(|a, b| a > b), "{sent:?}");
    assert!(sent[3] * 10 < sent[0], "{sent:?}");
}

#[test]
fn costs_and_orders_change_nothing_but_the_time() {
    let all = transactions(200, 20, 4);
    let wanted = alone(&all, 10, Some(3));
    let costs = Costs {
        transaction: Time::from_us(3),
        item: Time::from_us(1),
        generate: Time::from_us(2),
        probe: Time::from_us(5),
        disk: true,
        variation_ppm: 20_000,
        ..Costs::default()
    };
    for order in [Order::Same, Order::Rotated] {
        for padded in [false, true] {
            for exchange in exchanges() {
                let mut settings =
                    Settings { order, padded, longest: Some(3), ..settings(Algorithm::Hpa, exchange) };
                settings.derived.minimum = 10;
                let cluster = Cluster::new(settings, costs, shares(&all, 4));
                let mut world = cluster.world(5);
                assert!(world.finish(LONG));
                assert!(world.now > Time::from_ms(1));
                cluster.assert_found(&wanted);
            }
        }
    }
}

#[test]
fn nothing_large_ends_with_pass_1_and_no_transactions_do_too() {
    let all = transactions(50, 20, 4);
    for (all, minimum) in [(&all[..], 51), (&[], 1)] {
        let mut settings = settings(Algorithm::Hpa, Exchange::Frequent);
        settings.derived.minimum = minimum;
        let cluster = Cluster::new(settings, Costs::default(), shares(all, 3));
        assert!(cluster.world(5).finish(LONG));
        cluster.assert_found(&[]);
        assert_eq!(cluster.boards[2].progress().passes.len(), 1);
    }
}
