//! From what was asked to what will be done: every default filled, the host resolved, what cannot be refused early.

pub(crate) mod check;
mod frames;
mod latency;
mod mtu;
mod rfc2544;

use engine::flows::{self, paced_block};
use engine::preflight;
pub(crate) use engine::resolve::{Family, resolve};
pub(crate) use frames::frames;
pub(crate) use latency::latency;
pub(crate) use mtu::mtu;

pub(crate) use rfc2544::{Benchmark, rfc2544};

use crate::cli::{IPERF3_PORT, MeasureArgs, NATIVE_PORT, OriginArgs, TargetArgs, TestArgs, ThroughputArgs};
use engine::error::Failure;
use engine::run::{self, MeasurePlan, PairCount, PairsPlan};
use model::plan::{Directions, End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::units::{BitRate, Bytes, Nanos};

/// The plan of `pathmeter throughput`: one test, or one for each pair, to the hosts in turn.
///
/// # Errors
/// `Kind::Usage` for options that exclude each other or exceed what can be, or that this host refuses; `Kind::Unreachable`
/// for a host without a usable address.
pub(crate) fn throughput(args: &ThroughputArgs) -> anyhow::Result<run::Plan> {
    let mut tests = tests(args)?;
    tests.iter().try_for_each(preflight::check)?;
    tests.iter_mut().try_for_each(fill_payload)?;
    if let (None, [test]) = (args.pairs, tests.as_slice()) {
        return Ok(run::Plan::Throughput(Box::new(test.clone())));
    }
    let asked = args.pairs.unwrap_or(PairCount::Fixed(tests.len() as u32));
    Ok(run::Plan::Pairs(PairsPlan::new(&tests, asked)?))
}

/// The test of each host.
fn tests(args: &ThroughputArgs) -> Result<Vec<Plan>, Failure> {
    check::throughput(args)?;
    let protocol = ProtocolName::from(args.protocol);
    let mut test = spec(args);
    if let (ProtocolName::Iperf3, Transport::Tcp, 0, Some(rate)) =
        (protocol, test.transport, test.length, test.bitrate)
    {
        // Its servers are told the length: from 3.16 on they count whole blocks alone.
        test.length = paced_block(rate);
    }
    let mut targets = vec![target(&args.target, protocol)?];
    for host in &args.more {
        let other = TargetArgs { host: host.clone(), ..args.target.clone() };
        check::target(&other)?;
        targets.push(target(&other, protocol)?);
    }
    let plan = |target| Plan { target, protocol, test: test.clone(), local: local(args) };
    Ok(targets.into_iter().map(plan).collect())
}

/// UDP without a length gets the payload that this path carries in one packet.
fn fill_payload(plan: &mut Plan) -> anyhow::Result<()> {
    if plan.test.transport == Transport::Udp && plan.test.length == 0 {
        let fits = flows::default_udp_payload(plan.target.address, &plan.local)?;
        // Servers of iPerf2 read no more of a datagram than their own -l, and 2.1 falls over larger ones.
        let most = match (plan.protocol, plan.target.address.is_ipv4()) {
            (ProtocolName::Iperf2, true) => IPERF2_PAYLOAD,
            (ProtocolName::Iperf2, false) => IPERF2_PAYLOAD_V6,
            _ => u32::MAX,
        };
        plan.test.length = fits.min(most);
    }
    Ok(())
}

/// The plan of `pathmeter measure`.
///
/// # Errors
/// As [`throughput`].
pub(crate) fn measure(args: &MeasureArgs) -> Result<MeasurePlan, Failure> {
    check::target(&args.target)?;
    check::session(&args.session, ProtocolName::Native)?;
    let (target, origin) = (target(&args.target, ProtocolName::Native)?, &args.target.origin);
    let local = LocalOptions { interval: Nanos::from_secs(1), link: args.session.link, ..way(origin) };
    Ok(MeasurePlan::new(target, local, args.quick, origin.ipv4 || origin.ipv6))
}

/// Resolves the far end to one address.
fn target(args: &TargetArgs, protocol: ProtocolName) -> Result<Target, Failure> {
    let default = match protocol {
        ProtocolName::Native | ProtocolName::Foreign => NATIVE_PORT,
        ProtocolName::Iperf3 => IPERF3_PORT,
        ProtocolName::Iperf2 => wire::iperf2::PORT,
    };
    let port = args.host.port.or(args.port).unwrap_or(default);
    let family = Family::from(&args.origin);
    Ok(Target { host: args.host.host.clone(), address: resolve(&args.host.host, port, family)? })
}

fn spec(args: &ThroughputArgs) -> TestSpec {
    let (test, socket) = (&args.test, &args.socket);
    let transport = if test.udp { Transport::Udp } else { Transport::Tcp };
    TestSpec {
        directions: directions(test),
        streams: test.parallel,
        end: end(test),
        omit: test.omit,
        length: test.length.map_or(0, fits_u32),
        bitrate: test.bitrate.filter(|rate| *rate > BitRate(0)),
        mss: socket.mss.map(fits_u32),
        window: socket.window.map(fits_u32),
        congestion: socket.congestion.clone(),
        tos: socket.dscp.map(crate::cli::Dscp::tos).or(socket.tos.map(|tos| tos.0)).unwrap_or(0),
        nodelay: socket.nodelay,
        zero_copy: socket.zero_copy,
        skip_receive_copy: socket.receive_discard,
        offload: !socket.no_gso,
        ..TestSpec::new(transport)
    }
}

fn directions(test: &TestArgs) -> Directions {
    match (test.reverse, test.bidir) {
        (_, true) => Directions::Both,
        (true, false) => Directions::Down,
        (false, false) => Directions::Up,
    }
}

fn end(test: &TestArgs) -> End {
    match test.bytes {
        Some(bytes) => End::Bytes(bytes),
        None => End::Time(test.time.unwrap_or(DEFAULT_TIME)),
    }
}

fn local(args: &ThroughputArgs) -> LocalOptions {
    LocalOptions {
        interval: args.test.interval,
        affinity: args.host.affinity.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default(),
        wait: args.host.wait.into(),
        link: args.session.link,
        ..way(&args.target.origin)
    }
}

impl From<&OriginArgs> for Family {
    fn from(origin: &OriginArgs) -> Family {
        Family::of(origin.ipv4, origin.ipv6, origin.bind)
    }
}

/// The local ends of the way to the target.
fn way(origin: &OriginArgs) -> LocalOptions {
    LocalOptions {
        bind: origin.bind,
        device: origin.device.clone(),
        connect_timeout: Some(origin.connect_timeout),
        ..LocalOptions::default()
    }
}

/// Sizes were checked against limits far below 2^32; what is not, saturates.
fn fits_u32(size: Bytes) -> u32 {
    u32::try_from(size.0).unwrap_or(u32::MAX)
}

const DEFAULT_TIME: Nanos = Nanos::from_secs(10);
/// What `iperf -u` sends, and what its servers read, over IPv4 and IPv6.
const IPERF2_PAYLOAD: u32 = 1470;
const IPERF2_PAYLOAD_V6: u32 = 1450;

#[cfg(test)]
mod tests;
