//! What a server does, for Prometheus: `pathmeter serve --metrics ADDR`.
//!
//! Counters begin at the start of the server, whose time is a sample, so that a scraper sees restarts. A server that is down
//! answers nothing, and Prometheus' own `up` says so.

use engine::server::Page;
use engine::work::observer::{Observer, SessionEvent, Watcher};
use linux::clock::wall_now;
use model::event::Event;
use model::plan::ProtocolName;
use model::sample::{Role, Side, StreamResult, StreamSample};
use report::format::prometheus::family;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::{ProtocolError, Report, iperf3};

/// Everything that is counted.
#[derive(Debug, Default)]
pub(super) struct Metrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Connections that were turned away, or ended before they asked for anything.
    turned_away: u64,
    protocols: BTreeMap<&'static str, OfProtocol>,
}

#[derive(Debug, Default)]
struct OfProtocol {
    /// Sessions that are open now.
    sessions: u64,
    /// Tests that move data now, and their streams.
    running: u64,
    streams: u64,
    begun: u64,
    failed: u64,
    tests: u64,
    received: u64,
    sent: u64,
    /// When the last session began, seconds since 1970.
    last: Option<f64>,
}

impl Metrics {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, protocol: ProtocolName, change: impl FnOnce(&mut OfProtocol)) {
        change(self.lock().protocols.entry(protocol.as_str()).or_default());
    }

    /// Where it is read.
    pub(super) fn page(self: &Arc<Self>, address: SocketAddr) -> Page {
        let (metrics, started) = (self.clone(), wall_now().0 as f64 / 1e9);
        Page { address, path: "/metrics", text: Arc::new(move || metrics.text(started)) }
    }

    /// All of it in Prometheus' text format. `started`: when the server did, seconds since 1970.
    fn text(&self, started: f64) -> String {
        let counts = self.lock();
        let labelled = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let turned = "Connections that were turned away, or ended before they asked for anything.";
        let own = [
            ("info", "gauge", "The program.", (labelled("version", env!("CARGO_PKG_VERSION")), 1.0)),
            ("start_time_seconds", "gauge", "When the server started.", (Vec::new(), started)),
            ("turned_away_total", "counter", turned, (Vec::new(), counts.turned_away as f64)),
        ];
        let own = own.into_iter().map(|(name, kind, help, sample)| (name, kind, help, vec![sample]));
        let of_protocols = FAMILIES.into_iter().map(|(name, kind, help, value)| {
            let sample =
                |(protocol, of): (&&str, &OfProtocol)| Some((labelled("protocol", protocol), value(of)?));
            (name, kind, help, counts.protocols.iter().filter_map(sample).collect())
        });
        let all = own.chain(of_protocols).filter(|(.., samples)| !samples.is_empty());
        all.map(|(name, kind, help, samples)| {
            family(&format!("pathmeter_server_{name}"), kind, help, &samples)
        })
        .collect()
    }
}

/// Name, kind, help and value of a family with a sample for each protocol.
type Family = (&'static str, &'static str, &'static str, fn(&OfProtocol) -> Option<f64>);

const FAMILIES: [Family; 9] = [
    ("sessions", "gauge", "Sessions that are open.", |of| Some(of.sessions as f64)),
    ("running_tests", "gauge", "Tests that move data.", |of| Some(of.running as f64)),
    ("running_streams", "gauge", "Data streams of the tests that move data.", |of| Some(of.streams as f64)),
    ("sessions_total", "counter", "Sessions that have begun.", |of| Some(of.begun as f64)),
    ("failed_sessions_total", "counter", "Sessions that were refused, or ended by an error.", |of| {
        Some(of.failed as f64)
    }),
    ("tests_total", "counter", "Tests that have begun to move data.", |of| Some(of.tests as f64)),
    ("received_bytes_total", "counter", "Payload received, omitted time included.", |of| {
        Some(of.received as f64)
    }),
    ("sent_bytes_total", "counter", "Payload sent, omitted time included.", |of| Some(of.sent as f64)),
    ("last_session_timestamp_seconds", "gauge", "When the last session began.", |of| of.last),
];

/// Counts what another observer is told.
pub(super) struct Counted<O> {
    pub(super) observer: O,
    pub(super) metrics: Arc<Metrics>,
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
    /// Of the test that runs.
    streams: Option<u64>,
    /// What its intervals have counted.
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
                let of = |role| sample.streams.iter().filter(move |row| row.role == role);
                let sum = |role| of(role).map(|row: &StreamSample| row.bytes.0).sum::<u64>();
                self.moved(self.received + sum(Role::Receiver), self.sent + sum(Role::Sender));
            }
            // What came after the last interval is in the result alone.
            Event::Result(end) if end.side == Side::Local => {
                let of = |role| end.result.streams.iter().filter(move |row| row.role == role);
                let sum = |role| of(role).map(|row: &StreamResult| row.total_bytes.0).sum::<u64>();
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
    use engine::work::observer::Silent;
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
        let says = |line: &str| {
            let text = metrics.text(1.5);
            assert!(text.lines().any(|own| own == format!("pathmeter_server_{line}")), "{line}\n{text}");
        };
        says("start_time_seconds 1.5");
        assert!(!metrics.text(0.0).contains("sessions"), "nobody came: no sample, and no 0");
        let mut session = counted.session("127.0.0.1:1".parse().unwrap(), ProtocolName::Native);
        let started = Event::Started(Started { wall: WallTime(0), streams: Vec::new() });
        session.event(SessionEvent::Event(&started));
        for bytes in [100, 50] {
            session.event(SessionEvent::Event(&sample(Side::Local, bytes)));
            // The client's figures are no traffic of this end.
            session.event(SessionEvent::Event(&sample(Side::Peer, 1_000_000)));
        }
        says("running_tests{protocol=\"native\"} 1");
        says("received_bytes_total{protocol=\"native\"} 150");
        session.event(SessionEvent::Event(&result(170)));
        session.ended(Ok(()));
        drop(session);
        for line in ["sessions", "running_tests", "failed_sessions_total", "sent_bytes_total"] {
            says(&format!("{line}{{protocol=\"native\"}} 0"));
        }
        for line in ["sessions_total", "tests_total"] {
            says(&format!("{line}{{protocol=\"native\"}} 1"));
        }
        says("received_bytes_total{protocol=\"native\"} 170");
        // A thread that panics drops its session.
        drop(counted.session("127.0.0.1:1".parse().unwrap(), ProtocolName::Iperf3));
        says("failed_sessions_total{protocol=\"iperf3\"} 1");
        counted.turned_away();
        says("turned_away_total 1");
    }
}
