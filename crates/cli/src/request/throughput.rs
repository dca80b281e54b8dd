//! The request of `pathmeter throughput`.

use super::{Asks, Measures, Shared, exclude, far};
use crate::arguments::{Dscp, TestArgs, ThroughputArgs};
use engine::error::{Failure, Result};
use engine::request::{ENDLESS, Request, Throughput};
use model::plan::{Directions, End, ProtocolName, TestSpec, Transport};
use model::units::Nanos;

impl Measures for ThroughputArgs {
    fn shared(&self) -> Shared<'_> {
        Shared::of_session("throughput", &self.target, &self.session, &self.keep, Some(&self.capture))
    }
}

impl Asks for ThroughputArgs {
    fn request(&self) -> Result<Request> {
        Ok(Request::Throughput(Box::new(throughput(self)?)))
    }
}

fn throughput(args: &ThroughputArgs) -> Result<Throughput, Failure> {
    exclusions(args)?;
    let (test, socket) = (&args.test, &args.socket);
    let plain = Throughput::to(far(&args.target)?);
    Ok(Throughput {
        more: args.more.clone(),
        pairs: args.pairs,
        protocol: args.protocol,
        test: TestSpec {
            directions: directions(test),
            streams: test.parallel,
            end: match (test.bytes, test.time) {
                (Some(bytes), _) => End::Bytes(bytes),
                (None, Some(Nanos::ZERO)) if args.pairs.is_none() => End::Time(ENDLESS),
                (None, Some(time)) => End::Time(time),
                (None, None) => plain.test.end,
            },
            omit: test.omit,
            length: test.length,
            bitrate: test.bitrate,
            mss: socket.mss,
            window: socket.window,
            congestion: socket.congestion.clone(),
            tos: socket.dscp.map(Dscp::tos).or(socket.tos.map(|tos| tos.0)).unwrap_or(0),
            nodelay: socket.nodelay,
            zero_copy: socket.zero_copy,
            receive_discard: socket.receive_discard,
            offload: !socket.no_gso,
            ..TestSpec::new(if test.udp { Transport::Udp } else { Transport::Tcp })
        },
        interval: test.interval,
        affinity: args.host.affinity.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default(),
        wait: args.host.wait,
        link: args.session.link,
        explain: args.explain.budget(),
        place: args.limit.place,
        observe: args.limit.observe.clone(),
        ..plain
    })
}

fn exclusions(args: &ThroughputArgs) -> Result<(), Failure> {
    let (test, socket) = (&args.test, &args.socket);
    if test.reverse && test.bidir {
        return exclude(
            "--reverse",
            "--bidir",
            "--bidir measures both directions already",
            "drop one of them",
        );
    }
    if test.time.is_some() && test.bytes.is_some() {
        return exclude("--time", "--bytes", "a test ends by time or by amount", "give one of them");
    }
    if socket.dscp.is_some() && socket.tos.is_some() {
        return exclude(
            "--dscp",
            "--tos",
            "both set the same byte",
            "give one of them: DSCP is TOS divided by 4",
        );
    }
    not_ours(args)
}

/// Identity is proven by our own protocol alone.
fn not_ours(args: &ThroughputArgs) -> Result<(), Failure> {
    let session = &args.session;
    let native_options = [
        ("--token-file", session.identity.token_file.is_some()),
        ("--tls", session.identity.tls),
        ("--fingerprint", session.identity.fingerprint.is_some()),
    ];
    match (args.protocol, native_options.iter().find(|(_, asked)| *asked)) {
        (ProtocolName::Native, _) | (_, None) => Ok(()),
        (foreign, Some((name, _))) => {
            let advice = format!("drop {name}, or use --protocol native");
            exclude(name, &format!("--protocol {foreign}"), "that protocol has neither", &advice)
        }
    }
}

fn directions(test: &TestArgs) -> Directions {
    match (test.reverse, test.bidir) {
        (_, true) => Directions::Both,
        (true, false) => Directions::Down,
        (false, false) => Directions::Up,
    }
}

#[cfg(test)]
mod tests;
