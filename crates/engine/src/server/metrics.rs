//! Counts of what a server does, for who shows them: sessions, tests and bytes of each protocol.

use crate::work::observer::{Observer, SessionEvent, Watcher};
use linux::clock::wall_now;
use model::event::Event;
use model::plan::ProtocolName;
use model::sample::{Role, Side, StreamResult, StreamSample};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::{ProtocolError, Report, iperf3};

/// The counters, which [`Counted`] moves. They begin at zero and are for as long as the value is.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<Counts>);

/// Everything that is counted.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Connections that were turned away, or ended before any request.
    pub turned_away: u64,
    /// Those protocols of which there was a session, by their names.
    pub protocols: BTreeMap<&'static str, ProtocolCounts>,
}

/// The counts of one protocol.
#[derive(Clone, Debug, Default)]
pub struct ProtocolCounts {
    /// Sessions that are open now.
    pub sessions: u64,
    /// Tests that move data now.
    pub running: u64,
    /// Data streams of the tests that move data now.
    pub streams: u64,
    /// Sessions that have begun.
    pub begun: u64,
    /// Sessions that were refused, or ended by an error.
    pub failed: u64,
    /// Tests that have begun to move data.
    pub tests: u64,
    /// Payload received, bytes, omitted time included.
    pub received: u64,
    /// Payload sent, bytes, omitted time included.
    pub sent: u64,
    /// When the last session began, seconds since 1970.
    pub last: Option<f64>,
}

impl Metrics {
    /// The present counts.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, protocol: ProtocolName, change: impl FnOnce(&mut ProtocolCounts)) {
        change(self.lock().protocols.entry(protocol.as_str()).or_default());
    }
}

/// Counts the events that another observer receives.
pub struct Counted<O> {
    /// Receives every event, too.
    pub observer: O,
    /// The counters.
    pub metrics: Arc<Metrics>,
}

impl<O: Observer> Observer for Counted<O> {
    fn session(&self, client: SocketAddr, protocol: ProtocolName) -> Box<dyn Watcher> {
        self.metrics.update(protocol, |of| {
            of.sessions += 1;
            of.begun += 1;
            of.last = Some(wall_now().0 as f64 / 1e9);
        });
        let watcher = self.observer.session(client, protocol);
        let (metrics, streams) = (self.metrics.clone(), None);
        Box::new(Session { watcher, metrics, protocol, streams, received: 0, sent: 0, is_over: false })
    }

    fn note(&self, text: &str) {
        self.observer.note(text);
    }

    fn turned_away(&self) {
        self.metrics.lock().turned_away += 1;
        self.observer.turned_away();
    }
}

/// One session.
struct Session {
    watcher: Box<dyn Watcher>,
    metrics: Arc<Metrics>,
    protocol: ProtocolName,
    /// Streams of the running test.
    streams: Option<u64>,
    /// The bytes of its intervals so far.
    received: u64,
    sent: u64,
    is_over: bool,
}

impl Session {
    fn count(&mut self, event: &Event) {
        match event {
            Event::Started(started) if self.streams.is_none() => {
                let streams = started.streams.len() as u64;
                self.streams = Some(streams);
                self.metrics.update(self.protocol, |of| {
                    of.running += 1;
                    of.tests += 1;
                    of.streams += streams;
                });
            }
            Event::Sample(sample) if sample.side == Side::Local => {
                let with_role = |role| sample.streams.iter().filter(move |row| row.role == role);
                let sum = |role| with_role(role).map(|row: &StreamSample| row.bytes.0).sum::<u64>();
                self.moved(self.received + sum(Role::Receiver), self.sent + sum(Role::Sender));
            }
            // Bytes after the last interval are in the result alone.
            Event::Result(end) if end.side == Side::Local => {
                let with_role = |role| end.result.streams.iter().filter(move |row| row.role == role);
                let sum = |role| with_role(role).map(|row: &StreamResult| row.total_bytes.0).sum::<u64>();
                self.moved(sum(Role::Receiver), sum(Role::Sender));
            }
            _ => {}
        }
    }

