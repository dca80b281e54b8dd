//! A running test at one end: its stream threads, its report intervals, its end.

mod own;

pub(crate) use own::StreamDetails;

use crate::error::Result;
use crate::host::facts::FactsBefore;
use crate::session::protocol::Tests;
use crate::work::throughput::sampler::{Extremes, Reading, last_advance, last_data, silence};
use crate::work::throughput::shared::{Counters, Flow, FlowSocket};
use crate::work::throughput::threads::{self, Stream};
use crate::work::throughput::usage::{HostUsage, shared_cpu};
use linux::clock::mono_now;
use linux::options::{is_multipath, saved_syn};
use linux::poll::Waker;
use model::event::Warning;
use model::plan::{End, LocalOptions};
use model::sample::{IntervalSample, Role, Side, SideResult, StreamResult};
use model::time::MonoTime;
use model::units::Nanos;
use packet::{links_crossed, syn_options};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::{Expect, FlowPlan, Sent, Until};

/// The streams of one test from `StartFlows` to `Measured`.
#[derive(Debug)]
pub(crate) struct Running {
    plan: FlowPlan,
    protocol: &'static Tests,
    interval: Nanos,
    streams: Vec<Stream>,
    /// Those that were to be Multipath TCP and are not.
    plain_streams: usize,
    started: MonoTime,
    /// Time zero of the test: when senders began, or when the first data came to an end that only receives.
    epoch: Option<MonoTime>,
    /// Begin of the counted time and what the counters were then.
    base: Option<(MonoTime, Vec<Reading>)>,
    /// Begin of the current interval and what the counters were then.
    previous: (MonoTime, Vec<Reading>),
    /// End of the counted time, once reached, and what the counters were then.
    mark: Option<(MonoTime, Vec<Reading>)>,
    /// The readings at the end of the last interval, where the intervals make the whole.
    closed: Option<Vec<Reading>>,
    /// Intervals of the counted time that have been closed.
    shown: u64,
    extremes: Vec<Extremes>,
    usage: HostUsage,
    /// Facts of this host before the test.
    facts: FactsBefore,
    links: Option<u8>,
    /// When all senders had stopped, and when the session was notified.
    senders_finished: Option<MonoTime>,
    senders_ended: Option<MonoTime>,
    drain: Option<Drain>,
    interrupted: bool,
}

/// Waiting for data in flight.
#[derive(Debug)]
struct Drain {
    expect: Vec<Expect>,
    began: MonoTime,
    /// Then it is over in any case.
    limit: MonoTime,
}

impl Running {
    /// Starts the threads of all flows.
    pub(crate) fn start(
        plan: FlowPlan,
        flows: Vec<Flow>,
        local: &LocalOptions,
        waker: &Arc<Waker>,
        now: MonoTime,
    ) -> Result<Running> {
        let sends = flows.iter().any(|f| f.info.role == Role::Sender);
        let deadline = match (plan.test.end, plan.senders_wait_for_stop) {
            (End::Time(time), false) => Some(now + plan.test.omit + time),
            _ => None,
        };
        let protocol = Tests::for_protocol(plan.hello.protocol());
        let peer = flows.first().map(|flow| flow.info.remote.ip());
        let facts = FactsBefore::start(peer.into_iter().chain(plan.test.facts_toward));
        let links = flows.first().and_then(links_from_peer);
        let usage = HostUsage::start();
        // Before the threads start: what they do from their first moment on counts.
        let readings: Vec<Reading> =
            flows.iter().map(|flow| Reading::take(flow, &Counters::default(), None)).collect();
        let plain_streams = match plan.test.mptcp {
            true => flows.iter().filter(|flow| !flow.socket.tcp().is_some_and(is_multipath)).count(),
            false => 0,
        };
        let streams = threads::spawn(&plan, flows, local, waker, deadline)?;
        Ok(Running {
            interval: local.interval,
            extremes: vec![Extremes::default(); streams.len()],
            base: (plan.test.omit == Nanos::ZERO).then(|| (now, readings.clone())),
            previous: (now, readings),
            epoch: (sends || protocol.counts_from_start).then_some(now),
            protocol,
            plan,
            streams,
            plain_streams,
            started: now,
            mark: None,
            closed: None,
            shown: 0,
            usage,
            facts,
            links,
            senders_finished: None,
            senders_ended: None,
            drain: None,
            interrupted: false,
        })
    }

