//! A job carried out by the agent that has it.

use crate::allowed::{Allowed, Far};
use crate::job::{AnyJob, JobResult, MeshJob, PlanJob};
use engine::error::{Result, fault};
use engine::host::interrupt::Interrupt;
use engine::request::{Host, Request, resolve};
use engine::run::{self, Options};
use engine::session::connect::Security;
use experiment::{Known, request_of_plan};
use fleet::agent::{Measured, Start};
use fleet::clock::{Clock, SystemClock};
use fleet::job::AgentJob;
use model::event::Event;
use model::plan::End;
use model::run::Run;
use model::time::WallTime;
use model::units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The far ends that an agent knows, and its rules for jobs; secrets are never sent to it.
#[derive(Clone, Debug, Default)]
pub struct FarEnds {
    /// How the agents of the mesh know each other.
    pub agents: Security,
    /// The hosts that its configuration names.
    pub named: Known,
    /// The rules for jobs.
    pub allowed: Allowed,
}

/// Measures what a job asks for. It is stopped when its permit ends; one of a group connects at once, and sends from the common
/// start on.
///
/// # Errors
/// Why nothing was measured, in words.
pub fn carry_out(job: &AgentJob, start: &Start, far: &FarEnds) -> std::result::Result<Measured, String> {
    let job_body = AnyJob::read(&job.body)?;
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
        let ended = match job_body {
            AnyJob::Mesh(job) => of_mesh(job, start, &interrupt, far),
            AnyJob::Plan(job) => of_plan(&job, start, &interrupt, far),
        };
        is_over.store(true, Ordering::SeqCst);
        ended
    })
}

fn of_mesh(
    job: MeshJob,
    start: &Start,
    stop: &Interrupt,
    far: &FarEnds,
) -> std::result::Result<Measured, String> {
    // The sum of a group covers the time in which all of them ran: samples show how much each transferred then.
    let interval = if start.is_common() { sampled_every(job.time) } else { Nanos::ZERO };
    let mut request = job.request(interval);
    far.allowed.check(&mut request, Far::Agent(&job.host))?;
    let options = Options {
        stop: stop.clone(),
        security: far.agents.clone(),
        drop_intervals: !start.is_common(),
        ..Options::default()
    };
    let (run, span) = measure(&request, &options, start).map_err(|error| format!("{error:#}"))?;
    let result = |run: &Run| serde_json::to_string(&JobResult { job: job.clone(), run: run.clone() });
    Ok(Measured { body: body_of(run, result)?, span })
}

fn of_plan(
    job: &PlanJob,
    start: &Start,
    stop: &Interrupt,
    far: &FarEnds,
) -> std::result::Result<Measured, String> {
    if let Some(name) = job.target.as_ref().filter(|name| !far.named.targets.contains_key(*name)) {
        return Err(format!(
            "this agent's configuration has no target `{name}`, whose token or fingerprint the path needs and no host sends: \
             add [targets.{name}] there"
        ));
    }
    let (mut request, named) = request_of_plan(&job.plan, job.time, &far.named)?;
    let host = host_of(&request);
    let is_named = far.named.targets.values().any(|target| target.host.host == host);
    let toward = match (is_named, job.to_agent) {
        (true, _) => Far::Named,
        (false, true) => Far::Agent(&host),
        (false, false) => Far::Host(&host),
    };
    far.allowed.check(&mut request, toward)?;
    if let (true, Request::Throughput(asked)) = (start.is_common(), &mut request)
        && let End::Time(time) = asked.test.end
    {
        asked.interval = sampled_every(time);
    }
    // The mesh's token is offered to no other host.
    let security = if job.to_agent { far.agents.clone() } else { named };
    let options = Options { stop: stop.clone(), security, ..Options::default() };
    let (run, span) = measure(&request, &options, start).map_err(|error| format!("{error:#}"))?;
    let body = body_of(run, |run: &Run| serde_json::to_string(run))?;
    Ok(Measured { body, span: span.filter(|_| start.is_common()) })
}

/// The host that a request goes to; of file transfers, each URL names it.
fn host_of(request: &Request) -> String {
    let host = match request {
        Request::Throughput(asked) => &asked.far.host,
        Request::Measure(asked) => &asked.far.host,
        Request::Frames(asked) => &asked.far.host,
        Request::Path(asked) => &asked.far.host,
        Request::Hops(asked) => &asked.far.host,
        Request::Latency(asked) => match asked.hosts.first() {
            Some(host) => host,
            None => return String::new(),
        },
        _ => return String::new(),
    };
    host.host.clone()
}

/// When data began to flow, and when it ended.
type Span = (WallTime, WallTime);

/// The document, and when its data flowed.
fn measure(request: &Request, options: &Options, start: &Start) -> Result<(Run, Option<Span>)> {
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
    let mut run = ended.error.map_or_else(|| run.ok_or_else(|| fault("a job measured no path")), Err)?;
    let span = began.map(|began| (began, began + run.summary.elapsed()));
    run.started = began.or(run.started);
    Ok((run, span))
}

fn sampled_every(time: Nanos) -> Nanos {
    Nanos(time.0 / 20).max(Nanos::from_millis(100)).min(Nanos::from_secs(1))
}

/// The result as a message, which no server takes when it is larger than it allows: the samples go first.
fn body_of(
    mut run: Run,
    write: impl Fn(&Run) -> serde_json::Result<String>,
) -> std::result::Result<String, String> {
    let write = |run: &Run| write(run).map_err(|error| error.to_string());
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
