//! What members say to each other, sealed: nobody without the key reads it, changes it, or cuts it off
//! unnoticed.
//!
//! Noise_NNpsk0_25519_AESGCM_BLAKE2s (The Noise Protocol Framework, revision 34, by the crate `snow`):
//! each side sends one message of [`HANDSHAKE`] bytes, an ephemeral key under the shared secret. Keys are the
//! connection's own, so who learns the secret later can't read what was recorded before. Frames follow:
//! length of what is sealed (2 bytes, big endian), and that: at most [`CONTENT_MAX`] bytes of content with a
//! tag of 16. An empty one is the end: what ends without it was cut off.
//!
//! AES-GCM, because processors have instructions for it: it costs half the processor time of ChaCha20.
//!
//! Nothing here is a socket. Lengths and times are not hidden.

use bytes::{Buf, Bytes, BytesMut};
use snow::{Builder, HandshakeState, TransportState};

const PATTERN: &str = "Noise_NNpsk0_25519_AESGCM_BLAKE2s";
/// Length of each side's first message: an ephemeral key and a tag.
pub const HANDSHAKE: usize = 48;
/// Content of a frame, at most: who waits for the end of one on a slow link does not wait long.
pub const CONTENT_MAX: usize = 16 << 10;
const TAG: usize = 16;
const LENGTH: usize = 2;

/// What both sides know, and nobody else.
#[derive(Clone, Copy)]
pub struct Secret(pub [u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What came was not sent so: another secret, or somebody has changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what came was changed on the way, or is under another key")]
pub struct Damaged;

/// What a frame holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// At least a byte.
    Content(Bytes),
    /// There will be no more.
    End,
}

enum State {
    Greeting(Box<HandshakeState>),
    Open(Box<TransportState>),
    /// Something was damaged: nothing counts any more.
    Broken,
}

/// One end of a sealed connection.
pub struct Seal(State);

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal(…)")
    }
}

impl Seal {
    /// The end that speaks first. Both have to agree on `about`, what was said before.
    pub fn opener(secret: &Secret, about: &[u8]) -> Seal {
        Seal::new(secret, about, true)
    }

    /// The other one.
    pub fn listener(secret: &Secret, about: &[u8]) -> Seal {
        Seal::new(secret, about, false)
    }

    fn new(secret: &Secret, about: &[u8], opener: bool) -> Seal {
        let pattern = PATTERN.parse().expect("a pattern that snow knows");
        let builder = Builder::new(pattern).psk(0, &secret.0).and_then(|builder| builder.prologue(about));
        let built = builder.and_then(|it| if opener { it.build_initiator() } else { it.build_responder() });
        Seal(State::Greeting(Box::new(built.expect("all that the pattern needs is there"))))
    }

    /// This side's part of the handshake, when it is its turn.
    pub fn say(&mut self) -> Result<[u8; HANDSHAKE], Damaged> {
        let mut message = [0; HANDSHAKE];
        let State::Greeting(state) = &mut self.0 else { return Err(Damaged) };
        let said = state.write_message(&[], &mut message).map_err(|_| Damaged)?;
        debug_assert_eq!(said, HANDSHAKE);
        self.go_on()?;
        Ok(message)
    }

    /// The other side's part.
    ///
    /// # Errors
    /// It is under another secret, about something else, or damaged.
    pub fn hear(&mut self, message: &[u8; HANDSHAKE]) -> Result<(), Damaged> {
        let State::Greeting(state) = &mut self.0 else { return Err(Damaged) };
        if state.read_message(message, &mut []).is_err() {
            self.0 = State::Broken;
            return Err(Damaged);
        }
        self.go_on()
    }

    fn go_on(&mut self) -> Result<(), Damaged> {
        match std::mem::replace(&mut self.0, State::Broken) {
            State::Greeting(state) if state.is_handshake_finished() => {
                self.0 = State::Open(Box::new(state.into_transport_mode().map_err(|_| Damaged)?));
            }
            state => self.0 = state,
        }
        Ok(())
    }

    /// Whether both have spoken.
    pub fn is_open(&self) -> bool {
        matches!(self.0, State::Open(_))
    }

    /// Appends the frames of some content; there is none of nothing. Not before it is open.
    pub fn seal(&mut self, content: &[u8], out: &mut BytesMut) {
        content.chunks(CONTENT_MAX).for_each(|part| self.frame(part, out));
    }

    /// Appends the frame that says that there will be no more.
    pub fn seal_end(&mut self, out: &mut BytesMut) {
        self.frame(&[], out);
    }

    fn frame(&mut self, content: &[u8], out: &mut BytesMut) {
        let State::Open(state) = &mut self.0 else { return };
        let sealed = content.len() + TAG;
        let at = out.len();
        out.resize(at + LENGTH + sealed, 0);
        out[at..at + LENGTH].copy_from_slice(&(sealed as u16).to_be_bytes());
        let wrote = state.write_message(content, &mut out[at + LENGTH..]);
        // It fails beyond 2^64 messages only.
        assert_eq!(wrote.ok(), Some(sealed), "a frame of {} bytes", content.len());
    }

