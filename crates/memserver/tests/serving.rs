//! The server over the loopback: what it keeps, whom it refuses, and that nobody can stop it for others.

mod support;

use farmem::wire::session::OUT_MAX;
use farmem::wire::{CHALLENGE, HEAD, Head, Key, Kind, PAGE, PAGES_MAX, Ticket, lengths};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;
use support::{KEY, Program, Running, connect, rest};

/// A page that a number tells from others.
fn page(number: u64) -> Vec<u8> {
    number.to_be_bytes().repeat(PAGE / 8)
}

#[test]
fn pages_come_back_as_they_were_written() {
    let server = Running::large();
    let mut program = Program::new(server.at);
    server.says(": served");
    program.write(7, &[&page(1), b"packed", &page(2)]);
    program.write(1 << 50, &[&page(3)]);
    assert_eq!(program.read(7, 3), Ok(vec![page(1), b"packed".to_vec(), page(2)]));
    assert_eq!(program.read(1 << 50, 1), Ok(vec![page(3)]));
    program.write(8, &[&page(4)]);
    assert_eq!(program.read(8, 1), Ok(vec![page(4)]));
    let freed = program.client.free(8, 1);
    program.send(&freed);
    assert_eq!(program.read(8, 1), Err("page 8 was never written, or is free".to_owned()));
    drop(program);
    server.says(": refused: page 8 was never written, or is free");
}

#[test]
fn each_client_has_a_memory_of_its_own_and_a_fork_a_copy() {
    let server = Running::large();
    let (mut first, mut second) = (Program::new(server.at), Program::new(server.at));
    first.write(1, &[&page(1)]);
    second.write(1, &[&page(2)]);
    assert_eq!(first.read(1, 1), Ok(vec![page(1)]));
    let ticket = first.share();
    first.write(1, &[&page(3)]);
    let mut child = Program::with(server.at, KEY, ticket).expect("the ticket is good");
    assert_eq!(child.read(1, 1), Ok(vec![page(1)]), "as it was when it forked");
    child.write(1, &[&page(4)]);
    assert_eq!([first.read(1, 1), second.read(1, 1)], [Ok(vec![page(3)]), Ok(vec![page(2)])]);
    let again = Program::with(server.at, KEY, ticket).err();
    assert_eq!(again.as_deref(), Some("the memory of the process that forked is no longer kept"));
}

#[test]
fn whoever_does_not_know_the_key_is_told_so_and_leaves_nothing() {
    let server = Running::large();
    let refused = Program::with(server.at, Key([0; 16]), Ticket::NEW).err();
    assert!(refused.is_some_and(|why| why.starts_with("wrong key")));
    server.says("give the program the key file that the memory server has");
    let stranger = connect(server.at);
    (&stranger).write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it is connected");
    assert_eq!(rest(&stranger).expect("it closes"), b"", "no answer to another protocol");
    drop(stranger);
    server.says(": refused: it spoke another protocol, or another version");
    let silent = connect(server.at);
    drop(silent);
    server.says(": left without the key");
    let mut program = Program::new(server.at);
    program.write(0, &[&page(1)]);
    assert_eq!(program.read(0, 1), Ok(vec![page(1)]), "others are served");
}

#[test]
fn a_slow_client_keeps_nobody_waiting() {
    let server = Running::large();
    let mut slow = connect(server.at);
    let mut other = Program::new(server.at);
    let hello = farmem::wire::client::Greeting::new(KEY, [3; 16], Ticket::NEW).hello();
    for (number, byte) in hello.iter().enumerate() {
        slow.write_all(&[*byte]).expect("it is connected");
        other.write(number as u64, &[&page(number as u64)]);
        assert_eq!(other.read(number as u64, 1), Ok(vec![page(number as u64)]));
    }
    let mut challenge = [0; CHALLENGE];
    slow.read_exact(&mut challenge).expect("the hello came byte by byte");
    // A known client that says half of a message: the rest may come when it likes.
    let mut half = Program::new(server.at);
    let mut message = half.client.write(0, 1).to_vec();
    lengths::put([PAGE], &mut message);
    message.extend(page(5));
    half.send(&message[..HEAD + 1000]);
    assert_eq!(other.read(3, 1), Ok(vec![page(3)]));
    half.send(&message[HEAD + 1000..]);
    assert_eq!(half.read(0, 1), Ok(vec![page(5)]));
}