    /// When this wants to be ticked next.
    pub(crate) fn next_tick(&self) -> Option<MonoTime> {
        let Some(epoch) = self.epoch else { return Some(self.started + self.timeout()) };
        let report = self.reports().then(|| self.interval_end(epoch));
        let report = report.filter(|end| !self.is_last(*end));
        // A stream that waits for quiet must be looked at again.
        let drain = self.drain.as_ref().map(|d| d.limit.min(mono_now() + DRAIN_STEP));
        [report, self.omit_end(epoch), self.time_end(epoch), drain].into_iter().flatten().min()
    }

    /// Closes the intervals that are over.
    pub(crate) fn tick(&mut self, now: MonoTime) -> Vec<IntervalSample> {
        let mut samples = Vec::new();
        let Some(epoch) = self.find_epoch(now) else { return samples };
        let omit_end = self.omit_end(epoch).filter(|end| now >= *end);
        let time_end = self.time_end(epoch).filter(|end| now >= *end);
        let report_due = self.reports() && {
            let end = self.interval_end(epoch);
            now >= end && !self.is_last(end)
        };
        if report_due || omit_end.is_some() {
            // Where this thread has to wait for a CPU, what comes between clock and counters must not raise the rate of what
            // is counted from here on.
            let now = if omit_end.is_some() { self.begin_counted_time() } else { now };
            samples.extend(self.close_interval(now, self.read(|_| None)));
        }
        if omit_end.is_some() {
            self.base = Some(self.previous.clone());
            self.streams.iter().for_each(|s| s.budget.begin());
            self.usage.restart();
        }
        if time_end.is_some() {
            // For the same reason the clock is read behind the counters here.
            let readings = self.read(|_| None);
            self.mark = Some((mono_now(), readings));
        }
        samples
    }

    /// Begins the counted time of all receivers of datagrams at one moment, in which none of them takes a message, and returns it.
    fn begin_counted_time(&self) -> MonoTime {
        let mut states: Vec<_> =
            self.streams.iter().filter_map(|s| Some((s, s.counters.receiver()?))).collect();
        let now = mono_now();
        for (stream, state) in &mut states {
            state.begin_counted_time(now, stream.counters.bytes.load(Ordering::Relaxed));
        }
        now
    }

    /// The amount that each sender has sent, once all have ended; only once.
    pub(crate) fn senders_done(&mut self, now: MonoTime) -> Option<Vec<Sent>> {
        let mut senders = self.streams.iter().filter(|s| s.flow.info.role == Role::Sender).peekable();
        senders.peek()?;
        if self.senders_ended.is_some() || !senders.all(|s| s.counters.finished.load(Ordering::Acquire)) {
            return None;
        }
        let ended = *self.senders_finished.get_or_insert(now);
        if !self.is_delivered() && now < ended + DELIVERY_LIMIT {
            return None;
        }
        self.senders_ended = Some(now);
        Some(self.sent())
    }

    /// Where the far end throws away what it has not read, an exact amount is over when it is acknowledged.
    fn is_delivered(&self) -> bool {
        let exact = self.protocol.forgets_unread && !matches!(self.plan.test.end, End::Time(_));
        let pending = |s: &Stream| {
            let sender = s.flow.socket.tcp().filter(|_| s.flow.info.role == Role::Sender);
            sender.is_some_and(|tcp| linux::options::unacknowledged(tcp).is_ok_and(|bytes| bytes.0 > 0))
        };
        !exact || !self.streams.iter().any(pending)
    }

