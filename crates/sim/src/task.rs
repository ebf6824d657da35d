//! Tasks on the timelines of jobs: what processes say that they are at. No work is done here.

use crate::records::{TaskOutcome, TaskRecord};
use crate::run::Sim;
use process::TaskId;
use std::collections::BTreeMap;

/// Tasks under way, by number.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    open: BTreeMap<u64, Open>,
    /// Tasks begun so far.
    begun: u64,
}

#[derive(Debug)]
struct Open {
    process: u32,
    record: TaskRecord,
}

impl Sim {
    pub(crate) fn begin_task(&mut self, process: u32, kind: &'static str, number: u64) -> TaskId {
        self.tasks.begun += 1;
        let task = self.tasks.begun;
        let slot = &self.processes[process as usize];
        let (job, host, start) = (slot.job, slot.host, self.net.now);
        let outcome = TaskOutcome::Unfinished;
        let record = TaskRecord { task, job, host, kind, number, start, end: None, bytes: 0, outcome };
        self.tasks.open.insert(task, Open { process, record });
        TaskId(task)
    }

    /// Ends a task of `process`; one that it doesn't have is ignored.
    pub(crate) fn end_task(&mut self, process: u32, task: TaskId, bytes: u64) {
        if self.tasks.open.get(&task.0).is_some_and(|open| open.process == process) {
            let record = self.tasks.open.remove(&task.0).expect("just looked at").record;
            let end = Some(self.net.now);
            self.records.tasks.push(TaskRecord { end, bytes, outcome: TaskOutcome::Finished, ..record });
        }
    }

    /// The tasks of a host that has crashed are over.
    pub(crate) fn lose_tasks(&mut self, host: u32) {
        for (_, open) in self.tasks.open.extract_if(.., |_, open| open.record.host == host) {
            let (end, outcome) = (Some(self.net.now), TaskOutcome::Lost);
            self.records.tasks.push(TaskRecord { end, outcome, ..open.record });
        }
    }

    /// Records the tasks that the end of the run finds under way.
    pub(crate) fn close_tasks(&mut self) {
        let open = std::mem::take(&mut self.tasks.open);
        self.records.tasks.extend(open.into_values().map(|open| open.record));
    }
}