    /// Opens the first frame of what came; nothing while it is not whole.
    ///
    /// # Errors
    /// It is not what the other side has sent next. Nothing after it counts.
    pub fn open(&mut self, came: &mut BytesMut) -> Result<Option<Opened>, Damaged> {
        let State::Open(state) = &mut self.0 else { return Err(Damaged) };
        let Some(length) = came.first_chunk() else { return Ok(None) };
        let sealed = usize::from(u16::from_be_bytes(*length));
        if !(TAG..=CONTENT_MAX + TAG).contains(&sealed) {
            self.0 = State::Broken;
            return Err(Damaged);
        }
        let Some(frame) = came.get(LENGTH..LENGTH + sealed) else { return Ok(None) };
        let mut content = BytesMut::zeroed(sealed - TAG);
        if state.read_message(frame, &mut content).is_err() {
            self.0 = State::Broken;
            return Err(Damaged);
        }
        came.advance(LENGTH + sealed);
        Ok(Some(if content.is_empty() { Opened::End } else { Opened::Content(content.freeze()) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: Secret = Secret([7; 32]);

    fn pair() -> (Seal, Seal) {
        let (mut opener, mut listener) = (Seal::opener(&SECRET, b"x"), Seal::listener(&SECRET, b"x"));
        listener.hear(&opener.say().unwrap()).unwrap();
        opener.hear(&listener.say().unwrap()).unwrap();
        assert!(opener.is_open() && listener.is_open());
        (opener, listener)
    }

    fn content(seal: &mut Seal, mut came: BytesMut) -> (Vec<u8>, bool) {
        let (mut content, mut end) = (Vec::new(), false);
        while let Some(opened) = seal.open(&mut came).unwrap() {
            match opened {
                Opened::Content(bytes) => content.extend_from_slice(&bytes),
                Opened::End => end = true,
            }
        }
        assert!(came.is_empty());
        (content, end)
    }

    #[test]
    fn content_of_any_length_arrives_and_is_not_in_what_travels() {
        let (mut one, mut other) = pair();
        for length in [1, 5, CONTENT_MAX, CONTENT_MAX + 1, 5 * CONTENT_MAX + 7] {
            let said: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
            let mut out = BytesMut::new();
            one.seal(&said, &mut out);
            one.seal(&[], &mut out);
            assert!(said.len() < 16 || !out.windows(16).any(|part| part == &said[..16]));
            assert_eq!(content(&mut other, out), (said, false));
        }
        let mut out = BytesMut::new();
        other.seal(b"back", &mut out);
        other.seal_end(&mut out);
        assert_eq!(content(&mut one, out), (b"back".to_vec(), true));
        assert_eq!(format!("{one:?} {SECRET:?}"), "Seal(…) Secret(…)");
    }

    #[test]
    fn another_secret_or_another_beginning_is_refused() {
        for (secret, about) in [(Secret([8; 32]), b"x"), (SECRET, b"y")] {
            let (mut opener, mut listener) = (Seal::opener(&secret, about), Seal::listener(&SECRET, b"x"));
            assert_eq!(listener.hear(&opener.say().unwrap()), Err(Damaged));
            assert_eq!(listener.say(), Err(Damaged));
        }
        let (mut opener, mut listener) = (Seal::opener(&SECRET, b"x"), Seal::listener(&SECRET, b"x"));
        listener.hear(&opener.say().unwrap()).unwrap();
        // What was overheard is good for nothing a second time.
        let (mut again, first) = (Seal::opener(&SECRET, b"x"), listener.say().unwrap());
        again.say().unwrap();
        assert_eq!(again.hear(&first), Err(Damaged));
        opener.hear(&first).unwrap();
    }

    #[test]
    fn every_byte_that_is_changed_left_out_or_repeated_is_noticed() {
        let sealed = |one: &mut Seal| {
            let mut out = BytesMut::new();
            one.seal(b"first", &mut out);
            one.seal(b"second", &mut out);
            out
        };
        for at in 0..47 {
            let (mut one, mut other) = pair();
            let mut out = sealed(&mut one);
            out[at] ^= 1;
            let mut came = Vec::new();
            let damaged = loop {
                match other.open(&mut out) {
                    Ok(Some(Opened::Content(bytes))) => came.push(bytes),
                    Ok(Some(Opened::End)) => panic!("nobody has said so"),
                    Ok(None) => break false,
                    Err(Damaged) => break true,
                }
            };
            // A length that grew waits for what never comes.
            assert!(damaged || !out.is_empty(), "byte {at}");
            assert!(came.len() < 2 && came.iter().all(|part| &part[..] == b"first"), "byte {at}");
        }
        let (mut one, mut other) = pair();
        let out = sealed(&mut one);
        assert_eq!(other.open(&mut BytesMut::from(&out[23..])), Err(Damaged));
        assert_eq!(other.open(&mut out.clone()), Err(Damaged), "broken is broken");
    }
}
