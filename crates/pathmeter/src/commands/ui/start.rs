//! A test that the page starts: the form becomes a request, and what happens goes to the store and to the page.

use super::super::keep::UNDELIVERED;
use super::super::store::{failed, folder, open};
use cli::keys::{Given, Keyed};
use cli::{NamedTarget, StoreArgs};
use engine::error::{Error, Failure, Result, fault, sentence};
use engine::host::address::Family;
use engine::host::host_port::HostPort;
use engine::host::interrupt::Interrupt;
use engine::request::{Host, Request, resolve};
use engine::run::{Ended, Options, Plan, run, run_id};
use engine::session::connect::Security;
use insight::run_of_failure;
use linux::clock::wall_now;
use model::history::{Kept, Measured};
use model::plan::End;
use model::run::Run;
use model::units::{BitRate, Nanos};
use report::expect::headlines;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;
use store::{Begun, Recorder};
use web::{BegunTest, Refused, Sink, TestRequest, Update};
use wire::native::{PORT, Token};

/// A far end that has a name in the configuration.
#[derive(Clone, Debug)]
pub(super) struct NamedFarEnd {
    pub(super) name: String,
    host: HostPort,
    security: Security,
    link: Option<BitRate>,
}

/// Those whose tokens can be read; of others the reason is printed.
pub(super) fn named(targets: &[NamedTarget]) -> Vec<NamedFarEnd> {
    let read = |target: &NamedTarget| -> Result<NamedFarEnd> {
        let token = target.token_file.as_deref().map(cli::files::token).transpose()?;
        let fingerprint = target.fingerprint.map(|fingerprint| fingerprint.0);
        let (name, host) = (target.name.clone(), target.host.clone());
        Ok(NamedFarEnd { name, host, security: Security { token, fingerprint }, link: target.link })
    };
    let known = |target: &NamedTarget| {
        let found = read(target);
        if let Err(error) = &found {
            let _ =
                writeln!(std::io::stderr(), "warning: the target `{}` is left out: {error:#}", target.name);
        }
        found.ok()
    };
    targets.iter().filter_map(known).collect()
}

/// Begins a test in a thread of its own.
pub(super) fn start(
    asked: TestRequest,
    sink: Sink,
    store: &StoreArgs,
    targets: &[NamedFarEnd],
) -> Result<BegunTest, Refused> {
    begin(asked, sink, store, targets).map_err(|error| refused(&error))
}

fn begin(asked: TestRequest, mut sink: Sink, args: &StoreArgs, targets: &[NamedFarEnd]) -> Result<BegunTest> {
    let named = configured(&asked.host, targets);
    let given = asked.token.as_deref().map(str::trim).filter(|token| !token.is_empty());
    let mut security = named.map(|target| target.security.clone()).unwrap_or_default();
    security.token = given.map(token).transpose()?.or(security.token);
    let host = far_end(&asked, named)?;
    let target = host.host.clone();
    let link = named.and_then(|named| named.link);
    let request = request(&asked, &host, link, security.token.is_some())?;
    let expected = expected(&request);
    if expected.is_some_and(|expected| expected > LONGEST) {
        let advice = "give less, or measure from the command line";
        return Err(Failure::usage("a test from the page takes four hours at most", advice).into());
    }
    let plan = resolve(&request, &Host::here())?;
    let begun = Begun {
        id: run_id()?,
        kind: asked.kind.name().into(),
        target,
        label: asked.label.trim().into(),
        started: wall_now(),
    };
    let recorder = open(args)?.begin(&begun, waiting()).map_err(failed)?;
    let stop = Interrupt::default();
    let options = Options { security, stop: stop.clone(), ..Options::default() };
    let id = begun.id.clone();
    std::thread::Builder::new().name("test".into()).spawn(move || {
        let last = carry_out(&plan, &options, recorder, &begun, &mut sink)
            .unwrap_or_else(|error| Update::Failed(refused(&error)));
        sink(last);
    })?;
    Ok(BegunTest { stop: Box::new(move || stop.raise()), id, expected })
}

