//! Common parts of the four machines. A flow is one TCP connection, or one pair of UDP addresses, at one end: a test by itself.
//! Its driver keeps the socket, and the rule of [`crate::Session`]: one input, then outputs until [`FlowOutput::WaitUntil`].

use super::{Amount, DATAGRAM_LEN, Fixed, Frames, Rate, Request, Sending, ServerReport, Shape};
use crate::work::in_band::{FlowCommand, FlowUpdate};
use crate::{Policy, ProtocolError, Sent};
use model::framing::LARGEST_UDP_PAYLOAD;
use model::plan::Transport;
use model::time::{MonoTime, WallTime};
use model::units::{BitRate, Nanos};
use std::collections::VecDeque;

/// One end of one flow.
pub trait Flow: Send {
    /// Takes one event. After an error the flow is over.
    ///
    /// # Errors
    /// The reason why the test of this flow has failed.
    fn input(&mut self, now: MonoTime, input: FlowInput<'_>) -> Result<(), ProtocolError>;

    /// The next thing to do.
    fn output(&mut self, now: MonoTime) -> FlowOutput;
}

/// Events of a flow.
#[derive(Clone, Copy, Debug)]
pub enum FlowInput<'a> {
    /// An event of the driver. Datagrams that end the data are [ends](super::Number::Fin).
    Update(&'a FlowUpdate),
    /// The time of the last `WaitUntil` has come. May also be given early: then it has no effect.
    Timer,
    /// This end wants to stop, and why.
    Interrupt(&'a str),
}

/// Outputs of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowOutput {
    /// A command to its driver.
    Command(FlowCommand),
    /// Answer this connection's records from now on ([`Bounce`](super::Bounce)); these bytes of it have been read.
    Bounce(Vec<u8>),
    /// Open a flow to the peer's address and the port in this request, and send on it as the request describes
    /// ([`TcpClient::back`](super::TcpClient::back), [`UdpClient::back`](super::UdpClient::back)).
    ConnectBack(Box<Request>),
    /// The request of a server's client; absent: it sent no header, because it is old, or `-C` was given.
    Request(Option<Box<Request>>),
    /// Nothing more to do before this time, unless an input comes.
    WaitUntil(Option<MonoTime>),
}

impl From<FlowCommand> for FlowOutput {
    fn from(command: FlowCommand) -> FlowOutput {
        FlowOutput::Command(command)
    }
}

/// A machine of a flow, by its answer to each event. No event reaches it once its [steps](Steps) are over; an error ends them.
pub(super) trait Machine: Send {
    fn steps(&mut self) -> &mut Steps;

    fn received(&mut self, now: MonoTime, bytes: &[u8]) -> Result<(), ProtocolError>;

    fn ended(&mut self, now: MonoTime) -> Result<(), ProtocolError>;

    /// The deadline has come.
    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError>;

    fn progress(&mut self, now: MonoTime, received: u64) -> Result<(), ProtocolError>;

    fn sender_done(&mut self, now: MonoTime, sent: Sent);

    fn measured(&mut self, _now: MonoTime, _figures: &ServerReport) {}

    fn interrupt(&mut self, now: MonoTime, why: &str) -> Result<(), ProtocolError>;

    fn update(&mut self, now: MonoTime, update: &FlowUpdate) -> Result<(), ProtocolError> {
        match update {
            FlowUpdate::Received(bytes) => return self.received(now, bytes),
            FlowUpdate::Ended => return self.ended(now),
            FlowUpdate::Progress(received) => return self.progress(now, *received),
            FlowUpdate::SenderDone(sent) => self.sender_done(now, *sent),
            FlowUpdate::Measured(figures) => self.measured(now, figures),
            // The session closes the flow.
            FlowUpdate::Lost(_) => {}
        }
        Ok(())
    }
}

impl<M: Machine> Flow for M {
    fn input(&mut self, now: MonoTime, input: FlowInput<'_>) -> Result<(), ProtocolError> {
        if self.steps().over {
            return Ok(());
        }
        let outcome = match input {
            FlowInput::Update(update) => self.update(now, update),
            FlowInput::Timer if self.steps().is_due(now) => self.timer(now),
            FlowInput::Timer => Ok(()),
            FlowInput::Interrupt(why) => self.interrupt(now, why),
        };
        outcome.inspect_err(|_| self.steps().close())
    }

