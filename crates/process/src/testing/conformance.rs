//! What every driver has to do for a process, as processes that try it: the same bodies run in memory, in the
//! simulator and on sockets.
//!
//! A [`Case`] names the process of each host and what each of them notes. Times are not compared, because a
//! wall clock has its own; that nothing comes early is asserted by the bodies themselves. A driver's test
//! runs [`cases`] one by one: it builds the processes with [`Case::process`], causes the [`Restart`] if there
//! is one, and hands the [`Log`] to [`Case::check`].

use super::Script;
use crate::{Addr, Context, Event, HostId, Payload, Process, StreamId};
use std::sync::{Arc, Mutex, PoisonError};
use units::Time;

/// The port that all cases use.
pub const PORT: u16 = 5000;

/// What processes note: by which host, and what.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<(HostId, String)>>>);

impl Log {
    fn note(&self, cx: &dyn Context, what: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((cx.host(), what.into()));
    }

    /// What a host has noted, in order.
    pub fn of(&self, host: HostId) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|(by, _)| *by == host).map(|(_, what)| what.clone()).collect()
    }
}

/// A host crashes and comes back.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// The host.
    pub host: HostId,
    /// Not before this is in the log of the other host.
    pub after: (HostId, &'static str),
    /// By then it surely is, where time is virtual.
    pub at: Time,
    /// When the host is back, where time is virtual.
    pub back: Time,
}

/// The process of a host.
type Make = fn(HostId, Log) -> Box<dyn Process>;

/// A case of the suite.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What it tries.
    pub name: &'static str,
    /// Hosts `0..hosts` have a process each.
    pub hosts: u32,
    /// A host that crashes meanwhile.
    pub restart: Option<Restart>,
    make: Make,
    notes: &'static [&'static [&'static str]],
}

impl Case {
    /// The process of `host`; a driver that starts programs again makes it again.
    pub fn process(&self, host: HostId, log: &Log) -> Box<dyn Process> {
        (self.make)(host, log.clone())
    }

    /// All processes.
    pub fn processes(&self, log: &Log) -> Vec<(HostId, Box<dyn Process>)> {
        (0..self.hosts).map(HostId).map(|host| (host, self.process(host, log))).collect()
    }

    /// Checks what was noted.
    ///
    /// # Panics
    /// A host has noted something else.
    pub fn check(&self, log: &Log) {
        for (host, notes) in (0..).zip(self.notes) {
            assert_eq!(log.of(HostId(host)), *notes, "{}: host {host}", self.name);
        }
    }
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let case = |name, hosts, make, notes| Case { name, hosts, restart: None, make, notes };
    vec![
        case(
            "timers expire in order, move and are cancelled",
            1,
            timers,
            &[&["timer 2", "timer 3", "timer 1"]],
        ),
        case("a computation and transfers of the disk end", 1, work, &[&["computed 7", "read 8", "wrote 9"]]),
        case("datagrams come whole", 2, datagrams, &[&[], &["all came back"]]),
        case(
            "a stream carries every byte once and in order, at the reader's pace",
            2,
            transfer,
            &[
                &["accepted", "all came", "closed: Finished"],
                &["opened", "all written", "the end", "closed: Finished"],
            ],
        ),
        case(
            "who has finished writing goes on reading",
            2,
            half_closed,
            &[&["asked", "closed: Finished"], &["answered", "closed: Finished"]],
        ),
        case(
            "a stream that is drained is readable once, at its end",
            2,
            drained,
            &[&["readable", "closed: Finished"], &["the end", "closed: Finished"]],
        ),
        case("a port that nobody listens on refuses", 2, refused, &[&[], &["closed: Refused"]]),
        case(
            "who aborts is not told, the other end is reset",
            2,
            aborted,
            &[&["aborts"], &["closed: Reset"]],
        ),
        Case {
            restart: Some(Restart {
                host: HostId(0),
                after: (HostId(1), "answered"),
                at: Time::from_ms(500),
                back: Time::from_ms(1_000),
            }),
            ..case(
                "a host that crashes forgets, is found lost, and starts again",
                2,
                restarted,
                &[&["starts", "starts"], &["answered", "lost", "answered"]],
            )
        },
    ]
}

