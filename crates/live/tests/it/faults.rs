//! Hosts that go and come back, panics, limits, signals.

use crate::support::{IP, LIMIT, PORT, does, hosts, log, plan};
use live::threads::{self, ThreadsError};
use live::{End, Member, Run, Settings, Table};
use process::{Addr, Event, HostId, Payload, Process};
use std::time::Duration;
use units::Time;

/// Sends to host 0 again and again, and says whose answer came and whom it was told to be lost.
fn asker(log: std::sync::mpsc::Sender<String>) -> Box<dyn Process> {
    does(move |event, cx| {
        match event {
            Event::Start => cx.bind(PORT),
            Event::Datagram { from, data, .. } => log.send(format!("{from} {}", data.len())).unwrap(),
            Event::PeerLost { host } => log.send(format!("lost {}", host.0)).unwrap(),
            _ => {}
        }
        cx.send(PORT, Addr { host: HostId(0), port: PORT }, Payload::Zeros(1));
        cx.set_timer(0, Time::from_ms(1));
    })
}

fn answerer(length: u64) -> Box<dyn Process> {
    does(move |event, cx| match event {
        Event::Start => cx.bind(PORT),
        Event::Datagram { from, .. } => cx.send(PORT, from, Payload::Zeros(length)),
        _ => {}
    })
}

#[test]
fn a_host_that_comes_back_elsewhere_is_found() {
    let (log, heard) = log();
    let wait_for = |what: &str| while heard.recv_timeout(LIMIT).unwrap() != what {};
    let bind = |host| Member::bind(HostId(host), IP, &[PORT], Settings::default()).unwrap();
    let (first, asking) = (bind(0), bind(1));
    let table = Table::new([first.address().clone(), asking.address().clone()]).unwrap();
    std::thread::scope(|scope| {
        let (stop_first, asking_handle) = (first.handle(), asking.handle());
        let asking_table = table.clone();
        let answering = scope.spawn(|| first.run(plan(&table, answerer(3)), &mut |_| true).unwrap());
        let asking = scope.spawn(move || asking.run(plan(&asking_table, asker(log)), &mut |_| true).unwrap());
        wait_for("0:5000 3");
        stop_first.stop();
        assert_eq!(answering.join().unwrap().end, End::Stopped);
        asking_handle.lost(HostId(0));
        wait_for("lost 0");
        let second = bind(0);
        let mut moved = table.clone();
        moved.put(second.address().clone()).unwrap();
        asking_handle.moved(second.address().clone());
        let stop_second = second.handle();
        let answering = scope.spawn(move || second.run(plan(&moved, answerer(4)), &mut |_| true).unwrap());
        wait_for("0:5000 4");
        asking_handle.stop();
        stop_second.stop();
        answering.join().unwrap();
        asking.join().unwrap();
    });
}

#[test]
fn a_host_takes_the_ports_it_had() {
    let member = Member::bind(HostId(3), IP, &[PORT, 6000], Settings::default()).unwrap();
    let address = member.address().clone();
    assert_eq!(address.udp.len() + address.tcp.len(), 4);
    let other = Member::bind_at(address.clone(), Settings::default()).unwrap();
    let free: Vec<_> = other.address().udp.values().collect();
    assert!(free.iter().all(|port| !address.udp.values().any(|taken| taken == *port)), "{free:?}");
    drop(member);
    assert_eq!(Member::bind_at(address.clone(), Settings::default()).unwrap().address(), &address);
}

#[test]
fn who_is_not_in_the_table_does_not_run() {
    let member = Member::bind(HostId(3), IP, &[PORT], Settings::default()).unwrap();
    let error = member.run(plan(&Table::default(), does(|_, _| {})), &mut |_| true).unwrap_err();
    assert_eq!(error.to_string(), "host 3 is not in the table of addresses");
    let elsewhere = Member::bind(HostId(0), "192.0.2.1".parse().unwrap(), &[PORT], Settings::default());
    assert!(elsewhere.err().unwrap().to_string().starts_with("192.0.2.1:0: "));
    let settings = Settings { batch: 0, ..Settings::default() };
    assert!(Member::bind(HostId(0), IP, &[PORT], settings).is_err());
}

