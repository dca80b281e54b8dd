//! A test while it runs, on standard error: on a terminal a region that is drawn anew, elsewhere rows. Standard output has the
//! result alone, or with `--format ndjson` every event.

use super::keep::Keep;
use super::output::style_of_errors;
use super::region::{self, Region};
use super::session::Measured;
use crate::signals;
use cli::Common;
use engine::error::{Result, fault};
use engine::request::ENDLESS;
use engine::run::{self, Ended, Options, Plan};
use model::event::{Event, Progress};
use model::history::Kept;
use model::latency::LatencyPlan;
use model::plan::End;
use model::sample::{IntervalSample, Role, Side};
use model::time::MonoTime;
use model::transfer::TransferPlan;
use model::units::{BitRate, Bytes, Nanos};
use report::format::rolling::Rolling;
use report::format::text::LiveRows;
use report::format::{self, Style, frames, ndjson, text};
use report::harmless;
use std::io::{IsTerminal, Write};
use std::sync::atomic::Ordering;

/// Carries a plan out, keeps its events and shows them in the manner of the format.
///
/// # Errors
/// Those of [`run::run`].
pub(crate) fn carry_out(plan: &Plan, options: Options, keep: &mut Keep, global: &Common) -> Result<Measured> {
    // A text without details has no more of intervals than a line of bars, and events have shown them.
    let is_only_shown = match global.format().live {
        format::Live::Rows => global.verbose == 0 && intervals(plan).is_none_or(|number| number > MOST_KEPT),
        format::Live::Events => global.output.is_none(),
        format::Live::Nothing => false,
    };
    // A kept result is whole, and a picture shows rates over time.
    let is_only_shown = (is_only_shown && !keep.is_kept() || is_endless(plan)) && global.chart.is_empty();
    let options = Options { drop_intervals: is_only_shown, ..options };
    let is_report_wanted = signals::report_requested()?;
    let mut rolling = Rolling::default();
    let mut live = Live::new(plan, global);
    let ended = run::run(plan, &options, &mut |event| {
        keep.event(event);
        rolling.event(event);
        live.event(event);
        if is_report_wanted.swap(false, Ordering::Relaxed) {
            rolling.lines().iter().for_each(|line| live.region.say(&format!("{line}\n")));
        }
    });
    let Ended { document, error } = match ended {
        Ok(ended) => ended,
        Err(error) => {
            if let Err(unkept) = keep.fail(&error) {
                live.region.say(&format!("warning: {unkept:#}\n"));
            }
            return Err(error);
        }
    };
    live.end();
    match document {
        Kept::Run(run) => Ok(Measured { run: keep.named(*run), error }),
        _ => Err(fault("a plan of a path made another document than a run")),
    }
}

/// The live output.
struct Live<'a> {
    global: &'a Common,
    style: Style,
    region: Region,
    /// With several tests only the steps are shown.
    is_of_steps: bool,
    /// Warnings are shown as they come.
    warns: bool,
    began: MonoTime,
    /// How long it takes, where that is known.
    planned: Option<Nanos>,
    plan: Option<model::plan::Plan>,
    latency: Option<LatencyPlan>,
    transfer: Option<TransferPlan>,
    /// The run goes on until it is stopped.
    is_endless: bool,
    head: Vec<String>,
    rows: Vec<String>,
    /// Rates of the current step, and the end that counted them.
    rates: Vec<u64>,
    counted: Role,
    /// The samples of both ends of one test.
    samples: LiveRows,
    /// The reader has gone (a closed pipe): do not write any more.
    gone: bool,
}

