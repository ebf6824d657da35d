//! Guests on a simulated network, in its own time: whoever is woken runs, and what it sends goes out.

use crate::error::Error;
use crate::guest::{Guest, Turn, damaged};
use crate::host::{Event, Host, event, of_clock, on_clock};
use crate::ip;
use crate::lab::Lab;
use crate::patience::Patience;
use crate::version;
use crate::vhost::device::Taken;
use crate::vhost::ring::Wrong;
use process::HostId;
use sim::{Delivered, Outward, Pause, Sim};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::Time;

/// A guest moves its own clock on for so many nanoseconds at most.
const AHEAD: u64 = 100_000;

/// A guest, and what its network card has in hand. Times are the guest's.
struct Seat {
    guest: Guest,
    ended: bool,
    /// When it wants to run next.
    due: Option<u64>,
    /// Packets that have come, and when the guest is to hear of them.
    received: VecDeque<(u64, Box<[u8]>)>,
    /// Interrupts that it wants and has not had yet: for what came, and for what has left.
    wants: [bool; 2],
    /// Its card interrupts no sooner.
    quiet_until: u64,
    /// Packets that its card has given it since it was interrupted for some last.
    in_ring: u32,
    /// The chain that is leaving, and what is left of it.
    chain: Option<Taken>,
    /// A packet of it is leaving; when it will have left, if that is known.
    leaving: Option<Option<u64>>,
}

impl Seat {
    /// Until when its processor computes.
    fn busy_until(&self) -> u64 {
        self.guest.processor.as_ref().map_or(0, |processor| processor.busy_until)
    }

    /// Until when its clock is its own, which stands at `now`, in a turn that is the last one then or not.
    fn free_until(&self, sim: &mut Sim, last: bool, now: u64) -> u64 {
        // What a processor with a speed has computed is charged whenever it waits.
        if last && self.guest.processor.is_none() { horizon(sim) } else { now }
    }

    /// The next packet to send at `host`. When all packets of a chain have left, its memory is the guest's
    /// again.
    fn next_packet(&mut self, sim: &mut Sim, host: HostId) -> Result<Option<Box<[u8]>>, Wrong> {
        let Some(device) = &mut self.guest.device else { return Ok(None) };
        loop {
            if let Some(packet) = self.chain.as_mut().and_then(|chain| chain.packets.next()) {
                return Ok(Some(packet));
            }
            if let Some(Taken { head, .. }) = self.chain.take() {
                self.wants[1] |= device.sent(head)?;
            }
            if let Some(processor) = &mut self.guest.processor {
                let finished = processor.finished(device.offered()?.0);
                if finished > on_clock(sim.progress().now) {
                    sim.wake_at(host, of_clock(finished));
                    return Ok(None);
                }
            }
            self.chain = device.take()?;
            device.ask(self.chain.is_some())?;
            if self.chain.is_none() {
                return Ok(None);
            }
        }
    }
}

/// Guests on a network.
pub struct Exact {
    kernel: PathBuf,
    seed: u64,
    going_on: Arc<AtomicBool>,
    seats: BTreeMap<HostId, Seat>,
    /// Hosts that have crashed, and those that are up again and have no guest yet.
    crashed: BTreeSet<HostId>,
    restarted: Vec<HostId>,
    events: Vec<(HostId, Event)>,
}

impl Lab for Exact {
    fn start(&mut self, sim: &mut Sim, hosts: &[&Host], all: &Path) -> Result<(), Error> {
        // All are started before the first boots.
        let start = |host: &&Host| Ok((host.id, self.guest(sim, host, &all.join(&host.name))?));
        let guests: Vec<(HostId, Guest)> = hosts.iter().map(start).collect::<Result<_, Error>>()?;
        guests.into_iter().try_for_each(|(host, guest)| self.seat_at(sim, host, guest))
    }

