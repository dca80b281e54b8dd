//! What is measured: a case is one kind of work, who does it, and which ratios are the goals.

use super::tools::Tool;

/// One kind of work done by several contenders in turns; the first is ours.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Short name, for the filter.
    pub(crate) name: &'static str,
    pub(crate) work: Work,
    pub(crate) contenders: Vec<Contender>,
    pub(crate) goals: Vec<Goal>,
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Bulk TCP.
    Tcp { streams: u32, congestion: &'static str },
    /// UDP as fast as possible.
    Udp { payload: u32, streams: u32 },
    /// UDP of 1472 bytes at this many payload bits a second.
    Paced { rate: u64 },
}

/// A tool with its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    /// As in the tables.
    pub(crate) label: &'static str,
    pub(crate) tool: Tool,
    /// Options beyond those of the work.
    pub(crate) options: &'static [&'static str],
}

/// What a goal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Payload received per second; ours over the peer's, more is better.
    Goodput,
    /// CPU time of both ends per byte received; ours over the peer's, less is better.
    Cpu,
    /// Mean absolute error of the gaps between departures; ours over the peer's, less is better.
    Pacing,
    /// Peak resident memory of the larger end in MiB; ours alone, less is better.
    Memory,
}

/// A ratio to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) figure: Figure,
    /// Label of our contender.
    pub(crate) ours: &'static str,
    /// Label of the peer; empty for memory.
    pub(crate) peer: &'static str,
    pub(crate) at_least: f64,
    pub(crate) aim: f64,
}

/// Every case, in the order of the tables.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = tcp_cases();
    cases.extend(udp_cases());
    cases.extend(iperf2_cases());
    cases.extend([("pace-1g", 1_000_000_000), ("pace-100m", 100_000_000), ("pace-1m", 1_000_000)].map(
        |(name, rate)| Case {
            name,
            work: Work::Paced { rate },
            contenders: vec![OURS, OLD, NEW, NEW_TIMER],
            goals: vec![goal(Figure::Pacing, OURS, NEW, 0.2, 0.05)],
        },
    ));
    cases
}

fn tcp_cases() -> Vec<Case> {
    let everyone = [OURS, OLD, OLD_1M, NEW, NEW_BEST, PLAIN, PLAIN_1M];
    let tcp = |name, streams, congestion, more: &[Contender], goals| Case {
        name,
        work: Work::Tcp { streams, congestion },
        contenders: [&everyone, more].concat(),
        goals,
    };
    let speed = |peer, at_least, aim| goal(Figure::Goodput, OURS, peer, at_least, aim);
    vec![
        tcp(
            "tcp-1-cubic",
            1,
            "cubic",
            &[OURS_DISCARD],
            vec![
                speed(OLD, 2.0, 2.4),
                speed(PLAIN, 1.3, 1.5),
                goal(Figure::Cpu, OURS, OLD, 0.6, 0.4),
                goal(Figure::Cpu, OURS_DISCARD, OLD, 0.6, 0.4),
            ],
        ),
        tcp("tcp-1-bbr", 1, "bbr", &[], vec![speed(OLD, 1.35, 1.5)]),
        tcp(
            "tcp-2-cubic",
            2,
            "cubic",
            &[],
            vec![speed(OLD, 2.0, 2.1), speed(NEW, 1.5, 1.65), speed(PLAIN, 1.1, 1.19)],
        ),
        tcp(
            "tcp-8-cubic",
            8,
            "cubic",
            &[],
            vec![
                speed(OLD, 2.3, 3.4),
                speed(NEW, 1.5, 1.65),
                speed(PLAIN, 1.1, 1.19),
                Goal { figure: Figure::Memory, ours: OURS.label, peer: "", at_least: 20.0, aim: 10.0 },
            ],
        ),
    ]
}

