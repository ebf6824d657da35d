//! How long flows took, and groups of them: coflows, rounds, receivers.

use crate::Asked;
use crate::sample::Sample;
use indexmap::IndexMap;
use record::stored::{ReadError, Wanted, rows};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Figures of flows.
#[derive(Debug, Serialize)]
pub struct Flows {
    /// Of each job that has some.
    pub of_jobs: BTreeMap<String, FlowsOfJob>,
    /// Of those that are timed, together.
    pub timed: FlowsOfJob,
    /// Of each job's groups, if it has some.
    pub groups: BTreeMap<String, Groups>,
    /// How long a group took on average, of whatever job.
    pub group_mean_ps: Option<u64>,
}

/// Figures of the flows of one job, or of several. A time is missing where that of no flow is known, or where
/// it is longer than any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowsOfJob {
    /// Flow completion time: the mean.
    pub fct_mean_ps: Option<u64>,
    /// The median.
    pub fct_p50_ps: Option<u64>,
    /// The 99th percentile.
    pub fct_p99_ps: Option<u64>,
    /// The longest.
    pub fct_max_ps: Option<u64>,
    /// Flows that did not finish.
    pub unfinished: u64,
    /// All flows.
    pub count: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// How long the groups of a job took.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Groups {
    /// The mean.
    pub group_mean_ps: Option<u64>,
    /// The 99th percentile.
    pub group_p99_ps: Option<u64>,
}

impl Flows {
    pub(crate) fn of(run: &Path, asked: &Asked) -> Result<Flows, ReadError> {
        let mut counts: IndexMap<String, Counts> = IndexMap::new();
        let mut groups: IndexMap<(usize, u64), Group> = IndexMap::new();
        let columns = [
            Wanted::Text("job"),
            Wanted::Number("group"),
            Wanted::Number("start_ps"),
            Wanted::Number("end_ps"),
            Wanted::Text("outcome"),
            Wanted::Number("retransmits"),
            Wanted::Number("timeouts"),
        ];
        rows(run, "flows", columns, |[job, group, start, end, outcome, retransmits, timeouts]| {
            let job = job.text().ok_or("a flow is of no job")?;
            let number = counts
                .get_index_of(job)
                .unwrap_or_else(|| counts.insert_full(job.to_owned(), Counts::new(job, asked)).0);
            let job = &mut counts[number];
            let start = start.number().ok_or("a flow has no beginning")?;
            let end = end.number().filter(|_| outcome.text() == Some("finished"));
            if end.is_some_and(|end| end < start) {
                return Err("a flow ends before it begins");
            }
            job.add(end.map(|end| end - start), retransmits.count(), timeouts.count());
            if job.first_group.is_some_and(|first| group.count() >= first) {
                groups.entry((number, group.count())).or_insert(Group::new(start)).add(start, end);
            }
            Ok(())
        })?;
        for ((job, _), group) in &groups {
            counts[*job].add_group(group.span());
        }
        drop(groups);
        Ok(Flows::from(counts, asked))
    }

    fn from(counts: IndexMap<String, Counts>, asked: &Asked) -> Flows {
        let (mut timed, mut grouped) = (Counts::default(), Sample::default());
        let (mut of_jobs, mut groups) = (BTreeMap::new(), BTreeMap::new());
        for (job, mut each) in counts {
            if !each.groups.is_empty() {
                groups.insert(job.clone(), Groups::of(&mut each.groups));
                grouped.extend(std::mem::take(&mut each.groups));
            }
            let figures = each.figures();
            if asked.timed.contains(&job) {
                timed.join(each);
            }
            of_jobs.insert(job, figures);
        }
        Flows { of_jobs, timed: timed.figures(), groups, group_mean_ps: grouped.mean() }
    }
}

impl Groups {
    fn of(times: &mut Sample) -> Groups {
        Groups { group_mean_ps: times.mean(), group_p99_ps: times.quantile(0.99) }
    }
}

/// What is counted of the flows of a job.
#[derive(Debug, Default)]
struct Counts {
    /// Whether what did not finish counts as longer than any.
    endless: bool,
    first_group: Option<u64>,
    completion: Sample,
    groups: Sample,
    sums: FlowsOfJob,
}

impl Counts {
    fn new(job: &str, asked: &Asked) -> Counts {
        let first_group = asked.first_groups.get(job).copied();
        Counts { endless: asked.incomplete.contains(job), first_group, ..Counts::default() }
    }

    /// Adds a flow that took so long, if it finished.
    fn add(&mut self, took: Option<u64>, retransmits: u64, timeouts: u64) {
        if took.is_some() || self.endless {
            self.completion.push(took);
        }
        self.sums.count += 1;
        self.sums.unfinished += u64::from(took.is_none());
        self.sums.retransmits = self.sums.retransmits.saturating_add(retransmits);
        self.sums.timeouts = self.sums.timeouts.saturating_add(timeouts);
    }

    /// Adds a group that took so long, if all its flows finished.
    fn add_group(&mut self, took: Option<u64>) {
        if took.is_some() || self.endless {
            self.groups.push(took);
        }
    }

    /// Adds the flows of another job.
    fn join(&mut self, other: Counts) {
        self.completion.extend(other.completion);
        self.sums.count += other.sums.count;
        self.sums.unfinished += other.sums.unfinished;
        self.sums.retransmits = self.sums.retransmits.saturating_add(other.sums.retransmits);
        self.sums.timeouts = self.sums.timeouts.saturating_add(other.sums.timeouts);
    }

    fn figures(&mut self) -> FlowsOfJob {
        FlowsOfJob {
            fct_mean_ps: self.completion.mean(),
            fct_p50_ps: self.completion.quantile(0.5),
            fct_p99_ps: self.completion.quantile(0.99),
            fct_max_ps: self.completion.max(),
            ..self.sums
        }
    }
}

/// A group: when its first flow began and its last one ended.
#[derive(Debug)]
struct Group {
    start: u64,
    end: u64,
    finished: bool,
}

impl Group {
    fn new(start: u64) -> Group {
        Group { start, end: 0, finished: true }
    }

    fn add(&mut self, start: u64, end: Option<u64>) {
        self.start = self.start.min(start);
        self.end = self.end.max(end.unwrap_or(0));
        self.finished &= end.is_some();
    }

    /// How long it took, if all its flows finished.
    fn span(&self) -> Option<u64> {
        self.finished.then(|| self.end - self.start)
    }
}
