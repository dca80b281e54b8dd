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
use model::plan::{LocalOptions, Plan, ProtocolName, TestSpec, Transport, Wait};
use model::units::{BitRate, Nanos};

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
    /// The parameters on which both ends agree. Without a length, TCP takes the fastest and UDP the largest that crosses in one packet.
    pub test: TestSpec,
    /// Time between reports; zero: only at the end.
    pub interval: Nanos,
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

impl Throughput {
    /// TCP to this host in one stream for ten seconds, a report each second.
    #[must_use]
    pub fn to(far: FarEnd) -> Throughput {
        Throughput {
            far,
            more: Vec::new(),
            pairs: None,
            protocol: ProtocolName::Native,
            test: TestSpec::default(),
            interval: Nanos::from_secs(1),
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
    let mut test = asked.test.clone();
    test.bitrate = test.bitrate.filter(|rate| *rate > BitRate(0));
    // Its servers receive the length.
    if test.transport == Transport::Tcp && Tests::for_protocol(asked.protocol).counts_blocks {
        test.length = test.length.or(test.bitrate.map(paced_block));
    }
    test
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