#[test]
fn a_panic_names_its_host_and_ends_the_run() {
    let bad = does(|event, _| assert_ne!(event, Event::Start, "a test of panics"));
    let idle = does(|_, _| {});
    let result = threads::run(
        hosts(vec![(HostId(0), idle), (HostId(1), bad)]),
        &[PORT],
        1,
        &Settings::default(),
        LIMIT,
    );
    assert!(matches!(result, Err(ThreadsError::Panic(host)) if host == "host1"));
}

#[test]
fn a_run_that_never_ends_hits_its_limit() {
    let limit = Duration::from_millis(50);
    let idle = hosts(vec![(HostId(0), does(|_, _| {}))]);
    let reports = threads::run(idle, &[PORT], 1, &Settings::default(), limit).unwrap();
    assert_eq!((reports[0].end, reports[0].jobs[0].end_ps), (End::Interrupted, None));
    // An idle member waits: it does not spin.
    assert!(reports[0].cpu_ps < Time::from_ms(20).as_ps(), "{} ps", reports[0].cpu_ps);
}

#[test]
fn who_is_told_of_progress_can_end_the_run() {
    let member = Member::bind(HostId(0), IP, &[PORT], Settings { progress_ms: 5, ..Settings::default() });
    let member = member.unwrap();
    let table = Table::new([member.address().clone()]).unwrap();
    let mut told = 0;
    let report = member.run(plan(&table, does(|_, cx| cx.finish())), &mut |progress| {
        told += 1;
        assert!(progress.finished && progress.host == 0);
        told < 3
    });
    assert_eq!(report.unwrap().end, End::Interrupted);
    assert_eq!(told, 3);
}

#[test]
fn a_signal_ends_the_run_in_good_order() {
    let member = Member::bind(HostId(0), IP, &[PORT], Settings::default()).unwrap();
    let table = Table::new([member.address().clone()]).unwrap();
    let process = does(|event, _| {
        if event == Event::Start {
            let me = std::process::id().to_string();
            assert!(std::process::Command::new("kill").args(["-TERM", &me]).status().unwrap().success());
        }
    });
    let report = member.run(Run { signals: true, ..plan(&table, process) }, &mut |_| true).unwrap();
    assert_eq!(report.end, End::Interrupted);
}

#[test]
fn timers_come_in_order_and_not_early() {
    let (sender, receiver) = log();
    let process = does(move |event, cx| match event {
        Event::Start => {
            cx.set_timer(1, Time::from_ms(30));
            cx.set_timer(2, Time::from_ms(10));
            cx.set_timer(3, Time::from_ms(1));
            cx.set_timer(3, Time::from_ms(20));
            cx.set_timer(4, Time::from_ms(5));
            cx.cancel_timer(4);
            cx.compute(9, Time::from_secs(1000));
            cx.disk_read(8, 1 << 40);
        }
        Event::Timer { token } => {
            sender.send((token, cx.now())).unwrap();
            if token == 1 {
                cx.finish();
            }
        }
        Event::Computed { token } | Event::DiskDone { token } => sender.send((token, cx.now())).unwrap(),
        _ => {}
    });
    threads::run(hosts(vec![(HostId(0), process)]), &[PORT], 1, &Settings::default(), LIMIT).unwrap();
    let got: Vec<_> = receiver.into_iter().collect();
    assert_eq!(got.iter().map(|(token, _)| *token).collect::<Vec<_>>(), [9, 8, 2, 3, 1]);
    for ((_, at), ms) in got.iter().skip(2).zip([10, 20, 30]) {
        assert!(*at >= Time::from_ms(ms), "{at}");
    }
}
