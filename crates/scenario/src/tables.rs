//! From what the simulator measured to the tables and captures of a run folder.

use crate::buffers::Named;
use crate::emulate::{Away, Exited};
use crate::kinds::{AllShown, Ended, Out};
use crate::lab::{Job, Scenario};
use crate::names::PortNames;
use crate::reports::{MemberReport, Reported};
use fabric::{Discard, EqualPaths, Fabric, NodeId, PauseCounters, PortId, Route};
use record::capture::{self, Capture, Direction, Endpoint, SynOptions};
use record::rows::{self, JobOutcome, PortKind};
use record::{Error, RunFolder, Tables};
use sim::{FlowRecord, Outcome, PacketSeen, Records, Sim, TaskOutcome, TaskRecord, Transport};
use std::collections::BTreeMap;
use transport::tcp::{Flags, Notes};
use units::Time;

/// The tables of a run that is under way.
pub(crate) struct Writer<'a> {
    tables: Tables,
    /// By the port that was named.
    captures: BTreeMap<PortId, Capture>,
    /// The port of the other direction, for each of them.
    reverse: BTreeMap<PortId, PortId>,
    hosts: Vec<String>,
    jobs: &'a [Job],
    ports: PortNames,
    /// Of all nodes.
    nodes: Vec<String>,
    /// Groups of ECMP, where ports are sampled: a large irregular network has very many.
    ways: Vec<EqualPaths>,
    /// Of each job.
    shown: AllShown,
    away: Away,
    /// Flows of the simulator so far.
    flows: u64,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(
        sim: &mut Sim,
        folder: &RunFolder,
        scenario: &'a Scenario,
        (shown, away): (AllShown, Away),
    ) -> Result<Writer<'a>, Error> {
        let graph = sim.graph().clone();
        let ports = PortNames::new(&graph, sim.network());
        let (mut captures, mut reverse) = (BTreeMap::new(), BTreeMap::new());
        for port in sim.captures().to_vec() {
            captures.insert(port, folder.capture(&ports[port])?);
            reverse.insert(sim.network().reverse(port), port);
        }
        let mut tables = folder.tables();
        let interval = scenario.measure.interval;
        if let Some(interval) = interval {
            tables.ports_series.write_levels(interval.as_ps());
        }
        Ok(Writer {
            tables,
            captures,
            reverse,
            hosts: graph.names().take(graph.hosts()).map(str::to_owned).collect(),
            nodes: graph.names().map(str::to_owned).collect(),
            ways: if interval.is_some() { sim.network().equal_paths() } else { Vec::new() },
            jobs: &scenario.jobs,
            ports,
            shown,
            away,
            flows: 0,
        })
    }

    /// A program of a job has exited.
    pub(crate) fn exited(&mut self, exited: &Exited) {
        self.shown[exited.job].exited(exited.host, exited.at, exited.code);
    }

    /// Writes what the simulator has measured since the last call.
    pub(crate) fn write<B: Copy + Default>(
        &mut self,
        network: &Fabric<B>,
        now: Time,
        records: &Records,
    ) -> Result<(), Error> {
        for flow in &records.flows {
            self.flow(network, flow)?;
        }
        for task in &records.tasks {
            self.task(task)?;
        }
        for (time, port, sample) in &records.ports {
            self.tables.ports_series.push(rows::PortSample {
                time_ps: time.as_ps(),
                port: &self.ports[*port],
                class: None,
                queue_bytes: sample.queue_bytes,
                queue_packets: u64::from(sample.queue_packets),
                queue_max_bytes: sample.queue_max_bytes,
                sent_bytes: sample.sent_bytes,
                drops: sample.discards,
                in_discards: sample.in_discards,
                out_discards: sample.out_discards,
                marks: sample.marks,
                pause_sent: sample.pause_sent,
                pause_received: sample.pause_received,
                paused_ps: sample.paused.as_ps(),
            })?;
        }
        let named = Named { ports: &self.ports, nodes: &self.nodes };
        named.samples(records, &mut self.tables)?;
        for (time, sample) in &records.flow_samples {
            self.tables.flows_series.push(rows::FlowSample {
                time_ps: time.as_ps(),
                flow: u64::from(sample.flow),
                cwnd_bytes: sample.cwnd,
                in_flight_bytes: sample.in_flight,
                srtt_ps: present(sample.srtt),
                acked_bytes: sample.acked,
            })?;
        }
        for (time, host, sample) in &records.hosts {
            self.tables.hosts_series.push(rows::HostSample {
                time_ps: time.as_ps(),
                host: &self.hosts[*host as usize],
                sent_bytes: sample.sent_bytes,
                received_bytes: sample.received_bytes,
                core_busy_ps: sample.core_busy.as_ps(),
                disk_busy_ps: sample.disk_busy.as_ps(),
            })?;
        }
        for (time, what, place) in &records.events {
            self.tables.events.push(rows::Event { time_ps: time.as_ps(), what, where_: place })?;
        }
        self.shown_before(now)?;
        self.packets(now, &records.packets)
    }

    /// Writes what all jobs have shown before `now`, in the order of time. So the order is the same however
    /// often this is called.
    fn shown_before(&mut self, now: Time) -> Result<(), Error> {
        let Writer { tables, hosts, jobs, shown, .. } = self;
        let mut next: Vec<Option<Time>> = shown.iter_mut().map(|shown| shown.gather()).collect();
        while let Some((time, index)) =
            next.iter().zip(0..).filter_map(|(at, index)| Some(((*at)?, index))).min()
            && time < now
        {
            let job = &jobs[index].name;
            let mut out = Out { tables, job, hosts, strangers: &mut BTreeMap::new() };
            next[index] = shown[index].write_first(&mut out)?;
        }
        Ok(())
    }

    fn flow<B: Copy + Default>(&mut self, network: &Fabric<B>, flow: &FlowRecord) -> Result<(), Error> {
        self.flows = self.flows.max(u64::from(flow.flow) + 1);
        let [path, path_back] = flow.ways.map(|way| self.path(network, way?));
        self.tables.flows.push(rows::Flow {
            flow: u64::from(flow.flow),
            job: &self.jobs[flow.job as usize].name,
            group: flow.group,
            from: &self.hosts[flow.from.host.0 as usize],
            to: &self.hosts[flow.to.host.0 as usize],
            class: flow.class,
            bytes: flow.bytes,
            start_ps: flow.start.as_ps(),
            end_ps: flow.end.map(Time::as_ps),
            sent_packets: flow.sent_packets,
            sent_bytes: flow.sent_bytes,
            retransmits: flow.retransmits,
            timeouts: flow.timeouts,
            fast_recoveries: flow.fast_recoveries,
            tail_loss_probes: flow.tail_loss_probes,
            ece_acks: flow.ece_acks,
            min_rtt_ps: present(flow.min_rtt),
            srtt_ps: present(flow.srtt),
            outcome: match flow.outcome {
                Outcome::Finished => rows::Outcome::Finished,
                Outcome::Refused => rows::Outcome::Refused,
                Outcome::Reset => rows::Outcome::Reset,
                Outcome::TimedOut => rows::Outcome::TimedOut,
                Outcome::Unfinished => rows::Outcome::Unfinished,
            },
            path: path.as_deref(),
            path_back: path_back.as_deref(),
        })
    }

    /// The names of the ports of a way; none between two processes of one host.
    fn path<B: Copy + Default>(&self, network: &Fabric<B>, way: (PortId, Route)) -> Option<String> {
        let mut path = String::with_capacity(100);
        for port in network.path(way) {
            path.push_str(self.ports.get(port)?);
            path.push(' ');
        }
        path.pop();
        Some(path)
    }

    fn task(&mut self, task: &TaskRecord) -> Result<(), Error> {
        self.tables.tasks.push(rows::Task {
            task: task.task,
            job: &self.jobs[task.job as usize].name,
            host: &self.hosts[task.host as usize],
            kind: task.kind,
            number: task.number,
            start_ps: task.start.as_ps(),
            end_ps: task.end.map(Time::as_ps),
            bytes: task.bytes,
            outcome: match task.outcome {
                TaskOutcome::Finished => rows::TaskOutcome::Finished,
                TaskOutcome::Lost => rows::TaskOutcome::Lost,
                TaskOutcome::Unfinished => rows::TaskOutcome::Unfinished,
            },
        })
    }

    fn packets(&mut self, now: Time, packets: &[PacketSeen]) -> Result<(), Error> {
        for seen in packets {
            let name = &self.ports[seen.port];
            let dropped =
                seen.discard.map(|(reason, queue)| format!("{} at {name}, queue {queue} B", reason.name()));
            if let Some(capture) = self.captures.get_mut(&seen.port) {
                push(capture, seen, Direction::Out, dropped.as_deref());
            }
            if let Some(named) = self.reverse.get(&seen.port) {
                let capture = self.captures.get_mut(named).expect("a capture for each named port");
                push(capture, seen, Direction::In, dropped.as_deref());
            }
        }
        // A packet is shown when it enters the queue, with the time at which it will leave: what
        // comes later can still leave a port before it, but never before now.
        self.captures.values_mut().try_for_each(|capture| capture.flush_until(now))
    }

    /// Writes totals, and closes all tables and captures. Jobs that are away are as `reports` say.
    pub(crate) fn finish(mut self, sim: &mut Sim, reports: &[MemberReport]) -> Result<(), crate::Error> {
        let now = sim.progress().now;
        sim.close();
        let records = sim.take_records();
        let written = self.write(sim.network(), now, &records).and_then(|()| self.shown_before(Time::MAX));
        let totals = written.map_err(Into::into).and_then(|()| self.totals(sim, now, reports));
        let tables = self.tables.finish();
        let captures = self.captures.into_values().map(Capture::finish).fold(Ok(()), Result::and);
        totals.and(tables.and(captures).map_err(Into::into))
    }

    fn totals(&mut self, sim: &mut Sim, now: Time, reports: &[MemberReport]) -> Result<(), crate::Error> {
        let Writer { tables, hosts, jobs, shown, away, .. } = self;
        let reported = Reported::new(reports, hosts, jobs)?;
        let mut strangers = reported.strangers();
        for ((index, spec), job) in jobs.iter().enumerate().zip(sim.job_records()) {
            let shown = &mut *shown[index];
            if let Some(hosts) = away.get(&index) {
                let whole = reported.shown(index, shown, tables, &mut strangers)?;
                reported.job(index, hosts.len(), whole, tables)?;
                continue;
            }
            let mut out = Out { tables, job: &spec.name, hosts, strangers: &mut strangers };
            let whole = shown.totals(&mut out)?;
            let ended = Ended { ended: job.end.is_some(), broken: job.flows_broken > 0, whole };
            let outcome = ended.outcome(spec.work.kind());
            tables.jobs.push(rows::Job {
                job: &job.name,
                kind: &job.kind,
                start_ps: job.start.as_ps(),
                end_ps: job.end.filter(|_| outcome == JobOutcome::Finished).map(Time::as_ps),
                flows: job.flows,
                bytes: job.bytes,
                outcome,
            })?;
        }
        reported.flows(self.flows, tables)?;
        for MemberReport { report, .. } in reports {
            reported.tasks(report, tables)?;
            reported.datagrams(report, tables)?;
        }
        for host in 0..self.hosts.len() as u32 {
            let record = sim.host_record(host);
            let away = |of: fn(&live::FlowRow) -> u64, far: fn(&live::FarEnd) -> u64| -> u64 {
                let mine = reports.iter().filter(|member| member.report.host == host);
                let each = |member: &MemberReport| {
                    let flows: u64 = member.report.flows.iter().map(of).sum();
                    flows + member.report.far_ends.iter().map(far).sum::<u64>()
                };
                mine.map(each).sum()
            };
            self.tables.hosts.push(rows::Host {
                host: &self.hosts[host as usize],
                sent_bytes: record.totals.sent_bytes,
                received_bytes: record.totals.received_bytes,
                drops_no_route: Some(record.drops.no_route),
                drops_down: Some(record.drops.down),
                drops_no_port: record.drops.no_port,
                drops_loopback: Some(record.loopback_drops),
                retransmits: record.retransmits + away(|flow| flow.retransmits, |far| far.retransmits),
                retransmitted_bytes: record.retransmitted_bytes,
                timeouts: record.timeouts + away(|flow| flow.timeouts, |far| far.timeouts),
                core_busy_ps: record.totals.core_busy.as_ps(),
                disk_busy_ps: record.totals.disk_busy.as_ps(),
                crashes: record.crashes,
            })?;
        }
        for pair in sim.datagram_records() {
            self.tables.datagrams.push(rows::Datagrams {
                job: &self.jobs[pair.job as usize].name,
                from: &self.hosts[pair.from as usize],
                to: &self.hosts[pair.to as usize],
                sent_packets: pair.sent_packets,
                sent_bytes: pair.sent_bytes,
                received_packets: pair.received_packets,
                received_bytes: pair.received_bytes,
                drops_no_route: Some(pair.drops.no_route),
                drops_down: Some(pair.drops.down),
                drops_no_port: Some(pair.drops.no_port),
            })?;
        }
        self.ports(sim, now)?;
        let named = Named { ports: &self.ports, nodes: &self.nodes };
        Ok(named.totals(sim.network(), now, &self.ways, &mut self.tables)?)
    }

    fn ports(&mut self, sim: &mut Sim, now: Time) -> Result<(), Error> {
        let graph = sim.graph().clone();
        for (port, name) in self.ports.iter() {
            let network = sim.network();
            let (node, peer) = network.ends(port);
            let (rate, counters) = (network.rate(port), network.counters(now, port));
            let state = network.sample(now, port);
            let pauses: Vec<(u8, PauseCounters)> =
                (0..8).filter_map(|class| Some((class, network.pause_counters(now, port, class)?))).collect();
            let kind = |node: NodeId| if graph.is_host(node) { PortKind::Host } else { PortKind::Switch };
            let of = |reason| counters.discards.of(reason);
            let waits = network.waits(port);
            let wait = |n, d| (counters.sent_packets > 0).then(|| waits.quantile(n, d).as_ps());
            self.tables.ports.push(rows::Port {
                port: name,
                node: graph.name(node),
                peer: graph.name(peer),
                kind: kind(node),
                rate_bps: rate.as_bps(),
                sent_packets: counters.sent_packets,
                sent_bytes: counters.sent_bytes,
                wire_bytes: counters.wire_bytes,
                busy_ps: counters.busy.as_ps(),
                utilisation: part(counters.busy, now),
                enqueued_packets: counters.enqueued_packets,
                in_discards: counters.discards.inbound(),
                out_discards: counters.discards.outbound(),
                drops_tail: of(Discard::Tail),
                drops_early: of(Discard::Early),
                drops_pool: of(Discard::Pool),
                drops_mtu: of(Discard::Mtu),
                drops_down: of(Discard::Down),
                drops_headroom: of(Discard::Headroom),
                drops_watchdog: of(Discard::Watchdog),
                drops_cell: of(Discard::Cell),
                drops_merged: of(Discard::Merged),
                lost: of(Discard::Lost),
                corrupted: of(Discard::Corrupt),
                marks: counters.marks,
                pause_sent: state.pause_sent,
                pause_received: state.pause_received,
                paused_ps: state.paused.as_ps(),
                queue_max_bytes: counters.queue_max_bytes,
                queue_max_packets: u64::from(counters.queue_max_packets),
                voq_max_bytes: counters.voq_max_bytes,
                cells: counters.cells.map(|cells| cells.came),
                cells_dropped: counters.cells.map(|cells| cells.dropped),
                queue_max_cells: counters.cells.map(|cells| cells.queue_max),
                fluid_bytes: counters.fluid.bytes,
                fluid_lost_bytes: counters.fluid.lost_bytes,
                wait_p50_ps: wait(1, 2),
                wait_p99_ps: wait(99, 100),
                wait_p999_ps: wait(999, 1000),
                wait_max_ps: wait(1, 1),
            })?;
            for (class, counters) in pauses {
                self.tables.pauses.push(pause_row(name, class, &counters))?;
            }
            for (from, to, packets) in waits.buckets() {
                let (from_ps, to_ps) = (from.as_ps(), to.as_ps());
                self.tables.waits.push(rows::Wait { port: name, class: 0, from_ps, to_ps, packets })?;
            }
        }
        Ok(())
    }
}

