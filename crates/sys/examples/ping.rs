//! The least that a page of another machine can take: a request of the size of one for a page, and an answer
//! of a head and a page, over TCP. `ping serve ADDRESS block|spin` answers one client; `ping ask ADDRESS
//! block|spin COUNT` prints nanoseconds of each answer. A spinning end looks again and again instead of
//! sleeping until something comes.
#![allow(clippy::disallowed_types, reason = "it measures sockets, and simulates nothing")]

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use sys::cpu::monotonic_ns;

/// As `farmem::wire` has them.
const REQUEST: usize = 16;
const ANSWER: usize = 16 + 4096;
/// Answers that are not counted.
const WARM: usize = 1000;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[1..] {
        ["serve", at, how] => {
            let listener = TcpListener::bind(at)?;
            println!("ready");
            serve(&ready(listener.accept()?.0, how)?)
        }
        ["ask", at, how, count] => {
            let count = count.parse().map_err(io::Error::other)?;
            ask(&ready(TcpStream::connect(at)?, how)?, count)
        }
        _ => Err(io::Error::other("ping serve ADDRESS block|spin | ping ask ADDRESS block|spin COUNT")),
    }
}

fn ready(stream: TcpStream, how: &str) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(how == "spin")?;
    Ok(stream)
}

fn serve(mut stream: &TcpStream) -> io::Result<()> {
    let (mut request, answer) = ([0; REQUEST], [7; ANSWER]);
    while fill(stream, &mut request)? {
        stream.write_all(&answer)?;
    }
    Ok(())
}

fn ask(mut stream: &TcpStream, count: usize) -> io::Result<()> {
    let mut answer = [0; ANSWER];
    let mut took = Vec::new();
    for _ in 0..WARM + count {
        let began = monotonic_ns();
        stream.write_all(&[1; REQUEST])?;
        fill(stream, &mut answer)?;
        took.push(monotonic_ns() - began);
    }
    took[WARM..].iter().for_each(|ns| println!("{ns}"));
    Ok(())
}

/// Takes so many bytes; whether they came before the end.
fn fill(mut stream: &TcpStream, bytes: &mut [u8]) -> io::Result<bool> {
    let mut came = 0;
    while came < bytes.len() {
        match stream.read(&mut bytes[came..]) {
            Ok(0) => return Ok(false),
            Ok(more) => came += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
