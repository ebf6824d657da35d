//! What a node knows of another one, or of itself.

use super::link::{Body, Link};
use super::stage::{Stage, Stages};
use super::wire::{Message, Part};
use crate::items::Level;

/// What a node is to be sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub stage: Stage,
    /// Parts of it that it has had.
    pub number: u32,
    /// These were all.
    pub done: bool,
}

impl Cursor {
    pub(crate) fn first(pass: u32) -> Cursor {
        Cursor { stage: Stage::first(pass), number: 0, done: false }
    }

    /// Behind a stage that is done; `stages` are those of its pass.
    pub(crate) fn settled(self, stages: Stages) -> Cursor {
        if self.done { Cursor { stage: self.stage.next(stages), number: 0, done: false } } else { self }
    }
}

/// Another node, or this one.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    pub link: Option<Link>,
    /// It has said its number, on this stream.
    pub greeted: bool,
    /// What it is to be sent next; not known before it has said so.
    pub cursor: Option<Cursor>,
    /// Parts of this node's stage that have come of it, and whether these were all.
    pub applied: u32,
    pub done: bool,
    /// A part of the next stage, which waits for this node to get there.
    pub held: Option<(Part, Body)>,
    /// A part of it waits to be counted.
    pub waiting: bool,
    /// The level that it sends.
    pub level: Option<Level>,
    /// The pass that it was in when it last said so.
    pub pass: u32,
    /// Neither needs anything of the other any more, and both know it.
    pub settled: bool,
}

impl Peer {
    /// Forgets what is of the stream that is gone.
    pub(crate) fn cut(&mut self) -> Option<Link> {
        (self.greeted, self.cursor, self.held, self.level) = (false, None, None, None);
        self.link.take()
    }

    /// Forgets what came of the stage before.
    pub(crate) fn advance(&mut self) {
        (self.applied, self.done) = (0, false);
    }

    /// Whether it can be sent parts.
    pub(crate) fn is_open(&self) -> bool {
        self.greeted && self.link.as_ref().is_some_and(|link| !link.closed)
    }
}

/// What a node says when it meets another one or leaves passes out.
pub(crate) fn position(stage: Stage, peer: &Peer) -> Message {
    Message::From { stage, number: peer.applied, done: peer.done }
}
