//! A compute node: runs containers as the master says, serves map outputs, uploads logs.
//!
//! NodeManager, the tasks' umbilical and the HDFS client's metadata calls share one connection to the master.
//! A node that loses it drops all it has and registers again, as one that was restarted.

use crate::env::{self, Env, Signal, Status};
use crate::link::Link;
use crate::map_task::MapTask;
use crate::prepared::PreparedJob;
use crate::reduce_task::ReduceTask;
use crate::shuffle_handler::ShuffleHandler;
use crate::wire::{Kind, Message};
use crate::work::{Upload, Work};
use process::{Addr, CloseReason, Context, Event, HostId, Process, StreamId};
use rand::RngExt;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;

/// Timers of the node itself; works count from 1, so theirs are larger.
const HEARTBEAT: u64 = 0;
const POLL: u64 = 1;
const CONNECT: u64 = 2;
/// Time until the master is asked for a connection again, and how often.
const RECONNECT: Time = Time::from_secs(1);
const CONNECTS: u32 = 10;

/// A compute node.
#[derive(Debug)]
pub(crate) struct NodeManager {
    prepared: Arc<PreparedJob>,
    link: Option<Link>,
    connects: u32,
    works: BTreeMap<u64, Work>,
    last_work: u64,
    uploads: u64,
    /// Whose each stream is that a work has opened.
    owners: BTreeMap<StreamId, u64>,
    handler: ShuffleHandler,
    /// Finished maps as the master has told them.
    events: Vec<(u32, HostId)>,
    /// Containers without a task.
    idle: u32,
    /// The job's files are here.
    localised: bool,
    polling: bool,
    finishing: bool,
    stopped: bool,
}

impl NodeManager {
    pub(crate) fn new(prepared: Arc<PreparedJob>) -> NodeManager {
        NodeManager {
            prepared,
            link: None,
            connects: 0,
            works: BTreeMap::new(),
            last_work: 0,
            uploads: 0,
            owners: BTreeMap::new(),
            handler: ShuffleHandler::default(),
            events: Vec::new(),
            idle: 0,
            localised: false,
            polling: false,
            finishing: false,
            stopped: false,
        }
    }

    fn connect(&mut self, cx: &mut dyn Context) {
        let stream = cx.open(Addr { host: self.prepared.job.master, port: self.prepared.port }, 0);
        self.link = Some(Link::new(stream));
        self.tell(&[Message::Register], cx);
        let heartbeat = self.prepared.job.costs.heartbeat.as_ps();
        let phase = cx.rng().random_range(0..heartbeat);
        cx.set_timer(HEARTBEAT, Time::from_ps(phase));
    }

    fn tell(&mut self, messages: &[Message], cx: &mut dyn Context) {
        if let Some(link) = &mut self.link {
            messages.iter().for_each(|message| link.send(message, cx));
        }
    }

    /// The connection is gone: everything on this node is dropped, and it registers again.
    fn lose_master(&mut self, cx: &mut dyn Context) {
        self.link = None;
        if self.stopped || self.finishing {
            return;
        }
        for id in self.works.keys().copied().collect::<Vec<_>>() {
            self.kill(id, cx);
        }
        self.handler.outputs.clear();
        self.events.clear();
        self.idle = 0;
        self.localised = false;
        self.polling = false;
        cx.cancel_timer(HEARTBEAT);
        cx.cancel_timer(POLL);
        self.connects += 1;
        if self.connects < CONNECTS {
            cx.set_timer(CONNECT, RECONNECT);
        }
    }

