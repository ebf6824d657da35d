//! The processes of jobs on an emulated host: one program there, a member as of a live run.
//!
//! Nobody starts it from afar, and there is no launcher: all that it has to know is in a file, the addresses
//! of all others included. Its clock is the run's. A datagram tells it that the run is over; then it writes
//! what it has to report.

use crate::build::AllWork;
use crate::error::Error;
use crate::lab::Scenario;
use crate::live::{Share, part};
use crate::reports::MemberReport;
use emu::console::SIGN;
use emu::guest::TIME_OF_DAY;
use emu::host::{PLACE, Program, address};
use live::seal::Secret;
use live::{HostAddress, Key, Member, Run, Settings, Table};
use process::HostId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};
use units::Time;

/// What a member has to know, in its host's folder.
const TOLD: &str = "member.json";
/// What it reports.
const REPORT: &str = "report.json";
/// What it prints.
const OUTPUT: &str = "member.log";
/// A datagram there says that the run is over.
pub(super) const OVER: u16 = 9;
/// A longer report is none.
const REPORT_MAX: u64 = 1 << 30;

/// What a member is told.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    /// It speaks of itself under this number.
    number: usize,
    host: u32,
    addresses: Vec<HostAddress>,
    share: Share,
    /// Time between samples of its flows.
    sample: Option<Time>,
}

/// The program of a member, begun by this command.
pub(super) fn program(member: &str) -> Program {
    let command = format!("exec {member} {PLACE}");
    Program { number: 0, start: None, command, environment: Vec::new(), output: OUTPUT.into() }
}

/// What all members have to know.
pub(super) struct Telling<'a> {
    scenario: &'a Scenario,
    /// The jobs that are not simulated, with their hosts.
    away: &'a BTreeMap<usize, Vec<HostId>>,
    work: AllWork<'a>,
    addresses: Vec<HostAddress>,
}

impl<'a> Telling<'a> {
    /// Of a scenario whose jobs `away` are not simulated, on these hosts.
    ///
    /// # Errors
    /// A scenario that can't run.
    pub(super) fn of(
        scenario: &'a Scenario,
        away: &'a BTreeMap<usize, Vec<HostId>>,
    ) -> Result<Telling<'a>, Error> {
        let mut addresses: BTreeMap<HostId, HostAddress> = BTreeMap::new();
        let work = AllWork::of(scenario)?;
        let jobs = work.jobs.iter().filter_map(|(index, port, _)| Some((port, away.get(index)?)));
        for (port, hosts) in jobs {
            for host in hosts {
                let new = || HostAddress {
                    host: host.0,
                    ip: address(*host).into(),
                    udp: BTreeMap::new(),
                    tcp: BTreeMap::new(),
                };
                let ports = addresses.entry(*host).or_insert_with(new);
                ports.udp.insert(*port, *port);
                ports.tcp.insert(*port, *port);
            }
        }
        Ok(Telling { scenario, away, work, addresses: addresses.into_values().collect() })
    }

    /// Leaves in its folder what the member of `host` has to know, who speaks of itself as `number`.
    ///
    /// # Errors
    /// A folder that can't be written to.
    pub(super) fn tell(&self, number: usize, host: HostId, folder: &Path) -> Result<(), Error> {
        let own = |index: &usize| self.away.get(index).is_some_and(|hosts| hosts.contains(&host));
        let share = Share::of(self.scenario, &self.work, own);
        let measure = &self.scenario.measure;
        let sample = measure.interval.filter(|_| measure.flows);
        let told = Told { number, host: host.0, addresses: self.addresses.clone(), share, sample };
        let path = folder.join(TOLD);
        let text = serde_json::to_vec(&told).map_err(io::Error::from);
        let written = text.and_then(|text| fs::write(&path, text));
        Ok(written.map_err(|error| emu::Error::Folder { path, error })?)
    }
}

/// What the member of a host has reported of itself into its folder in `guests`.
pub(super) fn report(host: HostId, name: &str, guests: &Path) -> Result<MemberReport, Error> {
    let mut text = String::new();
    let file = File::open(guests.join(name).join(REPORT));
    let read = file.and_then(|file| file.take(REPORT_MAX).read_to_string(&mut text));
    let report = read.and_then(|_| serde_json::from_str::<MemberReport>(&text).map_err(io::Error::from));
    report.ok().filter(|member| member.report.host == host.0).ok_or_else(|| silent(name, guests))
}

/// The member of a host reports nothing.
pub(super) fn silent(name: &str, guests: &Path) -> Error {
    Error::Member { name: name.to_owned(), output: guests.join(name).join(OUTPUT) }
}

/// A member: what an emulated host runs for its jobs. `folder` has what it has to know; its report goes
/// there.
///
/// # Errors
/// A file or socket that can't be used, as text.
pub fn member(folder: &Path) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let text = fs::read_to_string(folder.join(TOLD)).map_err(|error| said(&error))?;
    let told: Told = serde_json::from_str(&text).map_err(|error| said(&error))?;
    let host = HostId(told.host);
    let own = told.addresses.iter().find(|each| each.host == told.host).cloned();
    let own = own.ok_or("it has no address")?;
    let over = SocketAddr::new(own.ip, OVER);
    let member = Member::bind_at(own, settings(told.sample)).map_err(|error| said(&error))?;
    member.handle().stop_by_datagram(over).map_err(|error| said(&error))?;
    let seed = told.share.seed;
    let part = part(&told.share, host).map_err(|error| said(&error))?;
    let table = Table::new(told.addresses).map_err(|error| said(&error))?;
    let start = SystemTime::UNIX_EPOCH + Duration::from_nanos(TIME_OF_DAY);
    // Nobody else is in this network.
    let (key, secret) = (Key([0; 16]), Secret([0; 32]));
    let run = Run { table, name: part.name, seed, key, secret, start, jobs: part.jobs, signals: true };
    let mut finished = false;
    let report = member.run(run, &mut |now| {
        if now.finished && !std::mem::replace(&mut finished, true) {
            return say(&format!("finished {}", told.number)).is_ok();
        }
        true
    });
    let report = part.boards.report(report.map_err(|error| said(&error))?);
    let text = serde_json::to_vec(&report).map_err(|error| said(&error))?;
    fs::write(folder.join(REPORT), text).map_err(|error| said(&error))
}

/// Time is the simulator's: computations take as long as their process says, and what a real network would
/// do to the timers of connections is left to the kernel.
fn settings(sample: Option<Time>) -> Settings {
    Settings {
        paced: true,
        one_clock: true,
        sample_ns: sample.map_or(0, |interval| interval.as_ps().div_ceil(1_000)),
        streams: 1 << 20,
        progress_ms: 3_600_000,
        peer_timeout_ms: 3_600_000,
        rto_max_ms: 120_000,
        ..Settings::default()
    }
}

/// Says something to whoever runs the guests.
fn say(what: &str) -> io::Result<()> {
    writeln!(File::options().write(true).open("/dev/console")?, "{SIGN}{what}")
}
