//! A job that is a program: the same one on each of its hosts.

use process::{Context, Event, Process};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// When a program's job is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Done {
    /// When it has exited.
    Exited,
    /// When it has started: a server, which runs until the run ends.
    Started,
}

/// What is read from what a program prints, by whoever shows the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// A regular expression; its group is a number.
    pub pattern: String,
    /// The number's unit.
    pub unit: String,
}

/// A program on hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program<H> {
    /// Where it runs.
    pub hosts: Vec<H>,
    /// What the shell is to run.
    pub command: String,
    /// Its environment, beyond PATH and HOME.
    pub environment: BTreeMap<String, String>,
    /// When the job is done.
    pub done: Done,
    /// What is read from what it prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Reading>,
}

/// What stands for a program in the simulator: whoever runs the guests says when it is done.
#[derive(Debug)]
pub struct Stand(pub Done);

impl Process for Stand {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        if self.0 == Done::Started && matches!(event, Event::Start) {
            cx.finish();
        }
    }
}