#[test]
fn a_client_that_does_not_read_is_no_longer_listened_to() {
    let server = Running::large();
    let mut deaf = Program::new(server.at);
    let all: Vec<Vec<u8>> = (0..u64::from(PAGES_MAX)).map(page).collect();
    deaf.write(0, &all.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert_eq!(deaf.read(0, PAGES_MAX).as_ref(), Ok(&all), "the longest message there is");
    // It asks and asks: the server stops reading, and what it has asked for no longer leaves.
    let heads: Vec<u8> = (0..4096).flat_map(|_| deaf.client.read(0, PAGES_MAX)).collect();
    deaf.socket.set_write_timeout(Some(Duration::from_millis(500))).expect("it can be set");
    let mut asked = 0;
    let error = loop {
        match (&deaf.socket).write(&heads[asked % HEAD..]) {
            Ok(bytes) => asked += bytes,
            Err(error) => break error,
        }
        assert!(asked < 64 << 20, "the server reads whatever it can't answer");
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    assert!(asked / HEAD * PAGES_MAX as usize * PAGE > 100 * OUT_MAX);
    let mut other = Program::new(server.at);
    other.write(0, &[&page(9)]);
    assert_eq!(other.read(0, 1), Ok(vec![page(9)]), "others are served");
    (0..8).for_each(|_| assert_eq!(deaf.come().as_ref(), Ok(&all), "it is listened to again"));
}

#[test]
fn messages_that_are_too_large_or_mean_nothing_end_the_connection() {
    let server = Running::large();
    let too_many = Head { kind: Kind::Read, count: PAGES_MAX + 1, page: 0 }.encode();
    let servers = Head { kind: Kind::Welcome, count: 0, page: 0 }.encode();
    let mut too_long = Head { kind: Kind::Write, count: 1, page: 0 }.encode().to_vec();
    lengths::put([PAGE + 1], &mut too_long);
    let nonsense = "what the program said means nothing";
    for (message, why) in [
        (&too_many[..], nonsense),
        (&[0xff; HEAD], nonsense),
        (&too_long, nonsense),
        (&servers, "what the program said is a server's"),
    ] {
        let mut program = Program::new(server.at);
        program.send(message);
        let head = program.take::<HEAD>();
        assert_eq!(program.refusal(&head), why);
        drop(program);
        server.says(&format!(": refused: {why}"));
    }
    let mut program = Program::new(server.at);
    program.write(0, &[&page(1)]);
    assert_eq!(program.read(0, 1), Ok(vec![page(1)]), "others are served");
}

#[test]
fn a_full_server_refuses_and_is_free_again_when_clients_leave() {
    let server = Running::with(64, 64, 8);
    let mut first = Program::new(server.at);
    let written = (0..64).take_while(|number| {
        first.write(*number, &[&page(*number)]);
        first.read(*number, 1).is_ok()
    });
    let fitted = written.count();
    assert!((48..64).contains(&fitted), "{fitted} pages and what knows them fit into 64");
    drop(first);
    server.says("give the program more --local");
    let mut next = Program::new(server.at);
    (0..fitted as u64).for_each(|number| next.write(number, &[&page(number)]));
    assert_eq!(next.read(0, fitted as u32).map(|pages| pages.len()), Ok(fitted), "all of it is free again");
}

#[test]
fn a_client_has_its_share_and_others_have_theirs() {
    let server = Running::with(256, 32, 8);
    let (mut greedy, mut other) = (Program::new(server.at), Program::new(server.at));
    let mut refused = None;
    for number in 0..64 {
        greedy.write(number, &[&page(number)]);
        refused = greedy.read(number, 1).err();
        if refused.is_some() {
            break;
        }
    }
    assert!(refused.is_some_and(|why| why.contains("--client-memory")));
    (0..20).for_each(|number| other.write(number, &[&page(number)]));
    assert_eq!(other.read(19, 1), Ok(vec![page(19)]));
}

#[test]
fn connections_have_a_bound() {
    let server = Running::with(64, 64, 2);
    let (first, mut second) = (Program::new(server.at), Program::new(server.at));
    let third = connect(server.at);
    server.says(": refused, 2 connections are all");
    assert_eq!(rest(&third).unwrap_or_default(), b"");
    second.write(0, &[&page(1)]);
    assert_eq!(second.read(0, 1), Ok(vec![page(1)]));
    first.socket.shutdown(Shutdown::Both).expect("it is connected");
    server.says(": ended");
    Program::new(server.at);
}
