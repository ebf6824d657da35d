//! A signal ends the server, clients or not. All servers of a process end with it: it has a process of its
//! own.

mod support;

use farmem::wire::PAGE;
use rustix::process::{Signal, getpid, kill_process};
use support::{Program, Running, rest};

#[test]
fn a_signal_ends_the_server_and_its_clients_see_that() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP].into_iter().filter(|signal| !is_ignored(*signal)) {
        let server = Running::large();
        let mut program = Program::new(server.at);
        program.write(0, &[&[1; PAGE]]);
        assert!(program.read(0, 1).is_ok());
        kill_process(getpid(), signal).expect("it is this process");
        server.thread.join().expect("no panic").expect("an end that was asked for");
        assert_eq!(rest(&program.socket).unwrap_or_default(), b"");
    }
}

/// A server leaves alone what its process ignores: a shell ignores INT for what it starts in the background,
/// nohup HUP.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("in each status");
    let mask = u64::from_str_radix(mask.trim(), 16).expect("a number");
    mask >> (signal.as_raw() - 1) & 1 == 1
}
