//! The scenario as the core gets it: JSON that is refused with the field, or a simulation that runs.

use ::scenario::{build, parse};
use serde_json::Value;

/// Good ones: switches, flows and background; walks, Hadoop and a fault.
const BASES: [&str; 2] =
    [include_str!("../../scenario/tests/it/determinism.json"), include_str!("jobs.json")];

/// JSON as it is; and good scenarios of which some leaves are other values: each change has two bytes for
/// which leaf, and one for what it becomes.
pub fn spec(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        built(text);
    }
    for base in BASES {
        let mut base: Value = serde_json::from_str(base).expect("a scenario");
        for change in bytes.as_chunks::<3>().0.iter().take(8) {
            let [low, high, to] = *change;
            let mut left = usize::from(u16::from_le_bytes([low, high])) % leaves(&base).max(1);
            replace(&mut base, &mut left, to);
        }
        built(&base.to_string());
    }
}

/// Refused with words, or built; what can be read can be written, and read again.
fn built(text: &str) {
    let Ok(scenario) = parse(text) else { return };
    let written = serde_json::to_string(&scenario).expect("plain data");
    parse(&written).expect("it was just written");
    if let Err(problem) = build(&scenario) {
        assert!(!problem.to_string().is_empty());
    }
}

fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(each) => each.iter().map(leaves).sum(),
        Value::Object(each) => each.values().map(leaves).sum(),
        _ => 1,
    }
}

/// Puts another value at the leaf that is `left` leaves further.
fn replace(value: &mut Value, left: &mut usize, to: u8) -> bool {
    match value {
        Value::Array(each) => each.iter_mut().any(|one| replace(one, left, to)),
        Value::Object(each) => each.values_mut().any(|one| replace(one, left, to)),
        leaf if *left == 0 => {
            *leaf = other(leaf, to);
            true
        }
        _ => {
            *left -= 1;
            false
        }
    }
}

/// What a leaf may become: the edges of its kind, and other kinds.
fn other(leaf: &Value, to: u8) -> Value {
    match to {
        0 => Value::Null,
        1 => Value::from(0),
        2 => Value::from(1),
        3 => Value::from(-1),
        4 => Value::from(u64::MAX),
        5 => Value::from(1e300),
        6 => Value::from(0.5),
        7 => Value::from(""),
        8 => Value::from("host0"),
        9 => Value::from(true),
        10 => Value::Array(Vec::new()),
        11 => Value::from(u32::MAX),
        12 => Value::from(i64::MIN),
        n => {
            leaf.as_u64().map_or(Value::from(u64::from(n)), |old| Value::from(old.wrapping_mul(u64::from(n))))
        }
    }
}