    fn run(&mut self, sim: &mut Sim, events: u64) -> Result<Pause, Error> {
        let end = sim.progress().events + events;
        loop {
            let pause = sim.run(end.saturating_sub(sim.progress().events));
            let mut outwards = sim.take_outward().into_iter().peekable();
            while let Some(outward) = outwards.next() {
                match outward {
                    Outward::Wake(host) => self.wake(sim, host, outwards.peek().is_none())?,
                    Outward::Packet(packet) => self.receive(sim, packet),
                }
            }
            if pause != Pause::Outward || !self.events.is_empty() || !self.restarted.is_empty() {
                return Ok(pause);
            }
        }
    }

    fn take_events(&mut self) -> Vec<(HostId, Event)> {
        std::mem::take(&mut self.events)
    }

    fn take_restarted(&mut self) -> Vec<HostId> {
        std::mem::take(&mut self.restarted)
    }

    fn ended(&self) -> Option<HostId> {
        self.seats.iter().find(|(_, seat)| seat.ended).map(|(host, _)| *host)
    }

    fn linux(&self) -> Option<String> {
        version::of_program(&self.kernel)
    }

    fn give(&mut self, sim: &mut Sim, host: HostId, packet: &[u8]) {
        let at = horizon(sim);
        sim.move_on(of_clock(at));
        self.receive(sim, Delivered { to: host, data: packet.into(), marked: false, late: Time::ZERO });
    }

    fn tell(
        &mut self,
        sim: &mut Sim,
        host: HostId,
        (packet, last): (&[u8], &dyn Fn(Event) -> bool),
        time: Time,
    ) -> Result<(), Error> {
        let now = horizon(sim);
        let seat = self.seat(host);
        let Some(device) = &mut seat.guest.device else { return Ok(()) };
        let given = device.deliver(packet).and_then(|_| device.show_received());
        given.map_err(|wrong| damaged(&seat.guest.name, wrong))?;
        seat.guest.interrupt(true);
        let mut due = Some(now);
        let before = self.events.len();
        while let Some(at) = due.filter(|at| *at < now + time.as_ps() / 1000) {
            due = self.seat(host).guest.alone(due, at + 1)?;
            self.listen_to(host);
            if self.events[before..].iter().any(|(_, event)| last(*event)) {
                break;
            }
        }
        Ok(())
    }
}

