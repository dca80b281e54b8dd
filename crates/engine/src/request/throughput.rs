//! Throughput of a path: the request, and the plan of one test or of several at once.

mod check;

use super::far::{FarEnd, check_link};
use super::{Host, check as limits};
use crate::error::{Failure, Result};
use crate::host::host_port::HostPort;
use crate::request::preflight;
use crate::run::{self, PairCount, PairsPlan};
use crate::session::protocol::{Protocol, Tests};
use crate::work::throughput::flows::{paced_block, udp_payload};
use crate::work::throughput::pacer::is_sent_singly;
use model::explain::DEFAULT_BUDGET;
use model::plan::{Directions, End, LocalOptions, Plan, ProtocolName, TestSpec, Transport, Wait};
use model::units::{BitRate, Bytes, Nanos};

/// A test of throughput.
#[derive(Clone, Debug)]
pub struct Throughput {
    /// The far end.
    pub far: FarEnd,
    /// More of them, in turn with the first; each has sessions of its own.
    pub more: Vec<HostPort>,
    /// Sessions at once, and their sum; absent: one for each host.
    pub pairs: Option<PairCount>,
    /// The wire protocol.
    pub protocol: ProtocolName,
    /// TCP or UDP.
    pub transport: Transport,
    /// Direction of the data.
    pub directions: Directions,
    /// Streams in each direction.
    pub streams: u32,
    /// The condition that ends the test.
    pub end: End,
    /// Time at the begin that is not counted.
    pub omit: Nanos,
    /// Time between reports; zero: only at the end.
    pub interval: Nanos,
    /// Bytes of one write, or of a datagram's payload; absent: the fastest, or the largest that crosses in one packet.
    pub length: Option<Bytes>,
    /// Rate of each stream; absent: as fast as it goes.
    pub bitrate: Option<BitRate>,
    /// Options of the sockets.
    pub sockets: Sockets,
    /// CPUs of the streams' threads, in turn.
    pub affinity: Vec<u32>,
    /// How threads wait for data.
    pub wait: Wait,
    /// Speed of the link, where the interface's own is not to be used.
    pub link: Option<BitRate>,
    /// How long the reasons of an unexpected result may be looked for, in each direction; zero: not at all.
    pub explain: Nanos,
    /// The place of a limit is looked for whatever the addresses and the rate are, and for longer.
    pub place: bool,
    /// Hosts between the ends that are observed, each with a `pathmeter serve`.
    pub observe: Vec<HostPort>,
}

/// Options of the sockets that carry a test.
#[derive(Clone, Debug)]
pub struct Sockets {
    /// Largest TCP segment.
    pub mss: Option<Bytes>,
    /// Send and receive buffer.
    pub window: Option<Bytes>,
    /// TCP's congestion control.
    pub congestion: Option<String>,
    /// The TOS or traffic-class byte.
    pub tos: u8,
    /// Segments are sent at once (`TCP_NODELAY`).
    pub nodelay: bool,
    /// Sent without a copy (`MSG_ZEROCOPY`).
    pub zero_copy: bool,
    /// Received without a copy (`MSG_TRUNC`).
    pub receive_discard: bool,
    /// Datagrams are cut by the kernel (`UDP_SEGMENT`).
    pub offload: bool,
}

impl Default for Sockets {
    fn default() -> Sockets {
        Sockets {
            mss: None,
            window: None,
            congestion: None,
            tos: 0,
            nodelay: false,
            zero_copy: false,
            receive_discard: false,
            offload: true,
        }
    }
}

impl Throughput {
    /// TCP to this host in one stream for ten seconds, a report each second.
    #[must_use]
    pub fn to(far: FarEnd) -> Throughput {
        Throughput {
            far,
            more: Vec::new(),
            pairs: None,
            protocol: ProtocolName::Native,
            transport: Transport::Tcp,
            directions: Directions::Up,
            streams: 1,
            end: End::Time(DEFAULT_TIME),
            omit: Nanos::ZERO,
            interval: Nanos::from_secs(1),
            length: None,
            bitrate: None,
            sockets: Sockets::default(),
            affinity: Vec::new(),
            wait: Wait::Auto,
            link: None,
            explain: DEFAULT_BUDGET,
            place: false,
            observe: Vec::new(),
        }
    }
}

