//! What the commands that run tests share: identity, the link's speed, showing events live, ending with a verdict.

use super::keep::Keep;
use super::output::{Screen, deliver, write};
use crate::cli::{Common, SessionArgs};
use crate::exit::Exit;
use crate::files;
use engine::connect::Security;
use engine::error::{Error, Failure, Result, fault};
use engine::run::{self, Document, Ended, Options, Plan};
use model::event::{Event, Progress};
use model::finding::Status;
use model::latency::LatencyPlan;
use model::run::Run;
use model::sample::Side;
use model::transfer::TransferPlan;
use report::expect::{Checked, ExpectError, Expectation};
use report::format::{self, RunDocument, Style, frames, ndjson, text};
use std::io::{IsTerminal, Write};
use std::str::FromStr;

/// Reads the token and the fingerprint that the command line names.
pub(crate) fn security(args: &SessionArgs) -> Result<Security> {
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
pub(crate) fn print_plan<P: serde::Serialize>(plan: &P, global: &Common) -> Result<Exit> {
    deliver(global, (serde_json::to_string_pretty(plan).map_err(std::io::Error::from)? + "\n").as_bytes())?;
    Ok(Exit::Done)
}

/// Shows a test while it runs, in the way the format asks for.
pub(crate) struct Live<'a> {
    global: &'a Common,
    style: Style,
    plan: Option<model::plan::Plan>,
    latency: Option<LatencyPlan>,
    transfer: Option<TransferPlan>,
    /// Warnings are printed as they come.
    warns: bool,
    /// The reader has gone (a closed pipe): do not write any more.
    gone: bool,
}

impl<'a> Live<'a> {
    /// Nothing has happened yet.
    pub(crate) fn new(global: &'a Common) -> Live<'a> {
        let style = Screen::of(global).style();
        Live { global, style, plan: None, latency: None, transfer: None, warns: false, gone: false }
    }

    /// Carries a plan out, shows what happens and keeps it.
    pub(crate) fn run(mut self, plan: &Plan, options: Options, keep: &mut Keep) -> Result<Measured> {
        // What has been shown is in no document.
        let shown = self.global.format().live != format::Live::Nothing && self.global.output.is_none();
        let options = Options { drop_intervals: shown, ..options };
        self.warns = matches!(plan, Plan::Transfer(_));
        let measured = measured(
            run::run(plan, &options, &mut |event| {
                keep.event(event);
                self.event(event);
            }),
            keep,
        );
        if matches!(plan, Plan::Path(_) | Plan::Hops(_)) && std::io::stderr().is_terminal() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
        measured
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Connected(connected) => self.plan = Some(connected.plan.clone()),
            Event::LatencyStarted(begun) => self.latency = Some(begun.plan.clone()),
            Event::TransferStarted(begun) => self.transfer = Some(begun.plan.clone()),
            Event::Progress(progress) => return self.progress(&progress.doing),
            // What is changed and who is trusted must be known before it happens. Standard error may be closed.
            Event::Warning(warning) if self.warns => {
                let _ = writeln!(std::io::stderr(), "warning: {}", warning.text);
            }
            _ => {}
        }
        if self.global.verbose > 0 {
            let _ = std::io::stderr().write_all(decided(event).as_bytes());
        }
        match self.global.format().live {
            format::Live::Events if self.global.output.is_none() => self.out(&ndjson::line(event)),
            format::Live::Rows if self.global.output.is_none() => {
                let text = self.text(event);
                self.out(&text);
            }
            _ if std::io::stderr().is_terminal() => {
                let text = self.text(event);
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
            _ => {}
        }
    }

    /// Progress is a courtesy: a closed standard error stops nothing.
    fn progress(&self, doing: &str) {
        if self.plan.is_some() {
            // Between rows of a test, and rare.
            let _ = writeln!(std::io::stderr(), "{doing}");
        } else if std::io::stderr().is_terminal() {
            let _ = write!(std::io::stderr(), "\r\x1b[K{doing} …");
        }
    }

    fn text(&self, event: &Event) -> String {
        match (event, &self.plan) {
            (Event::Started(started), Some(plan)) => text::live_header(started, plan, &self.style),
            (Event::Sample(sample), Some(plan)) => text::live_row(sample, plan, &self.style),
            (Event::LatencyStarted(begun), _) => text::latency_live_header(begun, &self.style),
            (Event::PathStarted(begun), _) => text::path_live_header(begun, &self.style),
            (Event::LatencySample(sample), _) => {
                let row = |plan| text::latency_live_row(sample, plan);
                self.latency.as_ref().map(row).unwrap_or_default()
            }
            (Event::TransferStarted(begun), _) => text::transfer_live_header(begun, &self.style),
            (Event::Transfer(transfer), _) => {
                self.transfer.as_ref().map(|plan| text::transfer_live_row(transfer, plan)).unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    fn out(&mut self, text: &str) {
        if self.gone || text.is_empty() {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        self.gone = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err();
    }
}

/// Carries out a plan of several tests, of which only the steps are shown.
pub(crate) fn run_in_steps(plan: &Plan, options: &Options, keep: &mut Keep) -> Result<Measured> {
    measured(
        run::run(plan, options, &mut |event| {
            keep.event(event);
            let line = match event {
                Event::Progress(Progress { part: Some([part, of]), doing }) => {
                    format!("{part}/{of}  {doing}")
                }
                Event::Progress(progress) => progress.doing.clone(),
                Event::FrameRow(row) => frames::progress(row),
                _ => return,
            };
            // Progress is a courtesy: a closed standard error stops nothing.
            let _ = writeln!(std::io::stderr(), "{line}");
        }),
        keep,
    )
}

/// A run of a path, and the error that ended it early.
pub(crate) struct Measured {
    /// What was measured.
    pub(crate) run: Run,
    /// Why it ended early.
    pub(crate) error: Option<Error>,
}

fn measured(ended: Result<Ended>, keep: &Keep) -> Result<Measured> {
    let Ended { document, error } = ended?;
    match document {
        Document::Run(run) => Ok(Measured { run: keep.named(*run), error }),
        _ => Err(fault("a plan of a path made another document than a run")),
    }
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
    let kept = keep.finish(&ended.run);
    let exit = concluded?;
    ended.error.map_or(Ok(()), Err)?;
    kept.map(|()| exit)
}

/// For `--verbose`: what was decided, as JSON, and which features of the kernels carried the data.
fn decided(event: &Event) -> String {
    fn line(name: &str, value: &impl serde::Serialize) -> String {
        serde_json::to_string(value).map(|json| format!("{name}: {json}\n")).unwrap_or_default()
    }
    match event {
        Event::Connected(connected) => line("plan", &connected.plan),
        Event::LatencyStarted(begun) => line("plan", &begun.plan),
        Event::PathStarted(begun) => line("plan", &begun.plan),
        Event::HopsStarted(begun) => line("plan", &begun.plan),
        Event::TransferStarted(begun) => line("plan", &begun.plan),
        Event::Result(end) => {
            let name = if end.side == Side::Local { "data path here" } else { "data path there" };
            line(name, &end.result.datapath)
        }
        _ => String::new(),
    }
}

/// Writes the result of a run and says how it went. `live`: intervals have already been shown on standard output.
pub(crate) fn conclude(run: &mut Run, live: bool, expected: &[Expectation], global: &Common) -> Result<Exit> {
    run.expectations = expected.iter().map(|expectation| expectation.check(run)).collect();
    let shown = live && global.output.is_none();
    write(&[&RunDocument { run, shown }], global)?;
    let broken = broken(&run.expectations);
    Ok(match run.verdict.status {
        Status::Void => Exit::Void,
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