impl Exact {
    /// Nobody is there yet. Guests are processes of `kernel`; their random numbers derive from `seed`. None
    /// is waited for once `going_on` is false.
    pub fn new(kernel: PathBuf, seed: u64, going_on: Arc<AtomicBool>) -> Exact {
        Exact {
            kernel,
            seed,
            going_on,
            seats: BTreeMap::new(),
            crashed: BTreeSet::new(),
            restarted: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Starts a host's guest, to be up now.
    fn guest(&self, sim: &Sim, host: &Host, folder: &Path) -> Result<Guest, Error> {
        let begin = host.begin(self.kernel.clone(), self.seed, sim.crashes(host.id));
        let now = sim.progress().now;
        host.leave_init(folder, &host.init(now))?;
        let patience = Patience { limit: host.patience, going_on: Arc::clone(&self.going_on) };
        let mut guest = Guest::start((&host.name, on_clock(now)), &begin, folder, host.card(), patience)?;
        host.cpu_rate.map_or(Ok(()), |rate| guest.charge(rate))?;
        Ok(guest)
    }

    /// Seats a guest at its host, and lets it boot.
    fn seat_at(&mut self, sim: &mut Sim, host: HostId, mut guest: Guest) -> Result<(), Error> {
        let due = guest.boot()?;
        if let Some(processor) = &mut guest.processor {
            processor.forget().map_err(Error::Meter)?;
        }
        let seat = Seat {
            guest,
            ended: false,
            due: None,
            received: VecDeque::new(),
            wants: [false; 2],
            quiet_until: 0,
            in_ring: 0,
            chain: None,
            leaving: None,
        };
        self.seats.insert(host, seat);
        self.ask(sim, host, due);
        self.listen_to(host);
        Ok(())
    }

    /// A packet has come: its guest hears of it at the next nanosecond.
    fn receive(&mut self, sim: &mut Sim, Delivered { to, mut data, marked, .. }: Delivered) {
        let Some(seat) = self.seats.get_mut(&to) else { return sim.refuse_raw(to) };
        if marked {
            ip::mark(&mut data);
        }
        let at = on_clock(sim.progress().now);
        seat.received.push_back((at, data));
        sim.wake_at(to, of_clock(at));
    }

    /// The time has come for something at `host`; whether it is the last that happens now.
    fn wake(&mut self, sim: &mut Sim, host: HostId, last: bool) -> Result<(), Error> {
        if !sim.is_up(host) {
            self.crash(host);
        } else if self.crashed.remove(&host) {
            self.restarted.push(host);
        }
        let now = on_clock(sim.progress().now);
        let Some(seat) = self.seats.get_mut(&host).filter(|seat| !seat.ended) else { return Ok(()) };
        let has_left = |left: Option<u64>| left.map_or_else(|| !sim.raw_waits(host), |left| left <= now);
        if seat.leaving.is_some_and(has_left) {
            seat.leaving = None;
            self.send(sim, host)?;
        }
        self.send_finished(sim, host)?;
        self.hand_over(sim, host, now)?;
        self.interrupt(sim, host, now);
        let seat = self.seat(host);
        if seat.due.take_if(|due| *due <= now).is_some() {
            let free_until = seat.free_until(sim, last, now);
            seat.guest.wake(now, free_until)?;
            self.turn(sim, host, last)?;
        }
        Ok(())
    }

    /// A host is down: its guest is gone, with all that it had in hand.
    fn crash(&mut self, host: HostId) {
        if self.seats.contains_key(&host) {
            self.listen_to(host);
            self.seats.remove(&host);
            self.crashed.insert(host);
        }
    }

    /// Gives a guest the packets that have come.
    fn hand_over(&mut self, sim: &mut Sim, host: HostId, now: u64) -> Result<(), Error> {
        let seat = self.seats.get_mut(&host).expect("who is woken has a seat");
        let Some(device) = &mut seat.guest.device else {
            seat.received.clear();
            return Ok(());
        };
        let mut came = false;
        while let Some((_, packet)) = seat.received.pop_front_if(|(at, _)| *at <= now) {
            came = true;
            // Without room it is lost, as at any network card.
            let is_room = seat.in_ring < seat.guest.card.receive_ring;
            if is_room && device.deliver(&packet).map_err(|wrong| damaged(&seat.guest.name, wrong))? {
                seat.in_ring += 1;
            } else {
                sim.refuse_raw(host);
            }
        }
        if came {
            seat.wants[0] |= device.show_received().map_err(|wrong| damaged(&seat.guest.name, wrong))?;
        }
        Ok(())
    }

    /// Interrupts a guest that wants it, or asks to be woken when its card may.
    fn interrupt(&mut self, sim: &mut Sim, host: HostId, now: u64) {
        let seat = self.seat(host);
        if seat.wants == [false; 2] {
            return;
        }
        let free = seat.quiet_until.max(seat.busy_until());
        if free > now {
            return sim.wake_at(host, of_clock(free));
        }
        seat.quiet_until = now + seat.guest.card.moderation;
        let [came, left] = std::mem::take(&mut seat.wants);
        if came {
            seat.in_ring = 0;
        }
        for received in [came.then_some(true), left.then_some(false)].into_iter().flatten() {
            seat.guest.interrupt(received);
        }
        // It runs next, without an event of its own.
        seat.due = Some(now);
    }

    /// Sends the next packet of a guest, if none is leaving: so the guest's own queues are where packets
    /// wait, as at a card whose driver limits what it has in hand.
    fn send(&mut self, sim: &mut Sim, host: HostId) -> Result<(), Error> {
        let hosts = sim.graph().hosts();
        let seat = self.seats.get_mut(&host).expect("who sends has a seat");
        while seat.leaving.is_none() {
            let next = seat.next_packet(sim, host).map_err(|wrong| damaged(&seat.guest.name, wrong))?;
            let Some(data) = next else { return Ok(()) };
            let left = match ip::on_network(data, hosts, Time::ZERO) {
                Some(packet) => sim.send_raw(host, packet),
                None => {
                    sim.drop_unroutable(host);
                    Some(sim.progress().now)
                }
            };
            let left = left.map(on_clock);
            seat.leaving = Some(left);
            if let Some(left) = left {
                sim.wake_at(host, of_clock(left));
            }
        }
        Ok(())
    }

    /// Lets a guest run until it waits.
    fn turn(&mut self, sim: &mut Sim, host: HostId, last: bool) -> Result<(), Error> {
        loop {
            match self.seat(host).guest.turn()? {
                Turn::Waits { due, sends } => {
                    if sends {
                        sim.move_on(of_clock(self.seat(host).guest.now()));
                        self.send(sim, host)?;
                    }
                    let at = on_clock(sim.progress().now);
                    self.charge(sim, host, at)?;
                    self.send_finished(sim, host)?;
                    let busy = self.seat(host).busy_until();
                    self.ask(sim, host, due.map(|due| due.max(busy)));
                    break;
                }
                Turn::Sends(message) => {
                    let at = self.seat(host).guest.now();
                    sim.move_on(of_clock(at));
                    self.charge(sim, host, at)?;
                    self.send(sim, host)?;
                    let seat = self.seat(host);
                    let free_until = seat.free_until(sim, last, at);
                    seat.guest.answer(&message, free_until)?;
                }
                Turn::Ended => {
                    self.seat(host).ended = true;
                    break;
                }
            }
        }
        self.listen_to(host);
        Ok(())
    }

    /// Sends what a processor with a speed has finished: the guest was not told to say when there is more.
    fn send_finished(&mut self, sim: &mut Sim, host: HostId) -> Result<(), Error> {
        if self.seat(host).guest.processor.is_some() { self.send(sim, host) } else { Ok(()) }
    }

    /// What a guest has computed until `at` takes time from then on, if its processor has a speed.
    fn charge(&mut self, sim: &Sim, host: HostId, at: u64) -> Result<(), Error> {
        let seat = self.seats.get_mut(&host).expect("who has a turn has a seat");
        if let (Some(processor), Some(device)) = (&mut seat.guest.processor, &seat.guest.device) {
            let (_, offered) = device.offered().map_err(|wrong| damaged(&seat.guest.name, wrong))?;
            processor.charge(at, sim.speed(host), offered).map_err(Error::Meter)?;
        }
        Ok(())
    }

    fn listen_to(&mut self, host: HostId) {
        let said = self.seat(host).guest.said();
        self.events.extend(said.iter().filter_map(|line| Some((host, event(line)?))));
    }

    /// A guest wants to run at a time.
    fn ask(&mut self, sim: &mut Sim, host: HostId, due: Option<u64>) {
        let seat = self.seat(host);
        if let Some(at) = due
            && seat.due != due
        {
            sim.wake_at(host, of_clock(at));
        }
        self.seat(host).due = due;
    }

    fn seat(&mut self, host: HostId) -> &mut Seat {
        self.seats.get_mut(&host).expect("who has a turn has a seat")
    }
}

/// Until when a guest's clock is its own: nothing else happens before. It is not known how far it has come
/// meanwhile. A program that reads its clock again and again still waits now and then.
fn horizon(sim: &mut Sim) -> u64 {
    let now = on_clock(sim.progress().now);
    on_clock(sim.next_event()).clamp(now, now + AHEAD)
}
