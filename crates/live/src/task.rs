//! Tasks on the timelines of jobs, as processes report them.

use crate::report::TaskRow;
use process::{HostId, TaskId};
use std::collections::BTreeMap;
use units::Time;

/// Tasks of a member.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    open: BTreeMap<u64, (u32, TaskRow)>,
    begun: u32,
    pub ended: Vec<TaskRow>,
}

impl Tasks {
    /// Begins a task.
    pub fn begin(
        &mut self,
        (process, job): (u32, u32),
        host: u32,
        kind: &'static str,
        number: u64,
        now: Time,
    ) -> TaskId {
        self.begun += 1;
        let id = TaskId::on(HostId(host), self.begun);
        let kind = kind.to_owned();
        let row =
            TaskRow { task: id.0, job, host, kind, number, start_ps: now.as_ps(), end_ps: None, bytes: 0 };
        self.open.insert(id.0, (process, row));
        id
    }

    /// Ends a task of `process`; one that it doesn't have is ignored.
    pub fn end(&mut self, process: u32, task: TaskId, bytes: u64, now: Time) {
        if self.open.get(&task.0).is_some_and(|(owner, _)| *owner == process) {
            let (_, row) = self.open.remove(&task.0).expect("just looked at");
            self.ended.push(TaskRow { end_ps: Some(now.as_ps()), bytes, ..row });
        }
    }

    /// Closes the books: tasks still under way stay without an end.
    pub fn close(&mut self) -> Vec<TaskRow> {
        let mut rows = std::mem::take(&mut self.ended);
        rows.extend(std::mem::take(&mut self.open).into_values().map(|(_, row)| row));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_began_a_task_ends_it() {
        let mut tasks = Tasks::default();
        let task = tasks.begin((0, 0), 3, "map", 7, Time::from_ns(5));
        tasks.end(1, task, 10, Time::from_ns(6));
        let open = tasks.begin((1, 0), 3, "map", 8, Time::from_ns(5));
        assert_ne!(task, open);
        tasks.end(0, task, 10, Time::from_ns(9));
        let rows = tasks.close();
        let ends: Vec<_> = rows.iter().map(|row| (row.number, row.end_ps, row.bytes)).collect();
        assert_eq!(ends, [(7, Some(9000), 10), (8, None, 0)]);
    }
}