    /// The session has moved so much by now. A counter never goes back.
    fn moved(&mut self, received: u64, sent: u64) {
        let (more_received, more_sent) =
            (received.saturating_sub(self.received), sent.saturating_sub(self.sent));
        self.received += more_received;
        self.sent += more_sent;
        self.metrics.update(self.protocol, |of| {
            of.received += more_received;
            of.sent += more_sent;
        });
    }

    fn end(&mut self, failed: bool) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let streams = self.streams.take();
        self.metrics.update(self.protocol, |of| {
            of.sessions = of.sessions.saturating_sub(1);
            of.failed += u64::from(failed);
            if let Some(streams) = streams {
                of.running = of.running.saturating_sub(1);
                of.streams = of.streams.saturating_sub(streams);
            }
        });
    }
}

impl Watcher for Session {
    fn event(&mut self, event: SessionEvent<'_>) {
        if let SessionEvent::Event(event) = event {
            self.count(event);
        }
        self.watcher.event(event);
    }

    fn report(&self, events: &[Event], extras: &iperf3::Extras) -> Option<Report> {
        self.watcher.report(events, extras)
    }

    fn ended(&mut self, outcome: Result<(), &ProtocolError>) {
        self.end(outcome.is_err());
        self.watcher.ended(outcome);
    }
}

/// A session whose thread failed ends, too.
impl Drop for Session {
    fn drop(&mut self) {
        self.end(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::observer::Silent;
    use model::event::{EndResult, Started};
    use model::plan::Direction;
    use model::sample::{IntervalSample, SideResult};
    use model::time::WallTime;
    use model::units::{Bytes, Nanos};

    fn sample(side: Side, bytes: u64) -> Event {
        let stream = StreamSample {
            stream: 0,
            direction: Direction::Up,
            role: Role::Receiver,
            bytes: Bytes(bytes),
            tcp: None,
            udp: None,
        };
        let (start, end) = (Nanos::ZERO, Nanos::from_secs(1));
        Event::Sample(IntervalSample { side, start, end, omitted: false, streams: vec![stream] })
    }

    fn result(total: u64) -> Event {
        let stream = StreamResult {
            stream: 0,
            direction: Direction::Up,
            role: Role::Receiver,
            elapsed: Nanos::from_secs(1),
            bytes: Bytes(total),
            total_bytes: Bytes(total),
            tcp: None,
            udp: None,
        };
        let result = SideResult { streams: vec![stream], ..SideResult::default() };
        Event::Result(EndResult { side: Side::Local, result, output_text: None, output_json: None })
    }

    #[test]
    fn a_session_is_counted_while_it_runs_and_when_it_is_over() {
        let metrics = Arc::<Metrics>::default();
        let counted = Counted { observer: Silent, metrics: metrics.clone() };
        let native = || metrics.counts().protocols["native"].clone();
        assert!(metrics.counts().protocols.is_empty(), "no client came");
        let mut session = counted.session("127.0.0.1:1".parse().unwrap(), ProtocolName::Native);
        let started = Event::Started(Started { wall: WallTime(0), streams: Vec::new() });
        session.event(SessionEvent::Event(&started));
        for bytes in [100, 50] {
            session.event(SessionEvent::Event(&sample(Side::Local, bytes)));
            // The client's figures are no traffic of this end.
            session.event(SessionEvent::Event(&sample(Side::Peer, 1_000_000)));
        }
        assert_eq!((native().running, native().received), (1, 150));
        session.event(SessionEvent::Event(&result(170)));
        session.ended(Ok(()));
        drop(session);
        let native = native();
        assert_eq!([native.sessions, native.running, native.failed, native.sent], [0; 4]);
        assert_eq!((native.begun, native.tests, native.received), (1, 1, 170));
        // A thread that panics drops its session.
        drop(counted.session("127.0.0.1:1".parse().unwrap(), ProtocolName::Iperf3));
        assert_eq!(metrics.counts().protocols["iperf3"].failed, 1);
        counted.turned_away();
        assert_eq!(metrics.counts().turned_away, 1);
    }
}
