//! What nodes say to each other on a stream, framed by [`process::wire`]. A message with a body says how long
//! it is; the body follows as it is. Every byte is hostile: what can't be is [`Malformed`], and bodies have a
//! longest length.
//!
//! Parts carry their stage and their number in it. What a node sends in a stage is always the same, so a
//! number says what has come, after a crash of either side too.

use super::settings::BLOCK;
use super::stage::{Stage, Step};
use process::wire::{Framing, Malformed, Reader, Writer};

/// The version of all of this.
const VERSION: u8 = 1;
/// Longest body: a block, and an itemset that alone is longer.
pub(crate) const BODY_MAX: usize = *BLOCK.end() + (1 << 16);
/// Length of a [`Message::Part`] in bytes, without its body.
pub(crate) const HEAD: usize = 29;
/// Frames are short: what is long is in bodies.
pub(crate) const FRAMING: Framing = Framing::new(1, 60);

/// What is in the body of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Itemsets, each as often as it was found.
    Occurrences,
    /// Numbers of candidates and their counts.
    Counts,
    /// Numbers of candidates.
    Numbers,
    /// Itemsets and their counts.
    Itemsets,
}

const KINDS: [Kind; 4] = [Kind::Occurrences, Kind::Counts, Kind::Numbers, Kind::Itemsets];

/// A part of what a node sends in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub kind: Kind,
    pub stage: Stage,
    /// Its number, from 0.
    pub number: u32,
    /// None follows.
    pub last: bool,
    /// Things in it.
    pub entries: u32,
    /// Bytes of them.
    pub used: u32,
    /// Bytes of the body, filled up behind them.
    pub bytes: u32,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// First of all: which run, and which node of it.
    Hello { job: u64, node: u32 },
    /// Where the sender is: it has had `number` parts of `stage`, or all of them.
    From { stage: Stage, number: u32, done: bool },
    /// A part of a stage; its body follows.
    Part(Part),
    /// The large itemsets of a pass, please.
    AskLevel { pass: u32 },
    /// They: so many bytes follow.
    Level { pass: u32, last: bool, bytes: u32 },
}

impl Message {
    /// The message as a frame.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new(FRAMING);
        match self {
            Message::Hello { job, node } => w.byte(1).byte(VERSION).long(*job).word(*node),
            Message::From { stage: at, number, done } => stage(w.byte(2), *at).word(*number).flag(*done),
            Message::Part(part) => {
                stage(w.byte(3).byte(part.kind as u8), part.stage).word(part.number).flag(part.last);
                w.word(part.entries).word(part.used).word(part.bytes)
            }
            Message::AskLevel { pass } => w.byte(4).word(*pass),
            Message::Level { pass, last, bytes } => w.byte(5).word(*pass).flag(*last).word(*bytes),
        };
        w.finish()
    }

    /// The message in a frame's content.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn decode(content: &[u8]) -> Result<Message, Malformed> {
        let mut r = Reader::new(content);
        let message = match r.byte()? {
            1 => {
                let version = r.byte()?;
                let (job, node) = (r.long()?, r.word()?);
                if version != VERSION {
                    return Err(Malformed);
                }
                Message::Hello { job, node }
            }
            2 => Message::From { stage: read_stage(&mut r)?, number: r.word()?, done: r.flag()? },
            3 => Message::Part(part(&mut r)?),
            4 => Message::AskLevel { pass: pass(&mut r)? },
            5 => Message::Level { pass: pass(&mut r)?, last: r.flag()?, bytes: bytes(&mut r)? },
            _ => return Err(Malformed),
        };
        r.end(message)
    }

    /// Bytes that follow it.
    pub(crate) fn body(&self) -> u64 {
        match self {
            Message::Part(part) => part.bytes.into(),
            Message::Level { bytes, .. } => (*bytes).into(),
            _ => 0,
        }
    }
}

fn stage(w: &mut Writer, stage: Stage) -> &mut Writer {
    w.word(stage.pass).word(stage.slice).byte(stage.step as u8)
}

fn pass(r: &mut Reader<'_>) -> Result<u32, Malformed> {
    let pass = r.word()?;
    // One less than the largest, so that there is always one behind it.
    if (1..u32::MAX).contains(&pass) { Ok(pass) } else { Err(Malformed) }
}

fn read_stage(r: &mut Reader<'_>) -> Result<Stage, Malformed> {
    let (pass, slice, step) = (pass(r)?, r.word()?, r.byte()?);
    let step = *Step::ALL.get(usize::from(step)).ok_or(Malformed)?;
    if slice == u32::MAX { Err(Malformed) } else { Ok(Stage { pass, slice, step }) }
}

fn bytes(r: &mut Reader<'_>) -> Result<u32, Malformed> {
    let bytes = r.word()?;
    if bytes as usize <= BODY_MAX { Ok(bytes) } else { Err(Malformed) }
}

fn part(r: &mut Reader<'_>) -> Result<Part, Malformed> {
    let kind = *KINDS.get(usize::from(r.byte()?)).ok_or(Malformed)?;
    let (stage, number, last) = (read_stage(r)?, r.word()?, r.flag()?);
    let (entries, used, bytes) = (r.word()?, r.word()?, bytes(r)?);
    if used > bytes || entries > used || number == u32::MAX {
        return Err(Malformed);
    }
    Ok(Part { kind, stage, number, last, entries, used, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all() -> Vec<Message> {
        let stage = Stage { pass: 3, slice: 1, step: Step::Answer };
        let kinds = KINDS.map(|kind| {
            Message::Part(Part { kind, stage, number: 7, last: true, entries: 2, used: 8, bytes: 100 })
        });
        let others = [
            Message::Hello { job: u64::MAX, node: 5 },
            Message::From { stage, number: 9, done: false },
            Message::AskLevel { pass: 4 },
            Message::Level { pass: 4, last: false, bytes: 12 },
        ];
        kinds.into_iter().chain(others).collect()
    }

    #[test]
    fn messages_come_back_and_nothing_else_does() {
        for message in all() {
            let frame = message.encode();
            let content = &frame[FRAMING.prefix()..];
            assert_eq!(Message::decode(content), Ok(message));
            assert!(Message::decode(&content[..content.len() - 1]).is_err(), "{message:?}");
            assert!(Message::decode(&[content, &[0]].concat()).is_err(), "{message:?}");
            assert!(!matches!(message, Message::Part(_)) || frame.len() == HEAD);
        }
    }

    #[test]
    fn what_is_too_long_or_of_another_version_is_refused() {
        let stage = Stage::first(1);
        let part = Part { kind: Kind::Counts, stage, number: 0, last: false, entries: 1, used: 2, bytes: 2 };
        let refused = [
            Message::Part(Part { used: 3, ..part }),
            Message::Part(Part { entries: 3, ..part }),
            Message::Part(Part { bytes: BODY_MAX as u32 + 1, ..part }),
            Message::Level { pass: 1, last: true, bytes: BODY_MAX as u32 + 1 },
            Message::AskLevel { pass: 0 },
            Message::From { stage: Stage::first(u32::MAX), number: 0, done: false },
        ];
        for message in refused {
            assert_eq!(Message::decode(&message.encode()[1..]), Err(Malformed), "{message:?}");
        }
        let mut hello = Message::Hello { job: 1, node: 1 }.encode();
        hello[2] = VERSION + 1;
        assert_eq!(Message::decode(&hello[1..]), Err(Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40), kind in 0u8..7) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if let Ok(message) = Message::decode(&bytes) {
                prop_assert_eq!(Message::decode(&message.encode()[1..]), Ok(message));
            }
        }
    }
}