    fn output(&mut self, _now: MonoTime) -> FlowOutput {
        self.steps().next()
    }
}

/// Outputs and one deadline.
#[derive(Default)]
pub(super) struct Steps {
    outputs: VecDeque<FlowOutput>,
    deadline: Option<MonoTime>,
    pub(super) over: bool,
}

impl Steps {
    pub(super) fn push(&mut self, output: impl Into<FlowOutput>) {
        self.outputs.push_back(output.into());
    }

    pub(super) fn wait(&mut self, now: MonoTime, span: Nanos) {
        self.deadline = Some(now + span);
    }

    pub(super) fn wait_until(&mut self, deadline: MonoTime) {
        self.deadline = Some(deadline);
    }

    pub(super) fn is_due(&self, now: MonoTime) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    pub(super) fn close(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            self.deadline = None;
            self.push(FlowCommand::Close);
        }
    }

    pub(super) fn next(&mut self) -> FlowOutput {
        self.outputs.pop_front().unwrap_or(FlowOutput::WaitUntil(self.deadline))
    }
}

/// Detects a dead flow: by the time that it may take, and by the data that arrives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    /// Bytes received in all.
    pub(super) observed: u64,
    /// When data last arrived, as far as it was checked.
    last: Option<MonoTime>,
}

impl Watch {
    /// Bytes received in all; true: more than before.
    pub(super) fn progress(&mut self, received: u64, now: MonoTime) -> bool {
        let is_more = std::mem::replace(&mut self.observed, received) != received;
        if is_more {
            self.last = Some(now);
        }
        is_more
    }

    /// Time from `since` to the last data.
    pub(super) fn heard_for(self, since: MonoTime) -> Nanos {
        self.last.map_or(Nanos::ZERO, |last| last.saturating_since(since))
    }

    pub(super) fn has_received(self) -> bool {
        self.observed > 0
    }
}

impl Request {
    /// How the end that sends is to send, with datagrams that begin like this.
    pub(super) fn sending(&self, head: Vec<u8>) -> Sending {
        let udp = self.transport == Transport::Udp;
        let length = if self.length == 0 && udp { DEFAULT_DATAGRAM } else { self.length };
        let smallest = if udp { head.len() as u32 } else { 0 };
        Sending {
            amount: self.amount,
            rate: self.rate,
            length: length.max(smallest).min(if udp { LARGEST_UDP_PAYLOAD } else { MAX_WRITE }),
            tos: self.tos,
            starts: self.start.filter(|_| self.starts_then),
            records: self.has_records(),
            head,
        }
    }

    /// Do the writes of the sending end begin with records?
    pub(super) fn has_records(&self) -> bool {
        self.transport == Transport::Tcp && (self.trip_times || self.shape != Shape::Stream)
    }

    /// The reason why data of a server ended before the end of its request, where it did: the far end is dead, and the figures
    /// end before the test does. `heard`: time until its last data; `ended`: time until it closed the connection, where it did.
    pub(super) fn cut_short(&self, heard: Nanos, ended: Option<Nanos>, received: u64) -> Option<String> {
        match self.amount {
            // The time at which a scheduled test began is not known here.
            Amount::Time(_) if self.starts_then => None,
            Amount::Time(time) => {
                let until = ended.unwrap_or_else(|| heard.saturating_add(self.longest_gap()));
                let is_cut = until.saturating_add(EARLY.max(Nanos(time.0 / 20))) < time;
                is_cut.then(|| self.sent_so_far(heard, received))
            }
            Amount::Bytes(bytes) => (received < bytes.0).then(|| self.sent_so_far(heard, received)),
        }
    }

