//! From the output of one command in a node to the figures of its series.

use super::plan::{Step, Work};
use lab::command::{Ended, Output};
use model::framing::{Encaps, Network, Transport as Header};
use model::lab::{LabTest, Packet, Repetition, Series};
use model::plan::{Direction, Transport};
use model::run::Run;
use model::summary::DirectionSummary;

/// The result of a command, or the reason why it failed.
pub(super) type Outcome = Result<Box<Run>, String>;

/// Reads the result document of one of our commands: the last line that is one, or all of it.
pub(super) fn of_output(output: &Output) -> Outcome {
    let text = String::from_utf8_lossy(&output.stdout);
    let whole = || model::json::read::<Run>(text.as_bytes()).ok();
    let last = text.lines().rev().find(|line| line.contains("\"event\":\"run\""));
    let run = last.and_then(|line| model::json::read(line.as_bytes()).ok()).or_else(whole);
    run.map(Box::new).ok_or_else(|| why(output))
}

/// The reason why a command failed, from its own output.
pub(super) fn why(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let error = stderr.lines().find_map(|line| line.strip_prefix("error: "));
    let line = error.or_else(|| stderr.lines().rfind(|line| !line.trim().is_empty())).unwrap_or_default();
    match (output.end, line) {
        (Ended::TimedOut, _) => "it did not end in time".into(),
        (Ended::Code(0), "") => "its output cannot be read".into(),
        (Ended::Code(code), "") => format!("it ended with code {code}"),
        (Ended::Signal(signal), _) => format!("signal {signal} ended it"),
        (_, line) => line.trim().to_owned(),
    }
}

/// The series that a step of our own fills: a direction each.
pub(super) fn series_of(step: &Step) -> Vec<Series> {
    let series = |direction| Series::new("pathmeter", step.family, step.test(), direction);
    match &step.work {
        Work::Throughput(_, directions, _) => {
            directions.each().map(|direction| series(Some(direction))).collect()
        }
        Work::Loss(direction, _) => vec![series(Some(*direction))],
        Work::Mtu => Direction::BOTH.map(|direction| series(Some(direction))).into(),
        Work::Latency => vec![series(None)],
        Work::Loaded | Work::Frames(_) | Work::Measure | Work::Reach | Work::Tool(_) => Vec::new(),
    }
}

/// The figures of one direction, or of the round trips where there is none, beside what was `observed`.
pub(super) fn repetition(
    run: &Run,
    test: LabTest,
    egress: Option<Direction>,
    observed: Repetition,
) -> Repetition {
    let mut figures = observed;
    match (test, egress) {
        (LabTest::Mtu, Some(egress)) => {
            let path = run.summary.path.as_ref();
            figures.path_mtu =
                path.and_then(|path| path.in_direction(egress)).and_then(|egress| egress.path_mtu);
        }
        (_, None) => {
            let rtt =
                run.summary.rtt.or_else(|| run.summary.egress_paths.first().and_then(|egress| egress.rtt));
            figures.rtt_min = rtt.and_then(|rtt| rtt.least());
            figures.rtt_p50 = rtt.and_then(|rtt| rtt.median());
            figures.rtt_p99 = rtt.and_then(|rtt| rtt.known(99.0, |rtt| rtt.p99));
        }
        (_, Some(egress)) => {
            if let Some(one) = run.summary.direction(egress) {
                throughput(&mut figures, one);
            }
        }
    }
    figures
}

fn throughput(figures: &mut Repetition, one: &DirectionSummary) {
    figures.goodput = Some(one.goodput);
    figures.payload = one.mss;
    figures.retransmits = one.retransmits;
    figures.set_by.clone_from(&one.limit);
    if let Some(loss) = one.loss {
        figures.sent = Some(one.sent.datagrams);
        figures.lost = Some(loss.path + loss.receiver + loss.sender);
    }
}

/// The packets of a run on the wire.
pub(super) fn packet(run: &Run, one_way: Direction, family: Network, encaps: &Encaps) -> Option<Packet> {
    let summary = run.summary.direction(one_way)?;
    let header = match summary.transport {
        Transport::Tcp => Header::TCP_TIMESTAMPS,
        Transport::Udp => Header::Udp,
    };
    Packet::new(family, header, encaps.clone(), summary.mss?)
}