impl<'a> Live<'a> {
    fn new(plan: &Plan, global: &'a Common) -> Live<'a> {
        Live {
            global,
            style: Style { colour: false, ..style_of_errors(global) },
            region: Region::new(global),
            is_of_steps: matches!(plan, Plan::Measure(_) | Plan::Pairs(_) | Plan::Frames(_)),
            warns: matches!(plan, Plan::Transfer(_)),
            began: linux::clock::mono_now(),
            planned: planned(plan).filter(|_| !is_endless(plan)),
            plan: None,
            latency: None,
            transfer: None,
            is_endless: is_endless(plan) || matches!(plan, Plan::Hops(work) if work.plan.watch),
            head: Vec::new(),
            rows: Vec::new(),
            rates: Vec::new(),
            counted: Role::Sender,
            samples: LiveRows::default(),
            gone: false,
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Connected(connected) => self.plan = Some(connected.plan.clone()),
            Event::LatencyStarted(begun) => self.latency = Some(begun.plan.clone()),
            Event::TransferStarted(begun) => self.transfer = Some(begun.plan.clone()),
            // Changes to the host and trust in servers must be known before they happen.
            Event::Warning(warning) if self.warns => {
                let lines = self.style.wrap(&format!("warning: {}", warning.text), 0);
                self.region.say(&lines.iter().map(|line| format!("{line}\n")).collect::<String>());
            }
            _ => {}
        }
        if self.global.verbose > 1 {
            self.region.say(&decided(event));
        }
        if self.global.format().live == format::Live::Events && self.global.output.is_none() {
            self.out(&harmless::json(&ndjson::line(event)));
        }
        if self.is_of_steps { self.step(event) } else { self.test(event) }
    }

    /// A test of several: its step, its rates, a row of a sweep.
    fn step(&mut self, event: &Event) {
        let line = match event {
            Event::Progress(Progress { part: Some([part, of]), doing }) => format!("{part}/{of}  {doing}"),
            Event::Progress(progress) => progress.doing.clone(),
            Event::FrameRow(row) => frames::progress(row),
            Event::Sample(sample) => {
                self.sample(sample);
                return self.draw();
            }
            _ => return,
        };
        if let (Some(last), Some(rate)) = (self.rows.last_mut(), self.rates.last()) {
            last.push_str(&format!("   {}{}", BitRate(*rate), sent(self.counted)));
        }
        self.rates.clear();
        self.counted = Role::Sender;
        if self.region.is_live() {
            self.rows.push(line);
            self.draw();
        } else {
            self.region.say(&format!("{line}\n"));
        }
    }

    /// The rate of an interval: what was received, as soon as a receiver has reported.
    fn sample(&mut self, sample: &IntervalSample) {
        let has = |role| sample.streams.iter().any(|stream| stream.role == role);
        if has(Role::Receiver) && self.counted == Role::Sender {
            self.counted = Role::Receiver;
            self.rates.clear();
        }
        if has(Role::Receiver) || self.counted == Role::Sender && sample.side == Side::Local {
            self.rates.push(rate(sample, self.counted).0);
        }
    }

    /// The last rows, of which the other end reported nothing.
    fn end(&mut self) {
        let Some(plan) = &self.plan else { return };
        let text = self.samples.rest(plan, &self.style);
        if !self.region.is_live() && self.shows() && !text.is_empty() {
            self.region.say(&text);
        }
    }

    /// Other formats are read by programs; a user who watches has a terminal.
    fn shows(&self) -> bool {
        self.global.format().live == format::Live::Rows || std::io::stderr().is_terminal()
    }

    /// One test: its head and its rows.
    fn test(&mut self, event: &Event) {
        if let Event::Progress(progress) = event {
            if self.region.is_live() {
                let goes_on = self
                    .rows
                    .last()
                    .is_some_and(|last| without_digits(last) == without_digits(&progress.doing));
                self.rows.truncate(self.rows.len() - usize::from(goes_on));
                self.rows.push(progress.doing.clone());
                self.draw();
            } else if self.plan.is_some() {
                self.region.say(&format!("{}\n", progress.doing));
            }
            return;
        }
        if let Event::HopsSample(sample) = event
            && self.region.is_live()
        {
            self.head = text::hops_live_table(sample);
            self.rows.clear();
            return self.draw();
        }
        let text = self.text(event);
        if !self.shows() || text.is_empty() {
            return;
        }
        if !self.region.is_live() {
            return self.region.say(&text);
        }
        let is_head = matches!(
            event,
            Event::Started(_) | Event::LatencyStarted(_) | Event::PathStarted(_) | Event::TransferStarted(_)
        );
        let lines = text.lines().map(str::to_owned);
        if is_head {
            self.head = lines.collect()
        } else {
            self.rows.extend(lines);
            // More are not drawn, and a test may last for days.
            self.rows.drain(..self.rows.len().saturating_sub(MOST_ROWS));
        }
        self.draw();
    }

    fn draw(&mut self) {
        let hidden = self.rows.len().saturating_sub(MOST_ROWS);
        let mut lines = self.head.clone();
        lines.extend_from_slice(&self.rows[hidden..]);
        if let (Some(last), Some(rate)) = (lines.last_mut(), self.rates.last()) {
            let bars = if self.style.bars { text::sparkline(&self.rates, SPARKS) } else { String::new() };
            last.push_str(&format!("   {}{}  {bars}", BitRate(*rate), sent(self.counted)));
        }
        lines.extend(self.left());
        if self.is_endless {
            lines.push("  Ctrl-C ends it with a summary".into());
        }
        self.region.draw(&lines);
    }

    /// How much time is left.
    fn left(&self) -> Option<String> {
        let (planned, gone) = (self.planned?, linux::clock::mono_now().saturating_since(self.began));
        let seconds = planned.saturating_sub(gone).as_secs_f64();
        Some(region::left(&format!("about {seconds:.0} s left")))
    }

    fn text(&mut self, event: &Event) -> String {
        match (event, &self.plan) {
            (Event::Started(started), Some(plan)) => text::live_header(started, plan, &self.style),
            (Event::Sample(sample), Some(plan)) => self.samples.rows(sample, plan, &self.style),
            (Event::LatencyStarted(begun), _) => text::latency_live_header(begun, &self.style),
            (Event::PathStarted(begun), _) => text::path_live_header(begun, &self.style),
            (Event::LatencySample(sample), _) => {
                let row = |plan| text::latency_live_row(sample, plan);
                self.latency.as_ref().map(row).unwrap_or_default()
            }
            (Event::HopsSample(sample), _) if self.is_endless => text::hops_live_row(sample),
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

/// A remark beside a rate that no receiver has reported.
fn sent(counted: Role) -> &'static str {
    if counted == Role::Sender { " sent" } else { "" }
}

/// The payload of all streams of this role per second.
fn rate(sample: &IntervalSample, role: Role) -> BitRate {
    let streams = sample.streams.iter().filter(|stream| stream.role == role);
    let bytes: Bytes = streams.map(|stream| stream.bytes).sum();
    BitRate::from_bytes(bytes, sample.end.saturating_sub(sample.start))
}

/// Whether the run ends by a signal, and its intervals are shown and not kept.
fn is_endless(plan: &Plan) -> bool {
    let end = match plan {
        Plan::Throughput(plan) => &plan.test.end,
        Plan::Latency(work) => &work.plan.end,
        _ => return false,
    };
    *end == End::Time(ENDLESS)
}

/// A line of progress without its counts: the next of `probe 2 of 10` takes its place.
fn without_digits(line: &str) -> String {
    line.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// The length of a plan, where it has one.
fn planned(plan: &Plan) -> Option<Nanos> {
    let length = |plan: &model::plan::Plan| match plan.test.end {
        End::Time(time) => Some(time + plan.test.omit),
        End::Bytes(_) | End::Blocks(_) => None,
    };
    match plan {
        Plan::Throughput(plan) => length(plan),
        Plan::Measure(plan) => {
            plan.tests.iter().try_fold(PROBES, |sum, test| Some(sum + length(test)? + BETWEEN))
        }
        Plan::Latency(work) => {
            let End::Time(time) = work.plan.end else { return None };
            let phases = work.plan.load.as_ref().map_or(0, |load| load.phases.len() as u64);
            let loaded = work.plan.load.as_ref().map_or(Nanos::ZERO, |load| load.time);
            Some(time + loaded.saturating_mul(phases) + work.plan.warm_up.unwrap_or_default())
        }
        _ => None,
    }
}

/// The number of intervals of each test, where that is known.
fn intervals(plan: &Plan) -> Option<u64> {
    let (interval, tests) = match plan {
        Plan::Throughput(plan) => (plan.local.interval, 1),
        Plan::Measure(plan) => (plan.tests.first()?.local.interval, plan.tests.len() as u64),
        Plan::Latency(work) => (work.plan.interval, 1),
        _ => return None,
    };
    planned(plan)?.0.checked_div(interval.0)?.checked_div(tests)
}

/// For `-vv`: what was decided, as JSON, and which features of the kernels carried the data.
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

/// Intervals that are kept for a line of bars; a run of days has too many.
const MOST_KEPT: u64 = 600;
/// More rows are not looked at while they run.
const MOST_ROWS: usize = 12;
const SPARKS: usize = 20;
/// The time that `measure` needs between two tests, and for its probes.
const BETWEEN: Nanos = Nanos::from_millis(300);
const PROBES: Nanos = Nanos::from_millis(1_500);
