//! A throughput test from its start to the exchange of results: the same for both roles.

use super::frame::violation;
use super::link::{ANSWER, Link};
use super::message::Message;
use crate::ProtocolError;
use crate::work::throughput::{Expect, Request, Sent, Until};
use model::event::{EndResult, Event};
use model::plan::{Direction, End, TestSpec, Transport};
use model::sample::{IntervalSample, Role, Side, SideResult};
use model::time::MonoTime;
use model::units::Nanos;
use std::ops::Range;

#[derive(Debug)]
pub(super) struct Run {
    spec: TestSpec,
    /// The direction in which this end sends.
    direction: Direction,
    phase: Phase,
    started: MonoTime,
    deadline: Option<MonoTime>,
    mine: Option<Vec<Sent>>,
    theirs: Option<Vec<Sent>>,
    stop_sent: bool,
    rtt: Nanos,
    /// Payload bytes received in the counted time so far.
    pub(super) received: u64,
    peer_axis: Option<Nanos>,
    /// Intervals that the peer has reported.
    peer_intervals: u64,
    result_of_peer: Option<SideResult>,
    /// The reason why the test ended early.
    ending: Option<ProtocolError>,
    /// The reason why the peer gets no more messages.
    gone: Option<ProtocolError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waits until both ends have reported the data they sent.
    Flowing,
    /// This end receives nothing, so it measures after the receiver has: then all that it sent is acknowledged.
    AwaitingReceiver,
    /// Waits for `Measured`.
    Draining,
    /// The own figures are measured and sent; waits for the peer's.
    AwaitingResults,
    Over,
}

