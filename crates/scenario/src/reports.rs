//! What members report, as rows of tables.

use crate::kinds::{Ended, Out, Shown};
use crate::lab::Job;
use live::{FarEnd, FlowRow, FlowSample, Report};
use process::HostId;
use record::rows::{self, JobOutcome, Outcome, TaskOutcome};
use record::{Error, Tables};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use units::Problem;

/// What a member reports: how it ran, and how what ran on it did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemberReport {
    /// How it ran.
    #[serde(flatten)]
    pub report: Report,
    /// What its processes showed, with the index of their job.
    #[serde(default)]
    pub shown: Vec<(u32, Value)>,
}

/// The reports of a run's members.
pub(crate) struct Reported<'a> {
    reports: &'a [MemberReport],
    hosts: &'a [String],
    jobs: &'a [Job],
}

impl<'a> Reported<'a> {
    /// Checks that they speak of hosts and jobs that there are.
    ///
    /// # Errors
    /// One that does not.
    pub(crate) fn new(
        reports: &'a [MemberReport],
        hosts: &'a [String],
        jobs: &'a [Job],
    ) -> Result<Reported<'a>, Problem> {
        let host = |number: u32| (number as usize) < hosts.len();
        let job = |number: u32| (number as usize) < jobs.len();
        let flow = |row: &FlowRow| job(row.job) && host(row.from) && host(row.to);
        let good = |MemberReport { report, shown }: &MemberReport| {
            host(report.host)
                && report.jobs.iter().all(|row| job(row.job))
                && report.flows.iter().all(flow)
                && report.tasks.iter().all(|row| job(row.job))
                && report.datagram_rows.iter().all(|row| job(row.job) && host(row.peer))
                && shown.iter().all(|(number, _)| job(*number))
        };
        match reports.iter().position(|report| !good(report)) {
            None => Ok(Reported { reports, hosts, jobs }),
            Some(index) => {
                Err(Problem::new(("reports", index), "speaks of a host or job that is not in the scenario"))
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = &'a Report> {
        self.reports.iter().map(|member| &member.report)
    }

    /// Datagrams of which nobody knows for whom they were, by host.
    pub(crate) fn strangers(&self) -> BTreeMap<HostId, u64> {
        self.all().map(|report| (HostId(report.host), report.counters.foreign_datagrams)).collect()
    }

    /// Writes what the processes of a job have shown; whether all that it was for was done.
    pub(crate) fn shown(
        &self,
        index: usize,
        shown: &dyn Shown,
        tables: &mut Tables,
        strangers: &mut BTreeMap<HostId, u64>,
    ) -> Result<bool, crate::Error> {
        let of = |member: &MemberReport| {
            let own = member.shown.iter().find(|(job, _)| *job as usize == index);
            own.map(|(_, shown)| (HostId(member.report.host), shown.clone()))
        };
        let own: Vec<(HostId, Value)> = self.reports.iter().filter_map(of).collect();
        shown.reported(&own, &mut Out { tables, job: &self.jobs[index].name, hosts: self.hosts, strangers })
    }

    /// The row of a job that has processes on so many hosts.
    pub(crate) fn job(
        &self,
        index: usize,
        members: usize,
        whole: bool,
        tables: &mut Tables,
    ) -> Result<(), Error> {
        let job = &self.jobs[index];
        let is_own = |row: u32| row as usize == index;
        let parts: Vec<_> =
            self.all().flat_map(|report| &report.jobs).filter(|row| is_own(row.job)).collect();
        // A job ends with the last of its members; one that is missing has not finished.
        let ends: Option<Vec<u64>> = parts.iter().map(|row| row.end_ps).collect();
        let end = ends.filter(|ends| ends.len() == members).and_then(|ends| ends.into_iter().max());
        let flows = || self.all().flat_map(|report| &report.flows).filter(|flow| is_own(flow.job));
        let is_broken = |outcome| !matches!(outcome, live::Outcome::Finished | live::Outcome::Unfinished);
        let broken = flows().any(|flow| is_broken(flow.outcome));
        let outcome = Ended { ended: end.is_some(), broken, whole }.outcome(job.work.kind());
        tables.jobs.push(rows::Job {
            job: &job.name,
            kind: job.work.kind().name(),
            start_ps: job.start.as_ps(),
            end_ps: end.filter(|_| outcome == JobOutcome::Finished),
            flows: flows().count() as u64,
            bytes: flows().map(|flow| flow.bytes).sum(),
            outcome,
        })
    }

    /// Flows, numbered from `first` on, and their samples in the order of time.
    pub(crate) fn flows(&self, first: u64, tables: &mut Tables) -> Result<(), Error> {
        let far = |report: &'a Report| report.far_ends.iter().map(|far| ((far.opener, far.number), far));
        let far_ends: BTreeMap<(u32, u64), &FarEnd> = self.all().flat_map(far).collect();
        let own = |report: &'a Report| report.flows.iter().map(|flow| (report.host, flow));
        let mut flows: Vec<(u32, &FlowRow)> = self.all().flat_map(own).collect();
        flows.sort_by_key(|(_, flow)| (flow.start_ps, flow.from, flow.to, flow.number));
        let mut numbers = BTreeMap::new();
        for (number, (opener, flow)) in (first..).zip(flows) {
            let far = far_ends.get(&(opener, flow.number)).copied();
            tables.flows.push(self.flow(number, opener, flow, far))?;
            numbers.insert((opener, flow.number), number);
        }
        self.samples(&numbers, tables)
    }

    /// Samples of flows that are numbered as `numbers` says, by opener and number of its streams.
    fn samples(&self, numbers: &BTreeMap<(u32, u64), u64>, tables: &mut Tables) -> Result<(), Error> {
        let known = |sample: &'a FlowSample| Some((*numbers.get(&(sample.opener, sample.number))?, sample));
        let samples = self.all().flat_map(|report| &report.flow_samples);
        let mut samples: Vec<(u64, &FlowSample)> = samples.filter_map(known).collect();
        samples.sort_by_key(|(flow, sample)| (sample.time_ps, *flow));
        for (flow, sample) in samples {
            tables.flows_series.push(rows::FlowSample {
                time_ps: sample.time_ps,
                flow,
                cwnd_bytes: sample.cwnd_bytes,
                in_flight_bytes: sample.in_flight_bytes,
                srtt_ps: sample.srtt_ps,
                acked_bytes: sample.acked_bytes,
            })?;
        }
        Ok(())
    }

    fn flow(&self, number: u64, opener: u32, flow: &FlowRow, far: Option<&FarEnd>) -> rows::Flow<'a> {
        // With one clock it ends when the last byte is there. Otherwise only its opener's moments count.
        let last = far.map(|far| far.received_ps.max(flow.received_ps).unwrap_or(flow.start_ps));
        // Of the one that sent more.
        let (min_rtt_ps, srtt_ps) = match far {
            Some(far) if flow.from != opener => (far.min_rtt_ps, far.srtt_ps),
            _ => (flow.min_rtt_ps, flow.srtt_ps),
        };
        let back = far
            .map_or((flow.received_packets, flow.received_bytes), |far| (far.sent_packets, far.sent_bytes));
        let job = &self.jobs[flow.job as usize];
        rows::Flow {
            flow: number,
            job: &job.name,
            group: flow.group,
            from: &self.hosts[flow.from as usize],
            to: &self.hosts[flow.to as usize],
            class: job.class,
            bytes: flow.bytes,
            start_ps: flow.start_ps,
            end_ps: flow.end_ps.map(|end| last.unwrap_or(end)),
            sent_packets: flow.sent_packets + back.0,
            sent_bytes: flow.sent_bytes + back.1,
            retransmits: flow.retransmits + far.map_or(0, |far| far.retransmits),
            timeouts: flow.timeouts + far.map_or(0, |far| far.timeouts),
            fast_recoveries: 0,
            tail_loss_probes: 0,
            ece_acks: 0,
            min_rtt_ps,
            srtt_ps,
            outcome: outcome(flow.outcome),
            // Which way packets take through a real network is not known.
            path: None,
            path_back: None,
        }
    }

