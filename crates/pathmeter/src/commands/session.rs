//! What the commands that run tests share: identity, the link's speed, showing events live, ending with a verdict.

use super::output::{Screen, deliver};
use crate::cli::{Common, Format, SessionArgs};
use crate::exit::Exit;
use anyhow::Context;
use engine::connect::Security;
use engine::error::{Failure, Kind};
use engine::host::entropy;
use insight::run_of_events;
use linux::nic::Nic;
use model::event::{Event, Probe};
use model::finding::Status;
use model::latency::LatencyPlan;
use model::plan::{LocalOptions, Plan, ProtocolName, Target};
use model::run::Run;
use model::sample::Side;
use model::transfer::TransferPlan;
use report::expect::{Checked, ExpectError, Expectation};
use report::format::{self, Style, ndjson, text};
use std::io::{IsTerminal, Write};
use std::str::FromStr;
use wire::ProtocolError;
use wire::native::Token;

/// Reads the token and the fingerprint that the command line names.
pub(crate) fn security(args: &SessionArgs) -> anyhow::Result<Security> {
    let token = args.token_file.as_deref().map(token).transpose()?;
    if args.tls && args.fingerprint.is_none() {
        return Err(Failure::usage(
            "--tls without --fingerprint: this end would not know whom it talks to",
            "give --fingerprint HEX, which `pathmeter serve --tls` prints at start",
        )
        .into());
    }
    Ok(Security { token, fingerprint: args.fingerprint.map(|f| f.0) })
}

/// Reads a token file.
pub(crate) fn token(file: &std::path::Path) -> anyhow::Result<Token> {
    let bytes = std::fs::read(file).with_context(|| format!("read the token file {}", file.display()))?;
    Token::new(&bytes).ok_or_else(|| {
        Failure::usage(
            format!("the token file {} is empty", file.display()),
            "put a long random line into it, the same at both ends",
        )
        .into()
    })
}

/// The speed of the link, as an event: given by the user, or what the interface on the way says.
pub(crate) fn link(target: &Target, local: &LocalOptions) -> Option<Event> {
    if let Some(rate) = local.link {
        return Some(Event::Probe(Probe::Link { rate, source: "--link".into() }));
    }
    let nic = Nic::toward(target.address.ip().to_canonical()).ok()?;
    let rate = nic.speed?;
    Some(Event::Probe(Probe::Link { rate, source: nic.fingerprint().name }))
}

/// A name for a run: 16 hexadecimal digits.
pub(crate) fn run_id() -> anyhow::Result<String> {
    Ok(format!("{:016x}", u64::from_be_bytes(entropy()?)))
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

/// Names the far end in an error of the dialogue with it, and says what to try. `begun`: the test had.
pub(crate) fn blame(
    target: &Target,
    protocol: ProtocolName,
    begun: bool,
    error: anyhow::Error,
) -> anyhow::Error {
    let Some(cause) = error.downcast_ref::<ProtocolError>() else { return error };
    let advice = match cause {
        ProtocolError::Closed(_) | ProtocolError::Timeout(_) if begun => {
            "it, its host or the path broke down; what was measured until then is shown, and its log may tell more"
        }
        ProtocolError::Violation { .. } | ProtocolError::Timeout(_) | ProtocolError::Closed(_) => {
            match protocol {
                ProtocolName::Native | ProtocolName::Foreign => {
                    "check that `pathmeter serve` listens there, and not another service (`iperf3 -s` is reached with \
                 --protocol iperf3); its log may tell more"
                }
                ProtocolName::Iperf3 => {
                    "check that `iperf3 -s` or `pathmeter serve --iperf3` listens there, and not another service; its log \
                 may tell more"
                }
                ProtocolName::Iperf2 => {
                    "check that `iperf -s` (`iperf -s -u` for UDP) or `pathmeter serve --iperf2` listens there, and not \
                 another service; its log may tell more"
                }
            }
        }
        _ => return error.context(target.address.to_string()),
    };
    let failure =
        Failure { kind: Kind::of(&error), message: target.address.to_string(), advice: Some(advice.into()) };
    error.context(failure)
}

/// The error of a user who stopped before anything was measured.
pub(crate) fn too_early() -> Failure {
    let message = "stopped before anything was measured".into();
    Failure { kind: Kind::Void, message, advice: None }
}

/// Prints a plan: what `--dry-run` is for.
pub(crate) fn print_plan<P: serde::Serialize>(plan: &P, global: &Common) -> anyhow::Result<Exit> {
    deliver(global, (serde_json::to_string_pretty(plan)? + "\n").as_bytes())?;
    Ok(Exit::Done)
}

/// Shows a test while it runs, in the way the format asks for, and keeps its events.
pub(crate) struct Live<'a> {
    global: &'a Common,
    style: Style,
    plan: Option<Plan>,
    latency: Option<LatencyPlan>,
    transfer: Option<TransferPlan>,
    /// Everything that happened, but for intervals that have been shown.
    pub(crate) events: Vec<Event>,
    /// The reader has gone (a closed pipe): do not write any more.
    gone: bool,
}

