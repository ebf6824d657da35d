//! A list of flows in a few bytes each: what a replay is asked for, and what a host has yet to send.
//!
//! A flow is five numbers. Its time and group are differences from the flow before it. Each number is written
//! in digits of five bits, the lowest first, as source maps do (ECMA-426: base 64 VLQ). So a list is text
//! that fits into JSON as it is, with about 13 bytes per flow, where a flow as JSON takes about 80.

use process::{HostId, Hosts};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::{self, Formatter};
use std::sync::Arc;
use units::{Problem, Time};

/// A flow to replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow<H = HostId> {
    /// When it begins, since the job's start.
    pub at: Time,
    /// Sender.
    pub from: H,
    /// Receiver.
    pub to: H,
    /// Size in bytes.
    pub bytes: u64,
    /// Ties flows together.
    pub group: u64,
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// What each character is worth as a digit.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut value = 0;
    while value < DIGITS.len() {
        values[DIGITS[value] as usize] = value as u8;
        value += 1;
    }
    values
};
/// Of a character that is no digit.
const NONE: u8 = u8::MAX;
/// Set in all digits of a number but the last.
const MORE: u64 = 32;
/// Of a number of 64 bits.
const DIGITS_MAX: usize = 13;

/// JSON lists so many flows at most.
const LISTED_MAX: usize = 1_000;

/// Flows between numbers, packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    text: String,
    count: usize,
    last: Flow<u32>,
    /// One more than the largest number of a host.
    hosts: u64,
    /// Whether some flow begins before the one that is before it.
    unsorted: bool,
}

impl Rows {
    /// Those of a text; nothing if it is none.
    fn parse(text: String) -> Option<Rows> {
        let mut rows = Rows { text, ..Rows::default() };
        let mut cursor = Cursor::default();
        while cursor.position < rows.text.len() {
            let flow = cursor.read(&rows.text)?;
            rows.note(flow);
        }
        Some(rows)
    }

    /// Notes what is known of a list without reading it again.
    fn note(&mut self, flow: Flow<u32>) {
        self.hosts = self.hosts.max(u64::from(flow.from.max(flow.to)) + 1);
        self.unsorted |= flow.at < self.last.at;
        self.last = flow;
        self.count += 1;
    }

    pub fn push(&mut self, flow: Flow<u32>) {
        let Rows { text, last, .. } = self;
        write(text, difference(last.at.as_ps(), flow.at.as_ps()));
        write(text, flow.from.into());
        write(text, flow.to.into());
        write(text, flow.bytes);
        write(text, difference(last.group, flow.group));
        self.note(flow);
    }

    /// Whether each flow begins when the one before it does, or later.
    pub fn is_sorted(&self) -> bool {
        !self.unsorted
    }

    pub fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
    }

    pub fn size(&self) -> usize {
        self.text.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = Flow<u32>> {
        let mut cursor = Cursor::default();
        std::iter::from_fn(move || cursor.next(self))
    }
}

/// How far a list has been read.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    position: usize,
    last: Flow<u32>,
}

impl Cursor {
    /// The next flow of `rows`.
    pub fn next(&mut self, rows: &Rows) -> Option<Flow<u32>> {
        self.read(&rows.text)
    }

    fn read(&mut self, text: &str) -> Option<Flow<u32>> {
        let mut number = || {
            let (value, taken) = read(&text.as_bytes()[self.position..])?;
            self.position += taken;
            Some(value)
        };
        let at = Time::from_ps(add(self.last.at.as_ps(), number()?));
        let (from, to, bytes) = (number()?.try_into().ok()?, number()?.try_into().ok()?, number()?);
        self.last = Flow { at, from, to, bytes, group: add(self.last.group, number()?) };
        Some(self.last)
    }
}

/// From one number to the next: small in both directions.
fn difference(from: u64, to: u64) -> u64 {
    let by = to.wrapping_sub(from).cast_signed();
    ((by << 1) ^ (by >> 63)).cast_unsigned()
}

/// The number that is so far from `from`.
fn add(from: u64, difference: u64) -> u64 {
    from.wrapping_add((difference >> 1) ^ (difference & 1).wrapping_neg())
}

