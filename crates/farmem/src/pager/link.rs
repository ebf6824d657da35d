//! One end of a stream between a program and a memory node: messages read from it with the pages behind them,
//! and data waiting to be written.

use super::wire::{FRAMING, Message};
use process::wire::{Frames, Malformed};
use process::{Context, Payload, StreamId};
use std::collections::VecDeque;

/// One end.
#[derive(Debug)]
pub(super) struct Link {
    pub stream: StreamId,
    frames: Frames,
    /// A message, and how much of what follows it is missing.
    coming: Option<(Message, u64)>,
    /// Not yet taken by the stream.
    unsent: VecDeque<Payload>,
}

impl Link {
    pub(super) fn new(stream: StreamId) -> Link {
        Link { stream, frames: Frames::new(FRAMING), coming: None, unsent: VecDeque::new() }
    }

    /// Whether the other side has finished.
    pub(super) fn ended(&self) -> bool {
        self.frames.ended
    }

    /// Sends a message and its pages; says how many bytes they are.
    pub(super) fn send(&mut self, message: &Message, cx: &mut dyn Context) -> u64 {
        let frame = Payload::from(message.encode());
        let bytes = frame.len() + message.body();
        self.unsent.push_back(frame);
        if message.body() > 0 {
            self.unsent.push_back(Payload::Zeros(message.body()));
        }
        self.flush(cx);
        bytes
    }

    /// Writes what waits; to be called when the stream is writable.
    pub(super) fn flush(&mut self, cx: &mut dyn Context) {
        while let Some(first) = self.unsent.front_mut() {
            let taken = cx.write(self.stream, first.clone());
            if taken < first.len() {
                first.split_to(taken);
                return;
            }
            self.unsent.pop_front();
        }
    }

    /// The next message, if it and its pages are there whole.
    pub(super) fn receive(&mut self, cx: &mut dyn Context) -> Result<Option<Message>, Malformed> {
        if self.coming.is_none() {
            let Some(message) = self.frames.next(self.stream, cx, Message::decode)? else { return Ok(None) };
            self.coming = Some((message, message.body()));
        }
        let Some((message, missing)) = &mut self.coming else { return Ok(None) };
        while *missing > 0 {
            let read = cx.read(self.stream, *missing);
            self.frames.ended |= read.end;
            if read.is_empty() {
                return Ok(None);
            }
            *missing -= read.len();
        }
        let message = *message;
        self.coming = None;
        Ok(Some(message))
    }
}
