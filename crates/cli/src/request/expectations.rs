//! Expectations of a result (`--expect`), refused before the test where its plan can never have the figure.

use crate::foreign::meant_figure;
use engine::error::{Failure, Result};
use engine::run::Plan;
use model::plan::{Direction, Transport};
use report::expect::{ExpectError, Expectation, NeverMeasured, Yields};
use std::str::FromStr;

/// Reads what the user expects of a run of this command, before anything runs.
///
/// # Errors
/// `Kind::Usage`: one is not understood.
pub fn expectations(expect: &[String], command: &str) -> Result<Vec<Expectation>, Failure> {
    let parse = |text: &String| text.parse().map_err(|error| not_understood(error, command));
    expect.iter().map(parse).collect()
}

/// The refusal of an expectation: what was meant, or where the figures are listed, and never all of them.
fn not_understood(error: ExpectError, command: &str) -> Failure {
    let example = example(command);
    let ExpectError::UnknownKey { text, key, known } = &error else {
        return Failure::usage(error.to_string(), format!("such as --expect '{example}'"));
    };
    let what = format!("--expect '{text}': there is no figure `{key}`");
    if let Some(figure) = meant_figure(command, key) {
        let corrected = text.replacen(key.as_str(), figure, 1);
        let advice = match corrected.parse::<Expectation>() {
            Err(ExpectError::Value { what, example, .. }) => {
                format!("write `{figure}`, whose value is {what}, such as {example}; {FIGURES}")
            }
            _ => format!("write --expect '{corrected}'; {FIGURES}"),
        };
        return Failure::usage(what, advice);
    }
    match known.starts_with(": did you mean") {
        true => Failure::usage(what + known, format!("such as --expect '{example}'; {FIGURES}")),
        false => Failure::usage(what, format!("such as --expect '{example}'; {FIGURES}")),
    }
}

/// An expectation that this command can answer.
fn example(command: &str) -> &'static str {
    let known = EXAMPLES.iter().find(|(of, _)| *of == command);
    known.map_or(EXAMPLES[0].1, |(_, example)| example)
}

/// For the commands that do not measure a rate in each direction.
const EXAMPLES: [(&str, &str); 6] = [
    ("throughput", "down.goodput>=9.4Gbit/s"),
    ("latency", "rtt.p99<=500us"),
    ("mtu", "up.path_mtu>=1500"),
    ("hops", "hops.loss<=1%"),
    ("transfer", "transfer.rate>=20Mbit/s"),
    ("frames", "frames.share>=90%"),
];
const FIGURES: &str = "docs/figures.md lists every figure";

/// Refuses what the plan can never answer.
///
/// # Errors
/// `Kind::Usage`: an expectation of a figure that the plan does not measure.
pub fn answered(expected: &[Expectation], plan: &Plan) -> Result<(), Failure> {
    let yields = yields(plan);
    expected.iter().try_for_each(|expectation| {
        let refused =
            |never: NeverMeasured| Failure::usage(format!("--expect {never}"), "nothing was measured");
        expectation.answered_by(&yields).map_err(refused)
    })
}

/// The figures that a plan measures.
fn yields(plan: &Plan) -> Yields {
    type Test = model::plan::Plan;
    let streams = |plans: &[&Test]| -> Vec<(Transport, Direction)> {
        let streams_of = |plan: &&Test| {
            plan.test.directions.each().map(|egress| (plan.test.transport, egress)).collect::<Vec<_>>()
        };
        plans.iter().flat_map(streams_of).collect()
    };
    // Sizes are probed after a UDP test that needs explaining.
    let probes = |streams: &[(Transport, Direction)]| streams.iter().any(|(of, _)| *of == Transport::Udp);
    match plan {
        Plan::Throughput(plan) => {
            let streams = streams(&[&**plan]);
            Yields { sizes: probes(&streams), streams, ..Yields::default() }
        }
        Plan::Pairs(pairs) => {
            let streams = streams(&pairs.plans.iter().collect::<Vec<_>>());
            Yields { sizes: probes(&streams), streams, pairs: true, ..Yields::default() }
        }
        Plan::Measure(plan) => {
            let streams = streams(&plan.tests.iter().collect::<Vec<_>>());
            Yields { streams, sizes: true, round_trips: true, ..Yields::default() }
        }
        Plan::Frames(plan) => {
            let rows: Vec<&Test> = plan.rows.iter().filter_map(|row| row.plan.as_ref()).collect();
            let frames = plan.rows.len() == 1;
            Yields { streams: streams(&rows), sizes: true, frames, ..Yields::default() }
        }
        Plan::Latency(work) => {
            let egress_paths = work.plan.egress_paths.iter().map(|egress| egress.label.clone()).collect();
            let load = work.plan.load.iter().flat_map(|load| load.phases.iter().copied().map(Some));
            let phases = work.plan.load.iter().map(|_| None).chain(load).collect();
            Yields { round_trips: true, egress_paths, phases, ..Yields::default() }
        }
        Plan::Path(plan) => {
            Yields { sizes: plan.service.is_none(), service: plan.service.is_some(), ..Yields::default() }
        }
        Plan::Hops(_) => Yields { hops: true, ..Yields::default() },
        Plan::Transfer(_) => Yields { transfers: true, ..Yields::default() },
        _ => Yields::default(),
    }
}

/// Reads expectations of a device. `example`: one of them, for the advice.
///
/// # Errors
/// `Kind::Usage`: one is not understood.
pub fn parse_expectations<T: FromStr<Err = ExpectError>>(
    expect: &[String],
    example: &str,
) -> Result<Vec<T>, Failure> {
    let parse = |text: &String| text.parse().map_err(|e: ExpectError| Failure::usage(e.to_string(), example));
    expect.iter().map(parse).collect()
}

#[cfg(test)]
mod tests;