fn write(text: &mut String, mut value: u64) {
    loop {
        let more = if value < MORE { 0 } else { MORE };
        text.push(char::from(DIGITS[((value % MORE) | more) as usize]));
        if more == 0 {
            return;
        }
        value /= MORE;
    }
}

/// The number that the text begins with, and how many digits it has; nothing if there is none.
#[inline]
fn read(text: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (index, digit) in text.iter().take(DIGITS_MAX).enumerate() {
        let digit = u64::from(VALUES[usize::from(*digit)]);
        let shift = 5 * index as u32;
        value |= (digit % MORE) << shift;
        if digit < MORE {
            // 64 bits: twelve whole digits, and four bits of the last.
            return (index + 1 < DIGITS_MAX || digit <= 15).then_some((value, index + 1));
        }
        if digit == u64::from(NONE) {
            return None;
        }
    }
    None
}

/// Bytes of all flows that are packed in a text; nothing if it is none.
pub fn bytes(rows: &str) -> Option<u64> {
    let rows = Rows::parse(rows.to_owned())?;
    Some(rows.iter().fold(0, |sum: u64, flow| sum.saturating_add(flow.bytes)))
}

/// A list of flows between hosts.
///
/// As JSON it is a list of flows, for people. More than 1,000 flows are packed, with each host named once:
/// `{"hosts": [...], "rows": "..."}`. Both forms are read, of any length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flows<H = HostId> {
    hosts: Vec<H>,
    rows: Arc<Rows>,
}

impl<H> Flows<H> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The hosts that they are between, each once.
    pub(crate) fn hosts(&self) -> &[H] {
        &self.hosts
    }

    /// The flows in their order.
    pub fn iter(&self) -> impl Iterator<Item = Flow<&H>> {
        let host = |number: u32| &self.hosts[number as usize];
        self.rows.iter().map(move |flow| Flow {
            at: flow.at,
            from: host(flow.from),
            to: host(flow.to),
            bytes: flow.bytes,
            group: flow.group,
        })
    }
}

impl Flows<String> {
    /// The packed form: the names of hosts, and the text that says the rest.
    pub fn packed(&self) -> (&[String], &str) {
        (&self.hosts, &self.rows.text)
    }

    /// Sorts them by time; those of one time stay in their order.
    #[must_use]
    pub fn sorted(self) -> Flows<String> {
        if self.rows.is_sorted() {
            return self;
        }
        let mut flows: Vec<_> = self.rows.iter().collect();
        flows.sort_by_key(|flow| flow.at);
        let mut rows = Rows::default();
        flows.into_iter().for_each(|flow| rows.push(flow));
        Flows { rows: Arc::new(rows), ..self }
    }

    /// The flows between the hosts that are named.
    ///
    /// # Errors
    /// The first name that no host has.
    pub(crate) fn place(&self, hosts: &dyn Hosts) -> Result<Flows, Problem> {
        let find = |(number, name): (u32, &String)| hosts.find(name).map_err(|message| (number, message));
        let found: Result<Vec<HostId>, _> = (0..).zip(&self.hosts).map(find).collect();
        match found {
            Ok(hosts) => Ok(Flows { hosts, rows: Arc::clone(&self.rows) }),
            Err((number, message)) => Err(self.problem(number, message)),
        }
    }

    /// What is wrong with a host, at the first flow that names it.
    fn problem(&self, number: u32, message: String) -> Problem {
        let mut flows = self.rows.iter().enumerate();
        match flows.find(|(_, flow)| flow.from == number || flow.to == number) {
            Some((index, flow)) if flow.from == number => {
                Problem::new("from", message).within(("flows", index))
            }
            Some((index, _)) => Problem::new("to", message).within(("flows", index)),
            None => Problem::new("hosts", message).within("flows"),
        }
    }
}

/// Gathers flows as they come.
struct Gathered<H> {
    numbers: BTreeMap<H, u32>,
    hosts: Vec<H>,
    rows: Rows,
}

impl<H: Clone + Ord> Gathered<H> {
    fn new() -> Gathered<H> {
        Gathered { numbers: BTreeMap::new(), hosts: Vec::new(), rows: Rows::default() }
    }

    fn push(&mut self, Flow { at, from, to, bytes, group }: Flow<H>) {
        let (from, to) = (self.number(from), self.number(to));
        self.rows.push(Flow { at, from, to, bytes, group });
    }

