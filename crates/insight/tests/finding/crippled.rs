//! TCP that hardly moves, and packets that a host's own kernel drops: a run in which each rule must be raised, and one close to it.

use crate::fixture::{DATAGRAMS, Fixture};
use crate::rules::{Scenario, raises, spares};
use model::explain::{Answer, Explanation, Hypothesis};
use model::finding::Severity;
use model::plan::Direction;
use model::run::Run;
use model::sample::{Silence, TcpCounters};
use model::units::{Bytes, Nanos};
use pathmeter_insight::judge;
use serde_json::Value;
use std::collections::BTreeMap;

pub(crate) const SCENARIOS: &[Scenario] = &[
    raises("reassembly-failed", "all fragments came, no datagram did", || memory(23).run()),
    spares("reassembly-failed", "no fragment came", || memory(0).run()),
    spares("fragments-dropped", "all fragments came, no datagram did", || memory(23).run()),
    raises("fragments-dropped", "no fragment came", || memory(0).run()),
    spares("outage", "all fragments came, no datagram did", || memory(23).run()),
    spares("path-loss", "all fragments came, no datagram did", || memory(23).run()),
    raises("checksum-errors", "half of the datagrams", || checksums(DATAGRAMS / 2).run()),
    spares("checksum-errors", "the path lost them", || checksums(0).run()),
    spares("path-loss", "what is missing had a wrong checksum", || checksums(DATAGRAMS / 2).run()),
    raises("path-loss", "some of what is missing had a wrong checksum", || checksums(DATAGRAMS / 4).run()),
    raises("checksum-errors", "TCP's segments", || {
        retransmits(DATAGRAMS, DATAGRAMS / 10)
            .with(|s| s.receive_end().kernel.tcp_checksum_errors = DATAGRAMS / 10)
            .run()
    }),
    raises("conntrack-drops", "at the far host", || {
        Fixture::tcp().with(|s| s.receive_end().kernel.conntrack_drops = 100).run()
    }),
    spares("conntrack-drops", "a single one", || {
        Fixture::tcp().with(|s| s.sender.kernel.conntrack_drops = 1).run()
    }),
    raises("tcp-crippled", "most of a few segments are retransmits", || retransmits(188, 106).run()),
    spares("tcp-crippled", "a few of them were", || retransmits(188, 5).run()),
    spares("tcp-crippled", "of many segments, which `path-loss` counts", || {
        retransmits(DATAGRAMS, 300_000).run()
    }),
    spares("tcp-crippled", "joined segments are dropped", || {
        explained(retransmits(188, 106).run(), "joined-segments", Answer::Holds)
    }),
    raises("joined-segments-dropped", "single segments cross, joined ones do not", || {
        explained(retransmits(188, 106).run(), "joined-segments", Answer::Holds)
    }),
    spares("joined-segments-dropped", "single segments are lost too", || {
        explained(retransmits(188, 106).run(), "joined-segments", Answer::Refuted)
    }),
    raises("mark-dropped", "the same without the mark arrives", || {
        explained(dead(6_000_000).run(), "mark-dropped", Answer::Holds)
    }),
    spares("mark-dropped", "nothing arrives without it either", || {
        explained(dead(6_000_000).run(), "mark-dropped", Answer::Refuted)
    }),
    spares("outage", "marked packets are dropped", || {
        explained(dead(6_000_000).run(), "mark-dropped", Answer::Holds)
    }),
    raises("receiver-stalled", "its window is closed to the end", || dead(0).run()),
    spares("receiver-stalled", "its window is open, and nothing arrives", || dead(6_000_000).run()),
    spares("receiver-stalled", "its window is full for a moment at the end", || {
        Fixture::tcp().with(|s| s.tcp_counters().send_window = Bytes(0)).run()
    }),
    spares("outage", "the receiving program does not read", || dead(0).run()),
    raises("window-scaling-removed", "both hosts offer it", || scaling(Some(false)).run()),
    spares("window-scaling-removed", "it was agreed on", || scaling(Some(true)).run()),
    spares("window-scaling-removed", "it is not known", || scaling(None).run()),
    spares("window-limited", "window scaling is why the window is small", || scaling(Some(false)).run()),
    raises("mss-clamped", "segments of the size of a SYN without the option", || {
        Fixture::tcp().with(|s| (s.tcp_counters().send_mss, s.tcp_counters().path_mtu) = (524, 1500)).run()
    }),
    spares("mss-clamped", "the kernel believes in a path as small", || {
        Fixture::tcp().with(|s| (s.tcp_counters().send_mss, s.tcp_counters().path_mtu) = (524, 576)).run()
    }),
];

