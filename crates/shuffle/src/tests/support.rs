//! A small Hadoop cluster in the simulator, and an ear at every process.

use crate::wire::{CALL_BYTES, Message};
use crate::{Costs, Framework, Job, build};
use fabric::topology::single_switch;
use fabric::{Buffer, Depth, Framing, LinkProps, SwitchConfig};
use process::{Addr, Context, Event, HostId, Payload, Process, Read, StreamId, TaskId};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use sim::{Change, HostConfig, JobSetup, Pause, Records, Setup, Sim, TaskRecord};
use std::sync::{Arc, Mutex};
use units::{Rate, Time};

pub const LINK: LinkProps = LinkProps { rate: Rate::from_gbps(10), delay: Time::from_us(1), mtu: 9000 };
const MIB: u64 = 1 << 20;

/// Requests that were made: when, by which host, to which, what.
pub type Heard = Arc<Mutex<Vec<(Time, HostId, HostId, Message)>>>;
/// Remote calls and their answers: when, and by which host, with the number of the work.
pub type Calls = Arc<Mutex<Vec<(Time, HostId, Message)>>>;

/// Compute nodes first, then the master, then data nodes.
pub fn job(framework: Framework, compute: u32, data: u32, bytes: u64) -> Job {
    let tez = framework == Framework::Tez;
    Job {
        framework,
        bytes,
        block: 8 * MIB,
        master: HostId(compute),
        compute: (0..compute).map(HostId).collect(),
        data: (compute + 1..=compute + data).map(HostId).collect(),
        log_nodes: vec![HostId(compute + data)],
        slots: 2,
        reduces: 3,
        input_replication: data.min(2),
        output_replication: 1,
        log_bytes: 10_000,
        parallel_copies: if tez { 20 } else { 5 },
        slow_start: if tez { (0.25, 0.75) } else { (0.05, 1.0) },
        io_sort: 5 * MIB,
        reduce_memory: 8 * MIB,
        shuffle_buffer: 0.7,
        merge_at: 0.66,
        costs: costs(),
    }
}

fn costs() -> Costs {
    let mbytes = |n: u64| Rate::from_bps(n * 8_000_000);
    Costs {
        map_rate: mbytes(100),
        sort_rate: mbytes(200),
        merge_rate: mbytes(400),
        reduce_rate: mbytes(100),
        variation: 0.2,
        page_cache: 0.5,
        job_submit: Time::from_ms(100),
        master_start: Time::from_ms(100),
        master_rpcs: 4,
        container_start: Time::from_ms(100),
        localisation_rpcs: 0,
        container_rpcs: 3,
        task_setup: Time::from_ms(10),
        task_commit: Time::from_ms(10),
        map_rpcs: 5,
        reduce_rpcs: 6,
        job_commit: Time::from_ms(10),
        commit_rpcs: 2,
        heartbeat: Time::from_ms(100),
        master_heartbeat: Time::ZERO,
        umbilical: Time::from_ms(50),
        assignments: 100,
        socket_timeout: Time::from_secs(5),
        fetch_penalty: Time::from_secs(1),
        node_expiry: Time::from_secs(20),
    }
}

/// How a run ended, and what was measured and heard.
pub struct Run {
    pub pause: Pause,
    pub end: Option<Time>,
    pub records: Records,
    pub heard: Vec<(Time, HostId, HostId, Message)>,
    pub calls: Vec<(Time, HostId, Message)>,
    pub fingerprint: u64,
}

impl Run {
    /// Tasks of a kind, by number and start.
    pub fn tasks(&self, kind: &str) -> Vec<TaskRecord> {
        let mut tasks: Vec<TaskRecord> =
            self.records.tasks.iter().filter(|task| task.kind == kind).copied().collect();
        tasks.sort_by_key(|task| (task.number, task.start));
        tasks
    }
}

/// Runs `job` on as many hosts as it names.
pub fn run(job: &Job, seed: u64, faults: Vec<(Time, Change)>) -> Run {
    run_over(LINK, job, seed, faults)
}