    fn number(&mut self, host: H) -> u32 {
        if let Some(number) = self.numbers.get(&host) {
            return *number;
        }
        let number = self.hosts.len() as u32;
        self.hosts.push(host.clone());
        self.numbers.insert(host, number);
        number
    }

    fn whole(mut self) -> Flows<H> {
        self.rows.shrink_to_fit();
        Flows { hosts: self.hosts, rows: Arc::new(self.rows) }
    }
}

impl<H: Clone + Ord> FromIterator<Flow<H>> for Flows<H> {
    fn from_iter<I: IntoIterator<Item = Flow<H>>>(flows: I) -> Flows<H> {
        let mut gathered = Gathered::new();
        flows.into_iter().for_each(|flow| gathered.push(flow));
        gathered.whole()
    }
}

impl<H: Serialize> Serialize for Flows<H> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.len() <= LISTED_MAX {
            return serializer.collect_seq(self.iter());
        }
        Packed { hosts: &self.hosts, rows: &self.rows.text }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Flows<String> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Flows<String>, D::Error> {
        deserializer.deserialize_any(Form)
    }
}

/// The packed form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Packed<H, T> {
    hosts: H,
    rows: T,
}

/// Reads either form.
struct Form;

impl<'de> Visitor<'de> for Form {
    type Value = Flows<String>;

    fn expecting(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("a list of flows, or hosts and rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Flows<String>, A::Error> {
        let mut gathered = Gathered::new();
        while let Some(flow) = list.next_element()? {
            gathered.push(flow);
        }
        Ok(gathered.whole())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Flows<String>, A::Error> {
        let Packed::<Vec<String>, String> { hosts, rows } =
            Packed::deserialize(MapAccessDeserializer::new(map))?;
        let rows = Rows::parse(rows).ok_or_else(|| A::Error::custom("the rows are no packed flows"))?;
        if rows.hosts > hosts.len() as u64 {
            return Err(A::Error::custom(format_args!(
                "a row has a host that is none of the {}",
                hosts.len()
            )));
        }
        Ok(Flows { hosts, rows: Arc::new(rows) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(flows: &[Flow<u32>]) -> Rows {
        let mut rows = Rows::default();
        flows.iter().for_each(|flow| rows.push(*flow));
        rows
    }

    /// The values of ECMA-426 for 5 bits per digit, unsigned.
    #[test]
    fn numbers_are_written_in_base_64() {
        for (value, text) in [(0, "A"), (31, "f"), (32, "gB"), (1_000, "of"), (u64::MAX, "//////////////P")] {
            let mut written = String::new();
            write(&mut written, value);
            assert_eq!(read(written.as_bytes()), Some((value, written.len())));
            if value < 2_000 {
                assert_eq!(written, text);
            }
        }
        for none in ["", "g", "é", "////////////Q", "/////////////A"] {
            assert_eq!(read(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn a_short_flow_takes_13_bytes() {
        let flow = |n: u64| Flow {
            at: Time::from_ns(n * 1_000),
            from: (n % 64) as u32,
            to: (n % 63) as u32,
            bytes: 1_500,
            group: 0,
        };
        let rows = rows(&(0..10_000).map(flow).collect::<Vec<_>>());
        assert!(rows.text.len() <= 13 * 10_000, "{}", rows.text.len());
    }

    proptest! {
        #[test]
        fn flows_are_read_as_they_were_written(
            flows in proptest::collection::vec(any::<(u64, u32, u32, u64, u64)>(), 0..20)
        ) {
            let flow = |(at, from, to, bytes, group)| Flow { at: Time::from_ps(at), from, to, bytes, group };
            let flows: Vec<_> = flows.into_iter().map(flow).collect();
            let rows = rows(&flows);
            prop_assert_eq!(rows.is_sorted(), flows.is_sorted_by_key(|flow| flow.at));
            prop_assert_eq!(rows.iter().collect::<Vec<_>>(), flows);
            prop_assert_eq!(Rows::parse(rows.text.clone()), Some(rows));
        }

        #[test]
        fn any_text_is_flows_or_refused(text in "[A-Za-z0-9+/é]{0,40}") {
            if let Some(found) = Rows::parse(text) {
                prop_assert_eq!(found.iter().count(), found.count);
            }
        }
    }
}