/// A run with the answer of a hypothesis about its direction.
fn explained(mut run: Run, id: &str, answer: Answer) -> Run {
    let hypothesis = Hypothesis {
        id: id.into(),
        direction: Direction::Up,
        answer,
        why: None,
        evidence: figures(),
        elapsed: Nanos::from_secs(1),
        packets: 100,
    };
    let explanation = Explanation { hypotheses: vec![hypothesis], ..Explanation::default() };
    run.summary.explanation = Some(Box::new(explanation));
    judge(run)
}

/// Evidence from the probes of all hypotheses.
fn figures() -> BTreeMap<String, Value> {
    let all = [
        ("tos_byte", 184),
        ("unmarked_received_bytes", 100_000),
        ("singles_segments_count", 69),
        ("singles_retransmits_count", 0),
        ("joined_segments_count", 63),
        ("joined_retransmits_count", 41),
    ];
    all.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect()
}

/// Datagrams of 32 KiB, of each of which so many fragments reached the receiver's kernel.
fn memory(pieces: u64) -> Fixture {
    let fixture = Fixture::udp().large(32_768, 0).size(1472, false, 10);
    fixture.with(|s| {
        let kernel = &mut s.receive_end().kernel;
        kernel.fragments_received = DATAGRAMS * pieces;
        kernel.reassembly_failures = if pieces > 0 { DATAGRAMS } else { 0 };
        kernel.reassembly_memory = Some(24_000);
        s.received().silence = Some(to_the_end());
    })
}

/// Half of the datagrams are missing, and so many had a wrong checksum.
fn checksums(wrong: u64) -> Fixture {
    Fixture::udp().with(|s| {
        s.deliver(DATAGRAMS / 2);
        s.receive_end().kernel.udp_checksum_errors = wrong;
    })
}

fn retransmits(segments: u64, again: u64) -> Fixture {
    Fixture::tcp().with(|s| {
        let tcp = s.tcp_counters();
        (tcp.data_segments, tcp.retransmits) = (segments, again);
    })
}

/// Nothing came, and the receiver's window in the end is this.
fn dead(window: u64) -> Fixture {
    Fixture::tcp().with(|s| {
        s.tcp_counters().send_window = Bytes(window);
        s.tcp_counters().receive_window_limited = Nanos::from_secs(if window == 0 { 9 } else { 0 });
        s.receive_end().streams[0].bytes = Bytes(0);
        s.receive_end().streams[0].total_bytes = Bytes(0);
        let received = TcpCounters { silence: Some(to_the_end()), ..TcpCounters::default() };
        s.receive_end().streams[0].tcp = Some(received);
    })
}

fn to_the_end() -> Silence {
    Silence { at: Nanos::ZERO, length: Nanos::from_secs(10), ended: false, missing: None }
}

/// The window of a connection without window scaling, which fills it.
fn scaling(agreed: Option<bool>) -> Fixture {
    Fixture::tcp().with(|s| {
        let tcp = s.tcp_counters();
        (tcp.max_send_window, tcp.window_scaling) = (Bytes(65_535), agreed);
        tcp.receive_window_limited = Nanos::from_secs(9);
        s.sender.datapath.window_scaling = Some(true);
        s.receive_end().datapath.window_scaling = Some(true);
    })
}

#[test]
fn a_window_of_less_than_a_segment_is_a_problem() {
    let run = Fixture::tcp()
        .with(|s| {
            let tcp = s.tcp_counters();
            (tcp.max_send_window, tcp.window_scaling) = (Bytes(64), Some(false));
        })
        .run();
    let found = run.findings.iter().find(|finding| finding.id == "window-scaling-removed");
    assert!(
        found
            .is_some_and(|found| found.severity == Severity::Problem
                && found.title.contains("only one of the two ends")),
        "{found:?}"
    );
}