pub(super) fn resolve(asked: &Throughput, host: &Host) -> Result<run::Plan> {
    let mut tests = tests(asked, host)?;
    tests.iter().try_for_each(preflight::check)?;
    tests.iter_mut().try_for_each(|plan| fill_payload(plan, host))?;
    if let (None, [test]) = (asked.pairs, tests.as_slice()) {
        return Ok(run::Plan::Throughput(Box::new(test.clone())));
    }
    let count = asked.pairs.unwrap_or(PairCount::Fixed(tests.len() as u32));
    Ok(run::Plan::Pairs(PairsPlan::new(&tests, count)?))
}

/// The test of each host.
pub(super) fn tests(asked: &Throughput, host: &Host) -> Result<Vec<Plan>, Failure> {
    asked.far.check()?;
    check_link(asked.link)?;
    check::check(asked)?;
    let test = spec(asked);
    let port = Protocol::named(asked.protocol.into()).port();
    let mut targets = vec![asked.far.target(port, host)?];
    for other in &asked.more {
        let other = FarEnd { host: other.clone(), ..asked.far.clone() };
        other.check()?;
        targets.push(other.target(port, host)?);
    }
    let observe = asked.far.others(&asked.observe, host)?;
    let local = LocalOptions { observe, ..local(asked) };
    let plan = |target| Plan { target, protocol: asked.protocol, test: test.clone(), local: local.clone() };
    Ok(targets.into_iter().map(plan).collect())
}

/// UDP without a length gets the payload that this path carries in one packet.
fn fill_payload(plan: &mut Plan, host: &Host) -> Result<()> {
    if plan.test.transport == Transport::Udp && plan.test.length.is_none() {
        let address = plan.target.address;
        let fits = udp_payload(host.path_mtu(address, &plan.local)?, address.ip());
        let most = Tests::for_protocol(plan.protocol).largest_payload(address.ip());
        plan.test.length = Some(fits.min(most));
    }
    // Where datagrams can be timed one by one, they are.
    let test = &mut plan.test;
    if Tests::for_protocol(plan.protocol).sends_whole_buffers && test.transport == Transport::Udp {
        let is_single = |(rate, length)| is_sent_singly(rate, length);
        test.offload &= !test.bitrate.zip(test.length).is_some_and(is_single);
    }
    Ok(())
}

fn spec(asked: &Throughput) -> TestSpec {
    let sockets = &asked.sockets;
    let bitrate = asked.bitrate.filter(|rate| *rate > BitRate(0));
    let length = match (asked.length, asked.protocol, asked.transport, bitrate) {
        (Some(length), ..) => Some(fits_u32(length)),
        // Its servers receive the length.
        (None, protocol, Transport::Tcp, Some(rate)) if Tests::for_protocol(protocol).counts_blocks => {
            Some(paced_block(rate))
        }
        _ => None,
    };
    TestSpec {
        directions: asked.directions,
        streams: asked.streams,
        end: asked.end,
        omit: asked.omit,
        length,
        bitrate,
        mss: sockets.mss.map(fits_u32),
        window: sockets.window.map(fits_u32),
        congestion: sockets.congestion.clone(),
        tos: sockets.tos,
        nodelay: sockets.nodelay,
        zero_copy: sockets.zero_copy,
        receive_discard: sockets.receive_discard,
        offload: sockets.offload,
        ..TestSpec::new(asked.transport)
    }
}

fn local(asked: &Throughput) -> LocalOptions {
    LocalOptions {
        interval: asked.interval,
        affinity: asked.affinity.clone(),
        wait: asked.wait,
        explain: asked.explain,
        place: asked.place,
        ..asked.far.origin.local(asked.link)
    }
}

/// Sizes were checked against limits far below 2^32; what is not, saturates.
pub(super) fn fits_u32(size: Bytes) -> u32 {
    u32::try_from(size.0).unwrap_or(u32::MAX)
}

const DEFAULT_TIME: Nanos = Nanos::from_secs(10);