    /// The amount that each sender has sent until now.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        let senders = self.streams.iter().filter(|s| s.flow.info.role == Role::Sender);
        senders
            .map(|s| Sent {
                stream: s.flow.info.stream,
                bytes: s.counters.bytes.load(Ordering::Relaxed),
                datagrams: s.counters.datagrams.load(Ordering::Relaxed),
            })
            .collect()
    }

    /// Ends all senders; returns false when there are none.
    pub(crate) fn stop_senders(&mut self, now: MonoTime) -> bool {
        self.interrupted |= self.epoch.and_then(|e| self.time_end(e)).is_some_and(|end| now < end);
        self.streams.iter().for_each(|s| s.control.stop_senders());
        self.streams.iter().any(|s| s.flow.info.role == Role::Sender)
    }

    /// Begins to wait for data in flight.
    pub(crate) fn begin_drain(&mut self, expect: Vec<Expect>, limit: Nanos, now: MonoTime) {
        self.drain = Some(Drain { expect, began: now, limit: now + limit });
    }

    /// Is everything there, or the waiting over?
    pub(crate) fn is_drained(&self, now: MonoTime) -> bool {
        let Some(Drain { expect, began, limit }) = &self.drain else { return false };
        let is_met = |e: &Expect| {
            self.streams
                .iter()
                .filter(|s| s.flow.info.stream == e.stream)
                .all(|s| self.is_met(s, e.until, *began, now))
        };
        now >= *limit || expect.iter().all(is_met)
    }

    /// The remainder of an interval at the end, or the only interval of a test so short that none has been closed.
    pub(crate) fn last_sample(&mut self, now: MonoTime) -> Option<IntervalSample> {
        self.find_epoch(now)?;
        let (zero, _) = self.base.as_ref()?;
        let from = self.previous.0;
        let is_tcp = self.streams.iter().all(|stream| matches!(stream.flow.socket, FlowSocket::Tcp(_)));
        let last = self.streams.iter().map(|stream| last_advance(&stream.counters, from)).max();
        // The sample reaches as far as the result.
        let end = match &self.mark {
            Some((time, _)) if is_tcp => *time,
            _ => last.unwrap_or(from).max(*zero + self.planned(now)),
        };
        let left = end.saturating_since(from);
        let is_left = if self.makes_the_whole() { left > Nanos::ZERO } else { left.0 > self.interval.0 / 20 };
        if self.shown > 0 && !is_left {
            return None;
        }
        let finals = self.finals();
        let sample = self.close_interval(if left > Nanos::ZERO { end } else { now }, finals.clone());
        if self.makes_the_whole() {
            self.closed = Some(finals);
        }
        if self.protocol.result_is_its_intervals {
            self.mark = Some(self.previous.clone());
        }
        sample
    }

    /// Each stream as it is now; `last`: the number of the last datagram sent to it, where that is known.
    fn read(&self, last: impl Fn(&Stream) -> Option<u64>) -> Vec<Reading> {
        self.streams.iter().map(|s| Reading::take(&s.flow, &s.counters, last(s))).collect()
    }

    /// Each stream at its end: TCP's at the end of the counted time; of datagrams also those that came after it.
    fn finals(&self) -> Vec<Reading> {
        let now = self.read(|stream| self.last_sequence(stream));
        let Some((_, marked)) = &self.mark else { return now };
        let at_end = |(stream, (marked, now)): (&Stream, (&Reading, Reading))| match stream.flow.socket {
            FlowSocket::Tcp(_) => marked.clone(),
            FlowSocket::Udp(_) => now,
        };
        self.streams.iter().zip(marked.iter().zip(now)).map(at_end).collect()
    }

    /// Ends all threads and makes the final figures.
    pub(crate) fn measure(mut self, now: MonoTime) -> (SideResult, Vec<Warning>) {
        self.streams.iter().for_each(Stream::stop);
        self.streams.iter_mut().for_each(Stream::join);
        let finals = self.closed.take().unwrap_or_else(|| self.finals());
        let warnings = self.warnings();
        let base = self.base.clone().unwrap_or_else(|| (now, finals.clone()));
        let rows = self.streams.iter().enumerate();
        let streams = rows.map(|(i, s)| self.stream_result(i, s, &base, &finals[i], now)).collect();
        let elapsed = now.saturating_since(base.0);
        let result = SideResult {
            streams,
            cpu: self.usage.cpu(&self.streams, now.saturating_since(self.started), elapsed),
            datapath: threads::data_path(&self.plan, &self.streams),
            kernel: self.usage.kernel(),
            facts: self.facts.since().into_iter().chain(shared_cpu(&self.streams)).collect(),
            links: self.links,
            interfaces: match self.plan.test.facts_toward {
                Some(_) => self.facts.interfaces(),
                None => Vec::new(),
            },
        };
        (result, warnings)
    }

    /// Failures of streams, and refusals of the kernel in the data path.
    fn warnings(&self) -> Vec<Warning> {
        let failed = self.streams.iter().filter_map(|s| s.counters.failure.get());
        let failed = failed.map(|reason| Warning::new("stream-failed", reason.clone()));
        let facts = self.streams.iter().filter_map(|s| s.counters.facts.get());
        let slower =
            facts.filter_map(|f| f.no_gso_reason.clone()).map(|reason| Warning::new("no-gso", reason));
        let plain = (self.plain_streams > 0).then(|| {
            let text = format!(
                "{} of {} streams were plain TCP: an end has no Multipath TCP (net.mptcp.enabled), or the path removes its option",
                self.plain_streams,
                self.streams.len()
            );
            Warning::new("no-mptcp", text)
        });
        failed.chain(slower.take(1)).chain(plain).collect()
    }

    /// Payload bytes received and sent by this end in the counted time, or until it begins.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let sum = |role: Role| {
            let with_role = self.streams.iter().enumerate().filter(|(_, s)| s.flow.info.role == role);
            let before = |index: usize| self.base.as_ref().map_or(0, |(_, readings)| readings[index].bytes);
            with_role.map(|(i, s)| s.counters.bytes.load(Ordering::Relaxed).saturating_sub(before(i))).sum()
        };
        (sum(Role::Receiver), sum(Role::Sender))
    }

    /// The counted time has not begun.
    pub(crate) fn is_omitting(&self) -> bool {
        self.base.is_none()
    }

    fn stream_result(
        &self,
        index: usize,
        stream: &Stream,
        base: &(MonoTime, Vec<Reading>),
        last: &Reading,
        now: MonoTime,
    ) -> StreamResult {
        let role = stream.flow.info.role;
        let is_tcp = matches!(stream.flow.socket, FlowSocket::Tcp(_));
        let planned = self.planned(now);
        let until_data = last_advance(&stream.counters, base.0).saturating_since(base.0);
        let (reading, elapsed) = match (&self.mark, role) {
            (Some((time, readings)), Role::Sender) => (&readings[index], time.saturating_since(base.0)),
            (Some((time, readings)), Role::Receiver) if is_tcp => {
                (&readings[index], time.saturating_since(base.0))
            }
            (None, Role::Sender) => (
                last,
                self.senders_ended.unwrap_or(now).saturating_since(base.0).min(until_data.max(planned)),
            ),
            (_, Role::Receiver) => (last, until_data.max(planned)),
        };
        // An early end mark of a sender misses datagrams sent in its last moments: numbers must be complete.
        let reading = if is_tcp { reading } else { last };
        let counters = &stream.counters;
        let begin = base.1[index].without_omitted(counters);
        let mut row = reading.result(&begin, &stream.flow, counters, &self.extremes[index], elapsed);
        if let (Role::Receiver, End::Time(time)) = (role, self.plan.test.end) {
            let silence = silence(counters, base.0, now.min(base.0 + time));
            row.tcp.iter_mut().for_each(|tcp| tcp.silence = silence);
            row.udp.iter_mut().for_each(|udp| udp.silence = silence);
        }
        row
    }

    /// Intervals are closed as they pass.
    fn reports(&self) -> bool {
        self.interval > Nanos::ZERO && self.mark.is_none() && self.drain.is_none()
    }

    /// Whether the intervals make the whole: the last one has what comes until the end of the test.
    fn makes_the_whole(&self) -> bool {
        !self.protocol.streams_are_tests
    }

    /// The interval with this end is the last one.
    fn is_last(&self, end: MonoTime) -> bool {
        match (&self.base, self.plan.test.end) {
            (Some(base), End::Time(time)) => {
                self.makes_the_whole() && end + Nanos(self.interval.0 / 20) >= base.0 + time
            }
            _ => false,
        }
    }

    /// When the current interval is over: intervals go by the clock of the test, also after one that was closed late.
    fn interval_end(&self, epoch: MonoTime) -> MonoTime {
        let zero = self.zero(epoch);
        let closed = self.previous.0.saturating_since(zero).0 / self.interval.0;
        zero + self.interval.saturating_mul(closed + 1)
    }

    /// The origin of the times of intervals: the begin of the counted time, or of the omitted one.
    fn zero(&self, epoch: MonoTime) -> MonoTime {
        self.base.as_ref().map_or(epoch, |base| base.0.max(epoch))
    }

    /// The time the test was to last, where it has.
    fn planned(&self, now: MonoTime) -> Nanos {
        match (self.plan.test.end, self.interrupted) {
            (End::Time(time), false) if now >= self.started + self.plan.test.omit + time => time,
            _ => Nanos::ZERO,
        }
    }

    fn close_interval(&mut self, now: MonoTime, readings: Vec<Reading>) -> Option<IntervalSample> {
        let epoch = self.epoch?;
        let (began, before) = std::mem::replace(&mut self.previous, (now, readings));
        let zero = self.zero(epoch);
        let rows = self.streams.iter().zip(&self.previous.1).zip(&before);
        let sample = |((s, now), then): ((&Stream, &Reading), &Reading)| {
            now.sample(&then.without_omitted(&s.counters), &s.flow)
        };
        let streams: Vec<_> = rows.map(sample).collect();
        self.extremes.iter_mut().zip(&streams).for_each(|(e, s)| e.follow(s));
        let sample = IntervalSample {
            side: Side::Local,
            start: began.saturating_since(zero),
            end: now.saturating_since(zero),
            omitted: self.base.is_none(),
            streams,
        };
        self.shown += u64::from(self.base.is_some());
        (self.interval > Nanos::ZERO).then_some(sample)
    }

    /// Time zero of an end that only receives is its first data, or, when none comes, the start.
    fn find_epoch(&mut self, now: MonoTime) -> Option<MonoTime> {
        if self.epoch.is_none() {
            let firsts = self.streams.iter().map(|s| s.counters.first.load(Ordering::Relaxed));
            let first = firsts.filter(|f| *f > 0).min().map(|f| MonoTime(f).max(self.started));
            self.epoch = first.or_else(|| (now >= self.started + self.timeout()).then_some(self.started));
            if let Some(epoch) = self.epoch {
                self.previous.0 = epoch;
                if let Some(base) = &mut self.base {
                    base.0 = epoch;
                }
            }
        }
        self.epoch
    }

    fn timeout(&self) -> Nanos {
        if self.interval > Nanos::ZERO { self.interval.min(FIRST_DATA_TIMEOUT) } else { FIRST_DATA_TIMEOUT }
    }

    fn omit_end(&self, epoch: MonoTime) -> Option<MonoTime> {
        self.base.is_none().then(|| epoch + self.plan.test.omit)
    }

    /// End of the counted time, where this end's clock decides it.
    fn time_end(&self, epoch: MonoTime) -> Option<MonoTime> {
        match self.plan.test.end {
            End::Time(time) if self.mark.is_none() && self.protocol.ends_itself => {
                Some(epoch + self.plan.test.omit + time)
            }
            _ => None,
        }
    }

    fn is_met(&self, stream: &Stream, until: Until, began: MonoTime, now: MonoTime) -> bool {
        let quiet_for = |quiet: Nanos| {
            let since = last_data(&stream.counters, self.started).max(began);
            now.saturating_since(since) >= quiet
        };
        let is_whole = |last| stream.counters.receiver().is_some_and(|state| state.is_whole(last));
        stream.counters.finished.load(Ordering::Acquire)
            || match until {
                Until::Bytes(bytes, quiet) => {
                    stream.counters.bytes.load(Ordering::Relaxed) >= bytes || quiet_for(quiet)
                }
                Until::Sequence(last, quiet) => is_whole(last) || quiet_for(quiet),
                Until::Quiet(quiet) => quiet_for(quiet),
            }
    }

    fn last_sequence(&self, stream: &Stream) -> Option<u64> {
        let expect = &self.drain.as_ref()?.expect;
        match expect.iter().find(|e| e.stream == stream.flow.info.stream)?.until {
            Until::Sequence(last, _) => Some(last),
            _ => None,
        }
    }
}

impl Stream {
    /// Signals the thread to end.
    pub(crate) fn stop(&self) {
        self.control.stop_senders();
        self.control.stop_receivers();
        if let (FlowSocket::Tcp(socket), Role::Receiver) = (&self.flow.socket, self.flow.info.role) {
            // Wakes a thread that sleeps in recv; the stream is at its end anyway.
            socket.shutdown(std::net::Shutdown::Read).ok();
        }
    }
}

/// The links that the peer's SYN crossed, where this end accepted the connection and its kernel kept it.
fn links_from_peer(flow: &Flow) -> Option<u8> {
    let syn = syn_options(&saved_syn(flow.socket.tcp()?).ok()?)?;
    links_crossed(syn.ttl)
}

/// Longest wait for an exact amount to be acknowledged.
const DELIVERY_LIMIT: Nanos = Nanos::from_secs(5);
/// An end that only receives takes its start for time zero when nothing has come for this long.
const FIRST_DATA_TIMEOUT: Nanos = Nanos::from_secs(1);
/// Time between two looks during a drain.
const DRAIN_STEP: Nanos = Nanos::from_millis(2);
