//! A client of SockPerf's: runs the test on the engine and prints sockperf's text.

use super::end::{End, Stepped};
use super::records::of_all;
use super::{note, plan, say};
use crate::Process;
use crate::sockperf::output::banner::{self, Ended};
use crate::sockperf::output::{
    Cut, End as AskedEnd, Mode, NoWindow, Record, RequestedTest, Totals, Window, window,
};
use crate::sockperf::output::{latency as latency_text, stream};
use crate::sockperf::{Both, Client, SocketSpec, version_name};
use engine::session::connect::Security;
use engine::session::foreign_tls::{ForeignTls, Suite};
use engine::work::latency::raw::RawFile;
use engine::work::latency::{self, LatencyJob};
use model::event::{Event, Outcome};
use model::latency::{Counted, EgressResult, LatencyStarted};
use model::playback::{self, Item};
use model::units::Nanos;
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use wire::echo::Stray;

/// Runs the test.
pub(super) fn run(both: &Both, client: &Client, places: &[SocketSpec], process: Process) -> Stepped<()> {
    let items = match &client.playback {
        Some(file) => items(file)?,
        None => Vec::new(),
    };
    let plan = plan::plan(both, client, places, items.len())?;
    let mut log = client.full_log.as_deref().map(create).transpose()?;
    let interrupt = (process.interrupt)().map_err(|e| End::fatal(e.to_string()))?;
    say(&banner::version(&version_name(both.version)))?;
    std::thread::sleep(both.pause.to_duration());
    let security = Security::default();
    let tls = both.tls.as_deref().map(|name| Suite::named(name).and_then(ForeignTls::client)).transpose();
    let tls = tls.map_err(|error| End::from_engine(&error))?;
    let keeps = client.asked.mode != Mode::Throughput;
    let trips = Arc::<Mutex<Vec<_>>>::default();
    let labels: Vec<String> = plan.egress_paths.iter().map(|egress| egress.label.clone()).collect();
    let job = LatencyJob {
        plan: &plan,
        security: &security,
        tls: tls.as_ref(),
        key: None,
        playback: &items,
        raw: keeps.then(|| RawFile::Kept(trips.clone(), labels.clone().into())),
        interrupt: &interrupt,
    };
    let (mut egress_paths, mut how, mut broken, mut written) = (Vec::new(), Ended::Timer, None, Ok(()));
    let ran = latency::run(&job, &mut |event| match event {
        Event::LatencyStarted(started) => written = say(&heading(both, client, started)),
        Event::Latency(result) => egress_paths.clone_from(&result.egress_paths),
        Event::Finished(finished) => how = ended(&client.asked, &finished.outcome),
        Event::Warning(warning) if warning.id == PATH_ENDED => broken = Some(warning.text.clone()),
        Event::Warning(warning) => note(&warning.text),
        _ => {}
    });
    let Some(sum) = Sum::over(&egress_paths) else {
        return Err(ran
            .err()
            .map_or_else(|| End::fatal("the test gave no result"), |e| End::from_engine(&e)));
    };
    if broken.as_ref().is_some_and(|reason| reason.ends_with(&Stray::Altered.to_string())) {
        return Err(End::incorrect(Stray::Altered.to_string()));
    }
    let end = if broken.is_some() { String::new() } else { banner::ended(how) };
    written.and(say(&(end + banner::TEST_ENDED)))?;
    let trips = std::mem::take(&mut *trips.lock().unwrap_or_else(PoisonError::into_inner));
    let requested = |label: &String| {
        egress_paths.iter().find(|egress| egress.label == *label).map_or(0, |egress| egress.counted.asked)
    };
    let requested: Vec<u64> = labels.iter().map(requested).collect();
    let records = of_all(trips, &requested, client.asked.reply_every.into());
    result(client, &sum, &records, how, log.as_mut())?;
    remarks(&client.asked, &sum.counted)?;
    match (ran, broken) {
        (Err(error), _) if sum.counted.received == 0 => Err(End::silent(error.to_string())),
        (Err(error), _) => Err(End::from_engine(&error)),
        (Ok(()), Some(reason)) => Err(End::socket(reason)),
        (Ok(()), None) => vanished(&egress_paths).map_or(Ok(()), |reported| Err(End::silent(reported))),
    }
}

/// The server, or the path to it, that was there and is gone: sockperf's own text counts no message after the last reply.
fn vanished(egress_paths: &[EgressResult]) -> Option<String> {
    let silence = egress_paths.iter().filter_map(|egress| egress.silence).find(|silence| !silence.ended)?;
    let lost = silence.missing.filter(|_| silence.length >= VANISHED)?;
    Some(format!(
        "no reply came any more from {} into the test on, for {} to its end: {lost} messages in a row were lost",
        silence.at, silence.length
    ))
}

