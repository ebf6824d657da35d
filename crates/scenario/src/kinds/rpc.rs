//! Remote procedure calls: the clients and servers of [`traffic::rpc`], and the table `calls`.

use super::kind::{Cast, Gathered, Kind, Out, Place, Shown, read};
use process::HostId;
use record::Error;
use record::rows::{Call as Row, CallOutcome};
use serde_json::{Value, json};
use traffic::rpc::{self, Board, Call, Rpc};
use units::{Problem, Time};

impl Kind for Rpc<String> {
    fn name(&self) -> &'static str {
        "rpc"
    }

    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem> {
        let job = self.place(place.names)?;
        let volumes = job.volumes()?;
        let (boards, processes) = rpc::build(job, place.port)?;
        place.check_volumes(volumes)?;
        Ok(Cast {
            processes,
            shown: Box::new(Clients { boards, ended: Gathered::default(), deadline: self.deadline }),
        })
    }
}

/// What the clients of a job show of themselves.
struct Clients {
    boards: Vec<(HostId, Board)>,
    ended: Gathered<Call>,
    deadline: Option<Time>,
}

impl Clients {
    fn write(&self, out: &mut Out<'_>, host: HostId, calls: &[Call]) -> Result<(), Error> {
        calls.iter().try_for_each(|call| {
            let is_late = |end: Time| self.deadline.is_some_and(|deadline| end - call.start > deadline);
            out.tables.calls.push(Row {
                job: out.job,
                host: out.host(host),
                number: call.number,
                start_ps: call.start.as_ps(),
                end_ps: call.end.map(Time::as_ps),
                bytes: call.bytes,
                outcome: match call.end {
                    None => CallOutcome::Unfinished,
                    Some(_) if call.failed => CallOutcome::Failed,
                    Some(end) if is_late(end) => CallOutcome::Late,
                    Some(_) => CallOutcome::Finished,
                },
            })
        })
    }
}

impl Shown for Clients {
    fn gather(&mut self) -> Option<Time> {
        let end = |call: &Call| call.end.expect("it has ended");
        self.ended.add(self.boards.iter().map(|(_, board)| board.take_ended()), end)
    }

    fn write_first(&mut self, out: &mut Out<'_>) -> Result<Option<Time>, Error> {
        if let Some((number, call)) = self.ended.take_first() {
            self.write(out, self.boards[number].0, &[call])?;
        }
        Ok(self.ended.first_at())
    }

    fn totals(&mut self, out: &mut Out<'_>) -> Result<bool, Error> {
        self.boards.iter().try_for_each(|(host, board)| self.write(out, *host, &board.open()))?;
        Ok(self.boards.iter().all(|(_, board)| board.failed() == 0))
    }

    fn report(&self, host: HostId) -> Value {
        let own = self.boards.iter().find(|(at, _)| *at == host);
        own.map_or(Value::Null, |(_, board)| json!([board.take_ended(), board.open()].concat()))
    }

    fn reported(&self, reports: &[(HostId, Value)], out: &mut Out<'_>) -> Result<bool, crate::error::Error> {
        let mut whole = true;
        for (host, report) in reports {
            let calls: Vec<Call> = read(report)?;
            whole &= calls.iter().all(|call| !call.failed);
            self.write(out, *host, &calls)?;
        }
        Ok(whole)
    }
}