/// As [`run`], with such links.
pub fn run_over(link: LinkProps, job: &Job, seed: u64, faults: Vec<(Time, Change)>) -> Run {
    let hosts = job.data.iter().chain(&job.log_nodes).map(|host| host.0 + 1).max().unwrap();
    let (heard, calls) = (Heard::default(), Calls::default());
    let processes = build(job.clone(), hosts as usize, &mut Pcg64::seed_from_u64(seed), 5000)
        .expect("a good job")
        .into_iter()
        .map(|(host, process)| {
            (host, Box::new(Ear { process, heard: heard.clone(), calls: calls.clone() }) as Box<dyn Process>)
        })
        .collect();
    let host = HostConfig { mtu: 9000, cores: 2, disk: Rate::from_gbps(4), ..HostConfig::default() };
    let setup = JobSetup {
        name: "sort".into(),
        kind: "shuffle".into(),
        start: Time::ZERO,
        class: 0,
        background: false,
        processes,
    };
    let switch =
        SwitchConfig { buffer: Buffer::Static { limit: Depth::Packets(256) }, ..SwitchConfig::default() };
    let mut sim = Sim::new(Setup {
        graph: single_switch(hosts, link).unwrap(),
        framing: Framing::ETHERNET,
        seed,
        switches: vec![switch],
        hosts: vec![host; hosts as usize],
        jobs: vec![setup],
        faults,
        until: Time::from_secs(100_000),
    });
    let pause = loop {
        let pause = sim.run(1 << 20);
        if pause != Pause::Running {
            break pause;
        }
    };
    sim.close();
    let heard = heard.lock().unwrap().clone();
    let calls = calls.lock().unwrap().clone();
    let fingerprint = sim.progress().fingerprint;
    Run { pause, end: sim.job_records()[0].end, records: sim.take_records(), heard, calls, fingerprint }
}

/// A process whose requests are noted.
struct Ear {
    process: Box<dyn Process>,
    heard: Heard,
    calls: Calls,
}

impl Process for Ear {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        let (heard, calls) = (&self.heard, &self.calls);
        self.process.handle(event, &mut Listening { cx, heard, calls, opened: None });
    }
}

struct Listening<'a> {
    cx: &'a mut dyn Context,
    heard: &'a Heard,
    calls: &'a Calls,
    /// A request is written right after its stream is opened.
    opened: Option<(StreamId, HostId)>,
}

impl Context for Listening<'_> {
    fn open(&mut self, to: Addr, group: u64) -> StreamId {
        let stream = self.cx.open(to, group);
        self.opened = Some((stream, to.host));
        stream
    }
    fn write(&mut self, stream: StreamId, data: Payload) -> u64 {
        if let (Some((_, to)), Payload::Data(bytes)) = (self.opened.take_if(|open| open.0 == stream), &data) {
            let message = Message::decode(&bytes[2..]).expect("a message is written whole");
            self.heard.lock().unwrap().push((self.cx.now(), self.cx.host(), to, message));
        }
        // A link writes one message at a time, unless what was before it still waits.
        if let Payload::Data(bytes) = &data
            && bytes.len() == CALL_BYTES
            && let Ok(call @ (Message::Call { .. } | Message::Answer { .. })) = Message::decode(&bytes[2..])
        {
            self.calls.lock().unwrap().push((self.cx.now(), self.cx.host(), call));
        }
        self.cx.write(stream, data)
    }
    fn now(&self) -> Time {
        self.cx.now()
    }
    fn host(&self) -> HostId {
        self.cx.host()
    }
    fn rng(&mut self) -> &mut dyn Rng {
        self.cx.rng()
    }
    fn bind(&mut self, port: u16) {
        self.cx.bind(port);
    }
    fn send(&mut self, port: u16, to: Addr, data: Payload) {
        self.cx.send(port, to, data);
    }
    fn listen(&mut self, port: u16) {
        self.cx.listen(port);
    }
    fn read(&mut self, stream: StreamId, max: u64) -> Read {
        self.cx.read(stream, max)
    }
    fn drain(&mut self, stream: StreamId) {
        self.cx.drain(stream);
    }
    fn close(&mut self, stream: StreamId) {
        self.cx.close(stream);
    }
    fn abort(&mut self, stream: StreamId) {
        self.cx.abort(stream);
    }
    fn set_timer(&mut self, token: u64, delay: Time) {
        self.cx.set_timer(token, delay);
    }
    fn cancel_timer(&mut self, token: u64) {
        self.cx.cancel_timer(token);
    }
    fn compute(&mut self, token: u64, time: Time) {
        self.cx.compute(token, time);
    }
    fn disk_read(&mut self, token: u64, bytes: u64) {
        self.cx.disk_read(token, bytes);
    }
    fn disk_write(&mut self, token: u64, bytes: u64) {
        self.cx.disk_write(token, bytes);
    }
    fn begin_task(&mut self, kind: &'static str, number: u64) -> TaskId {
        self.cx.begin_task(kind, number)
    }
    fn end_task(&mut self, task: TaskId, bytes: u64) {
        self.cx.end_task(task, bytes);
    }
    fn finish(&mut self) {
        self.cx.finish();
    }
}
