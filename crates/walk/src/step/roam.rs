//! A walker of the first order goes as far as it can on a server's part: decision for decision as
//! [`Rule::hop`], in one loop that keeps what it needs in registers. Most walkers of most jobs are such.

use crate::graph::{Arc, Columns};
use crate::partition::ServerPart;

use super::{DeadEnd, Hop, Place, Rule};

impl Rule {
    /// Decides about a walker until its walk is over or another server decides next: that server. `visit` is
    /// told each node it passes. The node before is kept only for walks of the second order.
    pub fn roam(
        &self,
        part: &ServerPart,
        length: u32,
        place: &mut Place,
        visit: impl FnMut(u32),
    ) -> Option<u16> {
        if self.second_order() || place.candidate.is_some() {
            return self.hops(part, length, place, visit);
        }
        match part.rows().columns() {
            Columns::Even(arcs) => self.run(part, arcs, length, place, visit),
            Columns::Weighted(arcs, _) => self.run(part, arcs, length, place, visit),
        }
    }

    fn hops(
        &self,
        part: &ServerPart,
        length: u32,
        place: &mut Place,
        mut visit: impl FnMut(u32),
    ) -> Option<u16> {
        loop {
            let before = place.steps;
            let hop = self.hop(part, length, place);
            if place.steps != before {
                visit(place.at);
            }
            match hop {
                Hop::Here => {}
                Hop::To(server) => return Some(server),
                Hop::End => return None,
            }
        }
    }

    #[inline(always)]
    fn run<A: Arc>(
        &self,
        part: &ServerPart,
        arcs: &[A],
        length: u32,
        place: &mut Place,
        mut visit: impl FnMut(u32),
    ) -> Option<u16> {
        let rows = part.rows().rows();
        let Place { start, home, mut at, mut steps, mut stream, .. } = *place;
        let next = loop {
            if steps >= length {
                break None;
            }
            let Some(row) = part.row(at).map(|row| rows[row as usize]) else {
                // No server sends a walker whose next server it does not know.
                let owner = if at == start { Some(home) } else { part.owner(at) };
                break owner.filter(|_| steps > place.steps);
            };
            at = if row.degree() == 0 {
                if self.dead_end == DeadEnd::Stop {
                    break None;
                }
                start
            } else if self.restart > 0 && stream.next() < self.restart {
                start
            } else {
                let (arc, fraction) = row.draw(stream.next());
                arcs[arc].pick_kept(A::keep(fraction))
            };
            steps += 1;
            visit(at);
        };
        (place.at, place.steps, place.stream, place.previous) = (at, steps, stream, None);
        next
    }
}