/// The configured far end of this name; or of this host and port, under which its runs are kept.
fn configured<'a>(wanted: &str, targets: &'a [NamedFarEnd]) -> Option<&'a NamedFarEnd> {
    let port = |host: &HostPort| host.port.unwrap_or(PORT);
    let is_host = |target: &&NamedFarEnd| {
        let host = wanted.trim().parse::<HostPort>();
        host.is_ok_and(|host| (&host.host, port(&host)) == (&target.host.host, port(&target.host)))
    };
    let by_name = targets.iter().find(|target| target.name == wanted.trim());
    by_name.or_else(|| targets.iter().find(is_host))
}

/// The far end.
fn far_end(asked: &TestRequest, named: Option<&NamedFarEnd>) -> Result<HostPort, Failure> {
    let wrong =
        |why: String| Failure::usage(why, "a name or an address, such as far.example or 10.0.0.2:5210");
    named.map_or_else(|| asked.host.trim().parse().map_err(wrong), |named| Ok(named.host.clone()))
}

/// The time that it takes, by the request; packet sizes and hops take as long as the path makes it.
fn expected(request: &Request) -> Option<Duration> {
    let seconds = match request {
        Request::Measure(asked) if asked.quick => 8,
        Request::Measure(_) => 30,
        Request::Throughput(asked) => match asked.test.end {
            End::Time(time) => time.0 / SECOND,
            _ => return None,
        },
        Request::Latency(asked) => {
            let time = asked.time.map_or(LATENCY, |time| time.0 / SECOND);
            // Idle for five seconds at most, then beside a load up, down and both.
            asked.load.as_ref().map_or(time, |_| time.min(LATENCY) + 3 * time)
        }
        _ => return None,
    };
    Some(Duration::from_secs(seconds))
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
    let Kept::Run(run) = document else {
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

/// The engine's request of the form's keys, which are those of a plan.
fn request(asked: &TestRequest, host: &HostPort, link: Option<BitRate>, secured: bool) -> Result<Request> {
    let wrong = |why: String| Failure::usage(why, "docs/plans.md explains the keys of each test");
    let keyed = Keyed::named(asked.kind.name()).ok_or_else(|| fault("the form has a test without keys"))?;
    let mut reader = keyed.reader();
    let mut given = Given::default();
    for (name, value) in &asked.keys {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let more = keyed.key(name).and_then(|key| reader.given(key, &text)).map_err(wrong)?;
        given = given.and(&more);
    }
    let mut request = reader.request(&host.typed(), &given)?;
    let family = Family::chosen(asked.family == Some(4), asked.family == Some(6), None);
    let is_usual = !asked.keys.contains_key("interval");
    match &mut request {
        Request::Measure(asked) => (asked.far.origin.family, asked.link) = (family, link),
        Request::Throughput(asked) => {
            (asked.far.origin.family, asked.link) = (family, link);
            if is_usual {
                asked.interval =
                    interval(if let End::Time(time) = asked.test.end { Some(time) } else { None });
            }
        }
        Request::Latency(asked) => {
            (asked.origin.family, asked.secured) = (family, secured);
            if is_usual {
                asked.interval = interval(asked.time);
            }
        }
        Request::Path(asked) => (asked.far.origin.family, asked.link) = (family, link),
        Request::Hops(asked) => asked.far.origin.family = family,
        _ => {}
    }
    Ok(request)
}

/// A chart of a short test needs more points than one each second.
fn interval(time: Option<Nanos>) -> Nanos {
    match time {
        Some(time) if time > Nanos::from_secs(60) => Nanos::from_secs(1),
        _ => Nanos::from_millis(250),
    }
}

fn token(text: &str) -> Result<Token> {
    Token::new(text.as_bytes()).ok_or_else(|| {
        let what = format!("the token has fewer than {} bytes", Token::SHORTEST);
        Failure::usage(what, "give the line that is in the far end's token file").into()
    })
}

pub(super) fn refused(error: &Error) -> Refused {
    Refused { error: format!("{error:#}"), advice: error.advice().map(str::to_owned) }
}

const SECOND: u64 = 1_000_000_000;
/// Four phases of an hour, beside a load.
const LONGEST: Duration = Duration::from_secs(4 * 3_600);
/// Seconds of round trips, where no time is requested.
const LATENCY: u64 = 5;
