//! Programs on emulated hosts: what stands for them in the simulator, and the table `commands`.

use super::kind::{Cast, Kind, Out, Place, Shown};
use emu::job::{Done, Program, Stand};
use process::{HostId, Hosts, Process};
use record::Error;
use record::rows::Command as Row;
use units::{Problem, Time};

impl Kind for Program<String> {
    fn name(&self) -> &'static str {
        "program"
    }

    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem> {
        let host = |(index, name): (usize, &String)| {
            place.names.find(name).map_err(|error| Problem::new(("hosts", index), error))
        };
        let hosts: Vec<HostId> = self.hosts.iter().enumerate().map(host).collect::<Result<_, _>>()?;
        let stand = |host: &HostId| (*host, Box::new(Stand(self.done)) as Box<dyn Process>);
        let processes = hosts.iter().map(stand).collect();
        let runs = hosts.iter().map(|host| (*host, None)).collect();
        Ok(Cast { processes, shown: Box::new(Programs { start: place.start, done: self.done, runs }) })
    }

    fn check_live(&self) -> Result<(), Problem> {
        Err(Problem::whole("a program runs on emulated hosts: leave --live away"))
    }
}

/// How the programs of a job ended.
struct Programs {
    start: Time,
    done: Done,
    runs: Vec<(HostId, Option<(Time, i32)>)>,
}

impl Shown for Programs {
    fn exited(&mut self, host: HostId, at: Time, code: i32) {
        self.runs.iter_mut().filter(|(on, _)| *on == host).for_each(|(_, run)| *run = Some((at, code)));
    }

    fn totals(&mut self, out: &mut Out<'_>) -> Result<bool, Error> {
        for (host, run) in &self.runs {
            out.tables.commands.push(Row {
                job: out.job,
                host: out.host(*host),
                start_ps: self.start.as_ps(),
                end_ps: run.map(|(at, _)| at.as_ps()),
                exit_code: run.map(|(_, code)| code.clamp(0, 255) as u8),
            })?;
        }
        let good = |run: &Option<(Time, i32)>| run.map_or(self.done == Done::Started, |(_, code)| code == 0);
        Ok(self.runs.iter().all(|(_, run)| good(run)))
    }
}
