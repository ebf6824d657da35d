//! What the ports of a run lost, marked and paused, and its longest queue.

use record::stored::{ReadError, Wanted, rows};
use serde::Serialize;
use std::cmp::Reverse;
use std::path::Path;

/// Figures of all ports. A packet is dropped by a switch or a host, and lost by a link.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Ports {
    /// Packets dropped, on the way in or out, or by a host's loopback.
    pub drops: i128,
    /// Those on the way in.
    pub in_discards: i128,
    /// PAUSE frames sent.
    pub pauses: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets lost or damaged by links.
    pub lost: u64,
    /// The longest queue of a switch.
    pub queue_max_bytes: u64,
    /// Where it was.
    pub queue_max_port: Option<String>,
    /// The longest 99th percentile of waits at a switch's port.
    pub wait_p99_ps: Option<u64>,
    /// The highest utilisation of a switch's port.
    pub utilisation_max: Option<f64>,
}

impl Ports {
    pub(crate) fn of(run: &Path) -> Result<Ports, ReadError> {
        let mut found = Ports::default();
        let (mut inbound, mut outbound, mut corrupted) = (0u64, 0u64, 0u64);
        let add = |sum: &mut u64, number: u64| *sum = sum.saturating_add(number);
        let columns = [
            Wanted::Text("port"),
            Wanted::Text("kind"),
            Wanted::Number("in_discards"),
            Wanted::Number("out_discards"),
            Wanted::Number("lost"),
            Wanted::Number("corrupted"),
            Wanted::Number("marks"),
            Wanted::Number("pause_sent"),
            Wanted::Number("queue_max_bytes"),
            Wanted::Number("wait_p99_ps"),
            Wanted::Real("utilisation"),
        ];
        rows(run, "ports", columns, |cells| {
            let [port, kind, drops_in, drops_out, lost, damaged, marks, pauses, queue, wait, used] = cells;
            add(&mut inbound, drops_in.count());
            add(&mut outbound, drops_out.count());
            add(&mut corrupted, damaged.count());
            add(&mut found.lost, lost.count());
            add(&mut found.marks, marks.count());
            add(&mut found.pauses, pauses.count());
            if kind.text() == Some("switch") {
                found.see(port.text().ok_or("a port has no name")?, queue.count());
                found.wait_p99_ps = found.wait_p99_ps.max(wait.number());
                found.utilisation_max = used.real().into_iter().chain(found.utilisation_max).reduce(f64::max);
            }
            Ok(())
        })?;
        // A host's loopback is none of the ports. Runs of earlier versions have no column for it.
        let mut loopback = 0;
        rows(run, "hosts", [Wanted::NumberIfThere("drops_loopback")], |[drops]| {
            add(&mut loopback, drops.count());
            Ok(())
        })?;
        // Damaged packets are counted on the way in too, but the link lost them, not a switch.
        found.in_discards = i128::from(inbound) - i128::from(corrupted);
        found.drops = i128::from(outbound) + found.in_discards + i128::from(loopback);
        add(&mut found.lost, corrupted);
        Ok(found)
    }

    /// Notes the longest queue of a switch's port; of equally long ones, that of the first name.
    fn see(&mut self, port: &str, queue: u64) {
        let longest = self.queue_max_port.as_deref().map(|name| (self.queue_max_bytes, Reverse(name)));
        if longest.is_none_or(|longest| (queue, Reverse(port)) > longest) {
            (self.queue_max_bytes, self.queue_max_port) = (queue, Some(port.to_owned()));
        }
    }
}
