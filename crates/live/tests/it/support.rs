//! The same processes on sockets and in the simulator.

use fabric::topology::single_switch;
use fabric::{Framing, LinkProps, SwitchConfig};
use live::seal::Secret;
use live::threads::{self, Host};
use live::{Job, Key, Report, Run, Settings, Table};
use process::testing::Script;
use process::{Context, Event, HostId, Process};
use sim::{HostConfig, JobSetup, Pause, Records, Setup, Sim};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};
use units::{Rate, Time};

/// The port that all test jobs use.
pub const PORT: u16 = 5000;
/// Longer than any of these runs takes on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(300);

pub type Processes = Vec<(HostId, Box<dyn Process>)>;

/// Each process on a host of its own, on sockets.
pub fn live(processes: Processes, settings: &Settings) -> Vec<Report> {
    threads::run(hosts(processes), &[PORT], 1, settings, LIMIT).unwrap()
}

pub fn hosts(processes: Processes) -> Vec<Host> {
    let host = |(host, process): (HostId, _)| Host {
        host,
        name: format!("host{}", host.0),
        jobs: vec![Job { index: 0, name: "job".into(), start: Time::ZERO, background: false, process }],
    };
    processes.into_iter().map(host).collect()
}

/// Each process on a host of its own, in the simulator.
pub fn simulated(processes: Processes) -> Records {
    let link = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 9000 };
    let count = processes.len();
    let (nic_queue, cores) = (32_000, 2);
    let host = HostConfig { nic_queue, cores, disk: Rate::from_gbps(4), ..HostConfig::default() };
    let (name, kind, start) = ("job".into(), "test".into(), Time::ZERO);
    let mut sim = Sim::new(Setup {
        graph: single_switch(count as u32, link).unwrap(),
        framing: Framing::ETHERNET,
        seed: 1,
        switches: vec![SwitchConfig::default()],
        hosts: vec![host; count],
        jobs: vec![JobSetup { name, kind, start, class: 0, background: false, processes }],
        faults: Vec::new(),
        until: Time::from_secs(1000),
    });
    while sim.run(1 << 20) == Pause::Running {}
    sim.close();
    sim.take_records()
}

/// Where members of tests are.
pub const IP: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// What a member runs that a test starts by itself.
#[expect(clippy::disallowed_methods, reason = "a run begins at a time of the calendar")]
pub fn plan(table: &Table, process: Box<dyn Process>) -> Run {
    let job = Job { index: 0, name: "job".into(), start: Time::ZERO, background: false, process };
    let (name, key) = ("host".into(), Key([1; 16]));
    Run {
        table: table.clone(),
        name,
        seed: 1,
        key,
        secret: Secret([0; 32]),
        start: SystemTime::now(),
        jobs: vec![job],
        signals: false,
    }
}

/// A process from a closure.
pub fn does(body: impl FnMut(Event, &mut dyn Context) + Send + 'static) -> Box<dyn Process> {
    Box::new(Script(body))
}

/// A log that processes write to.
pub fn log<T>() -> (mpsc::Sender<T>, mpsc::Receiver<T>) {
    mpsc::channel()
}
