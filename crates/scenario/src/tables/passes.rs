//! From what the nodes of mining show of themselves to the table `passes`.

use ::mine::node::PassReport;
use record::rows::MinePass;
use record::{Error, Tables};
use std::collections::BTreeMap;
use units::Time;

/// Writes the passes of a node of a job: of one that was begun again, the last time.
pub(crate) fn write(
    tables: &mut Tables,
    (job, host): (&str, &str),
    passes: &[PassReport],
) -> Result<(), Error> {
    let last: BTreeMap<u32, &PassReport> = passes.iter().map(|pass| (pass.pass, pass)).collect();
    last.into_values().try_for_each(|pass| {
        tables.passes.push(MinePass {
            job,
            host,
            pass: pass.pass.into(),
            candidates: pass.candidates,
            large: pass.large,
            scans: pass.scans,
            sent_bytes: pass.sent_bytes,
            received_bytes: pass.received_bytes,
            sent_entries: pass.sent_entries,
            begin_ps: pass.begin.as_ps(),
            end_ps: (pass.end > Time::ZERO).then(|| pass.end.as_ps()),
        })
    })
}
