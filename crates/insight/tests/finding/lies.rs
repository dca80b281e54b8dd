//! A peer may report any number: nothing panics, and shares stay shares.

use crate::fixture::Fixture;
use model::plan::Direction;
use model::run::Run;
use model::sample::{CpuUse, SideResult, TcpCounters, UdpCounters};
use model::units::{Bytes, Nanos};

const NUMBERS: [u64; 4] = [0, 1, u64::MAX / 2, u64::MAX];
const SHARES: [f64; 4] = [0.0, -1.0, f64::MAX, f64::NAN];

/// Every counter of an end is this number, every share that one; in two rows, so that sums are taken.
fn fill(end: &mut SideResult, number: u64, share: f64) {
    let row = &mut end.streams[0];
    (row.elapsed, row.bytes, row.total_bytes) = (Nanos(number), Bytes(number), Bytes(number));
    if let Some(udp) = &mut row.udp {
        fill_udp(udp, number);
    }
    if let Some(tcp) = &mut row.tcp {
        fill_tcp(tcp, number);
    }
    end.streams.push(end.streams[0].clone());
    end.cpu = CpuUse {
        process: share,
        busiest_thread: share,
        threads: vec![share, share],
        softirq: share,
        busiest_softirq: share,
        busiest_cpu: share,
        steal: share,
        preemptions: number,
        cpus: number as u32,
        ..CpuUse::default()
    };
    end.kernel.softnet_drops = number;
    end.kernel.reassembled = number;
    end.datapath.receive_buffer = Bytes(number);
}

fn fill_udp(udp: &mut UdpCounters, number: u64) {
    *udp = UdpCounters {
        datagrams: number,
        lost: number,
        late: number,
        duplicates: number,
        reordered: number,
        socket_drops: number,
        send_drops: number,
        jitter: Nanos(number),
        last_sequence: number,
        ..UdpCounters::default()
    };
}

fn fill_tcp(tcp: &mut TcpCounters, number: u64) {
    *tcp = TcpCounters {
        retransmits: number,
        acknowledged: Bytes(number),
        max_send_window: Bytes(number),
        min_rtt: Nanos(number),
        mean_rtt: Nanos(number),
        send_mss: number as u32,
        data_segments: number,
        busy: Nanos(number),
        receive_window_limited: Nanos(number),
        send_buffer_limited: Nanos(number),
        ..TcpCounters::default()
    };
}

fn check(run: &Run) {
    let share = run.summary.direction(Direction::Up).and_then(|up| up.loss).map_or(0.0, |loss| loss.share);
    assert!((0.0..=1.0).contains(&share), "{share}");
    assert!(run.verdict.text.ends_with('.'), "{}", run.verdict.text);
    for finding in &run.findings {
        assert!(!finding.title.contains("NaN"), "{}", finding.title);
    }
}

#[test]
fn counters_of_any_size_are_borne() {
    for fixture in [Fixture::udp, Fixture::tcp] {
        for (ours, theirs) in NUMBERS.into_iter().flat_map(|a| NUMBERS.map(|b| (a, b))) {
            for share in SHARES {
                let lie = |s: &mut Fixture| {
                    fill(&mut s.sender, ours, share);
                    fill(s.receive_end(), theirs, share);
                };
                check(&fixture().with(lie).link(25_000_000_000).run());
                check(&fixture().unlimited().with(lie).link(0).run());
                check(&fixture().unlimited().large(8192, 0).with(lie).size(8192, true, 0).run());
            }
        }
    }
}
