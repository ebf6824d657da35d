//! Simulations in parts: jobs that are over at once, networks in which nothing happens, parts that fail.
//! That results are those of a whole is tried by `crates/scenario/tests/storms`.

use crate::support::{Cluster, LINK};
use fabric::topology::leaf_spine;
use process::{Context, Event, HostId, Process};
use sim::{Parts, Pause, Sim};
use units::Time;

/// Does this when it is told something.
struct Does(fn(Event, &mut dyn Context));

impl Process for Does {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        (self.0)(event, cx);
    }
}

/// A process on each of four hosts below two leaves.
fn cluster(does: fn(Event, &mut dyn Context)) -> Sim {
    let cluster = Cluster::new(leaf_spine(&[2, 2], 1, 1, LINK, LINK).unwrap());
    let process = |host| (HostId(host), Box::new(Does(does)) as Box<dyn Process>);
    let mut sim = cluster.processes((0..4).map(process).collect());
    sim.end_in_steps();
    sim
}

fn parts(make: impl Fn() -> Sim) -> Parts {
    let cut = make().cut(2).expect("two leaves");
    Parts::new(&cut, (0..2).map(|_| make()).collect(), 2)
}

#[test]
fn a_job_whose_processes_are_done_at_once_has_ended_once() {
    let make = || cluster(|_, cx| cx.finish());
    let (mut whole, mut parts) = (make(), parts(make));
    assert_eq!((whole.run(100), parts.run(100)), (Pause::Finished, Pause::Finished));
    let joined = parts.into_whole();
    assert_eq!(joined.job_records(), whole.job_records());
    assert_eq!(joined.progress(), whole.progress());
}

#[test]
fn samples_of_a_network_in_which_nothing_happens_let_the_run_pause() {
    let make = || {
        let mut sim = cluster(|event, cx| match event {
            Event::Start => cx.set_timer(0, Time::from_secs(1)),
            _ => cx.finish(),
        });
        let ports: Vec<_> = sim.network().ports().collect();
        sim.sample(Time::from_us(10), ports, false);
        sim
    };
    let mut parts = parts(make);
    assert_eq!(parts.run(1000), Pause::Running);
    assert!(parts.progress().now < Time::from_ms(20), "{:?}", parts.progress());
    assert!(parts.take_records().ports.len() > 5000);
    while parts.run(1 << 16) == Pause::Running {}
    assert_eq!(parts.into_whole().job_records()[0].end, Some(Time::from_secs(1)));
}

#[test]
#[should_panic(expected = "on purpose")]
fn a_part_that_panics_ends_the_run_with_its_message() {
    let mut parts = parts(|| {
        cluster(|event, cx| match event {
            Event::Start => cx.set_timer(0, Time::from_us(u64::from(cx.host().0))),
            _ => assert!(cx.host().0 < 3, "on purpose"),
        })
    });
    while parts.run(1 << 10) == Pause::Running {}
}
