//! Tasks on the timelines of jobs: what processes say that they are at. No work is done here.

use crate::records::{TaskOutcome, TaskRecord};
use crate::run::Sim;
use process::{HostId, TaskId};
use std::collections::BTreeMap;

/// Tasks of processes.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// Those under way, by number.
    open: BTreeMap<u64, Open>,
    /// By host: how many it has begun so far.
    begun: BTreeMap<u32, u32>,
}

impl Tasks {
    /// Adds those under way in another part.
    pub(crate) fn join(&mut self, mut other: Tasks) {
        self.open.append(&mut other.open);
    }
}

#[derive(Debug)]
struct Open {
    process: u32,
    record: TaskRecord,
}

impl Sim {
    pub(crate) fn begin_task(&mut self, process: u32, kind: &'static str, number: u64) -> TaskId {
        let slot = &self.processes[process as usize];
        let (job, host, start) = (slot.job, slot.host, self.net.now);
        let begun = self.tasks.begun.entry(host).or_default();
        *begun += 1;
        let id = TaskId::on(HostId(host), *begun);
        let outcome = TaskOutcome::Unfinished;
        let record = TaskRecord { task: id.0, job, host, kind, number, start, end: None, bytes: 0, outcome };
        self.tasks.open.insert(id.0, Open { process, record });
        id
    }

    /// Ends a task of `process`; one that it doesn't have is ignored.
    pub(crate) fn end_task(&mut self, process: u32, task: TaskId, bytes: u64) {
        if self.tasks.open.get(&task.0).is_some_and(|open| open.process == process) {
            let record = self.tasks.open.remove(&task.0).expect("just looked at").record;
            let end = Some(self.net.now);
            self.keep_task(TaskRecord { end, bytes, outcome: TaskOutcome::Finished, ..record });
        }
    }

    /// Tasks are recorded in the order in which they ended, those of the same time in that of their numbers.
    fn keep_task(&mut self, record: TaskRecord) {
        if self.part.is_some() {
            return self.records.tasks.push(record);
        }
        let rank = |task: &TaskRecord| (task.end, task.task);
        let records = &mut self.records.tasks;
        let later = records.iter().rev().take_while(|other| rank(other) > rank(&record)).count();
        records.insert(records.len() - later, record);
    }

    /// The tasks of a host that has crashed are over.
    pub(crate) fn lose_tasks(&mut self, host: u32) {
        let (end, outcome) = (Some(self.net.now), TaskOutcome::Lost);
        let lost: Vec<Open> = self
            .tasks
            .open
            .extract_if(.., |_, open| open.record.host == host)
            .map(|(_, open)| open)
            .collect();
        for open in lost {
            self.keep_task(TaskRecord { end, outcome, ..open.record });
        }
    }

    /// Records the tasks that the end of the run finds under way.
    pub(crate) fn close_tasks(&mut self) {
        let open = std::mem::take(&mut self.tasks.open);
        self.records.tasks.extend(open.into_values().map(|open| open.record));
    }
}
