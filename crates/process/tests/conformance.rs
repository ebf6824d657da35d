//! The suite of bodies in memory, over networks that treat streams and datagrams differently.

use process::testing::conformance::{Case, Log, cases};
use process::testing::{Network, World};
use units::Time;

fn run(case: &Case, network: Network, seed: u64) {
    let (log, mut world) = (Log::default(), World::new(network, seed));
    world.add_all(case.processes(&log));
    if let Some(restart) = case.restart {
        world.run(restart.at);
        assert!(log.of(restart.after.0).iter().any(|note| note == restart.after.1), "{}", case.name);
        world.crash(restart.host.0 as usize, restart.back);
    }
    assert!(world.finish(Time::from_secs(100)), "{}: {log:?}", case.name);
    case.check(&log);
}

#[test]
fn processes_get_what_they_are_promised() {
    for case in cases() {
        run(&case, Network::default(), 1);
        for seed in 0..5 {
            let jitter = Time::from_ms(1);
            run(&case, Network { jitter, pieces: true, loss: 0.1, doubled: 0.1, ..Network::default() }, seed);
        }
    }
}

#[test]
fn a_run_repeats_itself() {
    let noted = |seed| {
        let network = Network { jitter: Time::from_ms(1), pieces: true, loss: 0.3, ..Network::default() };
        let (log, mut world) = (Log::default(), World::new(network, seed));
        world.keep_sent = true;
        world.add_all(cases()[2].processes(&log));
        assert!(world.finish(Time::from_secs(100)));
        (world.now, world.sent)
    };
    assert_eq!(noted(1), noted(1));
    assert_ne!(noted(1), noted(2));
}