    /// Lets a work act, and sees to its end.
    fn act(
        &mut self,
        id: u64,
        cx: &mut dyn Context,
        act: impl FnOnce(&mut Work, &[(u32, HostId)], &mut Env<'_>) -> Status,
    ) {
        let Some(mut work) = self.works.remove(&id) else { return };
        let mut calls = Vec::new();
        let (prepared, owners, localised) = (&self.prepared, &mut self.owners, &mut self.localised);
        let mut env = Env { cx, prepared, work: id, owners, calls: &mut calls, localised };
        let status = act(&mut work, &self.events, &mut env);
        if status == Status::Going {
            self.works.insert(id, work);
            return self.tell(&calls, cx);
        }
        work.end(status == Status::Done, &mut env);
        self.tell(&calls, cx);
        if status == Status::Done {
            // What is left of its streams is their closing.
            self.owners.retain(|_, owner| *owner != id);
        } else {
            self.drop_streams(id, cx);
        }
        self.ended(work.task(), status, cx);
    }

    /// A work has ended.
    fn ended(&mut self, task: Option<(Kind, u32)>, status: Status, cx: &mut dyn Context) {
        match (task, status) {
            (Some((kind, number)), Status::Done) => {
                if kind == Kind::Map {
                    self.handler.outputs.insert(number);
                }
                self.tell(&[Message::Done { kind, number }], cx);
            }
            (Some((kind, number)), _) => self.tell(&[Message::Failed { kind, number }], cx),
            (None, _) => {}
        }
        if task.is_some() && self.prepared.tez() && !self.finishing {
            self.idle += 1;
        } else if task.is_some() {
            self.upload(cx);
            self.heartbeat_out_of_turn(cx);
        }
        self.see_whether_idle(cx);
    }

    /// A NodeManager says at once that a container has ended (ContainerImpl.ContainerDoneTransition), and its
    /// next heartbeats follow from there. A master that hears of containers at once needs none.
    fn heartbeat_out_of_turn(&mut self, cx: &mut dyn Context) {
        if self.prepared.job.costs.master_heartbeat > Time::ZERO && !self.finishing && !self.stopped {
            self.on_timer(HEARTBEAT, cx);
        }
    }

    fn begin(&mut self, cx: &mut dyn Context, new: impl FnOnce(&mut Env<'_>) -> Work) {
        self.last_work += 1;
        let id = self.last_work;
        let mut calls = Vec::new();
        let (prepared, owners, localised) = (&self.prepared, &mut self.owners, &mut self.localised);
        let work = new(&mut Env { cx, prepared, work: id, owners, calls: &mut calls, localised });
        self.works.insert(id, work);
        self.tell(&calls, cx);
    }

    fn run(&mut self, kind: Kind, number: u32, reuse: bool, cx: &mut dyn Context) {
        let reuse = reuse && self.idle > 0;
        self.idle -= u32::from(reuse);
        match kind {
            Kind::Map if number < self.prepared.maps => {
                self.begin(cx, |env| Work::Map(MapTask::new(number, reuse, env)));
            }
            Kind::Reduce if number < self.prepared.job.reduces => {
                self.begin(cx, |env| Work::Reduce(Box::new(ReduceTask::new(number, reuse, env))));
                self.poll(cx);
            }
            _ => {}
        }
    }

    /// A container has ended: its log goes to HDFS.
    fn upload(&mut self, cx: &mut dyn Context) {
        if self.prepared.job.log_bytes > 0 {
            self.uploads += 1;
            let number = self.uploads - 1;
            self.begin(cx, |env| Work::Upload(Upload::new(number, env)));
        }
    }

    /// Ends a work and tells nobody.
    fn kill(&mut self, id: u64, cx: &mut dyn Context) {
        let Some(work) = self.works.remove(&id) else { return };
        let (prepared, owners, localised) = (&self.prepared, &mut self.owners, &mut self.localised);
        work.end(false, &mut Env { cx, prepared, work: id, owners, calls: &mut Vec::new(), localised });
        self.drop_streams(id, cx);
    }

    /// Aborts the streams of a work.
    fn drop_streams(&mut self, id: u64, cx: &mut dyn Context) {
        let owned = |(stream, owner): (&StreamId, &u64)| (*owner == id).then_some(*stream);
        for stream in self.owners.iter().filter_map(owned).collect::<Vec<_>>() {
            cx.abort(stream);
            self.owners.remove(&stream);
        }
    }

    /// Asks for finished maps as long as a reduce here copies: a map may finish again, elsewhere.
    fn poll(&mut self, cx: &mut dyn Context) {
        let copies = self.works.values().any(|work| matches!(work, Work::Reduce(reduce) if reduce.copies()));
        if !self.polling && copies && !self.stopped {
            self.polling = true;
            self.tell(&[Message::Poll { from: self.events.len() as u32 }], cx);
            cx.set_timer(POLL, self.prepared.job.costs.umbilical);
        }
    }

    fn see_whether_idle(&mut self, cx: &mut dyn Context) {
        if self.finishing && self.works.is_empty() {
            self.tell(&[Message::Idle], cx);
        }
    }

    fn obey(&mut self, message: Message, cx: &mut dyn Context) {
        match message {
            Message::Run { kind, number, reuse } => self.run(kind, number, reuse, cx),
            Message::Completed { from, events } if from as usize == self.events.len() => {
                self.events.extend(&events);
                for id in self.works.keys().copied().collect::<Vec<_>>() {
                    self.act(id, cx, |work, _, env| {
                        if let Work::Reduce(reduce) = work {
                            reduce.learn(&events, env);
                        }
                        Status::Going
                    });
                }
            }
            Message::Block { work, nodes } => self.act(work, cx, |work, _, env| {
                work.targets(&nodes, env);
                Status::Going
            }),
            Message::Call { work } => self.tell(&[Message::Answer { work }], cx),
            Message::Answer { work } => self.act(work, cx, |work, _, env| {
                work.answered(env);
                Status::Going
            }),
            Message::Kill { reduce } => {
                let found = self.works.iter().find(|(_, work)| work.task() == Some((Kind::Reduce, reduce)));
                if let Some(id) = found.map(|(id, _)| *id) {
                    self.kill(id, cx);
                }
            }
            Message::Finish => self.finish(cx),
            Message::Stop => self.stop(cx),
            _ => {}
        }
    }

    /// The job is done: containers end.
    fn finish(&mut self, cx: &mut dyn Context) {
        self.finishing = true;
        cx.cancel_timer(HEARTBEAT);
        cx.cancel_timer(POLL);
        for _ in 0..std::mem::take(&mut self.idle) {
            self.upload(cx);
        }
        self.see_whether_idle(cx);
    }

    /// The job has failed: whatever was under way stays as it is on the timeline.
    fn stop(&mut self, cx: &mut dyn Context) {
        self.stopped = true;
        cx.cancel_timer(HEARTBEAT);
        cx.cancel_timer(POLL);
        self.works.clear();
        for stream in std::mem::take(&mut self.owners).into_keys() {
            cx.abort(stream);
        }
    }

    fn readable(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if self.link.as_ref().is_some_and(|link| link.stream == stream) {
            return self.hear(cx);
        }
        if self.owners.contains_key(&stream) {
            return self.signal(stream, Signal::Readable, cx);
        }
        self.handler.readable(stream, &self.prepared, cx);
    }

    fn hear(&mut self, cx: &mut dyn Context) {
        let Some(link) = &mut self.link else { return };
        match link.receive(cx) {
            Ok(messages) => {
                let ended = link.ended().then_some(link.stream);
                messages.into_iter().for_each(|message| self.obey(message, cx));
                if let Some(stream) = ended {
                    cx.close(stream);
                }
            }
            Err(_) => {
                cx.abort(link.stream);
                self.lose_master(cx);
            }
        }
    }

    fn writable(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if let Some(link) = self.link.as_mut().filter(|link| link.stream == stream) {
            link.flush(cx);
        } else {
            self.handler.writable(stream, cx);
            self.signal(stream, Signal::Writable, cx);
        }
    }

    fn closed(&mut self, stream: StreamId, finished: bool, cx: &mut dyn Context) {
        if self.link.as_ref().is_some_and(|link| link.stream == stream) {
            return self.lose_master(cx);
        }
        self.handler.closed(stream);
        if let Some(id) = self.owners.remove(&stream) {
            self.act(id, cx, |work, _, env| work.signal(stream, Signal::Closed(finished), env));
        }
    }

    fn signal(&mut self, stream: StreamId, signal: Signal, cx: &mut dyn Context) {
        if let Some(&id) = self.owners.get(&stream) {
            self.act(id, cx, |work, _, env| work.signal(stream, signal, env));
        }
    }

    fn on_token(&mut self, token: u64, cx: &mut dyn Context) {
        if self.handler.disk_done(token, cx) {
            return;
        }
        if let Some((id, op)) = env::split(token) {
            self.act(id, cx, |work, events, env| work.on(op, events, env));
            self.poll(cx);
        }
    }

    fn on_timer(&mut self, token: u64, cx: &mut dyn Context) {
        match token {
            HEARTBEAT => {
                self.tell(&[Message::Heartbeat], cx);
                cx.set_timer(HEARTBEAT, self.prepared.job.costs.heartbeat);
            }
            POLL => {
                self.polling = false;
                self.poll(cx);
            }
            CONNECT => self.connect(cx),
            token => self.on_token(token, cx),
        }
    }
}

impl Process for NodeManager {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                *self = NodeManager::new(Arc::clone(&self.prepared));
                cx.listen(self.prepared.port);
                self.connect(cx);
                // The master knows when the job is done.
                cx.finish();
            }
            Event::Accepted { stream, .. } => self.handler.accept(stream),
            Event::Readable { stream } => self.readable(stream, cx),
            Event::Writable { stream } => self.writable(stream, cx),
            Event::Closed { stream, reason } => self.closed(stream, reason == CloseReason::Finished, cx),
            Event::Timer { token } => self.on_timer(token, cx),
            Event::Computed { token } | Event::DiskDone { token } => self.on_token(token, cx),
            _ => {}
        }
    }
}