const SERVER: Addr = Addr { host: HostId(0), port: PORT };

fn script(body: impl FnMut(Event, &mut dyn Context) + Send + 'static) -> Box<dyn Process> {
    Box::new(Script(body))
}

fn timers(_: HostId, log: Log) -> Box<dyn Process> {
    let ms = Time::from_ms;
    script(move |event, cx| match event {
        Event::Start => {
            cx.set_timer(1, ms(30));
            cx.set_timer(2, ms(10));
            cx.set_timer(3, ms(1));
            cx.set_timer(3, ms(20));
            cx.set_timer(4, ms(5));
            cx.cancel_timer(4);
        }
        Event::Timer { token } => {
            assert!(cx.now() >= [ms(30), ms(10), ms(20)][token as usize - 1], "{token} at {}", cx.now());
            log.note(cx, format!("timer {token}"));
            if token == 1 {
                cx.finish();
            }
        }
        other => panic!("nothing else happens, but {other:?} does"),
    })
}

fn work(_: HostId, log: Log) -> Box<dyn Process> {
    script(move |event, cx| match event {
        Event::Start => cx.compute(7, Time::from_ms(1)),
        Event::Computed { token } => {
            log.note(cx, format!("computed {token}"));
            cx.disk_read(8, 1000);
        }
        Event::DiskDone { token: 8 } => {
            log.note(cx, "read 8");
            cx.disk_write(9, 1000);
        }
        Event::DiskDone { token } => {
            log.note(cx, format!("wrote {token}"));
            cx.finish();
        }
        other => panic!("nothing else happens, but {other:?} does"),
    })
}

/// Lengths of the datagrams, of which the third to the last travel as a train.
const LENGTHS: [usize; 6] = [0, 1, 500, 500, 500, 123];

fn datagrams(host: HostId, log: Log) -> Box<dyn Process> {
    if host == SERVER.host {
        return script(|event, cx| match event {
            Event::Start => {
                cx.bind(PORT);
                cx.finish();
            }
            Event::Datagram { from, port, data } => cx.send(port, from, data),
            other => panic!("nothing else happens, but {other:?} does"),
        });
    }
    // Datagrams may be lost on sockets: what has not come back is sent again.
    let mut missing: Vec<Vec<u8>> = (1..).zip(LENGTHS).map(|(number, length)| vec![number; length]).collect();
    script(move |event, cx| match event {
        Event::Start | Event::Timer { .. } => {
            cx.bind(PORT);
            let (train, alone): (Vec<_>, Vec<_>) = missing.iter().cloned().partition(|sent| sent.len() > 100);
            alone.into_iter().for_each(|sent| cx.send(PORT, SERVER, sent.into()));
            if !train.is_empty() {
                cx.send_train(PORT, SERVER, &train.concat(), 500);
            }
            cx.set_timer(0, Time::from_ms(50));
        }
        Event::Datagram { from, data, .. } => {
            assert_eq!(from, SERVER);
            let data = bytes(&data);
            let known = missing.len();
            missing.retain(|sent| *sent != data);
            assert!(missing.len() < known || LENGTHS.contains(&data.len()), "{} bytes", data.len());
            if known > 0 && missing.is_empty() {
                cx.cancel_timer(0);
                log.note(cx, "all came back");
                cx.finish();
            }
        }
        other => panic!("nothing else happens, but {other:?} does"),
    })
}

/// The content of a piece; drivers hand on the bytes that were sent.
fn bytes(data: &Payload) -> Vec<u8> {
    match data {
        Payload::Data(bytes) => bytes.to_vec(),
        Payload::Zeros(length) => vec![0; *length as usize],
    }
}