    fn sent_so_far(&self, heard: Nanos, received: u64) -> String {
        match self.amount {
            Amount::Time(time) => format!("after {heard} of the {time} that it was to send"),
            Amount::Bytes(bytes) => format!("after {received} of the {} bytes that it was to send", bytes.0),
        }
    }

    /// Why a server that was to send hangs: it has not closed the connection long after its time. `heard`: time until its last data.
    pub(super) fn fell_silent(&self, heard: Nanos, received: u64) -> String {
        format!("{}: nothing more comes", self.sent_so_far(heard, received))
    }

    /// The longest silence between two pieces of data that is normal for a server.
    fn longest_gap(&self) -> Nanos {
        let second = 1_000_000_000_u128;
        let length = u128::from(if self.length == 0 { MAX_BLOCK } else { self.length });
        let of_rate = match self.rate {
            Some(Rate::Bits(rate)) => length * 8 * second / u128::from(rate.0.max(1)),
            Some(Rate::Packets(packets)) => second / u128::from(packets.max(1)),
            // A server without a rate sends one megabit per second over UDP.
            None if self.transport == Transport::Udp => length * 8 * second / 1_048_576,
            None => 0,
        };
        let period = match self.shape {
            Shape::Isochronous(Some(frames)) | Shape::Bursts(frames) => frames.period().unwrap_or_default(),
            _ => Nanos::ZERO,
        };
        let gap = Nanos(u64::try_from(of_rate).unwrap_or(u64::MAX)).max(period);
        gap.saturating_mul(3).max(LEAST_GAP)
    }

    /// Time after which a client's flow counts as dead: its own time with a margin, or a pause where its amount is in bytes.
    pub(super) fn timeout(&self) -> Nanos {
        match self.amount {
            Amount::Time(time) if self.starts_then => time.saturating_add(CLIENT_STARTS_LATEST),
            Amount::Time(time) => time.saturating_add(SLOP),
            Amount::Bytes(_) => STALL,
        }
    }

    /// The longest this flow may last at a server with this policy, whatever its amount.
    pub(super) fn time_limit(&self, policy: &Policy) -> Nanos {
        let longest = policy.max_time.unwrap_or(A_DAY);
        let span = match self.amount {
            Amount::Time(time) if time <= longest => time.saturating_add(SLOP),
            Amount::Time(_) | Amount::Bytes(_) => longest.saturating_add(GRACE),
        };
        if self.starts_then { span.saturating_add(STARTS_LATEST) } else { span }
    }

    /// Is the time of day at which it is to start too far ahead of `now`?
    pub(super) fn starts_too_late(&self, now: WallTime) -> bool {
        let latest = now.0.saturating_add(STARTS_LATEST.0);
        self.starts_then && self.start.is_some_and(|start| start.0 > latest)
    }

    /// Does this flow end with its time, rather than with the data sent?
    pub(super) fn is_timed(&self) -> bool {
        matches!(self.amount, Amount::Time(_))
    }

    /// The request, reduced to what a server's policy allows. The rate is that of a test: each of its streams has its share.
    pub(super) fn within(mut self, policy: &Policy) -> Request {
        if let Amount::Time(time) = self.amount {
            self.amount = Amount::Time(time.min(policy.max_time.unwrap_or(A_DAY)));
        }
        if let Some(max) = self.share_of_rate(policy) {
            let total = match self.rate {
                Some(Rate::Bits(rate)) => rate.min(max),
                Some(Rate::Packets(_)) | None => max,
            };
            self.rate = Some(Rate::Bits(total));
            self.shape = self.shape.within(max);
        }
        if self.transport == Transport::Tcp {
            // Every stream has a buffer of its own, and longer writes bring nothing.
            self.length = self.length.min(MOST_ASKED);
        }
        self
    }

