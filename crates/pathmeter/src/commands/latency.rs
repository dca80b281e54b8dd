//! `pathmeter latency`: round trips, and what causes the tail.

mod compare;
mod playback;

use super::session::{Live, conclude, expectations, print_plan, security};
use crate::cli::{Common, LatencyArgs};
use crate::exit::Exit;
use crate::planner;
use crate::signals;
use anyhow::Context;
use engine::error::Failure;
use engine::preflight;
use engine::run::{LatencyWork, Options, Plan};
use model::latency::LatencyMode;
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
    let capture = args.capture.options(plan.ways.first().and_then(|way| way.device.as_deref()));
    let options = Options { security, stop: signals::interrupt()?, capture, ..Options::default() };
    let work = LatencyWork { plan, key, playback: items, raw: args.test.raw.clone() };
    let ended = Live::new(global).run(&Plan::Latency(Box::new(work)), options)?;
    let exit = conclude(&ended.run, true, &expected, global)?;
    if let (Some(file), None) = (&args.ways.save, &ended.error) {
        compare::save_and_show(&ended.run, file, global)?;
    }
    ended.error.map_or(Ok(exit), Err)
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
