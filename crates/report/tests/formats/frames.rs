//! Sweeps over frame sizes: one over a link of known speed, one over a tunnel of unknown speed, one that could not be.

use model::event::{Event, Probe, Warning};
use model::frames::{DeviceFrames, FrameAsked, FrameRow};
use model::framing::{Encaps, Network};
use model::plan::{Direction, Transport};
use model::run::Run;
use model::units::{BitRate, Bytes, PacketRate};
use report::format::frames::chart;
use report::plot::png;

/// Every kind of sweep.
pub(super) fn all() -> Vec<(&'static str, Run)> {
    vec![("frames_sweep", sweep()), ("frames_tunnel", tunnel()), ("frames_impossible", impossible())]
}

fn asked(frame: u64, protocol: Transport) -> FrameAsked {
    let (network, direction, encaps) = (Network::V4, Direction::Up, Encaps::NONE);
    FrameAsked { frame: Bytes(frame), network, protocol, direction, encaps }
}

fn row(frame: u64, protocol: Transport, payload: f64, mpps: f64, line: Option<f64>) -> FrameRow {
    let rate = |mpps: f64| PacketRate((mpps * 1e6) as u64);
    FrameRow {
        payload: Some(payload),
        offered: Some(rate(mpps * 1.01)),
        goodput: BitRate((mpps * 8e6 * payload) as u64),
        packets_per_second: Some(rate(mpps)),
        line_rate_pps: line.map(rate),
        share: line.map(|line| mpps / line),
        sender_cpu: Some(0.98),
        receiver_cpu: Some(0.5),
        limited_by: vec![if line == Some(mpps) { "at-line-rate" } else { "sender-limited" }.into()],
        ..asked(frame, protocol).row()
    }
}

fn refused(frame: u64, protocol: Transport) -> FrameRow {
    let asked = asked(frame, protocol);
    FrameRow { skipped: asked.setting(1500).err(), ..asked.row() }
}

pub(super) fn sweep() -> Run {
    let link = Event::Probe(Probe::Link { rate: BitRate(25_000_000_000), source: "--link".into() });
    let device = DeviceFrames { interface: "eth0".into(), frames: 4_100, packets: 3_880_000 };
    let rows = vec![
        refused(64, Transport::Tcp),
        refused(128, Transport::Tcp),
        FrameRow {
            mss: Some(454),
            device: Some(device),
            notes: vec!["eth0 counted fewer frames than the test had packets".into()],
            ..row(512, Transport::Tcp, 442.0, 4.2, Some(5.874_06))
        },
        FrameRow { mss: Some(1460), pairs: 3, ..row(1518, Transport::Tcp, 1448.0, 2.031_86, Some(2.031_86)) },
        FrameRow { loss_share: Some(0.01), ..row(64, Transport::Udp, 18.0, 3.2, Some(37.202_381)) },
        row(512, Transport::Udp, 466.0, 3.1, Some(5.874_06)),
        row(1518, Transport::Udp, 1472.0, 1.9, Some(2.031_86)),
    ];
    Run::of_frames("00000000000000f1", &[link], Vec::new(), rows)
}

fn tunnel() -> Run {
    let warning = Event::Warning(Warning::new("link-unknown", "The speed of the link is not known."));
    let encap = Some("ipip6".to_owned());
    let rows = [(64, 18.0, 0.9), (1478, 1432.0, 0.4)].map(|(frame, payload, mpps)| FrameRow {
        encap: encap.clone(),
        ..row(frame, Transport::Udp, payload, mpps, None)
    });
    Run::of_frames("00000000000000f2", &[warning], Vec::new(), rows.into())
}

fn impossible() -> Run {
    Run::of_frames("00000000000000f3", &[], Vec::new(), vec![refused(40, Transport::Udp)])
}

#[test]
fn the_chart_has_both_lines_and_line_rate_above_them() {
    let svg = chart(&sweep()).svg();
    insta::assert_snapshot!("frames_sweep.svg", svg);
    assert!(png(&svg, 2.0).expect("a picture").starts_with(b"\x89PNG"));
    let unknown = chart(&tunnel()).svg();
    assert!(unknown.contains("Packets, Mpps") && !unknown.contains(">line rate<"), "{unknown}");
}
