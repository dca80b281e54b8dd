//! A job carried out by the agent that has it.

use crate::job::{Asked, JobResult, MeshJob, PlanJob};
use engine::error::{Result, fault};
use engine::host::interrupt::Interrupt;
use engine::request::{Host, Request, resolve};
use engine::run::{self, Options};
use engine::session::connect::Security;
use experiment::request_of_plan;
use fleet::agent::{Measured, Start};
use fleet::clock::{Clock, SystemClock};
use fleet::job::AgentJob;
use model::event::Event;
use model::run::Run;
use model::time::WallTime;
use model::units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Measures what a job asks for. It is stopped when its permit ends; one of a group connects at once, and sends from the common
/// start on.
///
/// # Errors
/// Why nothing was measured, in words.
pub fn carry_out(
    job: &AgentJob,
    start: &Start,
    security: &Security,
) -> std::result::Result<Measured, String> {
    let asked = Asked::read(&job.body)?;
    let (interrupt, is_over) = (Interrupt::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                if !start.permit().is_valid(SystemClock.mono()) {
                    return interrupt.raise();
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let ended = match asked {
            Asked::Mesh(job) => of_mesh(job, start, &interrupt, security),
            Asked::Plan(job) => of_plan(&job, &interrupt, security),
        };
        is_over.store(true, Ordering::SeqCst);
        ended
    })
}

fn of_mesh(
    job: MeshJob,
    start: &Start,
    stop: &Interrupt,
    security: &Security,
) -> std::result::Result<Measured, String> {
    // The sum of a group is of the time in which all ran: samples tell what each carried then.
    let interval = if start.is_common() { sampled_every(job.time) } else { Nanos::ZERO };
    let options = Options {
        stop: stop.clone(),
        security: security.clone(),
        drop_intervals: !start.is_common(),
        ..Options::default()
    };
    let (mut run, began) =
        measure(&job.request(interval), &options, start).map_err(|error| format!("{error:#}"))?;
    let span = began.map(|began| (began, began + elapsed(&run)));
    run.started = began.or(run.started);
    let body = body_of(run, |run| {
        let result = JobResult { job: job.clone(), run: run.clone() };
        serde_json::to_string(&result).map_err(|error| error.to_string())
    })?;
    Ok(Measured { body, span })
}

fn of_plan(job: &PlanJob, stop: &Interrupt, security: &Security) -> std::result::Result<Measured, String> {
    let request = request_of_plan(&job.plan, job.time)?;
    // No other host is told that there is a token.
    let security = if job.to_agent { security.clone() } else { Security::default() };
    let options = Options { stop: stop.clone(), security, ..Options::default() };
    let plan = resolve(&request, &Host::here()).map_err(|error| format!("{error:#}"))?;
    let ended = run::run(&plan, &options, &mut |_| {}).map_err(|error| format!("{error:#}"))?;
    let run = ended.run().cloned();
    if let Some(error) = ended.error {
        return Err(format!("{error:#}"));
    }
    let run = run.ok_or("it made another document than a run")?;
    let body = body_of(run, |run| serde_json::to_string(run).map_err(|error| error.to_string()))?;
    Ok(Measured { body, span: None })
}

/// The document, and when its data began to flow.
fn measure(request: &Request, options: &Options, start: &Start) -> Result<(Run, Option<WallTime>)> {
    let plan = resolve(request, &Host::here())?;
    let mut began = None;
    let ended = run::run(&plan, options, &mut |event| match event {
        // Only the control connection is open.
        Event::Connected(_) => start.wait(),
        Event::Started(started) => {
            began.get_or_insert(started.wall);
        }
        _ => {}
    })?;
    let run = ended.run().cloned();
    let run = ended.error.map_or_else(|| run.ok_or_else(|| fault("a job measured no path")), Err)?;
    Ok((run, began))
}

fn elapsed(run: &Run) -> Nanos {
    let directions = [run.summary.up.as_ref(), run.summary.down.as_ref()];
    directions.into_iter().flatten().map(|direction| direction.elapsed).max().unwrap_or_default()
}

fn sampled_every(time: Nanos) -> Nanos {
    Nanos(time.0 / 20).max(Nanos::from_millis(100)).min(Nanos::from_secs(1))
}

/// The result as a message, which no server takes when it is larger than it allows: the samples go first.
fn body_of(
    mut run: Run,
    write: impl Fn(&Run) -> std::result::Result<String, String>,
) -> std::result::Result<String, String> {
    let whole = write(&run)?;
    if whole.len() <= LARGEST {
        return Ok(whole);
    }
    run.intervals.clear();
    run.latency_intervals.clear();
    run.tests.iter_mut().for_each(|test| test.intervals.clear());
    let text = write(&run)?;
    match text.len() <= LARGEST {
        true => Ok(text),
        false => Err(format!("the result has {} bytes, and a message at most {LARGEST}", text.len())),
    }
}

/// NATS takes messages of 1 MiB, and the result is a string in one: its quotes are escaped.
const LARGEST: usize = 700_000;
