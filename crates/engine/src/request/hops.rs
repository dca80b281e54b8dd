//! The hops of a path: the request, and its plan.

use super::Host;
use super::far::FarEnd;
use crate::error::{Failure, Result};
use crate::request::preflight;
use crate::run::{HopsWork, Plan};
use crate::work::hops::CLOSED_PORT;
use model::framing::LARGEST_PACKET;
use model::hops::{AsTable, HopProtocol, HopsPlan};
use model::path::headers;
use model::plan::LocalOptions;
use model::units::Nanos;
use std::path::PathBuf;
use wire::native;

/// A look at the hops of a path.
#[derive(Clone, Debug)]
pub struct Hops {
    /// The far end. Port 0: the protocol's.
    pub far: FarEnd,
    /// The protocol of the probes.
    pub protocol: HopProtocol,
    /// Probes for each hop, over all flows; absent: ten, and of a watched path the last 100.
    pub probes: Option<u32>,
    /// Flows that take turns; absent: as many as the protocol has and the probes allow, at most four.
    pub flows: Option<u32>,
    /// From one probe of a hop to the next.
    pub interval: Nanos,
    /// Longest wait for the last answers.
    pub timeout: Nanos,
    /// Hops looked at, at most.
    pub max_hops: u8,
    /// Each probe, whole IP packet; absent: 60 bytes.
    pub size: Option<u32>,
    /// Packets of the interface's MTU are sent too.
    pub mtu: bool,
    /// Routers are named by the resolver.
    pub names: bool,
    /// A file with the AS of each prefix ([`AsTable::parse`]).
    pub as_file: Option<PathBuf>,
    /// Port at which a pathmeter at the far end is requested to trace the return path; absent: none is.
    pub back_port: Option<u16>,
    /// The trace goes on until it is stopped; its figures are of the last `probes` of each hop.
    pub watch: bool,
}

impl Hops {
    /// To this host, by UDP: ten probes for each hop in about five seconds.
    #[must_use]
    pub fn to(far: FarEnd) -> Hops {
        Hops {
            far,
            protocol: HopProtocol::Udp,
            probes: None,
            flows: None,
            interval: Nanos::from_millis(500),
            timeout: Nanos::from_secs(1),
            max_hops: 30,
            size: None,
            mtu: true,
            names: false,
            as_file: None,
            back_port: Some(native::PORT),
            watch: false,
        }
    }

    /// Probes for each hop, by default those of about five seconds.
    #[must_use]
    pub fn probes(&self) -> u32 {
        self.probes.unwrap_or(if self.watch { 100 } else { 10 })
    }
}

pub(super) fn resolve(asked: &Hops, host: &Host) -> Result<Plan> {
    asked.far.check()?;
    let port = match asked.protocol {
        HopProtocol::Udp => CLOSED_PORT,
        HopProtocol::Tcp => HTTPS,
        HopProtocol::Icmp => 0,
    };
    let target = asked.far.target(port, host)?;
    let ipv6 = target.address.ip().to_canonical().is_ipv6();
    let flows = flows(asked)?;
    check("--count", asked.probes(), MOST_PROBES)?;
    check("--max-hops", asked.max_hops.into(), MOST_HOPS)?;
    times(asked)?;
    let size = asked.size.unwrap_or(USUAL_SIZE.max(least(ipv6)));
    if !(least(ipv6)..=LARGEST_PACKET).contains(&size) {
        let advice = format!("give {} to {LARGEST_PACKET} bytes, IP header included", least(ipv6));
        return Err(Failure::usage(format!("--size {size}: no probe is of that size"), advice).into());
    }
    let local: LocalOptions = asked.far.origin.local(None);
    preflight::check_path(&target, &local)?;
    let plan = HopsPlan {
        target,
        protocol: asked.protocol,
        probes: asked.probes(),
        flows,
        interval: asked.interval,
        timeout: asked.timeout,
        max_hops: asked.max_hops,
        size,
        mtu: asked.mtu,
        names: asked.names,
        as_file: asked.as_file.as_ref().map(|file| file.display().to_string()),
        back_port: asked.back_port,
        watch: asked.watch,
        local,
    };
    Ok(Plan::Hops(Box::new(HopsWork { plan, origins: origins(asked)? })))
}

/// Echo requests have no ports: they are one flow.
fn flows(asked: &Hops) -> Result<u32, Failure> {
    match (asked.protocol, asked.flows) {
        (HopProtocol::Icmp, Some(2..)) => Err(Failure::usage(
            "--flows with --protocol icmp: echo requests have no ports by which routers distinguish flows",
            "use --protocol udp or tcp",
        )),
        (HopProtocol::Icmp, _) => Ok(1),
        (_, None) => Ok(USUAL_FLOWS.min(asked.probes()).max(1)),
        (_, Some(flows)) => {
            check("--flows", flows, MOST_FLOWS)?;
            let probes = asked.probes();
            if flows > probes {
                let message =
                    format!("--flows {flows} with --count {probes}: flows would go without a probe");
                return Err(Failure::usage(message, format!("give --count {flows} or more")));
            }
            Ok(flows)
        }
    }
}

fn check(option: &str, value: u32, most: u32) -> Result<(), Failure> {
    match value {
        0 => Err(Failure::usage(format!("{option} 0: there would be nothing to send"), "give at least 1")),
        value if value > most => {
            Err(Failure::usage(format!("{option} {value} is out of range"), format!("give 1 to {most}")))
        }
        _ => Ok(()),
    }
}

fn times(asked: &Hops) -> Result<(), Failure> {
    if !(LEAST_INTERVAL..=LONGEST_TIME).contains(&asked.interval) {
        let message = format!("--interval {}: probes would be a flood, or take for ever", asked.interval);
        return Err(Failure::usage(message, format!("give {LEAST_INTERVAL} to {LONGEST_TIME}")));
    }
    if !(LEAST_TIMEOUT..=LONGEST_TIME).contains(&asked.timeout) {
        let message = format!("--timeout {}: answers would be missed, or waited for in vain", asked.timeout);
        return Err(Failure::usage(message, format!("give {LEAST_TIMEOUT} to {LONGEST_TIME}")));
    }
    Ok(())
}

fn origins(asked: &Hops) -> Result<AsTable> {
    let Some(file) = &asked.as_file else { return Ok(AsTable::default()) };
    let named = || format!("--as-file {}", file.display());
    let advice = "give a file of lines `PREFIX AS [NAME]`, such as `192.0.2.0/24 AS64496 Example`";
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("{}: {error}", named()), advice))?;
    Ok(AsTable::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", named()), advice))?)
}

/// Headers, and the bytes that distinguish the probes.
fn least(ipv6: bool) -> u32 {
    headers(ipv6) + 12
}

const HTTPS: u16 = 443;
const USUAL_SIZE: u32 = 60;
const USUAL_FLOWS: u32 = 4;
const MOST_FLOWS: u32 = 64;
/// The numbers of all probes fit the sequence number of echo requests.
const MOST_PROBES: u32 = 1000;
const MOST_HOPS: u32 = 64;
const LEAST_INTERVAL: Nanos = Nanos::from_millis(5);
const LEAST_TIMEOUT: Nanos = Nanos::from_millis(10);
const LONGEST_TIME: Nanos = Nanos::from_secs(60);
