//! Where two runs part: both are run event by event, side by side.

use crate::run::{Pause, Sim};

/// The first event that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Events that were equal.
    pub after: u64,
    /// The next event of the first run.
    pub first: String,
    /// The next event of the second run.
    pub second: String,
}

/// Runs both to their end; `None` when every event was equal. `going_on` is asked now and then, with
/// the number of events so far, and may stop the comparison.
pub fn diverge(a: &mut Sim, b: &mut Sim, mut going_on: impl FnMut(u64) -> bool) -> Option<Divergence> {
    let mut after = 0;
    loop {
        let ((pause_a, next_a), (pause_b, next_b)) = (a.compared_step(), b.compared_step());
        if next_a != next_b || pause_a != pause_b {
            let describe = |sim: &Sim, next: Option<_>, pause| match next {
                Some((time, key)) => sim.describe(time, key),
                None => format!("nothing more ({pause:?})"),
            };
            return Some(Divergence {
                after,
                first: describe(a, next_a, pause_a),
                second: describe(b, next_b, pause_b),
            });
        }
        after += 1;
        if pause_a != Some(Pause::Running) || (after % 65_536 == 0 && !going_on(after)) {
            return None;
        }
    }
}
