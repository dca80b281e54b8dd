//! Sweeps over frame sizes: one over a link of known speed, one over a tunnel of unknown speed, one that could not be.

use crate::runs;
use crate::throughput::{Throughput, cpu, spec, tcp_received, tcp_sent, udp};
use insight::{analysis::sum_pairs, frames::measured, run_of_frames, run_of_pairs};
use model::event::{Event, Probe, Warning};
use model::frames::{FrameAsked, FrameRow, Setting};
use model::framing::{Encaps, Network};
use model::plan::{Direction, Directions, TestSpec, Transport};
use model::run::Run;
use model::sample::{CpuUse, Role, StreamSample, UdpCounters};
use model::units::{BitRate, Bytes};
use pathmeter_report::format::frames::chart;
use pathmeter_report::plot::png;

/// Every kind of sweep.
pub(super) fn all() -> Vec<(&'static str, Run)> {
    vec![("frames_sweep", sweep()), ("frames_tunnel", tunnel()), ("frames_impossible", impossible())]
}

fn requested(frame: u64, protocol: Transport) -> FrameAsked {
    let (network, direction, encaps) = (Network::V4, Direction::Up, Encaps::NONE);
    FrameAsked { frame: Bytes(frame), network, protocol, direction, encaps }
}

/// A second of packets that fill such frames, so many sent and lost, by a sender whose thread fills a CPU.
fn second(asked: &FrameAsked, packets: u64, lost: u64) -> Run {
    let (up, stream) = (Direction::Up, 0);
    let test = spec(asked.protocol, Directions::Up, 1);
    let (test, sent, received) = match asked.setting(1500).expect("such frames can be sent") {
        Setting::Payload(length) => {
            let row = |role, datagrams, lost| {
                udp(
                    (stream, up),
                    role,
                    length.into(),
                    UdpCounters { datagrams, lost, ..UdpCounters::default() },
                )
            };
            let test = TestSpec { length: Some(length), ..test };
            (test, row(Role::Sender, packets, 0), row(Role::Receiver, packets - lost, lost))
        }
        Setting::Mss(mss) => {
            let payload = mss - TIMESTAMPS;
            let bytes = packets * u64::from(payload);
            let segments = |mut row: StreamSample| {
                let tcp = row.tcp.as_mut().expect("a TCP stream");
                (tcp.send_mss, tcp.data_segments) = (payload, packets);
                row
            };
            let received = segments(tcp_received(stream, up, bytes));
            (TestSpec { mss: Some(mss), ..test }, segments(tcp_sent(stream, up, bytes, 0)), received)
        }
    };
    runs::run_of_test(Throughput::new(test, vec![vec![sent]], vec![vec![received]]).with(|test| {
        let busy = CpuUse { busiest_thread: 0.97, threads: vec![0.97], busiest_cpu: 0.98, ..cpu(0.99) };
        test.local_end.cpu = busy;
        test.peer_mut().cpu = CpuUse { busiest_cpu: 0.5, ..cpu(0.45) };
    }))
}

fn row(frame: u64, protocol: Transport, packets: u64, lost: u64) -> FrameRow {
    let frame_request = requested(frame, protocol);
    measured(&frame_request, &second(&frame_request, packets, lost), Some(LINK), None)
}

/// Super-packets of up to 64 KiB passed the interface, 148 of the packets in each.
fn with_super_packets() -> FrameRow {
    let frame_request = requested(512, Transport::Tcp);
    let device = Some(("eth0".to_owned(), 4_200_000_u64.div_ceil(148)));
    measured(&frame_request, &second(&frame_request, 4_200_000, 0), Some(LINK), device)
}

/// Three pairs at once fill the link.
fn of_pairs() -> FrameRow {
    let frame_request = requested(1518, Transport::Tcp);
    let tests = vec![second(&frame_request, 677_287, 0); 3];
    let pairs = sum_pairs(3, &tests.iter().collect::<Vec<_>>(), Vec::new(), Some(LINK));
    measured(&frame_request, &run_of_pairs("00000000000000f0", &[], tests, pairs), Some(LINK), None)
}

fn refused(frame: u64, protocol: Transport) -> FrameRow {
    let frame_request = requested(frame, protocol);
    FrameRow { skipped: frame_request.setting(1500).err(), ..frame_request.row() }
}

pub(super) fn sweep() -> Run {
    let link = Event::Probe(Probe::Link { rate: LINK, source: "--link".into() });
    let rows = vec![
        refused(64, Transport::Tcp),
        refused(128, Transport::Tcp),
        with_super_packets(),
        of_pairs(),
        row(64, Transport::Udp, 3_200_000, 32_000),
        row(512, Transport::Udp, 3_100_000, 0),
        row(1518, Transport::Udp, 1_900_000, 0),
    ];
    run_of_frames("00000000000000f1", &[link], Vec::new(), rows)
}

/// A sweep that keeps its tests.
pub(super) fn with_tests() -> Run {
    let frames =
        [requested(512, Transport::Tcp), requested(64, Transport::Udp), requested(1518, Transport::Udp)];
    let tests: Vec<Run> = frames.iter().map(|asked| second(asked, 100_000, 0)).collect();
    let rows = frames.iter().zip(&tests).map(|(asked, test)| measured(asked, test, Some(LINK), None));
    let rows = std::iter::once(refused(64, Transport::Tcp)).chain(rows).collect();
    run_of_frames("00000000000000f3", &[], tests, rows)
}

fn tunnel() -> Run {
    let warning = Event::Warning(Warning::new("link-unknown", "The speed of the link is not known."));
    let rows = [(64, 900_000), (1478, 400_000)].map(|(frame, packets)| {
        let encaps = "ipip6".parse().expect("it is known");
        let frame_request = FrameAsked { encaps, ..requested(frame, Transport::Udp) };
        measured(&frame_request, &second(&frame_request, packets, 0), None, None)
    });
    run_of_frames("00000000000000f2", &[warning], Vec::new(), rows.into())
}

fn impossible() -> Run {
    run_of_frames("00000000000000f3", &[], Vec::new(), vec![refused(40, Transport::Udp)])
}

const LINK: BitRate = BitRate(25_000_000_000);
/// Bytes of each TCP segment.
const TIMESTAMPS: u32 = 12;

#[test]
fn the_chart_has_both_lines_and_line_rate_above_them() {
    let drawing = chart(&sweep()).drawing();
    let svg = drawing.svg();
    insta::assert_snapshot!("frames_sweep.svg", svg);
    assert!(png(&drawing, 2.0).expect("a picture").starts_with(b"\x89PNG"));
    let unknown = chart(&tunnel()).drawing().svg();
    assert!(unknown.contains("Packets, Mpps") && !unknown.contains(">line rate<"), "{unknown}");
}
