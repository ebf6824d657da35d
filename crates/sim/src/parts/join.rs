//! The whole again out of its parts: samples as they are taken, all totals at the end.

use crate::parts::books::Books;
use crate::parts::hall::Guards;
use crate::parts::meeting::{side_of, unite};
use crate::records::{FlowSample, Records};
use crate::run::Sim;
use crate::sample::flow_sample;
use fabric::NodeId;
use units::Time;

impl Records {
    /// Adds what each part has sampled, in the order of a whole.
    pub(crate) fn add_samples(&mut self, samples: Vec<Records>) {
        let mut all = Records::default();
        for mut part in samples {
            // Flows, tasks and events come by other ways, and no packets are captured.
            let Records {
                ports,
                queues,
                pauses,
                pools,
                flow_samples,
                hosts,
                flows: _,
                tasks: _,
                events: _,
                packets: _,
            } = &mut part;
            all.ports.append(ports);
            all.queues.append(queues);
            all.pauses.append(pauses);
            all.pools.append(pools);
            all.flow_samples.append(flow_samples);
            all.hosts.append(hosts);
        }
        all.ports.sort_by_key(|(_, port, _)| *port);
        all.queues.sort_by_key(|(_, port, class, _)| (*port, *class));
        all.pauses.sort_by_key(|(_, pause)| (pause.port, pause.class));
        all.pools.sort_by_key(|(_, switch, _)| *switch);
        all.flow_samples.sort_by_key(|(_, flow)| flow.flow);
        all.hosts.sort_by_key(|(_, host, _)| *host);
        self.ports.append(&mut all.ports);
        self.queues.append(&mut all.queues);
        self.pauses.append(&mut all.pauses);
        self.pools.append(&mut all.pools);
        self.flow_samples.append(&mut all.flow_samples);
        self.hosts.append(&mut all.hosts);
    }
}

/// Samples of the flows between two parts.
pub(crate) fn sample_flows(sims: &Guards<'_>, now: Time) -> Vec<(Time, FlowSample)> {
    let of_part = |sim: &Sim| -> Vec<FlowSample> {
        let halves = sim.flows.iter().filter_map(|(slot, flow)| Some((flow, side_of(sim, slot)?)));
        let homes = halves.filter(|(_, (side, _))| *side == 0);
        let sample = homes.filter_map(|(flow, (_, half))| {
            let other = sims[usize::from(half.part)].flows.get(half.slot)?;
            flow_sample(flow, &other.ends[1])
        });
        sample.collect()
    };
    sims.iter().flat_map(|sim| of_part(sim)).map(|sample| (now, sample)).collect()
}

/// Unites all flows between two parts where they were opened.
pub(crate) fn unite_all(sims: &mut Guards<'_>) {
    for part in 0..sims.len() {
        let sim = &sims[part];
        let halves = sim.flows.iter().filter_map(|(slot, _)| Some((slot, side_of(sim, slot)?)));
        let homes: Vec<(u32, usize, u32)> = halves
            .filter(|(_, (side, _))| *side == 0)
            .map(|(slot, (_, half))| (slot, usize::from(half.part), half.slot))
            .collect();
        for (slot, there, slot_there) in homes {
            unite(sims, (part, slot), (there, slot_there));
        }
    }
}

impl Sim {
    /// Takes over all that belongs to another part.
    pub(crate) fn join(&mut self, mut other: Sim) {
        let part = other.part.take().expect("a part");
        self.net.fabric.join(&mut other.net.fabric, |node| part.owns(node));
        let hosts = self.net.hosts.iter_mut().zip(&mut other.net.hosts);
        for (index, (here, there)) in hosts.enumerate() {
            let mut past = here.past;
            past.add(&there.past);
            if part.owns(NodeId(index as u32)) {
                std::mem::swap(here, there);
                self.net.taken[index] = other.net.taken[index];
            }
            here.past = past;
        }
        for (here, there) in self.jobs.iter_mut().zip(&other.jobs) {
            here.flows += there.flows;
            here.flows_done += there.flows_done;
            here.flows_broken += there.flows_broken;
            here.bytes += there.bytes;
        }
        for there in &other.pairs {
            let pair = self.pair(there.job, there.from, there.to);
            self.pairs[pair as usize].add(there);
        }
        let slots: Vec<u32> = other.flows.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            let flow = self.flows.insert(other.flows.remove(slot).expect("just listed"));
            self.find_ways(flow);
        }
        self.tasks.join(other.tasks);
        self.flows_done += other.flows_done;
        self.events += other.events;
        self.hops += other.hops;
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
        let ((stale, mixed), there) = (self.net.outside.stale, other.net.outside.stale);
        self.net.outside.stale = (stale + there.0, mixed.wrapping_add(there.1));
        self.net.outside.discards += other.net.outside.discards;
    }

    /// Is no part any more, but the whole; what concerned all parts is in the books.
    pub(crate) fn end_parts(&mut self, books: &Books) {
        self.part = None;
        self.net.now = books.now;
        self.events += books.events;
        self.fingerprint = self.fingerprint.wrapping_add(books.fingerprint);
        self.next_flow = books.flows;
        self.jobs_left = books.jobs_left;
        for (job, book) in self.jobs.iter_mut().zip(&books.jobs) {
            job.end = book.end;
        }
    }
}
