//! The request of `pathmeter latency`.

use super::{Asks, Measures, Shared, origin};
use crate::arguments::{Dscp, LatencyArgs};
use crate::files;
use engine::error::{Failure, Result};
use engine::request::{ENDLESS, Latency, LatencyLoad, Request, Via};
use model::latency::{LatencyMode, LatencyProtocol};
use model::plan::Transport;
use model::playback::{Item, parse};
use model::units::Nanos;
use std::path::Path;
use wire::stamp::Key;

impl Measures for LatencyArgs {
    fn shared(&self) -> Shared<'_> {
        Shared {
            command: "latency",
            target: self.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            expect: &self.session.expect,
            dry_run: self.session.dry_run,
            identity: Some(&self.session.identity),
            keep: &self.keep,
            capture: Some(&self.capture),
            device: self.egress_paths.origin.device.as_deref(),
        }
    }
}

impl Asks for LatencyArgs {
    fn request(&self) -> Result<Request> {
        let playback = self.test.playback.as_deref().map(playback).transpose()?;
        Ok(Request::Latency(Box::new(Latency {
            hosts: self.hosts.clone(),
            port: self.port,
            origin: origin(&self.egress_paths.origin)?,
            via: self.egress_paths.via.iter().map(|text| Via::named(text)).collect::<Result<_, Failure>>()?,
            labels: self.keep.label.clone(),
            protocol: self.protocol,
            mode: if playback.is_some() { LatencyMode::Playback } else { self.test.mode },
            transport: if self.test.tcp { Transport::Tcp } else { Transport::Udp },
            size: self.test.size,
            time: match self.test.time {
                Some(Nanos::ZERO) if !self.load.loaded => Some(ENDLESS),
                time => time,
            },
            count: self.test.count,
            rate: self.test.rate,
            reply_every: self.test.reply_every,
            playback: playback.unwrap_or_default(),
            warm_up: self.test.warm_up,
            timeout: self.test.timeout,
            interval: self.test.interval,
            raw: self.test.raw.clone(),
            key: key(self)?,
            load: self.load.loaded.then(|| LatencyLoad {
                streams: self.load.parallel,
                congestion: self.load.congestion.clone(),
            }),
            wait: self.host.wait,
            cpu: self.host.affinity.as_ref().and_then(|cpus| cpus.0.first().copied()),
            busy_poll: self.host.busy_poll,
            tos: self.host.dscp.map(Dscp::tos).or(self.host.tos.map(|tos| tos.0)).unwrap_or(0),
            multicast_ttl: self.host.multicast_ttl,
            wire_times: !self.host.no_wire_times,
            secured: self.session.identity.token_file.is_some()
                || self.session.identity.fingerprint.is_some(),
            explain: self.explain.budget(),
            observe: self.load.observe.clone(),
        })))
    }
}

/// Reads the key of STAMP's authenticated mode.
fn key(args: &LatencyArgs) -> Result<Option<Key>> {
    let Some(file) = args.test.key_file.as_deref() else { return Ok(None) };
    if args.protocol != LatencyProtocol::Stamp {
        let advice = "drop it, or give --token-file for our own protocol";
        return Err(Failure::usage("--key-file goes with --protocol stamp", advice).into());
    }
    files::key(file).map(Some)
}

/// Reads a playback file.
fn playback(file: &Path) -> Result<Vec<Item>> {
    parse(&files::text(file)?).map_err(|e| {
        Failure::usage(
            format!("{}: {e}", file.display()),
            "write `time in seconds, size in bytes` for each message, times rising, sizes from 14 to 64000",
        )
        .into()
    })
}