/// More than a stream's buffers hold on either side.
const MUCH: usize = 6_000_000;

fn pattern(at: usize) -> u8 {
    (at / 7 % 251) as u8
}

fn transfer(host: HostId, log: Log) -> Box<dyn Process> {
    if host == SERVER.host {
        let mut got = 0;
        return script(move |event, cx| match event {
            Event::Start => cx.listen(PORT),
            Event::Accepted { from, port, .. } => {
                assert_eq!((from.host, port), (HostId(1), PORT));
                log.note(cx, "accepted");
            }
            Event::Readable { stream } => {
                while got < MUCH {
                    let read = cx.read(stream, 10_000);
                    assert!(read.len() <= 10_000);
                    for part in &read.data {
                        assert!(
                            bytes(part).iter().zip(got..).all(|(byte, at)| *byte == pattern(at)),
                            "behind {got}"
                        );
                        got += part.len() as usize;
                    }
                    if read.is_empty() {
                        return;
                    }
                }
                let read = cx.read(stream, 1);
                assert!(read.is_empty(), "nothing comes behind the end");
                if read.end {
                    log.note(cx, "all came");
                    cx.close(stream);
                }
            }
            other => closed(other, &log, cx),
        });
    }
    let mut rest = Payload::from((0..MUCH).map(pattern).collect::<Vec<u8>>());
    script(move |event, cx| match event {
        Event::Start => {
            let stream = cx.open(SERVER, 7);
            assert!(!write(stream, &mut rest, cx), "a buffer is bounded");
        }
        Event::Opened { .. } => log.note(cx, "opened"),
        Event::Writable { stream } => {
            if write(stream, &mut rest, cx) {
                log.note(cx, "all written");
            }
        }
        Event::Readable { stream } => read_end(stream, &log, cx),
        other => closed(other, &log, cx),
    })
}

/// Writes as much as is taken, and closes behind the last byte; whether that was written.
fn write(stream: StreamId, rest: &mut Payload, cx: &mut dyn Context) -> bool {
    let taken = cx.write(stream, rest.clone());
    rest.split_to(taken);
    if rest.is_empty() {
        cx.close(stream);
    }
    rest.is_empty()
}

fn read_end(stream: StreamId, log: &Log, cx: &mut dyn Context) {
    let read = cx.read(stream, 1);
    assert!(read.is_empty() && read.end, "there is nothing but the end");
    log.note(cx, "the end");
}

/// Notes why the stream is gone; nothing else happens.
fn closed(event: Event, log: &Log, cx: &mut dyn Context) {
    let Event::Closed { reason, .. } = event else { panic!("nothing else happens, but {event:?} does") };
    log.note(cx, format!("closed: {reason:?}"));
    cx.finish();
}

/// A question of no bytes, and its answer.
fn half_closed(host: HostId, log: Log) -> Box<dyn Process> {
    const ANSWER: u64 = 100_000;
    if host == SERVER.host {
        let mut answer = Payload::Zeros(ANSWER);
        return script(move |event, cx| match event {
            Event::Start => cx.listen(PORT),
            Event::Accepted { .. } => {}
            Event::Readable { stream } => {
                assert!(cx.read(stream, 1).end);
                log.note(cx, "asked");
                write(stream, &mut answer, cx);
            }
            Event::Writable { stream } => {
                write(stream, &mut answer, cx);
            }
            other => closed(other, &log, cx),
        });
    }
    let mut got = 0;
    script(move |event, cx| match event {
        Event::Start => {
            let stream = cx.open(SERVER, 0);
            cx.close(stream);
        }
        Event::Opened { .. } => {}
        Event::Readable { stream } => {
            let read = cx.read(stream, u64::MAX);
            got += read.len();
            if read.end {
                assert_eq!(got, ANSWER);
                log.note(cx, "answered");
            }
        }
        other => closed(other, &log, cx),
    })
}

