//! Transactions from text: a transaction a line, its items as decimal numbers with blanks between them, as
//! the FIMI repository has them (<http://fimi.uantwerpen.be/data/>). An item that a line names twice counts
//! once.
//!
//! Text comes in pieces of any size. Eight bytes are looked at together: where the number ends and what it is
//! take a few multiplications and no branch a digit (D. Lemire, "Quickly parsing eight digits", 2018). Not
//! here: files and compression.

use crate::items::Item;
use crate::transactions::Transactions;
use thiserror::Error;

/// Bytes that a line may have.
pub const LINE_BYTES: usize = 1 << 28;

/// What is wrong, and in which line, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct ReadError {
    /// The line.
    pub line: u64,
    /// What is wrong there.
    pub problem: Problem,
}

/// What can be wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// Something else than digits.
    #[error("{0:?} is not an item: whole numbers from 0 to {max} with blanks between them are allowed", max = Item::MAX)]
    NotAnItem(String),
    /// No item.
    #[error("an empty line is no transaction: remove it")]
    Empty,
    /// More than [`LINE_BYTES`].
    #[error("the line is longer than {LINE_BYTES} bytes")]
    Long,
}

/// Reads text piece by piece.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// Lines that have ended.
    lines: u64,
    /// The beginning of the line whose end has not come.
    begun: Vec<u8>,
    transaction: Vec<Item>,
}

impl Reader {
    /// Takes the next piece of the text.
    ///
    /// # Errors
    /// [`ReadError`] for the first line that is wrong; the lines before it were taken.
    pub fn feed(&mut self, mut piece: &[u8], into: &mut Transactions) -> Result<(), ReadError> {
        if !self.begun.is_empty() {
            let end = piece.iter().position(|byte| *byte == b'\n').map_or(piece.len(), |at| at + 1);
            let (rest, next) = piece.split_at(end);
            self.keep(rest)?;
            if !rest.ends_with(b"\n") {
                return Ok(());
            }
            let line = std::mem::take(&mut self.begun);
            self.lines(&line, into)?;
            piece = next;
        }
        let whole = piece.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.lines(&piece[..whole], into)?;
        self.keep(&piece[whole..])
    }

    /// The text has ended: takes a last line without an end.
    ///
    /// # Errors
    /// [`ReadError`], as [`Self::feed`].
    pub fn finish(mut self, into: &mut Transactions) -> Result<(), ReadError> {
        if self.begun.is_empty() {
            return Ok(());
        }
        self.begun.push(b'\n');
        let line = std::mem::take(&mut self.begun);
        self.lines(&line, into)
    }

    fn keep(&mut self, rest: &[u8]) -> Result<(), ReadError> {
        if self.begun.len() + rest.len() > LINE_BYTES {
            return Err(self.error(Problem::Long));
        }
        self.begun.extend_from_slice(rest);
        Ok(())
    }

    /// Whole lines.
    fn lines(&mut self, text: &[u8], into: &mut Transactions) -> Result<(), ReadError> {
        let mut at = 0;
        while at < text.len() {
            let word = word(text, at);
            let digits = digits(word);
            if digits > 0 {
                let item = if digits < 8 { number(word, digits) } else { self.long(text, &mut at)? };
                self.transaction.push(item);
                at += digits;
            }
            match text[at] {
                b' ' => {}
                b'\n' => self.end(into)?,
                b'\t' | b'\r' => {}
                _ => return Err(self.not_an_item(text, at - digits)),
            }
            at += 1;
        }
        Ok(())
    }

    /// A number of eight digits or more; leaves `at` eight before its end.
    #[cold]
    fn long(&self, text: &[u8], at: &mut usize) -> Result<Item, ReadError> {
        let length = text[*at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = str::from_utf8(&text[*at..*at + length]).expect("digits are ASCII");
        let item = digits.parse().map_err(|_| self.not_an_item(text, *at))?;
        *at += length - 8;
        Ok(item)
    }

    #[inline]
    fn end(&mut self, into: &mut Transactions) -> Result<(), ReadError> {
        let items = &mut self.transaction;
        if !items.is_sorted_by(|a, b| a < b) {
            items.sort_unstable();
            items.dedup();
        }
        if items.is_empty() {
            return Err(self.error(Problem::Empty));
        }
        into.push(items);
        items.clear();
        self.lines += 1;
        Ok(())
    }

    fn error(&self, problem: Problem) -> ReadError {
        ReadError { line: self.lines + 1, problem }
    }

    #[cold]
    fn not_an_item(&self, text: &[u8], at: usize) -> ReadError {
        let end =
            text[at..].iter().position(u8::is_ascii_whitespace).map_or(text.len(), |length| at + length);
        let shown = end.min(at + SHOWN);
        let mut word = String::from_utf8_lossy(&text[at..shown]).into_owned();
        if shown < end {
            word.push('…');
        }
        self.error(Problem::NotAnItem(word))
    }
}

/// Bytes of a wrong word that are shown.
const SHOWN: usize = 40;

/// Eight bytes from `at` on; behind the end there are zeros.
#[inline(always)]
fn word(text: &[u8], at: usize) -> u64 {
    let rest = &text[at..];
    match rest.first_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// How many of the bytes, from the first on, are digits.
#[inline(always)]
fn digits(word: u64) -> usize {
    // A digit becomes 0 to 9, and no more than 0x7f when 0x76 is added.
    let values = word ^ 0x3030_3030_3030_3030;
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    others.trailing_zeros() as usize / 8
}

/// The number in the first `digits` bytes: 1 to 8.
#[inline(always)]
fn number(word: u64, digits: usize) -> Item {
    // Zeros in front: bytes that come first are the highest digits.
    let mut value = (word & 0x0f0f_0f0f_0f0f_0f0f) << (64 - 8 * digits);
    value = value.wrapping_mul(10).wrapping_add(value >> 8) & 0x00ff_00ff_00ff_00ff;
    value = value.wrapping_mul(100).wrapping_add(value >> 16) & 0x0000_ffff_0000_ffff;
    (value.wrapping_mul(10_000).wrapping_add(value >> 32)) as u32
}