impl<'a> Live<'a> {
    /// Nothing has happened yet.
    pub(crate) fn new(global: &'a Common) -> Live<'a> {
        let style = Screen::of(global).style();
        Live { global, style, plan: None, latency: None, transfer: None, events: Vec::new(), gone: false }
    }

    /// Shows and keeps one event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Connected(connected) => self.plan = Some(connected.plan.clone()),
            Event::LatencyStarted(begun) => self.latency = Some(begun.plan.clone()),
            Event::TransferStarted(begun) => self.transfer = Some(begun.plan.clone()),
            _ => {}
        }
        if self.global.verbose > 0 {
            let _ = std::io::stderr().write_all(decided(event).as_bytes());
        }
        match self.global.format() {
            Format::Ndjson if self.global.output.is_none() => self.out(&ndjson::line(event)),
            Format::Text if self.global.output.is_none() => {
                let text = self.text(event);
                self.out(&text);
            }
            _ if std::io::stderr().is_terminal() => {
                let text = self.text(event);
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
            _ => {}
        }
        if self.is_needed(event) {
            self.events.push(event.clone());
        }
    }

    /// What has been shown and is in no document is not kept: a day of many streams is gigabytes of intervals.
    fn is_needed(&self, event: &Event) -> bool {
        let live =
            matches!(self.global.format(), Format::Text | Format::Ndjson) && self.global.output.is_none();
        !live || !matches!(event, Event::Sample(_))
    }

    /// The run of these events.
    pub(crate) fn run(&self, kind: &str) -> anyhow::Result<Run> {
        Ok(run_of_events(&run_id()?, kind, &self.events))
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

/// For `--verbose`: what was decided, as JSON, and which features of the kernels carried the data.
fn decided(event: &Event) -> String {
    fn line(name: &str, value: &impl serde::Serialize) -> String {
        serde_json::to_string(value).map(|json| format!("{name}: {json}\n")).unwrap_or_default()
    }
    match event {
        Event::Connected(connected) => line("plan", &connected.plan),
        Event::LatencyStarted(begun) => line("plan", &begun.plan),
        Event::PathStarted(begun) => line("plan", &begun.plan),
        Event::TransferStarted(begun) => line("plan", &begun.plan),
        Event::Result(end) => {
            let name = if end.side == Side::Local { "data path here" } else { "data path there" };
            line(name, &end.result.datapath)
        }
        _ => String::new(),
    }
}

/// Writes the result of a run and says how it went. `live`: intervals have already been shown on standard output.
pub(crate) fn conclude(
    run: &Run,
    live: bool,
    expected: &[Expectation],
    global: &Common,
) -> anyhow::Result<Exit> {
    let style = Screen::of(global).style();
    let shown = live && global.output.is_none();
    let document = match global.format() {
        Format::Text if shown => text::result(run, &style),
        Format::Ndjson if shown => ndjson::last_line(run),
        other => {
            let format = format::by_name(other.name()).context("a format without a row in the table")?;
            (format.render)(run, &style)
        }
    };
    deliver(global, document.as_bytes())?;
    let broken = broken(expected.iter().map(|expectation| expectation.check(run)));
    Ok(match run.verdict.status {
        Status::Void => Exit::Void,
        _ if broken => Exit::ExpectationBroken,
        _ => Exit::Done,
    })
}

/// Tells on standard error which expectations do not hold.
pub(crate) fn broken(checked: impl Iterator<Item = Checked>) -> bool {
    let broken: Vec<_> = checked.filter(|checked| !checked.held).collect();
    for checked in &broken {
        let measured = checked.measured.as_deref().unwrap_or("not measured");
        let _ = writeln!(std::io::stderr(), "expectation broken: {}: {measured}", checked.expectation);
    }
    !broken.is_empty()
}
