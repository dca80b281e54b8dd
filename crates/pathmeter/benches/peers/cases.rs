//! Cases: each is one kind of work, its contenders, and the goals beside the strongest setting of each peer.

use super::common::document::Goal;
use super::common::turns::{alone, ratio};
use super::tools::Tool;

/// One kind of work done by several contenders in turns; the first is ours.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Short name, for the filter.
    pub(crate) name: &'static str,
    pub(crate) work: Work,
    pub(crate) contenders: Vec<Contender>,
    pub(crate) goals: Vec<Goal>,
    /// A goal that is not another case's too needs it.
    pub(crate) essential: bool,
}

/// The data to send.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Bulk TCP.
    Tcp { streams: u32, congestion: &'static str },
    /// UDP as fast as possible.
    Udp { payload: u32, streams: u32 },
    /// UDP of 1472 bytes at this many payload bits per second.
    Paced { rate: u64 },
}

/// A tool with its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    /// Its label in the tables.
    pub(crate) label: &'static str,
    pub(crate) tool: Tool,
    /// Options beyond those of the work.
    pub(crate) options: &'static [&'static str],
}

/// Every case, in the order of the tables.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = tcp_cases();
    cases.extend(udp_cases());
    cases.extend([("pace-1g", 1_000_000_000), ("pace-100m", 100_000_000), ("pace-1m", 1_000_000)].map(
        |(name, rate)| Case {
            name,
            work: Work::Paced { rate },
            contenders: vec![OURS, NEW, NEW_TIMER],
            goals: vec![ratio("gap", OURS.label, &[NEW.label, NEW_TIMER.label], 0.2)],
            essential: true,
        },
    ));
    cases.extend(iperf2_cases());
    cases
}

/// Those that copy what they receive are held against those that do, and those that do not against those that do not.
fn tcp_cases() -> Vec<Case> {
    let copying = [OURS, OLD, OLD_1M, NEW_1M, IPERF2, IPERF2_1M];
    let discarding = [OURS_DISCARD, NEW_DISCARD];
    let speed = |least| {
        [[OLD, OLD_1M].as_slice(), &[NEW_1M], &[IPERF2, IPERF2_1M]].map(|peer| {
            let labels: Vec<&str> = peer.iter().map(|contender| contender.label).collect();
            ratio("goodput", OURS.label, &labels, least)
        })
    };
    let tcp = |name, streams, congestion, more: &[Contender], cpu, goals: &[Goal]| {
        let without_copy = [("goodput", 1.0), ("cpu", cpu)];
        let without_copy =
            without_copy.map(|(f, wanted)| ratio(f, OURS_DISCARD.label, &[NEW_DISCARD.label], wanted));
        let without_copy = without_copy.into_iter().filter(|_| !more.is_empty());
        Case {
            name,
            work: Work::Tcp { streams, congestion },
            contenders: [&copying, more].concat(),
            goals: speed(1.0).into_iter().chain(without_copy).chain(goals.iter().cloned()).collect(),
            essential: true,
        }
    };
    let cpu = ratio(
        "cpu",
        OURS.label,
        &[OLD.label, OLD_1M.label, NEW_1M.label, IPERF2.label, IPERF2_1M.label],
        1.0,
    );
    let memory = alone("server_mib", OURS.label, 20.0);
    vec![
        tcp("tcp-1-cubic", 1, "cubic", &discarding, 1.0, &[cpu]),
        tcp("tcp-1-bbr", 1, "bbr", &[], 1.0, &[]),
        tcp("tcp-2-cubic", 2, "cubic", &discarding, 0.9, &[]),
        tcp("tcp-8-cubic", 8, "cubic", &discarding, 0.9, &[memory]),
    ]
}

fn udp_cases() -> Vec<Case> {
    let udp = |name, payload, contenders: &[Contender], goals| Case {
        name,
        work: Work::Udp { payload, streams: 1 },
        contenders: contenders.to_vec(),
        goals,
        essential: true,
    };
    let gsro = [NEW_GSRO.label, NEW_GSRO_BUFFER.label];
    let short = [NEW_GSRO_128.label, NEW_GSRO_128_BUFFER.label];
    let plain = [OLD_BUFFER.label, NEW_BUFFER.label, IPERF2_BUFFER.label];
    vec![
        udp(
            "udp-1472",
            1472,
            &[OURS, NEW_GSRO, NEW_GSRO_BUFFER],
            vec![
                ratio("goodput", OURS.label, &gsro, 1.1),
                ratio("cpu", OURS.label, &gsro, 0.7),
                alone("loss", OURS.label, 0.1),
            ],
        ),
        udp(
            "udp-64",
            64,
            &[OURS, NEW_GSRO_128, NEW_GSRO_128_BUFFER],
            vec![ratio("goodput", OURS.label, &short, 1.5), alone("loss", OURS.label, 0.1)],
        ),
        udp(
            "udp-no-gso",
            1472,
            &[OURS_NO_GSO, OLD_BUFFER, NEW_BUFFER, IPERF2_BUFFER],
            vec![ratio("goodput", OURS_NO_GSO.label, &plain, 1.1)],
        ),
    ]
}