/// A silence of this length is no loss by chance.
const VANISHED: Nanos = Nanos::from_secs(1);

/// All sockets together.
struct Sum {
    sockets: u32,
    elapsed: Nanos,
    counted: Counted,
}

impl Sum {
    fn over(egress_paths: &[EgressResult]) -> Option<Sum> {
        let elapsed = egress_paths.iter().map(|egress| egress.elapsed).max()?;
        let counted =
            egress_paths.iter().fold(Counted::default(), |sum, EgressResult { counted: egress, .. }| {
                Counted {
                    sent: sum.sent + egress.sent,
                    received: sum.received + egress.received,
                    late: sum.late + egress.late,
                    duplicates: sum.duplicates + egress.duplicates,
                    strays: sum.strays + egress.strays,
                    behind: sum.behind + egress.behind,
                    ..sum
                }
            });
        Some(Sum { sockets: u32::try_from(egress_paths.len()).unwrap_or(u32::MAX), elapsed, counted })
    }
}

fn items(file: &std::path::Path) -> Stepped<Vec<Item>> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| End::missing(format!("Can't open file: {}: {error}", file.display())))?;
    playback::parse(&text).map_err(|error| End::incorrect(format!("{}: {error}", file.display())))
}

fn create(file: &std::path::Path) -> Stepped<File> {
    File::create(file).map_err(|error| {
        End::bad(format!("'--full-log' Can't open file {} for writing: {error}", file.display()))
    })
}

fn heading(both: &Both, client: &Client, started: &LatencyStarted) -> String {
    let tcp = started.plan.transport == model::plan::Transport::Tcp;
    let places: Vec<_> =
        started.ends.iter().map(|ends| banner::TestSocket { address: ends.remote, tcp }).collect();
    let warm_up = if both.warm_up { banner::WARM_UP } else { "" };
    banner::client(client.asked.mode, both.call, &places) + warm_up + banner::STARTING
}

fn ended(asked: &RequestedTest, outcome: &Outcome) -> Ended {
    match (outcome, asked.mode, asked.end) {
        (Outcome::Interrupted, ..) => Ended::User,
        (_, Mode::Playback, _) => Ended::Played,
        (_, _, AskedEnd::Observations(_)) => Ended::Number,
        (_, _, AskedEnd::Seconds(_)) => Ended::Timer,
    }
}

fn result(
    client: &Client,
    direction: &Sum,
    records: &[Record],
    how: Ended,
    log: Option<&mut File>,
) -> Stepped<()> {
    let requested = &client.asked;
    let totals = Totals {
        run_time: run_time(requested, direction, how),
        warm_up_millis: banner::warm_up_millis(direction.sockets),
        sent: direction.counted.sent,
        received: direction.counted.received,
    };
    if requested.mode == Mode::Throughput {
        return say(&stream::report(requested, &totals));
    }
    let report = latency_text::report(requested, &totals, &counted(requested, direction, records), width());
    let shown = say(&report.screen);
    let written = log.map_or(Ok(()), |file| file.write_all(report.file.as_bytes()));
    shown.and(written.map_err(|error| End::fatal(format!("'--full-log' can't be written: {error}"))))
}

/// The time in which messages were sent: what follows until the last reply is none of it.
fn run_time(asked: &RequestedTest, direction: &Sum, how: Ended) -> Nanos {
    match (asked.end, how) {
        (AskedEnd::Seconds(seconds), Ended::Timer) => direction.elapsed.min(Nanos::from_secs(seconds.into())),
        _ => direction.elapsed,
    }
}

fn counted(asked: &RequestedTest, direction: &Sum, records: &[Record]) -> Result<Window, NoWindow> {
    let cut = match (asked.mode, asked.end) {
        (Mode::Playback, _) => Cut::Nothing,
        (_, AskedEnd::Observations(count)) => Cut::Number(count),
        (_, AskedEnd::Seconds(_)) => Cut::Time,
    };
    window(records, direction.counted.duplicates, cut)
}

/// Prints remarks that sockperf's text has no place for.
fn remarks(asked: &RequestedTest, counted: &Counted) -> Stepped<()> {
    if asked.rate.is_some() && counted.behind * 2 > counted.sent {
        say(banner::TOO_FAST)?;
    }
    for (count, what) in [
        (counted.late, "replies came too late to be measured, and are counted as dropped"),
        (counted.strays, "messages came that are no replies of this test"),
    ] {
        if count > 0 {
            note(&format!("{count} {what}"));
        }
    }
    Ok(())
}

/// Columns of the terminal that standard output is, where the shell reports them.
fn width() -> Option<u16> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// The engine's warning that the path to the server has ended before the test.
const PATH_ENDED: &str = "way-ended";