fn udp_cases() -> Vec<Case> {
    let speed = |peer, at_least, aim| goal(Figure::Goodput, OURS, peer, at_least, aim);
    vec![
        Case {
            name: "udp-1472",
            work: Work::Udp { payload: 1472, streams: 1 },
            contenders: vec![OURS, OLD, OLD_BUFFER, NEW_GSRO, NEW_GSRO_BUFFER, PLAIN],
            goals: vec![
                speed(OLD, 28.0, 33.0),
                speed(NEW_GSRO, 1.1, 1.2),
                speed(NEW_GSRO_BUFFER, 1.1, 1.2),
                goal(Figure::Cpu, OURS, NEW_GSRO, 0.7, 0.65),
            ],
        },
        Case {
            name: "udp-64",
            work: Work::Udp { payload: 64, streams: 1 },
            contenders: vec![OURS, OLD, OLD_BUFFER, NEW_GSRO, NEW_GSRO_BUFFER, PLAIN],
            goals: vec![
                speed(OLD, 110.0, 140.0),
                speed(NEW_GSRO, 1.5, 1.9),
                speed(NEW_GSRO_BUFFER, 1.5, 1.9),
            ],
        },
        Case {
            name: "udp-no-gso",
            work: Work::Udp { payload: 1472, streams: 1 },
            contenders: vec![OURS_NO_GSO, OLD, OLD_BUFFER, NEW, PLAIN],
            goals: [OLD, OLD_BUFFER, NEW, PLAIN]
                .map(|peer| goal(Figure::Goodput, OURS_NO_GSO, peer, 1.1, 1.3))
                .to_vec(),
        },
    ]
}

/// iPerf2's own protocol, ours at both ends against theirs at both.
fn iperf2_cases() -> Vec<Case> {
    let case = |name, work| Case {
        name,
        work,
        contenders: vec![OURS_IPERF2, OURS, PLAIN],
        goals: vec![goal(Figure::Goodput, OURS_IPERF2, PLAIN, 1.0, 1.2)],
    };
    let tcp = |streams| Work::Tcp { streams, congestion: "cubic" };
    let udp = |streams| Work::Udp { payload: 1470, streams };
    vec![
        case("iperf2-tcp-1", tcp(1)),
        case("iperf2-tcp-2", tcp(2)),
        case("iperf2-tcp-8", tcp(8)),
        case("iperf2-udp-1", udp(1)),
        case("iperf2-udp-2", udp(2)),
        case("iperf2-udp-8", udp(8)),
    ]
}

const fn goal(figure: Figure, ours: Contender, peer: Contender, at_least: f64, aim: f64) -> Goal {
    Goal { figure, ours: ours.label, peer: peer.label, at_least, aim }
}

const OURS: Contender = Contender { label: "pathmeter", tool: Tool::Ours, options: &[] };
const OURS_IPERF2: Contender =
    Contender { label: "pathmeter --protocol iperf2", tool: Tool::OursIperf2, options: &[] };
const OURS_DISCARD: Contender =
    Contender { label: "pathmeter --receive-discard", tool: Tool::Ours, options: &["--receive-discard"] };
const OURS_NO_GSO: Contender =
    Contender { label: "pathmeter --no-gso", tool: Tool::Ours, options: &["--no-gso"] };
const OLD: Contender = Contender { label: "iperf3", tool: Tool::Iperf3, options: &[] };
const OLD_1M: Contender = Contender { label: "iperf3 -l 1M", tool: Tool::Iperf3, options: &["-l", "1M"] };
const OLD_BUFFER: Contender = Contender { label: "iperf3 -w 4M", tool: Tool::Iperf3, options: &["-w", "4M"] };
const NEW: Contender = Contender { label: "new iperf3", tool: Tool::Iperf3New, options: &[] };
const NEW_BEST: Contender = Contender {
    label: "new iperf3 -l 1M --skip-rx-copy",
    tool: Tool::Iperf3New,
    options: &["-l", "1M", "--skip-rx-copy"],
};
const NEW_GSRO: Contender =
    Contender { label: "new iperf3 --gsro", tool: Tool::Iperf3New, options: &["--gsro"] };
const NEW_GSRO_BUFFER: Contender =
    Contender { label: "new iperf3 --gsro -w 4M", tool: Tool::Iperf3New, options: &["--gsro", "-w", "4M"] };
const NEW_TIMER: Contender = Contender {
    label: "new iperf3 --pacing-timer 1",
    tool: Tool::Iperf3New,
    options: &["--pacing-timer", "1"],
};
const PLAIN: Contender = Contender { label: "iperf2", tool: Tool::Iperf2, options: &[] };
const PLAIN_1M: Contender = Contender { label: "iperf2 -l 1M", tool: Tool::Iperf2, options: &["-l", "1M"] };
