//! Crashes, broken streams and intruders change nothing: each count is counted once.

use super::results::{ALGORITHMS, exchanges};
use super::support::{Cluster, alone, crash, shares, transactions};
use crate::items::Level;
use crate::node::{Costs, Settings};
use process::{Addr, HostId};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use units::Time;
use units::testing::cases;

const LONG: Time = Time::from_secs(2000);

/// Something that goes wrong.
#[derive(Clone, Debug)]
enum Trouble {
    /// A host crashes: which, whether its process is a new one, whether its disk is lost too.
    Crash(usize, bool, bool),
    Cut,
    Intrude(usize, usize, u64),
}

fn trouble() -> impl Strategy<Value = Trouble> {
    prop_oneof![
        3 => (0usize..8, any::<bool>(), any::<bool>()).prop_map(|(host, new, lost)| Trouble::Crash(host, new, lost)),
        2 => Just(Trouble::Cut),
        1 => (0usize..8, 0usize..8, any::<u64>()).prop_map(|(from, to, seed)| Trouble::Intrude(from, to, seed)),
    ]
}

/// Bytes that begin as they should.
fn bytes(cluster: &Cluster, from: usize, seed: u64) -> Vec<u8> {
    use crate::node::wire::Message;
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut bytes = Message::Hello { job: cluster.settings.derived.job, node: from as u32 }.encode();
    bytes.extend((0..rng.random_range(0..200)).map(|_| rng.random_range(0..=6u8)));
    bytes
}

fn run(cluster: &Cluster, seed: u64, troubles: &[(u64, Trouble)]) -> Result<(), TestCaseError> {
    let nodes = cluster.shares.len();
    let (mut world, mut chance) = (cluster.world(seed), Pcg64::seed_from_u64(seed));
    let mut at = Time::ZERO;
    for (after, trouble) in troubles {
        at += Time::from_us(*after);
        world.finish(at);
        match trouble {
            Trouble::Crash(host, new, lost) => {
                let host = host % nodes;
                if *lost && *new {
                    cluster.disks[host].0.lock().unwrap().clear();
                }
                crash(&mut world, host, new.then(|| cluster.node(host)), &mut chance);
            }
            Trouble::Cut => world.cut(),
            Trouble::Intrude(from, to, seed) if from % nodes != to % nodes => {
                let addr = |host| Addr { host: HostId((host % nodes) as u32), port: 5000 };
                world.call(addr(*from), addr(*to), bytes(cluster, from % nodes, *seed));
            }
            Trouble::Intrude(..) => {}
        }
    }
    prop_assert!(
        world.finish(at + LONG),
        "it ends: {:?}",
        cluster.boards.iter().map(|b| b.progress()).collect::<Vec<_>>()
    );
    Ok(())
}

fn wanted(all: &[Vec<u32>], minimum: u64) -> Vec<Level> {
    alone(all, minimum, None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]

    #[test]
    fn what_goes_wrong_changes_nothing(
        seed in any::<u64>(),
        nodes in 1usize..=8,
        algorithm in 0usize..3,
        exchange in 0usize..4,
        memory in prop_oneof![Just(1u64 << 10), Just(1 << 20)],
        slow in any::<bool>(),
        troubles in prop::collection::vec((0u64..30_000, trouble()), 0..6),
    ) {
        let all = transactions(120, 24, seed % 5);
        let settings = Settings {
            algorithm: ALGORITHMS[algorithm],
            exchange: exchanges()[exchange],
            memory,
            duplicated: 6,
            block: 256,
            ..Settings::new(8, vec![])
        };
        let probe = if slow { Time::from_us(2) } else { Time::ZERO };
        let costs = Costs { probe, item: probe, ..Costs::default() };
        let cluster = Cluster::new(settings, costs, shares(&all, nodes));
        run(&cluster, seed, &troubles)?;
        let wanted = wanted(&all, 8);
        for board in &cluster.boards {
            prop_assert_eq!(board.levels(), wanted.clone());
        }
    }
}
