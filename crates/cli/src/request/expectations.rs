//! What is expected of a result (`--expect`), refused before the test where its plan can never answer it.

use crate::arguments::SessionArgs;
use engine::error::{Failure, Result};
use engine::run::Plan;
use model::plan::{Direction, Transport};
use report::expect::{ExpectError, Expectation, NeverMeasured, Yields};
use std::str::FromStr;

/// Reads what the user expects, before anything runs.
///
/// # Errors
/// `Kind::Usage`: one is not understood.
pub fn expectations(args: &SessionArgs) -> Result<Vec<Expectation>, Failure> {
    parse_expectations(&args.expect, EXPECT_OF_RUN)
}

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

/// What a plan measures.
fn yields(plan: &Plan) -> Yields {
    type Test = model::plan::Plan;
    let streams = |plans: &[&Test]| -> Vec<(Transport, Direction)> {
        let of = |plan: &&Test| {
            plan.test.directions.each().map(|egress| (plan.test.transport, egress)).collect::<Vec<_>>()
        };
        plans.iter().flat_map(of).collect()
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

/// An expectation of a run, for advice.
pub const EXPECT_OF_RUN: &str = "--expect 'down.goodput>=9.4Gbit/s'";

/// Reads expectations of a run or of a device. `example`: one of them, for the advice.
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
