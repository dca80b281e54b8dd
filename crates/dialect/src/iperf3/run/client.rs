//! `-c`: one test, printed as iPerf3 prints it.

use super::out::Out;
use super::pidfile::PidFile;
use super::printer::{Printer, system_info};
use super::{FAILED, debug, messages, no_such_cpu};
use crate::iperf3::output::Iperf3Options;
use crate::iperf3::{CommandLine, password};
use crate::{DONE, Process};
use engine::error::{Context, Failure, Kind, Result};
use engine::session::connect::Security;
use engine::work::client;
use linux::clock::wall_now;
use model::event::{Event, Warning};

/// Runs the test.
pub(super) fn run(line: &CommandLine, process: Process) -> u8 {
    let mut out = match Out::open(&line.both) {
        Ok(out) => out,
        Err(sentence) => return report_error(&format!("error - {sentence}")),
    };
    line.warnings.iter().for_each(|warning| warn(warning));
    let _pidfile = match PidFile::write(line.both.pidfile.as_deref()) {
        Ok(pidfile) => pidfile,
        Err(sentence) => {
            out.error(&sentence);
            return FAILED;
        }
    };
    let options = Iperf3Options { system_info: system_info(), ..line.output_options() };
    let mut printer = Printer::new(line.both.json, options);
    let (sentence, prefix, exit) = match test(line, &mut printer, &mut out, process) {
        Ok(Ended::Completed) => (None, "", DONE),
        Ok(Ended::Interrupted) => (Some(messages::CLIENT_ENDED.to_owned()), "", DONE),
        Err(error) => (Some(messages::of_client(&error)), "error - ", FAILED),
    };
    out.write(&printer.ended(sentence.as_deref()));
    if let (Some(sentence), false) = (&sentence, printer.holds_errors()) {
        out.error(&format!("{prefix}{sentence}"));
    }
    match out.failure() {
        Some(failure) => report_error(&failure),
        None => exit,
    }
}

enum Ended {
    Completed,
    Interrupted,
}

fn test(line: &CommandLine, printer: &mut Printer, out: &mut Out, process: Process) -> Result<Ended> {
    let refused = |message: String| Failure { kind: Kind::Usage, message, advice: None };
    let token = match &line.client.username {
        Some(_) => {
            line.auth_token(&password()?, unix_seconds()).map_err(|error| refused(error.to_string()))?
        }
        None => None,
    };
    let plan = line.plan()?;
    if let Some(refusal) = no_such_cpu(line) {
        return Err(refused(refusal.into()).into());
    }
    if let (Some(file), true) = (&line.both.local.file, plan.test.directions.up()) {
        std::fs::File::open(file)
            .map_err(|e| refused(format!("unable to open -F file: {}: {e}", file.display())))?;
    }
    let interrupt = (process.interrupt)().context("catch signals")?;
    let mut print = |event: &_| {
        debug(line.both.debug.is_some(), event);
        if let Event::Warning(Warning { id, text }) = event
            && id == "no-mptcp"
        {
            warn(text);
        }
        let text = printer.event(event, &out.stamp());
        out.write(&text);
    };
    let outcome = client::run(&plan, &Security::default(), &line.extras(token), &interrupt, &mut print);
    match outcome {
        _ if interrupt.is_raised() => Ok(Ended::Interrupted),
        outcome => outcome.map(|()| Ended::Completed),
    }
}

/// Seconds since 1970.
pub(super) fn unix_seconds() -> i64 {
    i64::try_from(wall_now().0 / 1_000_000_000).expect("nanoseconds in 64 bits are fewer seconds than that")
}

/// A warning on standard error; it may be closed.
pub(super) fn warn(warning: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("warning: {warning}\n").as_bytes());
}

/// Prints an error that has no output to go into.
pub(super) fn report_error(sentence: &str) -> u8 {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("iperf3: {sentence}\n").as_bytes());
    FAILED
}