    /// The tasks of a host.
    pub(crate) fn tasks(&self, report: &Report, tables: &mut Tables) -> Result<(), Error> {
        for task in &report.tasks {
            let outcome = if task.end_ps.is_some() { TaskOutcome::Finished } else { TaskOutcome::Unfinished };
            tables.tasks.push(rows::Task {
                task: task.task,
                job: &self.jobs[task.job as usize].name,
                host: &self.hosts[report.host as usize],
                kind: &task.kind,
                number: task.number,
                start_ps: task.start_ps,
                end_ps: task.end_ps,
                bytes: task.bytes,
                outcome,
            })?;
        }
        Ok(())
    }

    /// The datagrams of a host. The sender counts what left, the receiver what came.
    pub(crate) fn datagrams(&self, report: &Report, tables: &mut Tables) -> Result<(), Error> {
        for row in report.datagram_rows.iter().filter(|row| row.sent_packets > 0) {
            let back = |other: &&live::DatagramRow| other.job == row.job && other.peer == report.host;
            let peer = self.all().find(|other| other.host == row.peer);
            let came = peer.and_then(|peer| peer.datagram_rows.iter().find(back));
            tables.datagrams.push(rows::Datagrams {
                job: &self.jobs[row.job as usize].name,
                from: &self.hosts[report.host as usize],
                to: &self.hosts[row.peer as usize],
                sent_packets: row.sent_packets,
                sent_bytes: row.sent_bytes,
                received_packets: came.map_or(0, |came| came.received_packets),
                received_bytes: came.map_or(0, |came| came.received_bytes),
                drops_no_route: None,
                drops_down: None,
                drops_no_port: None,
            })?;
        }
        Ok(())
    }
}