fn drained(host: HostId, log: Log) -> Box<dyn Process> {
    if host == SERVER.host {
        return script(move |event, cx| match event {
            Event::Start => cx.listen(PORT),
            Event::Accepted { stream, .. } => cx.drain(stream),
            Event::Readable { stream } => {
                let read = cx.read(stream, u64::MAX);
                assert!(read.is_empty(), "it is dropped");
                // What had come before may have been announced.
                if read.end {
                    log.note(cx, "readable");
                    cx.close(stream);
                }
            }
            other => closed(other, &log, cx),
        });
    }
    let mut rest = Payload::Zeros(MUCH as u64);
    script(move |event, cx| match event {
        Event::Start => {
            let stream = cx.open(SERVER, 0);
            write(stream, &mut rest, cx);
        }
        Event::Opened { .. } => {}
        Event::Writable { stream } => {
            write(stream, &mut rest, cx);
        }
        Event::Readable { stream } => read_end(stream, &log, cx),
        other => closed(other, &log, cx),
    })
}

fn refused(host: HostId, log: Log) -> Box<dyn Process> {
    if host == SERVER.host {
        return script(|_, cx| cx.finish());
    }
    script(move |event, cx| match event {
        Event::Start => {
            cx.open(SERVER, 0);
        }
        other => closed(other, &log, cx),
    })
}

fn aborted(host: HostId, log: Log) -> Box<dyn Process> {
    if host == SERVER.host {
        return script(move |event, cx| match event {
            Event::Start => cx.listen(PORT),
            Event::Accepted { .. } => {}
            Event::Readable { stream } => {
                log.note(cx, "aborts");
                cx.abort(stream);
                cx.finish();
            }
            other => panic!("nothing else happens, but {other:?} does"),
        });
    }
    script(move |event, cx| match event {
        Event::Start => {
            let stream = cx.open(SERVER, 0);
            cx.write(stream, Payload::Zeros(10));
        }
        Event::Opened { .. } => {}
        other => closed(other, &log, cx),
    })
}

/// The server answers each byte; the client goes on asking, so that it notices, until it is answered again.
fn restarted(host: HostId, log: Log) -> Box<dyn Process> {
    if host == SERVER.host {
        return script(move |event, cx| match event {
            Event::Start => {
                log.note(cx, "starts");
                cx.listen(PORT);
                cx.finish();
            }
            Event::Readable { stream } => {
                let read = cx.read(stream, u64::MAX);
                if read.end {
                    return cx.abort(stream);
                }
                cx.write(stream, Payload::Zeros(read.len()));
            }
            // It comes if the client's host was quicker to learn of the crash.
            Event::Accepted { .. } | Event::Closed { .. } => {}
            other => panic!("nothing else happens, but {other:?} does"),
        });
    }
    let mut stream = None;
    let (mut answered, mut lost) = (0, false);
    script(move |event, cx| match event {
        Event::Start | Event::Timer { .. } => {
            let open = *stream.get_or_insert_with(|| cx.open(SERVER, 0));
            cx.write(open, Payload::Zeros(1));
            cx.set_timer(0, Time::from_ms(20));
        }
        Event::Readable { stream: open } if stream == Some(open) => {
            let read = cx.read(open, u64::MAX);
            if !read.is_empty() && answered == u32::from(lost) {
                answered += 1;
                log.note(cx, "answered");
                if lost {
                    cx.cancel_timer(0);
                    cx.finish();
                }
            }
        }
        Event::Closed { stream: gone, .. } if stream == Some(gone) => {
            stream = None;
            if !std::mem::replace(&mut lost, true) {
                log.note(cx, "lost");
            }
        }
        // A process that was told that a host is gone gives up what it has there.
        Event::PeerLost { .. } => {
            if let Some(open) = stream.take() {
                cx.abort(open);
                if !std::mem::replace(&mut lost, true) {
                    log.note(cx, "lost");
                }
            }
        }
        Event::Opened { .. } | Event::Readable { .. } => {}
        other => panic!("nothing else happens, but {other:?} does"),
    })
}
