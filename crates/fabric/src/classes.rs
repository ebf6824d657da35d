//! The classes of a scheduled port: where packets wait, and which goes next under enhanced transmission
//! selection (802.1Qaz: strict priority, and deficit round robin of Shreedhar & Varghese 1996 for the rest).
//!
//! How packets get in and out is in `scheduled.rs`.

use crate::buffer::Pool;
use crate::discipline::Discipline;
use crate::ids::PortId;
use crate::queue::{ClassQueue, Waiting};
use crate::voq::Voqs;

/// Bytes that a weight of 1 may send a round: a full Ethernet payload, so that a turn sends a packet.
const QUANTUM: u64 = 1500;

/// The classes of a port.
#[derive(Debug)]
pub(crate) struct Classes<B> {
    pub queues: Vec<ClassQueue<B>>,
    /// What the packets of a class wait in, if not in the queue of the class: that only counts them then.
    pub voqs: Option<Box<Voqs<B>>>,
    /// Index of the switch's pool, if it shares memory.
    pub pool: Option<u32>,
    /// An event to transmit is under way.
    pub pending: bool,
    /// Limits are each queue's, not the port's: a paused class takes no room from others.
    pub own_limits: bool,
    /// Eight queues or one: what is left of a packet's class.
    mask: u8,
    strict: u8,
    /// Bit c set: class c holds packets.
    filled: u8,
    /// Bit c set: class c may not send.
    pub paused: u8,
    /// Bit c set: the watchdog discards what comes to class c.
    pub dropping: u8,
    /// Bit c set: the watchdog lets class c send though it is paused.
    pub ignoring: u8,
    /// The class whose turn it is.
    turn: u8,
    /// It has had its quantum.
    credited: bool,
    /// Bit c set: class c may have a deficit.
    owed: u8,
    weights: [u32; 8],
    /// Index of the switch's [`crate::pfc::Pfc`].
    pub pfc: Option<u32>,
}

impl<B: Copy + Default> Classes<B> {
    /// One queue for all classes, or eight.
    pub(crate) fn new(
        disciplines: Vec<Discipline>,
        strict: u8,
        weights: [u32; 8],
        pool: Option<u32>,
    ) -> Classes<B> {
        Classes {
            mask: disciplines.len() as u8 - 1,
            queues: disciplines.into_iter().map(ClassQueue::new).collect(),
            voqs: None,
            pool,
            pending: false,
            own_limits: false,
            strict,
            filled: 0,
            paused: 0,
            dropping: 0,
            ignoring: 0,
            turn: 0,
            credited: false,
            owed: 0,
            weights,
            pfc: None,
        }
    }

    #[inline(always)]
    pub(crate) fn index(&self, class: u8) -> usize {
        usize::from(class & self.mask)
    }

    /// Where a packet of class `index` that came in by port number `entry` waits.
    #[inline(always)]
    pub(crate) fn slot(&mut self, index: usize, entry: u32) -> usize {
        self.voqs.as_mut().map_or(index, |voqs| voqs.slot(index, entry))
    }

    /// Where the next packet of class `index` is, which has some.
    #[inline(always)]
    pub(crate) fn next_slot(&self, index: usize) -> usize {
        self.voqs.as_ref().map_or(index, |voqs| voqs.next(index))
    }

    #[inline(always)]
    pub(crate) fn queue(&mut self, slot: usize) -> &mut ClassQueue<B> {
        self.queue_with_cap(slot).0
    }

    /// The queue in `slot`, and the most memory that it may hold.
    #[inline(always)]
    pub(crate) fn queue_with_cap(&mut self, slot: usize) -> (&mut ClassQueue<B>, u64) {
        match &mut self.voqs {
            Some(voqs) => (&mut voqs.queues[slot], voqs.cap),
            None => (&mut self.queues[slot], u64::MAX),
        }
    }

    /// Gives the memory of a packet in `slot` back; that of an ingress group is given back by
    /// [`crate::Fabric`].
    #[inline(always)]
    pub(crate) fn give(&mut self, slot: usize, waiting: &Waiting<B>, pools: &mut [Pool]) {
        let Some(pool) = self.pool else { return };
        let pool = &mut pools[pool as usize];
        let cells = pool.cells(waiting.packet.bytes);
        let queue = self.queue(slot);
        if waiting.own == PortId::NONE {
            pool.give(queue.held, cells);
        }
        queue.held -= cells;
    }

    /// Counts a packet that has entered `slot` of class `index`.
    #[inline(always)]
    pub(crate) fn entered(&mut self, index: usize, slot: usize, bytes: u64) {
        self.queues[index].add(bytes);
        self.filled |= 1 << index;
        if let Some(voqs) = &mut self.voqs {
            voqs.entered(index, slot, bytes);
        }
    }

    /// Counts a packet that has been taken out of `slot` of class `index`.
    #[inline(always)]
    pub(crate) fn left(&mut self, index: usize, slot: usize, bytes: u64) {
        let queue = &mut self.queues[index];
        queue.remove(bytes);
        if queue.packets == 0 {
            self.filled &= !(1 << index);
        }
        if let Some(voqs) = &mut self.voqs {
            let queue = &mut voqs.queues[slot];
            queue.remove(bytes);
            queue.ring.release();
        }
    }

