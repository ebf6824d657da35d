//! Jobs, their tasks and their commands.

use super::{labels, table};
use crate::column::{Column, ColumnData, Label, Labels, Nullable, Text, U8, U64};
use crate::table::Columns;

labels! {
    /// How a job ended.
    JobOutcome {
        /// It did its work.
        Finished = "finished",
        /// It ended, but gave up a part of its work.
        Failed = "failed",
        /// The run ended first.
        Unfinished = "unfinished",
        /// The run does not wait for it.
        Background = "background",
    }
}

labels! {
    /// How a task ended.
    TaskOutcome {
        /// It did what it was to do.
        Finished = "finished",
        /// Its host crashed.
        Lost = "lost",
        /// The run ended first.
        Unfinished = "unfinished",
    }
}

table! {
    /// A job.
    "jobs": Job, Jobs {
        /// Its name.
        job: Text,
        /// What it does, as the scenario names it (`incast`, `coflows`…).
        kind: Text,
        /// When it began.
        start_ps: U64,
        /// When its work was done; missing unless it finished.
        end_ps: Nullable<U64>,
        /// Flows it opened.
        flows: U64,
        /// Bytes that its receivers read.
        bytes: U64,
        /// How it ended. `failed`: it gave up a part of its work (a flow, a receiver, a program).
        /// `background`: the run does not wait for it.
        outcome: Labels<JobOutcome>,
    }
}

table! {
    /// A task on a job's timeline, as the job reports it. Tasks may overlap and lie within one another.
    "tasks": Task, Tasks {
        /// Its number in the run: 2^32 times the host's number, and its own there, from 1. It is the `group`
        /// of the flows that the task opened, itself or by another task.
        task: U64,
        /// The job.
        job: Text,
        /// Where it ran.
        host: Text,
        /// What it did: `map`, `shuffle`, `reduce`…
        kind: Text,
        /// Its number among the tasks of its kind.
        number: U64,
        /// When it began.
        start_ps: U64,
        /// When it ended, or its host crashed; missing if it was in progress at the end of the run.
        end_ps: Nullable<U64>,
        /// Bytes that it processed.
        bytes: U64,
        /// How it ended.
        outcome: Labels<TaskOutcome>,
    }
}

table! {
    /// The command of a program on an emulated host.
    "commands": Command, Commands {
        /// The job.
        job: Text,
        /// The host.
        host: Text,
        /// When it started.
        start_ps: U64,
        /// When it exited; missing if it ran at the end of the run.
        end_ps: Nullable<U64>,
        /// Its exit code, as a shell has it: above 128 for a signal; missing if it ran at the end of the run.
        exit_code: Nullable<U8>,
    }
}