fn pause_row<'a>(port: &'a str, class: u8, counters: &PauseCounters) -> rows::Pause<'a> {
    rows::Pause {
        port,
        class,
        xoff_sent: counters.xoff_sent,
        xon_sent: counters.xon_sent,
        xoff_received: counters.xoff_received,
        xon_received: counters.xon_received,
        paused_ps: counters.paused.as_ps(),
        held_max_bytes: counters.held_max,
        headroom_max_bytes: counters.headroom_max,
        storms: counters.storms,
        restored: counters.restored,
        storm_drops: counters.storm_drops,
    }
}

/// `busy / whole`, at most 1: packets that are still to be sent count in `busy`.
fn part(busy: Time, whole: Time) -> f64 {
    if whole == Time::ZERO { 0.0 } else { (busy.as_ps() as f64 / whole.as_ps() as f64).min(1.0) }
}

fn present(time: Time) -> Option<u64> {
    (time != Time::ZERO && time != Time::MAX).then(|| time.as_ps())
}

/// Scale of the windows that captures show (RFC 7323): what the lab's TCP would have to offer for its
/// largest.
const WINDOW_SHIFT: u8 = 14;

fn push(capture: &mut Capture, seen: &PacketSeen, direction: Direction, dropped: Option<&str>) {
    let endpoint = |addr: process::Addr| Endpoint { host: addr.host.0, port: addr.port };
    let sack: Vec<(u32, u32)> = match &seen.transport {
        Transport::Tcp { sacks, .. } => sacks.iter().map(|block| (block.start, block.end)).collect(),
        Transport::Udp { .. } | Transport::Raw(_) => Vec::new(),
    };
    let (payload_bytes, transport) = match &seen.transport {
        Transport::Udp { len } => (*len as u32, capture::Transport::Udp),
        Transport::Raw(packet) => (0, capture::Transport::Raw(packet)),
        Transport::Tcp { header, mss, .. } => {
            let is = |flag| header.flags.contains(flag);
            let syn = SynOptions {
                mss: (*mss).min(u32::from(u16::MAX)) as u16,
                sack_permitted: is(Flags::SACK_PERMITTED),
                window_shift: Some(WINDOW_SHIFT),
            };
            let tcp = capture::Tcp {
                syn: is(Flags::SYN).then_some(syn),
                fin: is(Flags::FIN),
                rst: is(Flags::RST),
                psh: is(Flags::PSH) && !is(Flags::SYN),
                ack: is(Flags::ACK).then_some(header.ack),
                ece: is(Flags::ECE),
                cwr: is(Flags::CWR),
                seq: header.seq,
                window_bytes: header.window,
                window_shift: WINDOW_SHIFT,
                sack: &sack,
                timestamps: is(Flags::TIMESTAMPS).then_some((header.ts_val, header.ts_ecr)),
            };
            (u32::from(header.len), capture::Transport::Tcp(tcp))
        }
    };
    capture.push(&capture::Packet {
        time: seen.time,
        direction,
        from: endpoint(seen.from),
        to: endpoint(seen.to),
        class: seen.class,
        ecn: match seen.ecn {
            fabric::Ecn::NotEct => capture::Ecn::NotEct,
            fabric::Ecn::Ect0 => capture::Ecn::Ect0,
            fabric::Ecn::Ce => capture::Ecn::Ce,
        },
        payload_bytes,
        transport,
        retransmission: matches!(&seen.transport, Transport::Tcp { header, .. } if header.notes.contains(Notes::RETRANSMISSION)),
        dropped,
    });
}
