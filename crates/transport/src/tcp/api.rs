//! What a driver calls on a connection besides segments: application calls, events, statistics.

use super::events::Events;
use super::receiver::Receiver;
use super::rto::RttEstimator;
use super::scoreboard::Scoreboard;
use super::window::RightSizing;
use super::*;
use std::sync::Arc;

impl Connection {
    /// A connection that sends a SYN; `isn` is its initial sequence number.
    pub fn client(config: &Arc<Config>, isn: u32) -> Self {
        let mut connection = Self::new(config, isn, State::SynSent);
        connection.urgent = urgent::SYN;
        connection
    }

    /// A connection that waits for a SYN, which comes by [`Connection::handle_segment`].
    pub fn server(config: &Arc<Config>, isn: u32) -> Self {
        Self::new(config, isn, State::Listen)
    }

    fn new(config: &Arc<Config>, isn: u32, state: State) -> Self {
        let mss = config.mss.clamp(1, u32::from(u16::MAX));
        // Linux expects ten segments of its peer, however many it sends itself (TCP_INIT_CWND).
        let initial_space = u64::from(config.initial_window.clamp(1, 10)) * u64::from(mss);
        let sizing = RightSizing::new(config.receive_buffer, config.receive_buffer_max, initial_space);
        let control = Control::new(config.control(mss), isn);
        Connection {
            state,
            phase: Phase::Open,
            urgent: 0,
            held: false,
            events: Events::new(),
            sack: config.sack,
            timestamps: config.timestamps,
            closing: false,
            fin_sent: false,
            write_blocked: false,
            cwnd_limited: false,
            probe_is_tlp: false,
            tlp_is_retransmission: false,
            probes: false,
            rescued: false,
            partial_seen: false,
            block_count: 0,
            isn,
            irs: 0,
            mss,
            header_bytes: 0,
            ts_recent: 0,
            dupacks: 0,
            attempts: 0,
            board: Scoreboard::new(1),
            written: 1,
            send_limit: 0,
            edge: 1,
            heard: (0, 0),
            max_window: 0,
            pipe_bias: 0,
            recover: 0,
            timeout_guard: 0,
            high_rxt: 0,
            usage_end: 0,
            max_pipe: 0,
            tlp_end: 0,
            retransmit_at: Time::MAX,
            probe_at: Time::MAX,
            last_sent: Time::ZERO,
            ecn: Ecn::new(config.ecn, control.needs_ecn(), config.ecn_fallback),
            control,
            rtt: RttEstimator::new(
                config.rto_initial.drawn(),
                config.rto_min.drawn(),
                config.rto_max.drawn(),
            ),
            rack: config.rack.then(Box::default),
            prr: None,
            rcv: Receiver::new(config.ack_every, config.quick_acks, mss, sizing),
            earlier_ack: (0, false),
            blocks: [SackBlock::default(); BLOCKS_MAX],
            counters: Counters::default(),
            config: Arc::clone(config),
        }
    }

    /// The next event, if any.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Whether [`Connection::poll_event`] would return something.
    #[inline]
    pub fn has_event(&self) -> bool {
        self.events.is_pending()
    }

    /// Appends `bytes` to the stream; returns how many the send buffer took.
    pub fn write(&mut self, bytes: u64) -> u64 {
        if self.closing || self.state == State::Closed {
            return 0;
        }
        let held = self.written - self.board.una;
        if self.urgent & urgent::PACED != 0 {
            self.note_application();
        }
        let taken = bytes.min(self.config.send_buffer.saturating_sub(held));
        self.write_blocked |= taken < bytes;
        self.written += taken;
        self.update_limit();
        taken
    }

    /// Bytes that wait to be read.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.rcv.readable()
    }

    /// Takes up to `max` bytes that wait to be read; returns how many. It may cause a window update.
    pub fn read(&mut self, now: Time, max: u64) -> u64 {
        let taken = max.min(self.readable());
        self.rcv.read += taken;
        if now >= self.rcv.sizing.round_end {
            self.right_size(now);
        }
        if taken > 0 && self.state == State::Open && self.rcv.window_opened() {
            self.rcv.ack_now = true;
        }
        taken
    }

    /// Whether the peer's FIN has arrived and everything before it was read.
    #[inline]
    pub fn at_end(&self) -> bool {
        self.rcv.ended && self.readable() == 0
    }

    /// From now on in-order data counts as read at once, without [`Event::Readable`], which comes once, at
    /// the end of the stream.
    pub fn drain(&mut self) {
        self.rcv.drained = true;
        self.rcv.read += self.readable();
    }

    /// In-order payload bytes received so far.
    #[inline]
    pub fn received(&self) -> u64 {
        self.rcv.next.saturating_sub(1 + u64::from(self.rcv.ended))
    }

    /// When they last grew.
    #[inline]
    pub fn received_at(&self) -> Time {
        self.rcv.advanced_at
    }

    /// Payload bytes that the peer has acknowledged.
    #[inline]
    pub fn acked(&self) -> u64 {
        self.board.una.min(self.written) - 1
    }

    /// Payload bytes of the whole stream that this end sends, once it has closed it.
    pub fn total(&self) -> Option<u64> {
        self.closing.then_some(self.written - 1)
    }

    /// Ends the stream: a FIN follows the last byte, also when the connection is still opening. The peer
    /// may still send.
    pub fn close(&mut self) {
        self.closing = true;
        if self.state == State::Listen {
            self.shut(None);
        }
        self.update_limit();
    }

    /// Gives the connection up with a reset. No event follows.
    pub fn abort(&mut self) {
        let reset = matches!(self.state, State::SynReceived | State::Open);
        if self.state != State::Closed {
            self.shut(None);
            self.events.clear();
            self.urgent = if reset { urgent::RST } else { 0 };
        }
    }

    /// What is kept of the oldest segment in flight, for a driver that wants it in the cache beforehand.
    #[inline]
    pub fn oldest_in_flight(&self) -> Option<&impl Sized> {
        self.board.first()
    }

    /// Whether the connection is over.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// The connection is over: nothing is sent or timed any more, but for answers to the peer.
    pub(super) fn shut(&mut self, reason: Option<CloseReason>) {
        self.state = State::Closed;
        self.end_hold();
        self.urgent = 0;
        self.phase = Phase::Open;
        self.send_limit = 0;
        self.retransmit_at = Time::MAX;
        self.probe_at = Time::MAX;
        self.rcv.ack_deadline = Time::MAX;
        if reason != Some(CloseReason::Finished) {
            self.rcv.ack_now = false;
        }
        if let Some(reason) = reason {
            self.events.push(Event::Closed(reason));
        }
    }

    /// Counters and present state.
    pub fn stats(&self) -> Stats {
        let c = &self.counters;
        Stats {
            sent_segments: c.sent_segments,
            sent_bytes: c.sent_bytes,
            retransmits: c.retransmits,
            retransmitted_bytes: c.retransmitted_bytes,
            timeouts: u64::from(c.timeouts),
            fast_recoveries: u64::from(c.fast_recoveries),
            tail_loss_probes: u64::from(c.tail_loss_probes),
            ece_acks: c.ece_acks,
            ce_received: c.ce_received,
            srtt: self.rtt.srtt(),
            min_rtt: if self.rtt.has_sample() { self.rtt.min_rtt() } else { Time::ZERO },
            cwnd: self.control.window.cwnd,
            ssthresh: self.control.window.ssthresh,
            in_flight: self.in_flight(),
        }
    }
}