    /// Notes the length of class `index`, and of the virtual output queue in `slot`.
    #[inline(always)]
    pub(crate) fn note_length(&mut self, index: usize, slot: usize) {
        let queue = &mut self.queues[index];
        queue.max_bytes.note(queue.bytes);
        if let Some(voqs) = &mut self.voqs {
            voqs.note_length(slot);
        }
    }

    /// No packets are left in class `index`.
    pub(crate) fn clear(&mut self, index: usize) {
        self.queues[index].clear();
        self.filled &= !(1 << index);
    }

    /// The port sends nothing and is told to send nothing.
    pub(crate) fn clear_all(&mut self) {
        (0..self.queues.len()).for_each(|index| self.clear(index));
        if let Some(voqs) = &mut self.voqs {
            voqs.clear();
        }
        self.pending = false;
    }

    /// The queues of classes, and virtual output queues if there are any.
    pub(crate) fn all_queues(&self) -> impl Iterator<Item = &ClassQueue<B>> {
        self.queues.iter().chain(self.voqs.iter().flat_map(|voqs| &voqs.queues))
    }

    /// Memory held by all queues, in whole cells.
    pub(crate) fn held(&self) -> u64 {
        self.all_queues().map(|queue| queue.held).sum()
    }

    /// Takes or gives memory until fluid, which `held` some, holds `wanted`, or as much as there is room for.
    pub(crate) fn hold_fluid(&mut self, held: &mut u64, wanted: u64, pools: &mut [Pool]) -> u64 {
        let Some(pool) = self.pool else { return wanted };
        let (pool, queue) = (&mut pools[pool as usize], &mut self.queues[0]);
        if wanted >= *held {
            let more = pool.take_up_to(queue.held, wanted - *held);
            queue.held += more;
            *held += more;
        } else {
            pool.give(queue.held, *held - wanted);
            queue.held -= *held - wanted;
            *held = wanted;
        }
        *held
    }

    /// Room of the only queue in the shared memory, and the length above which it drops what can't be marked.
    pub(crate) fn room_for_fluid(&self, pools: &[Pool]) -> (u64, u64) {
        let queue = &self.queues[0];
        let room = self.pool.map_or(u64::MAX, |pool| pools[pool as usize].room(queue.held));
        (room, queue.discipline.ceiling())
    }

    /// The longest that a virtual output queue has been, in bytes; none without them.
    pub(crate) fn longest_voq(&self) -> Option<u64> {
        self.voqs.as_ref().map(|voqs| voqs.max_bytes)
    }

    /// The class to serve next, which has packets and may send.
    #[inline(always)]
    pub(crate) fn select(&mut self) -> Option<usize> {
        let ready = self.filled & !self.paused;
        if ready == 0 {
            return None;
        }
        if self.mask == 0 {
            return Some(0);
        }
        Some(self.select_among(ready, |classes, class| {
            let slot = classes.next_slot(class);
            classes.queue(slot).head()
        }))
    }

    /// A packet of class `index` goes through a port where nothing waits: as if it had been selected.
    #[inline(always)]
    pub(crate) fn pass(&mut self, index: usize, bytes: u64) {
        if self.mask != 0 {
            self.filled = 1 << index;
            self.select_among(1 << index, |_, _| bytes);
            self.filled = 0;
        }
    }

    #[inline(never)]
    fn select_among(&mut self, ready: u8, head: impl Fn(&mut Self, usize) -> u64) -> usize {
        let strict = self.strict & ready;
        if strict != 0 {
            return strict.ilog2() as usize;
        }
        loop {
            let class = usize::from(self.turn);
            let bit = 1 << class;
            if ready & bit != 0 {
                let bytes = head(self, class);
                let queue = &mut self.queues[class];
                if !self.credited {
                    queue.deficit += u64::from(self.weights[class].max(1)) * QUANTUM;
                    self.credited = true;
                    self.owed |= bit;
                }
                if queue.deficit >= bytes {
                    queue.deficit -= bytes;
                    return class;
                }
            } else if self.filled & bit == 0 {
                self.forgo(bit);
            }
            // On to the next that may send; a class with nothing to send loses its deficit on the way.
            let ahead = ready.rotate_right(u32::from(self.turn) + 1).trailing_zeros() as u8;
            let passed = ((1u16 << ahead) - 1) as u8;
            self.forgo(passed.rotate_left(u32::from(self.turn) + 1) & !self.filled);
            self.turn = (self.turn + 1 + ahead) % 8;
            self.credited = false;
        }
    }

    /// The classes in `mask`, whose turn it is, have nothing to send.
    #[inline(always)]
    fn forgo(&mut self, mask: u8) {
        let mut left = mask & self.owed;
        self.owed &= !mask;
        while left != 0 {
            self.queues[left.trailing_zeros() as usize].deficit = 0;
            left &= left - 1;
        }
    }

    /// The class pays `sent` instead of the `dropped` bytes that it was selected for.
    pub(crate) fn pay_instead(&mut self, index: usize, dropped: u64, sent: u64) {
        let queue = &mut self.queues[index];
        queue.deficit = (queue.deficit + dropped).saturating_sub(sent);
        self.owed |= 1 << index;
    }
}