    /// Rate that one stream of this client may send or receive.
    pub(super) fn share_of_rate(&self, policy: &Policy) -> Option<BitRate> {
        policy.max_rate.map(|max| BitRate((max.0 / u64::from(self.streams.max(1))).max(1)))
    }
}

impl Shape {
    /// The shape, with no more data per second than this rate.
    fn within(self, max: BitRate) -> Shape {
        let mean = |whole: u64| Fixed { whole: u32::try_from(whole).unwrap_or(u32::MAX), millionths: 0 };
        match self {
            Shape::Isochronous(Some(frames)) => {
                let fits = u64::from(frames.mean.whole) < max.0;
                let mean = if fits { frames.mean } else { mean(max.0) };
                Shape::Isochronous(Some(Frames { mean, variance: Fixed::default(), ..frames }))
            }
            Shape::Bursts(frames) => {
                let period = frames.period().unwrap_or_default();
                let most = u128::from(max.0) * u128::from(period.0) / 8_000_000_000;
                let most = u64::try_from(most).unwrap_or(u64::MAX);
                let fits = period == Nanos::ZERO || u64::from(frames.mean.whole) < most;
                let mean = if fits { frames.mean } else { mean(most) };
                // Bursts would be smaller than a record: without a period the rate alone counts.
                let rate = if most < SMALLEST_BURST { Fixed::default() } else { frames.rate };
                Shape::Bursts(Frames { rate, mean, variance: Fixed::default(), ..frames })
            }
            Shape::Stream | Shape::Isochronous(None) => self,
        }
    }
}

impl Sending {
    /// A datagram of the test's size.
    pub(super) fn datagram(&self) -> Vec<u8> {
        let digits = (0..self.length as usize).map(|index| b'0' + (index % 10) as u8);
        self.head.iter().copied().chain(digits.skip(self.head.len())).collect()
    }
}

/// First bytes of a datagram without a header: the digits of its payload in the places of the header.
pub(super) fn bare_head() -> Vec<u8> {
    let mut head = vec![0; DATAGRAM_LEN];
    head.extend_from_slice(b"6789");
    head
}

/// iPerf2's default over IPv4.
const DEFAULT_DATAGRAM: u32 = 1470;
/// Bytes of the longest write.
const MAX_WRITE: u32 = 16 << 20;
/// The same at a server, whose clients choose it.
const MOST_ASKED: u32 = 1 << 20;
/// Bytes of a burst that has room for its record.
const SMALLEST_BURST: u64 = 128;
/// Longest wait for a first message, or for the peer's part of the end.
pub(super) const TIMEOUT: Nanos = Nanos::from_secs(10);
/// The most by which a server's clock and start may differ from this end's.
const EARLY: Nanos = Nanos::from_millis(500);
/// Data in flight may arrive this late.
const LEAST_GAP: Nanos = Nanos::from_secs(1);
/// Bytes of a write where the request has no length.
const MAX_BLOCK: u32 = 128 << 10;
/// Allowance for the other end's clock and last bytes.
const SLOP: Nanos = Nanos::from_secs(10);
/// Time by which a test may exceed a server's policy before the server ends it.
const GRACE: Nanos = Nanos::from_secs(1);
/// Longest test where the policy has no limit.
pub(super) const A_DAY: Nanos = Nanos::from_secs(86_400);
/// Longest wait of a server for a scheduled start: a waiting flow holds memory and a thread.
const STARTS_LATEST: Nanos = Nanos::from_secs(60);
/// The same at a client.
const CLIENT_STARTS_LATEST: Nanos = Nanos::from_secs(3600);
/// UDP: time by which the other direction may exceed the test.
pub(super) const DUPLEX_SLOP: Nanos = Nanos::from_secs(2);
/// Silence after which the peer is gone.
pub(super) const STALL: Nanos = Nanos::from_secs(60);
/// The same where nothing proves that the peer exists: a UDP flow, and a connection that has sent a header alone.
pub(super) const SILENCE: Nanos = Nanos::from_secs(10);
