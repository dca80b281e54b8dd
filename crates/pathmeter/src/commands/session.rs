//! Functions that the commands for tests share: identity, expectations, ending with a verdict.

use super::keep::Keep;
use super::output::{deliver, write};
use crate::exit::{self, Exit};
use cli::files;
use cli::{Common, IdentityArgs};
use engine::error::{Error, Failure, Result, fault};
use engine::session::connect::Security;
use insight::finding::is_lasting;
use model::finding::Status;
use model::history;
use model::run::Run;
use report::document::{indented_json, json_line, with_units};
use report::expect::{Checked, Expectation};
use report::format::{Live, PlanForm, RunDocument};
use std::io::Write;

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

/// Prints a plan: what `--dry-run` is for. `text`: the plan for people, where the command has one.
///
/// # Errors
/// `Kind::Usage` for a format that no plan is written in.
pub(crate) fn print_plan<P: serde::Serialize>(
    plan: &P,
    text: Option<String>,
    global: &Common,
) -> Result<Exit> {
    let plan = with_units(serde_json::to_value(plan).map_err(|error| fault(error.to_string()))?);
    let text = match global.format().plan {
        Some(PlanForm::Text) => text.unwrap_or_else(|| indented_json(&plan)),
        Some(PlanForm::Json) => indented_json(&plan),
        Some(PlanForm::Line) => json_line(&plan),
        None => {
            let message = format!("--dry-run --format {}: a plan is written as JSON", global.format().name);
            return Err(Failure::usage(message, "give --format json or --format ndjson").into());
        }
    };
    deliver(global, text.as_bytes())
}

/// Prints beside a plan what it cannot have yet, and which load is sent to name a limit.
pub(crate) fn announce(plan: &engine::run::Plan) {
    if matches!(plan, engine::run::Plan::Measure(_)) {
        let _ = writeln!(
            std::io::stderr(),
            "note: of the UDP tests, length and bitrate are known only then: the largest payload found to cross whole, and \
             the highest rate of some short trials that loses nothing"
        );
    }
    if let Some(load) = plan.announced_load() {
        let _ = writeln!(std::io::stderr(), "note: {load}");
    }
}

/// A run of a path, and the error that ended it early.
pub(crate) struct Measured {
    /// The result.
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
    // When no transfer came to its end, the error is complete by itself; for a program there is a document nevertheless.
    let is_void =
        ended.run.summary.transfer.as_ref().is_some_and(|found| found.rows.iter().all(|row| row.count == 0));
    let is_reported =
        ended.error.is_some() && is_void && global.format().live == Live::Rows && global.output.is_none();
    let concluded = match is_reported {
        true => Ok(Exit::Void),
        false => conclude(&mut ended.run, ended.error.as_ref(), live, expected, global),
    };
    // A result that could not be written is kept all the same.
    let kept = keep.finish(history::Measured::Run(&ended.run));
    let exit = concluded?;
    ended.error.map_or(Ok(()), Err)?;
    kept.map(|()| exit)
}

/// Writes the result of a run and returns how it went. `error`: the cause of an early end; `live`: intervals have already been shown on
/// standard output.
pub(crate) fn conclude(
    run: &mut Run,
    error: Option<&Error>,
    live: bool,
    expected: &[Expectation],
    global: &Common,
) -> Result<Exit> {
    run.hold_against(expected.iter().map(|expectation| expectation.check(run)).collect());
    let shown = live && global.output.is_none();
    let error = error.map(exit::body);
    write(&[&RunDocument { run, shown, error: error.as_ref() }], global)?;
    let broken = broken(&run.expectations);
    let lasting = run.findings.iter().filter(|finding| is_lasting(finding)).count();
    // Where several egress paths were measured side by side, one of them is no reason to give the others up.
    let vanished = lasting > 0 && lasting >= run.summary.egress_paths.len();
    Ok(match run.verdict.status {
        Status::Void => Exit::Void,
        _ if vanished => Exit::Unreachable,
        _ if broken => Exit::ExpectationBroken,
        _ => Exit::Done,
    })
}

/// Prints on standard error which expectations do not hold.
pub(crate) fn broken(checked: &[Checked]) -> bool {
    let broken: Vec<_> = checked.iter().filter(|checked| !checked.held).collect();
    for checked in &broken {
        let measured = checked.measured.as_deref().unwrap_or("not measured");
        let _ = writeln!(std::io::stderr(), "expectation broken: {}: {measured}", checked.expectation);
    }
    !broken.is_empty()
}