/// iPerf2's own protocol, ours at both ends against theirs at both.
fn iperf2_cases() -> Vec<Case> {
    let case = |name, work, contenders: &[Contender], essential| {
        let peers: Vec<&str> = contenders.iter().skip(1).map(|contender| contender.label).collect();
        let goals = vec![ratio("goodput", OURS_IPERF2.label, &peers, 1.0)];
        Case { name, work, contenders: contenders.to_vec(), goals, essential }
    };
    let tcp = |name, streams, essential| {
        case(name, Work::Tcp { streams, congestion: "cubic" }, &[OURS_IPERF2, IPERF2, IPERF2_1M], essential)
    };
    let udp = |name, streams| {
        case(name, Work::Udp { payload: 1470, streams }, &[OURS_IPERF2, IPERF2, IPERF2_BUFFER], false)
    };
    vec![
        tcp("iperf2-tcp-1", 1, false),
        tcp("iperf2-tcp-2", 2, true),
        tcp("iperf2-tcp-8", 8, false),
        udp("iperf2-udp-1", 1),
        udp("iperf2-udp-2", 2),
        udp("iperf2-udp-8", 8),
    ]
}

const fn contender(label: &'static str, tool: Tool, options: &'static [&'static str]) -> Contender {
    Contender { label, tool, options }
}

const OURS: Contender = contender("pathmeter", Tool::Ours, &[]);
const OURS_IPERF2: Contender = contender("pathmeter --protocol iperf2", Tool::OursIperf2, &[]);
const OURS_DISCARD: Contender = contender("pathmeter --receive-discard", Tool::Ours, &["--receive-discard"]);
const OURS_NO_GSO: Contender = contender("pathmeter --no-gso", Tool::Ours, &["--no-gso"]);
const OLD: Contender = contender("iperf3", Tool::Iperf3, &[]);
const OLD_1M: Contender = contender("iperf3 -l 1M", Tool::Iperf3, &["-l", "1M"]);
const OLD_BUFFER: Contender = contender("iperf3 -w 4M", Tool::Iperf3, &["-w", "4M"]);
const NEW: Contender = contender("new iperf3", Tool::Iperf3New, &[]);
const NEW_1M: Contender = contender("new iperf3 -l 1M", Tool::Iperf3New, &["-l", "1M"]);
const NEW_DISCARD: Contender =
    contender("new iperf3 -l 1M --skip-rx-copy", Tool::Iperf3New, &["-l", "1M", "--skip-rx-copy"]);
const NEW_BUFFER: Contender = contender("new iperf3 -w 4M", Tool::Iperf3New, &["-w", "4M"]);
const NEW_GSRO: Contender = contender("new iperf3 --gsro", Tool::Iperf3New, &["--gsro"]);
const NEW_GSRO_BUFFER: Contender =
    contender("new iperf3 --gsro -w 4M", Tool::Iperf3New, &["--gsro", "-w", "4M"]);
const NEW_GSRO_128: Contender = contender("iperf3 of 128 segments --gsro", Tool::Iperf3Short, &["--gsro"]);
const NEW_GSRO_128_BUFFER: Contender =
    contender("iperf3 of 128 segments --gsro -w 4M", Tool::Iperf3Short, &["--gsro", "-w", "4M"]);
const NEW_TIMER: Contender =
    contender("new iperf3 --pacing-timer 1", Tool::Iperf3New, &["--pacing-timer", "1"]);
const IPERF2: Contender = contender("iperf2", Tool::Iperf2, &[]);
const IPERF2_1M: Contender = contender("iperf2 -l 1M", Tool::Iperf2, &["-l", "1M"]);
const IPERF2_BUFFER: Contender = contender("iperf2 -w 4M", Tool::Iperf2, &["-w", "4M"]);