impl Run {
    /// A test at time zero. `direction` is the one in which this end sends.
    pub(super) fn new(spec: TestSpec, direction: Direction, now: MonoTime) -> Run {
        let deadline = match spec.end {
            End::Time(time) => Some(now + spec.omit + time + OVERTIME),
            End::Bytes(_) | End::Blocks(_) => None,
        };
        Run {
            spec,
            direction,
            phase: Phase::Flowing,
            started: now,
            deadline,
            mine: None,
            theirs: None,
            stop_sent: false,
            rtt: Nanos::ZERO,
            received: 0,
            peer_axis: None,
            peer_intervals: 0,
            result_of_peer: None,
            ending: None,
            gone: None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The peer is gone and only this end's own result is waited for.
    pub(super) fn is_alone(&self) -> bool {
        self.gone.is_some()
    }

    /// The outcome of the dialogue: complete, or stopped by either end.
    pub(super) fn verdict(&mut self) -> Result<(), ProtocolError> {
        self.ending.take().map_or(Ok(()), Err)
    }

    pub(super) fn set_rtt(&mut self, rtt: Nanos) {
        self.rtt = rtt.min(ANSWER);
    }

    /// The time after which the peer is late.
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        self.deadline.filter(|_| !self.is_alone())
    }

    /// The error for the message with which the peer is late.
    pub(super) fn timeout(&self) -> ProtocolError {
        let what = match self.phase {
            Phase::Flowing => "at the end of the test",
            _ => "with its results",
        };
        ProtocolError::Timeout(what.into())
    }

    /// Sends a report interval of this end to the peer.
    pub(super) fn local_sample(&mut self, link: &mut Link, sample: &IntervalSample) {
        let measuring = !matches!(self.phase, Phase::AwaitingResults | Phase::Over);
        if measuring && !self.is_alone() {
            link.send(&Message::Interval { sample: sample.clone() });
        }
    }

    /// The senders of this end have stopped.
    pub(super) fn senders_done(&mut self, link: &mut Link, now: MonoTime, sent: &[Sent]) {
        if self.mine.is_some() || self.phase != Phase::Flowing {
            return;
        }
        self.say_sent(link, sent.to_vec());
        if !self.peer_sends() {
            self.deadline = Some(now + ANSWER);
        }
        if self.is_alone() { self.drain_alone(link) } else { self.advance(link, now) }
    }

    /// Handles the request of this end to stop. While data in flight is waited for, what has arrived counts; any other late or second
    /// request does not wait for the peer any more.
    pub(super) fn interrupt(
        &mut self,
        link: &mut Link,
        now: MonoTime,
        reason: &str,
    ) -> Result<(), ProtocolError> {
        let is_first = self.ending.is_none() && !self.is_alone();
        match self.phase {
            Phase::Draining if is_first => {
                self.ending = Some(link.stop(reason));
                link.work(Request::EndDrain);
            }
            Phase::Flowing if is_first => {
                let error = link.stop(reason);
                self.stop(link, now, error);
            }
            _ => return self.lose(link, ProtocolError::Stopped(reason.into())),
        }
        Ok(())
    }

    /// Handles the loss of the peer: this end's own results are still reported, then the error.
    pub(super) fn lose(&mut self, link: &mut Link, error: ProtocolError) -> Result<(), ProtocolError> {
        let first = self.gone.is_none();
        self.gone.get_or_insert(error);
        match self.phase {
            Phase::Flowing if !first => {}
            Phase::Flowing if self.mine.is_none() && self.i_send() => self.stop_senders(link),
            Phase::Flowing => self.drain_alone(link),
            Phase::AwaitingReceiver => self.drain(link, Vec::new(), Nanos::ZERO),
            Phase::Draining => {}
            Phase::AwaitingResults | Phase::Over => return self.give_up(link),
        }
        Ok(())
    }

    /// Takes the results of this end.
    pub(super) fn measured(
        &mut self,
        link: &mut Link,
        now: MonoTime,
        result: &SideResult,
    ) -> Result<(), ProtocolError> {
        if self.phase != Phase::Draining {
            return Ok(());
        }
        if self.is_alone() {
            return self.give_up(link);
        }
        link.send(&Message::Results { result: Box::new(result.clone()) });
        self.phase = Phase::AwaitingResults;
        self.deadline = Some(now + LONGEST_DRAIN + ANSWER);
        self.finish(link);
        Ok(())
    }

    /// A message of the peer that belongs to the test.
    pub(super) fn message(
        &mut self,
        link: &mut Link,
        now: MonoTime,
        message: Message,
    ) -> Result<(), ProtocolError> {
        match message {
            Message::Interval { sample } => self.peer_sample(link, now, sample),
            Message::Stop { reason } => {
                let why = ProtocolError::PeerStopped(reason);
                if self.phase == Phase::Flowing {
                    self.stop(link, now, why);
                } else {
                    self.ending.get_or_insert(why);
                }
                Ok(())
            }
            Message::Sent { streams } => self.peer_sent(link, now, streams),
            Message::Results { result } => self.peer_result(link, *result),
            _ => Err(violation("a message that is not due during a test".into())),
        }
    }

    /// Takes an interval of the peer. Intervals beyond what the time allows are ignored, because each may be kept.
    fn peer_sample(
        &mut self,
        link: &mut Link,
        now: MonoTime,
        sample: IntervalSample,
    ) -> Result<(), ProtocolError> {
        self.check_rows(sample.streams.iter().map(|row| (row.stream, row.direction, row.role)))?;
        if sample.start > sample.end {
            return Err(violation("an interval that ends before it begins".into()));
        }
        let axis = sample.end + if sample.omitted { Nanos::ZERO } else { self.spec.omit };
        let allowed = (now - self.started).0 / SHORTEST_INTERVAL.0 + INTERVALS_AT_ONCE;
        if self.peer_axis.is_none_or(|last| axis > last) && self.peer_intervals < allowed {
            self.peer_axis = Some(axis);
            self.peer_intervals += 1;
            link.event(Event::Sample(IntervalSample { side: Side::Peer, ..sample }));
        }
        Ok(())
    }

    fn peer_sent(&mut self, link: &mut Link, now: MonoTime, rows: Vec<Sent>) -> Result<(), ProtocolError> {
        let allowed = self.spec.stream_numbers(self.direction.reversed());
        if self.theirs.is_some() || !are_distinct(rows.iter().map(|row| row.stream), &allowed) {
            return Err(violation("a list of what it sent that does not fit the test".into()));
        }
        self.theirs = Some(rows);
        self.advance(link, now);
        Ok(())
    }

    fn peer_result(&mut self, link: &mut Link, result: SideResult) -> Result<(), ProtocolError> {
        if self.phase == Phase::Flowing || self.result_of_peer.is_some() {
            return Err(violation("results that are not due".into()));
        }
        self.check_rows(result.streams.iter().map(|row| (row.stream, row.direction, row.role)))?;
        self.result_of_peer = Some(result);
        match self.phase {
            Phase::AwaitingReceiver => self.drain(link, Vec::new(), Nanos::ZERO),
            _ => self.finish(link),
        }
        Ok(())
    }

    /// Checks that every row is of a stream of this test, once, in its direction and in the peer's role.
    fn check_rows(
        &self,
        rows: impl Iterator<Item = (u32, Direction, Role)> + Clone,
    ) -> Result<(), ProtocolError> {
        let streams = self.spec.streams * self.spec.directions.each().count() as u32;
        let fits = rows.clone().all(|(stream, direction, role)| {
            let sends = direction != self.direction;
            direction == self.spec.direction_of(stream) && (role == Role::Sender) == sends
        });
        if fits && are_distinct(rows.map(|row| row.0), &(0..streams)) {
            return Ok(());
        }
        Err(violation("figures of streams that the test does not have".into()))
    }

    fn i_send(&self) -> bool {
        !self.spec.stream_numbers(self.direction).is_empty()
    }

    fn peer_sends(&self) -> bool {
        !self.spec.stream_numbers(self.direction.reversed()).is_empty()
    }

    /// Ends the test before its time.
    fn stop(&mut self, link: &mut Link, now: MonoTime, why: ProtocolError) {
        self.ending.get_or_insert(why);
        self.stop_senders(link);
        let limit = now + ANSWER;
        self.deadline = Some(self.deadline.map_or(limit, |deadline| deadline.min(limit)));
    }

    fn stop_senders(&mut self, link: &mut Link) {
        if self.i_send() && self.mine.is_none() && !self.stop_sent {
            self.stop_sent = true;
            link.work(Request::StopSenders);
        }
    }

    fn say_sent(&mut self, link: &mut Link, streams: Vec<Sent>) {
        if !self.is_alone() {
            link.send(&Message::Sent { streams: streams.clone() });
        }
        self.mine = Some(streams);
    }

    /// Goes on to the drain once both ends have reported the data they sent.
    fn advance(&mut self, link: &mut Link, now: MonoTime) {
        if self.phase != Phase::Flowing || self.is_alone() {
            return;
        }
        if self.theirs.is_some() && self.mine.is_none() && !self.i_send() {
            self.say_sent(link, Vec::new());
        }
        let (Some(_), Some(theirs)) = (&self.mine, &self.theirs) else { return };
        self.deadline = Some(now + LONGEST_DRAIN + ANSWER);
        if !self.peer_sends() {
            self.phase = Phase::AwaitingReceiver;
            return;
        }
        let expect = theirs.iter().map(|sent| self.expect(sent)).collect();
        let limit = self.drain_limit(theirs, now);
        self.drain(link, expect, limit);
    }

    fn expect(&self, sent: &Sent) -> Expect {
        let until = match self.spec.transport {
            Transport::Tcp => Until::Bytes(sent.bytes, TCP_QUIET + self.quiet()),
            Transport::Udp => Until::Sequence(sent.datagrams, self.quiet()),
        };
        Expect { stream: sent.stream, until }
    }

    fn quiet(&self) -> Nanos {
        SHORTEST_QUIET.max(self.rtt.saturating_mul(4))
    }

    /// Twice the time that the outstanding data takes at the mean rate so far, and some round trips.
    fn drain_limit(&self, theirs: &[Sent], now: MonoTime) -> Nanos {
        let sent = theirs.iter().fold(0_u64, |sum, row| sum.saturating_add(row.bytes));
        let outstanding = u128::from(sent.saturating_sub(self.received));
        let elapsed = u128::from((now - self.started).0);
        let time = (2 * outstanding * elapsed).checked_div(u128::from(self.received));
        let time = Nanos(time.map_or(u64::MAX, |time| u64::try_from(time).unwrap_or(u64::MAX)));
        (SHORTEST_DRAIN + self.quiet() + time).min(LONGEST_DRAIN)
    }

    fn drain(&mut self, link: &mut Link, expect: Vec<Expect>, limit: Nanos) {
        self.phase = Phase::Draining;
        self.deadline = None;
        link.work(Request::Drain { expect, limit });
    }

    /// Drains without the peer's report of the data it sent: data that arrives before the silence counts.
    fn drain_alone(&mut self, link: &mut Link) {
        let streams: Range<u32> = self.spec.stream_numbers(self.direction.reversed());
        let quiet = |stream| Expect { stream, until: Until::Quiet(SHORTEST_QUIET) };
        self.drain(link, streams.map(quiet).collect(), SHORTEST_DRAIN);
    }

    fn finish(&mut self, link: &mut Link) {
        if self.phase == Phase::AwaitingResults && self.report_peer_result(link) {
            self.phase = Phase::Over;
        }
    }

    fn give_up(&mut self, link: &mut Link) -> Result<(), ProtocolError> {
        self.report_peer_result(link);
        self.phase = Phase::Over;
        Err(self.gone.take().unwrap_or_else(|| ProtocolError::Closed("after the test".into())))
    }

    fn report_peer_result(&mut self, link: &mut Link) -> bool {
        let Some(result) = self.result_of_peer.take() else { return false };
        let peer = EndResult { side: Side::Peer, result, output_text: None, output_json: None };
        link.event(Event::Result(peer));
        true
    }
}

/// All numbers are in the range, and none comes twice.
fn are_distinct(numbers: impl Iterator<Item = u32>, range: &Range<u32>) -> bool {
    let mut observed = std::collections::BTreeSet::new();
    let mut numbers = numbers;
    numbers.all(|number| range.contains(&number) && observed.insert(number))
}

/// Mean time between two accepted intervals of the peer.
const SHORTEST_INTERVAL: Nanos = Nanos::from_millis(50);
/// Intervals that may arrive at once after a pause of the path.
const INTERVALS_AT_ONCE: u64 = 64;
/// Time by which a test may exceed its plan.
const OVERTIME: Nanos = Nanos::from_secs(15);
const SHORTEST_QUIET: Nanos = Nanos::from_millis(200);
/// A connection that is silent for this long has lost the same segment four times or more.
const TCP_QUIET: Nanos = Nanos::from_secs(3);
const SHORTEST_DRAIN: Nanos = Nanos::from_secs(2);
const LONGEST_DRAIN: Nanos = Nanos::from_secs(30);
