//! What the commands that run tests share: identity, expectations, ending with a verdict.

use super::keep::Keep;
use super::output::{deliver, write};
use crate::exit::Exit;
use cli::files;
use cli::{Common, IdentityArgs, SessionArgs};
use engine::error::{Error, Failure, Result, fault};
use engine::run::Plan;
use engine::session::connect::Security;
use insight::finding::is_lasting;
use model::finding::Status;
use model::history;
use model::plan::{Direction, Transport};
use model::run::Run;
use report::document::{indented_json, json_line, with_units};
use report::expect::{Checked, ExpectError, Expectation, NeverMeasured, Yields};
use report::format::RunDocument;
use std::io::Write;
use std::str::FromStr;

/// Reads the token and the fingerprint that the command line names.
pub(crate) fn security(args: &IdentityArgs) -> Result<Security> {
    let token = args.token_file.as_deref().map(files::token).transpose()?;
    if args.tls && args.fingerprint.is_none() {
        return Err(Failure::usage(
            "--tls without --fingerprint: this end would not know whom it talks to",
            "give --fingerprint HEX, which `pathmeter serve --tls` prints at start",
        )
        .into());
    }
    Ok(Security { token, fingerprint: args.fingerprint.map(|f| f.0) })
}

/// Reads what the user expects, before anything runs.
pub(crate) fn expectations(args: &SessionArgs) -> Result<Vec<Expectation>, Failure> {
    parse_expectations(&args.expect, EXPECT_OF_RUN)
}

/// Refuses what the plan can never answer.
///
/// # Errors
/// `Kind::Usage`: an expectation of a figure that the plan does not measure.
pub(crate) fn answered(expected: &[Expectation], plan: &Plan) -> Result<(), Failure> {
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
            plan.test.directions.each().map(|way| (plan.test.transport, way)).collect::<Vec<_>>()
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
            let ways = work.plan.ways.iter().map(|way| way.label.clone()).collect();
            let load = work.plan.load.iter().flat_map(|load| load.phases.iter().copied().map(Some));
            let phases = work.plan.load.iter().map(|_| None).chain(load).collect();
            Yields { round_trips: true, ways, phases, ..Yields::default() }
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
pub(crate) const EXPECT_OF_RUN: &str = "--expect 'down.goodput>=9.4Gbit/s'";

/// Reads expectations of a run or of a device. `example`: one of them, for the advice.
pub(crate) fn parse_expectations<T: FromStr<Err = ExpectError>>(
    expect: &[String],
    example: &str,
) -> Result<Vec<T>, Failure> {
    let parse = |text: &String| text.parse().map_err(|e: ExpectError| Failure::usage(e.to_string(), example));
    expect.iter().map(parse).collect()
}

/// Prints a plan: what `--dry-run` is for.
///
/// # Errors
/// `Kind::Usage` for a format that no plan is written in.
pub(crate) fn print_plan<P: serde::Serialize>(plan: &P, global: &Common) -> Result<Exit> {
    let plan = with_units(serde_json::to_value(plan).map_err(|error| fault(error.to_string()))?);
    let text = match global.format().name {
        "text" | "json" => indented_json(&plan),
        "ndjson" => json_line(&plan),
        other => {
            let message = format!("--dry-run --format {other}: a plan is written as JSON");
            return Err(Failure::usage(message, "give --format json or --format ndjson").into());
        }
    };
    deliver(global, text.as_bytes())?;
    Ok(Exit::Done)
}

/// A run of a path, and the error that ended it early.
pub(crate) struct Measured {
    /// What was measured.
    pub(crate) run: Run,
    /// Why it ended early.
    pub(crate) error: Option<Error>,
}

/// Writes the result of a run; the error that ended it comes after it.
pub(crate) fn conclude_all(
    mut ended: Measured,
    live: bool,
    expected: &[Expectation],
    keep: Keep,
    global: &Common,
) -> Result<Exit> {
    let concluded = conclude(&mut ended.run, live, expected, global);
    // A result that could not be written is kept all the same.
    let kept = keep.finish(history::Measured::Run(&ended.run));
    let exit = concluded?;
    ended.error.map_or(Ok(()), Err)?;
    kept.map(|()| exit)
}

/// Writes the result of a run and says how it went. `live`: intervals have already been shown on standard output.
pub(crate) fn conclude(run: &mut Run, live: bool, expected: &[Expectation], global: &Common) -> Result<Exit> {
    run.expectations = expected.iter().map(|expectation| expectation.check(run)).collect();
    let shown = live && global.output.is_none();
    write(&[&RunDocument { run, shown }], global)?;
    let broken = broken(&run.expectations);
    let lasting = run.findings.iter().filter(|finding| is_lasting(finding)).count();
    // Where several ways were measured side by side, one of them is no reason to give the others up.
    let vanished = lasting > 0 && lasting >= run.summary.ways.len();
    Ok(match run.verdict.status {
        Status::Void => Exit::Void,
        _ if vanished => Exit::Unreachable,
        _ if broken => Exit::ExpectationBroken,
        _ => Exit::Done,
    })
}

/// Tells on standard error which expectations do not hold.
pub(crate) fn broken(checked: &[Checked]) -> bool {
    let broken: Vec<_> = checked.iter().filter(|checked| !checked.held).collect();
    for checked in &broken {
        let measured = checked.measured.as_deref().unwrap_or("not measured");
        let _ = writeln!(std::io::stderr(), "expectation broken: {}: {measured}", checked.expectation);
    }
    !broken.is_empty()
}
