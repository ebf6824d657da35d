//! Tasks that the end of a run found under way, each with the oldest of its flows that were open.

use record::stored::{ReadError, Wanted, rows};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Tasks under way.
#[derive(Debug, Default, Serialize)]
pub struct OpenTasks {
    /// How many there were.
    pub count: u64,
    /// The oldest of them.
    pub first: Vec<OpenTask>,
}

/// A task under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenTask {
    /// The job.
    pub job: String,
    /// What it did.
    pub kind: String,
    /// Its number among the tasks of its kind.
    pub number: u64,
    /// Where it ran.
    pub host: String,
    /// When it began.
    pub start_ps: u64,
    /// The sending host of its oldest open flow, if it had one.
    pub from: Option<String>,
    /// The receiving host.
    pub to: Option<String>,
}

impl OpenTasks {
    /// How many tasks are under way, and the oldest, at most `most`.
    pub(crate) fn of(run: &Path, most: usize) -> Result<OpenTasks, ReadError> {
        let mut count = 0;
        // By beginning and number.
        let mut oldest: BTreeMap<(u64, u64), OpenTask> = BTreeMap::new();
        let columns = [
            Wanted::Number("task"),
            Wanted::Text("job"),
            Wanted::Text("host"),
            Wanted::Text("kind"),
            Wanted::Number("number"),
            Wanted::Number("start_ps"),
            Wanted::Number("end_ps"),
        ];
        rows(run, "tasks", columns, |[task, job, host, kind, number, start, end]| {
            if end.number().is_some() {
                return Ok(());
            }
            count += 1;
            let age = (start.count(), task.count());
            if oldest.len() < most || oldest.last_key_value().is_some_and(|(last, _)| age < *last) {
                let text = |name: Option<&str>| name.unwrap_or_default().to_owned();
                let (job, kind, host) = (text(job.text()), text(kind.text()), text(host.text()));
                let (number, start_ps) = (number.count(), age.0);
                oldest.insert(age, OpenTask { job, kind, number, host, start_ps, from: None, to: None });
            }
            if oldest.len() > most {
                oldest.pop_last();
            }
            Ok(())
        })?;
        if !oldest.is_empty() {
            add_flows(run, &mut oldest)?;
        }
        Ok(OpenTasks { count, first: oldest.into_values().collect() })
    }
}

/// Adds the oldest open flow of each task.
fn add_flows(run: &Path, tasks: &mut BTreeMap<(u64, u64), OpenTask>) -> Result<(), ReadError> {
    let listed: BTreeMap<u64, u64> = tasks.keys().map(|&(start, task)| (task, start)).collect();
    let mut ages: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let columns = [
        Wanted::Number("flow"),
        Wanted::Text("job"),
        Wanted::Number("group"),
        Wanted::Text("from"),
        Wanted::Text("to"),
        Wanted::Number("start_ps"),
        Wanted::Number("end_ps"),
    ];
    rows(run, "flows", columns, |[flow, job, group, from, to, start, end]| {
        let Some(&began) = listed.get(&group.count()) else { return Ok(()) };
        let task = tasks.get_mut(&(began, group.count())).expect("it is listed");
        let age = (start.count(), flow.count());
        let older = ages.get(&group.count()).is_none_or(|oldest| age < *oldest);
        if end.number().is_none() && job.text() == Some(&*task.job) && older {
            ages.insert(group.count(), age);
            task.from = from.text().map(str::to_owned);
            task.to = to.text().map(str::to_owned);
        }
        Ok(())
    })
}