fn outcome(outcome: live::Outcome) -> Outcome {
    match outcome {
        live::Outcome::Finished => Outcome::Finished,
        live::Outcome::Refused => Outcome::Refused,
        live::Outcome::Reset => Outcome::Reset,
        live::Outcome::TimedOut => Outcome::TimedOut,
        live::Outcome::Unfinished => Outcome::Unfinished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(flow: &Value) -> MemberReport {
        let counters = serde_json::to_value(live::Counters::default()).unwrap();
        let report = json!({
            "host": 0, "end": "stopped", "datagrams": "segmented", "time_ps": 1, "cpu_ps": 1,
            "counters": counters, "jobs": [], "flows": [flow], "flows_not_kept": 0, "datagram_rows": [],
            "tasks": [], "shown": []
        });
        serde_json::from_value(report).unwrap()
    }

    #[test]
    fn reports_of_hosts_and_jobs_that_are_not_there_are_refused() {
        let job = json!({"name": "flows", "start": 0, "class": 0, "work": {"kind": "replay", "flows": []}});
        let jobs: Vec<Job> = vec![serde_json::from_value(job).unwrap()];
        let hosts = ["host0".to_owned(), "host1".to_owned()];
        let flow = |field: &str, value: u64| {
            let mut flow = json!({
                "job": 0, "number": 1, "group": 0, "from": 0, "to": 1, "bytes": 1, "start_ps": 0, "end_ps": 1,
                "sent_packets": 1, "sent_bytes": 1, "received_packets": 0, "received_bytes": 0,
                "received_ps": null, "retransmits": 0, "timeouts": 0, "min_rtt_ps": null, "srtt_ps": null,
                "outcome": "finished"
            });
            flow[field] = value.into();
            [report(&flow)]
        };
        assert!(Reported::new(&flow("to", 1), &hosts, &jobs).is_ok());
        for (field, value) in [("to", 2), ("from", u64::from(u32::MAX)), ("job", 1)] {
            let problem = Reported::new(&flow(field, value), &hosts, &jobs).err().expect("it is not there");
            assert!(problem.to_string().starts_with("reports[0]: "), "{problem}");
        }
    }
}
