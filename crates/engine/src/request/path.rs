//! Packet sizes of a path: the request, and its plan.

use super::Host;
use super::far::{FarEnd, check_link};
use crate::error::{Failure, Result};
use crate::request::preflight;
use crate::run::Plan;
use model::framing::Encaps;
use model::framing::LARGEST_PACKET;
use model::path::{PathMethod, PathPlan, ServicePlan, least_mtu};
use model::plan::LocalOptions;
use model::units::{BitRate, Nanos};
use wire::native;

/// A search for the packet sizes that a path carries.
#[derive(Clone, Debug)]
pub struct Path {
    /// The far end. Port 0: the method finds one.
    pub far: FarEnd,
    /// The method of the search.
    pub method: PathMethod,
    /// Largest packet tried; absent: the most that the interface toward the host can send.
    pub largest: Option<u32>,
    /// A tunnel to be laid over the path, whose MTU is wanted.
    pub encap: Option<Encaps>,
    /// A UDP service whose largest datagram is wanted too.
    pub service: Option<Service>,
    /// Speed of the link, where the interface's own is not to be used.
    pub link: Option<BitRate>,
}

/// A UDP service that answers.
#[derive(Clone, Debug)]
pub struct Service {
    /// Its port.
    pub port: u16,
    /// The datagram's first bytes.
    pub payload: Vec<u8>,
    /// The byte that fills it up.
    pub fill: u8,
    /// The reply's first bytes; none: any reply will do.
    pub reply: Vec<u8>,
    /// Longest wait for a reply.
    pub timeout: Nanos,
}

impl Path {
    /// The path to this host, in both directions where it runs a pathmeter.
    #[must_use]
    pub fn to(far: FarEnd) -> Path {
        Path { far, method: PathMethod::Auto, largest: None, encap: None, service: None, link: None }
    }
}

pub(super) fn resolve(asked: &Path, host: &Host) -> Result<Plan> {
    asked.far.check()?;
    check_link(asked.link)?;
    let ours = matches!(asked.method, PathMethod::Auto | PathMethod::Native);
    let target = asked.far.target(if ours { native::PORT } else { 0 }, host)?;
    let ipv6 = target.address.ip().to_canonical().is_ipv6();
    let largest = asked.largest;
    if let Some(largest) = largest.filter(|largest| !(least_mtu(ipv6)..=LARGEST_PACKET).contains(largest)) {
        let family = if ipv6 { "IPv6" } else { "IPv4" };
        return Err(Failure::usage(
            format!("--largest {largest}: no packet of {family} is so large or so small"),
            format!("give {} to {LARGEST_PACKET} bytes", least_mtu(ipv6)),
        )
        .into());
    }
    let local: LocalOptions = asked.far.origin.local(asked.link);
    preflight::check_path(&target, &local)?;
    Ok(Plan::Path(Box::new(PathPlan {
        target,
        method: asked.method,
        largest,
        service: asked.service.as_ref().map(|service| plan_of(service, ipv6)).transpose()?,
        encap: asked.encap.as_ref().map(ToString::to_string),
        local,
    })))
}

fn plan_of(asked: &Service, ipv6: bool) -> Result<ServicePlan, Failure> {
    let largest = if ipv6 { LARGEST_PACKET - 8 } else { LARGEST_PACKET - 28 };
    if asked.payload.len() > largest as usize {
        return Err(Failure::usage(
            format!("--payload: {} bytes are more than a datagram carries", asked.payload.len()),
            format!("give at most {largest}"),
        ));
    }
    let Service { port, payload, fill, reply, timeout } = asked.clone();
    Ok(ServicePlan { port, payload, fill, reply, timeout, largest })
}
