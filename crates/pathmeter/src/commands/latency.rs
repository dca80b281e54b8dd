//! `pathmeter latency`: round trips, and whose fault the tail is.

mod compare;
mod playback;

use super::session::{Live, conclude, expectations, print_plan, security, too_early};
use crate::cli::{Common, LatencyArgs};
use crate::exit::Exit;
use crate::planner;
use crate::signals;
use anyhow::Context;
use engine::capture::{self, Capture};
use engine::error::{Failure, Kind};
use engine::latency::raw::RawFile;
use engine::latency::{self, Job};
use engine::{preflight, reach};
use model::event::Event;
use model::latency::{LatencyMode, LatencyPlan};
use model::reach::Reach;
use wire::ProtocolError;
use wire::stamp::Key;

/// Runs the command.
pub(crate) fn run(args: &LatencyArgs, global: &Common) -> anyhow::Result<Exit> {
    let expected = expectations(&args.session)?;
    let security = security(&args.session)?;
    let mut plan = planner::latency(args)?;
    let key = args.test.key_file.as_deref().map(key).transpose()?;
    let items = args.test.playback.as_deref().map(playback::read).transpose()?.unwrap_or_default();
    if plan.mode == LatencyMode::Playback {
        playback::fit(&mut plan, &items, args.test.time.is_some() || args.test.count.is_some());
    }
    if args.session.dry_run {
        return print_plan(&plan, global);
    }
    preflight::latency(&plan)?;
    let interrupt = signals::interrupt()?;
    let raw = args.test.raw.as_deref().map(RawFile::create).transpose()?;
    let mut live = Live::new(global);
    let job = Job {
        plan: &plan,
        security: &security,
        key: key.as_ref(),
        playback: &items,
        raw,
        interrupt: &interrupt,
    };
    let watch = plan.ways.first().and_then(|way| reach::watch(way.target.address.ip()));
    let capture = begin_capture(args, &plan)?;
    let outcome = latency::run(&job, &mut |event| live.event(event));
    if let Some(seen) = watch.and_then(|watch| watch.finish(Reach::default())) {
        live.event(&seen);
    }
    if let Some(capture) = capture {
        live.event(&capture.finish());
    }
    let measured = live.events.iter().any(|event| matches!(event, Event::Latency(_)));
    match outcome {
        Err(_) if !measured && interrupt.is_raised() => return Err(too_early().into()),
        Err(e) if !measured => return Err(blame(e)),
        Err(e) => {
            conclude(&live.run("latency")?, true, &expected, global)?;
            return Err(e);
        }
        Ok(()) => {}
    }
    let run = live.run("latency")?;
    let exit = conclude(&run, true, &expected, global)?;
    if let Some(file) = &args.ways.save {
        compare::save_and_show(&run, file, global)?;
    }
    Ok(exit)
}

/// Begins to capture the packets of the one far end, where that is asked for.
fn begin_capture(args: &LatencyArgs, plan: &LatencyPlan) -> anyhow::Result<Option<Capture>> {
    match plan.ways.as_slice() {
        [way] => capture::start(&args.capture.options(way.device.as_deref()), way.target.address.ip()),
        _ if args.capture.options(None).is_wanted() => Err(Failure::usage(
            "--capture and --pcap with several ways: a capture sees one far end through one interface",
            "measure one host at a time, without --via",
        )
        .into()),
        _ => Ok(None),
    }
}

/// Reads a key of STAMP.
pub(crate) fn key(file: &std::path::Path) -> anyhow::Result<Key> {
    let bytes = std::fs::read(file).with_context(|| format!("read the key file {}", file.display()))?;
    Key::new(bytes.trim_ascii_end()).map_err(|e| {
        Failure::usage(
            format!("the key file {}: {e}", file.display()),
            "put 16 bytes or more into it, the same at both ends",
        )
        .into()
    })
}

/// Says what to try after an error of the dialogue with a server.
fn blame(error: anyhow::Error) -> anyhow::Error {
    let Some(cause) = error.downcast_ref::<ProtocolError>() else { return error };
    let advice = match cause {
        ProtocolError::Violation { .. } | ProtocolError::Timeout(_) | ProtocolError::Closed(_) => {
            "check that `pathmeter serve` listens there, and not another service (`sockperf sr` is reached with \
             --protocol sockperf); its log may tell more"
        }
        _ => return error,
    };
    let failure =
        Failure { kind: Kind::of(&error), message: "latency session".into(), advice: Some(advice.into()) };
    error.context(failure)
}
