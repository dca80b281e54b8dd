//! A test that the page starts: the form becomes a request, and what happens goes to the store and to the page.

use super::super::keep::UNDELIVERED;
use super::super::store::{failed, folder, open};
use cli::{NamedTarget, StoreArgs};
use engine::error::{Error, Failure, Result, fault, sentence};
use engine::host::address::Family;
use engine::host::host_port::HostPort;
use engine::host::interrupt::Interrupt;
use engine::request::{
    FarEnd, Hops, Host, Latency, LatencyLoad, Measure, Origin, Path, Request, Sockets, Throughput, resolve,
};
use engine::run::{Ended, Options, Plan, run, run_id};
use engine::session::connect::Security;
use insight::run_of_failure;
use linux::clock::wall_now;
use model::history::{Kept, Measured};
use model::marks::Dscp;
use model::plan::{End, Transport};
use model::run::Run;
use model::units::{BitRate, Bytes, Nanos};
use report::expect::headlines;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;
use store::{Begun, Recorder};
use web::{BegunTest, Kind, Refused, Sink, TestRequest, Update};
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
    let (far, link) = far_end(&asked, named)?;
    let target = far.host.host.clone();
    let given = asked.token.as_deref().map(str::trim).filter(|token| !token.is_empty());
    let mut security = named.map(|target| target.security.clone()).unwrap_or_default();
    security.token = given.map(token).transpose()?.or(security.token);
    let plan = resolve(&request(&asked, far, link, security.token.is_some()), &Host::here())?;
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
    Ok(BegunTest { stop: Box::new(move || stop.raise()), id, expected: expected(&asked) })
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

/// The far end and the speed of the link to it.
fn far_end(asked: &TestRequest, named: Option<&NamedFarEnd>) -> Result<(FarEnd, Option<BitRate>)> {
    let wrong =
        |why: String| Failure::usage(why, "a name or an address, such as far.example or 10.0.0.2:5210");
    let host = match named {
        Some(named) => named.host.clone(),
        None => asked.host.trim().parse().map_err(wrong)?,
    };
    let usual = FarEnd::named("");
    let family = Family::chosen(asked.family == Some(4), asked.family == Some(6), None);
    let far = FarEnd { host, origin: Origin { family, ..usual.origin.clone() }, ..usual };
    Ok((far, named.and_then(|named| named.link)))
}

/// The time that it takes, by the request; packet sizes and hops take as long as the path makes it.
fn expected(asked: &TestRequest) -> Option<Duration> {
    let given = |usual: u32| u64::from(asked.seconds.unwrap_or(usual));
    let seconds = match asked.kind {
        Kind::Measure if asked.quick => 8,
        Kind::Measure => 30,
        Kind::Throughput => given(10),
        // Idle for five seconds at most, then beside a load up, down and both.
        Kind::Latency if asked.loaded => given(5).min(5) + 3 * given(5),
        Kind::Latency => given(5),
        Kind::Mtu | Kind::Hops => return None,
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

/// Converts the form's request to the engine's.
fn request(asked: &TestRequest, far: FarEnd, link: Option<BitRate>, secured: bool) -> Request {
    let time = asked.seconds.map(|seconds| Nanos::from_secs(seconds.into()));
    let transport = if asked.udp { Transport::Udp } else { Transport::Tcp };
    let bytes = |count: Option<u32>| count.map(|count| Bytes(count.into()));
    // The text was checked before.
    let tos = asked.dscp.as_deref().and_then(|text| text.parse().ok()).map_or(0, Dscp::tos);
    match asked.kind {
        Kind::Measure => Request::Measure(Box::new(Measure { quick: asked.quick, link, ..Measure::to(far) })),
        Kind::Throughput => {
            let usual = Throughput::to(far);
            Request::Throughput(Box::new(Throughput {
                transport,
                directions: asked.directions,
                streams: asked.streams.unwrap_or(usual.streams),
                end: time.map_or(usual.end, End::Time),
                interval: interval(asked),
                length: bytes(asked.length),
                bitrate: asked.bitrate.map(BitRate),
                sockets: Sockets { mss: bytes(asked.mss), tos, ..Sockets::default() },
                link,
                ..usual
            }))
        }
        Kind::Latency => {
            let usual = Latency::to(far);
            let load = asked.loaded.then_some(LatencyLoad { streams: LOAD_STREAMS, congestion: None });
            Request::Latency(Box::new(Latency {
                transport,
                time: time.or(usual.time),
                size: bytes(asked.length),
                load,
                secured,
                tos,
                interval: interval(asked),
                ..usual
            }))
        }
        Kind::Mtu => Request::Path(Box::new(Path { link, ..Path::to(far) })),
        Kind::Hops => Request::Hops(Box::new(Hops::to(far))),
    }
}

/// A chart of a short test needs more points than one each second.
fn interval(asked: &TestRequest) -> Nanos {
    match (asked.interval_ms, asked.seconds) {
        (Some(interval), _) => Nanos::from_millis(interval.into()),
        (None, Some(seconds)) if seconds > 60 => Nanos::from_secs(1),
        (None, _) => Nanos::from_millis(250),
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

/// The default of `pathmeter latency --loaded`.
const LOAD_STREAMS: u32 = 4;
