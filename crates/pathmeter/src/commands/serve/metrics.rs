//! The counters of a server, for Prometheus: `pathmeter serve --metrics ADDR`.
//!
//! Counters begin at the start of the server, whose time is a sample, so that a scraper sees restarts. A server that is down
//! answers nothing, and Prometheus' own `up` shows it.

use engine::server::Page;
use engine::server::metrics::{Counts, Metrics, ProtocolCounts};
use linux::clock::wall_now;
use report::format::prometheus::family;
use std::net::SocketAddr;
use std::sync::Arc;

/// Where it is read.
pub(super) fn page(metrics: &Arc<Metrics>, address: SocketAddr) -> Page {
    let (metrics, started) = (metrics.clone(), wall_now().0 as f64 / 1e9);
    Page { address, path: "/metrics", text: Arc::new(move || text(&metrics.counts(), started)) }
}

/// All of it in Prometheus' text format. `started`: when the server did, seconds since 1970.
fn text(counts: &Counts, started: f64) -> String {
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
            |(protocol, of): (&&str, &ProtocolCounts)| Some((labelled("protocol", protocol), value(of)?));
        (name, kind, help, counts.protocols.iter().filter_map(sample).collect())
    });
    let all = own.chain(of_protocols).filter(|(.., samples)| !samples.is_empty());
    all.map(|(name, kind, help, samples)| family(&format!("pathmeter_server_{name}"), kind, help, &samples))
        .collect()
}

/// Name, kind, help and value of a family with a sample for each protocol.
type Family = (&'static str, &'static str, &'static str, fn(&ProtocolCounts) -> Option<f64>);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_of_which_there_was_no_session_has_no_sample() {
        let mut counts = Counts { turned_away: 2, ..Counts::default() };
        assert!(!text(&counts, 1.5).contains("sessions"), "no sample, and no 0");
        counts
            .protocols
            .insert("native", ProtocolCounts { running: 1, received: 150, ..ProtocolCounts::default() });
        let text = text(&counts, 1.5);
        for line in ["start_time_seconds 1.5", "turned_away_total 2", "running_tests{protocol=\"native\"} 1"]
            .into_iter()
            .chain([
                "received_bytes_total{protocol=\"native\"} 150",
                "sent_bytes_total{protocol=\"native\"} 0",
            ])
        {
            assert!(text.lines().any(|own| own == format!("pathmeter_server_{line}")), "{line}\n{text}");
        }
    }
}
