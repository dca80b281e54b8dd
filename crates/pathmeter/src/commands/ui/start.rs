//! A test that the page starts: the form becomes a request, and what happens goes to the store and to the page.

use super::super::keep::UNDELIVERED;
use super::super::store::{failed, folder, open};
use cli::StoreArgs;
use engine::error::{Error, Failure, Result, fault, sentence};
use engine::host::interrupt::Interrupt;
use engine::request::{FarEnd, Hops, Host, Latency, Measure, Path, Request, Throughput, resolve};
use engine::run::{Document, Ended, Options, Plan, run, run_id};
use engine::session::connect::Security;
use insight::run_of_failure;
use linux::clock::wall_now;
use model::history::Measured;
use model::plan::{End, Transport};
use model::run::Run;
use model::units::Nanos;
use report::expect::headlines;
use std::io::Write;
use std::path::PathBuf;
use store::{Begun, Recorder};
use web::{Asked, Kind, Refused, Sink, Stop, Update};
use wire::native::Token;

/// Begins a test in a thread of its own.
pub(super) fn start(asked: Asked, sink: Sink, store: &StoreArgs) -> Result<Stop, Refused> {
    begin(asked, sink, store).map_err(|error| refused(&error))
}

fn begin(asked: Asked, mut sink: Sink, args: &StoreArgs) -> Result<Stop> {
    let plan = resolve(&request(&asked)?, &Host::here())?;
    let token =
        asked.token.as_deref().map(str::trim).filter(|token| !token.is_empty()).map(token).transpose()?;
    let begun = Begun {
        id: run_id()?,
        kind: asked.kind.name().into(),
        target: asked.host.trim().into(),
        label: asked.label.trim().into(),
        started: wall_now(),
    };
    let recorder = open(args)?.begin(&begun, waiting()).map_err(failed)?;
    let stop = Interrupt::default();
    let security = Security { token, ..Security::default() };
    let options = Options { security, stop: stop.clone(), ..Options::default() };
    std::thread::Builder::new().name("test".into()).spawn(move || {
        let last = carry_out(&plan, &options, recorder, &begun, &mut sink)
            .unwrap_or_else(|error| Update::Failed(refused(&error)));
        sink(last);
    })?;
    Ok(Box::new(move || stop.raise()))
}

/// Runs the plan to its end, and returns the last message to the page. A run that measured nothing is kept with its reason.
fn carry_out(
    plan: &Plan,
    options: &Options,
    recorder: Recorder,
    begun: &Begun,
    sink: &mut Sink,
) -> Result<Update> {
    let ended = run(plan, options, &mut |event| {
        if let Err(error) = recorder.event(event) {
            let _ = writeln!(std::io::stderr(), "warning: {error}");
        }
        sink(Update::Event(Box::new(event.clone())));
    });
    let Ended { document, error } = match ended {
        Ok(ended) => ended,
        Err(error) => {
            let times = [begun.started, wall_now()];
            let run = run_of_failure(&begun.id, &begun.kind, times, &sentence(&error));
            recorder.finish(Measured::Run(&run), &[]).map_err(failed)?;
            return Err(error);
        }
    };
    let Document::Run(run) = document else {
        return Err(fault("a plan of a path made another document than a run"));
    };
    let id = recorder.id().to_owned();
    let run = Run { id: id.clone(), ..*run };
    let measured = Measured::Run(&run);
    recorder.finish(measured, &headlines(measured)).map_err(failed)?;
    Ok(Update::Ended { id, error: error.map(|error| format!("{error:#}")) })
}

/// The store of this host that takes the run when a server is lost.
fn waiting() -> Option<PathBuf> {
    folder().map(|folder| folder.join(UNDELIVERED))
}

/// What the form asks for, as the engine takes it.
fn request(asked: &Asked) -> Result<Request> {
    let wrong =
        |why: String| Failure::usage(why, "a name or an address, such as far.example or 10.0.0.2:5210");
    let far = FarEnd { host: asked.host.trim().parse().map_err(wrong)?, ..FarEnd::named("") };
    let time = asked.seconds.map(|seconds| Nanos::from_secs(seconds.into()));
    let transport = if asked.udp { Transport::Udp } else { Transport::Tcp };
    Ok(match asked.kind {
        Kind::Measure => Request::Measure(Box::new(Measure { quick: asked.quick, ..Measure::to(far) })),
        Kind::Throughput => {
            let usual = Throughput::to(far);
            Request::Throughput(Box::new(Throughput {
                transport,
                directions: asked.directions,
                streams: asked.streams.unwrap_or(usual.streams),
                end: time.map_or(usual.end, End::Time),
                interval: interval(asked),
                ..usual
            }))
        }
        Kind::Latency => {
            let usual = Latency::to(far);
            Request::Latency(Box::new(Latency {
                transport,
                time: time.or(usual.time),
                secured: asked.token.as_ref().is_some_and(|token| !token.trim().is_empty()),
                interval: interval(asked),
                ..usual
            }))
        }
        Kind::Mtu => Request::Path(Box::new(Path::to(far))),
        Kind::Hops => Request::Hops(Box::new(Hops::to(far))),
    })
}

/// A chart of a short test needs more points than one each second.
fn interval(asked: &Asked) -> Nanos {
    match asked.seconds {
        Some(seconds) if seconds > 60 => Nanos::from_secs(1),
        _ => Nanos::from_millis(250),
    }
}

fn token(text: &str) -> Result<Token> {
    Token::new(text.as_bytes()).ok_or_else(|| {
        let what = format!("the token has fewer than {} bytes", Token::SHORTEST);
        Failure::usage(what, "give the line that is in the far end's token file").into()
    })
}

fn refused(error: &Error) -> Refused {
    Refused { error: format!("{error:#}"), advice: error.advice().map(str::to_owned) }
}
