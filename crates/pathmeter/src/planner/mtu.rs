//! The plan of `pathmeter mtu`.

use super::{check, fits_u32, resolve, way};
use crate::cli::{MtuArgs, NATIVE_PORT, ServiceArgs};
use crate::planner::Family;
use engine::error::Failure;
use model::path::{PathMethod, PathPlan, ServicePlan, least_mtu};
use model::plan::{LocalOptions, ProtocolName, Target};

/// The plan of `pathmeter mtu`. Port 0: the method finds one.
///
/// # Errors
/// `Kind::Usage` for options that cannot be; `Kind::Unreachable` for a host without a usable address.
pub(crate) fn mtu(args: &MtuArgs) -> Result<PathPlan, Failure> {
    check::target(&args.target)?;
    check::session(&args.session, ProtocolName::Native)?;
    let method = PathMethod::from(args.protocol);
    let host = &args.target.host;
    let default = if matches!(method, PathMethod::Auto | PathMethod::Native) { NATIVE_PORT } else { 0 };
    let port = host.port.or(args.target.port).unwrap_or(default);
    let family = Family::from(&args.target.origin);
    let address = resolve(&host.host, port, family)?;
    let ipv6 = address.ip().to_canonical().is_ipv6();
    let largest = args.largest.map(fits_u32);
    if let Some(largest) = largest.filter(|largest| !(least_mtu(ipv6)..=LARGEST_PACKET).contains(largest)) {
        return Err(Failure::usage(
            format!(
                "--largest {largest}: no packet of {} is so large or so small",
                if ipv6 { "IPv6" } else { "IPv4" }
            ),
            format!("give {} to {LARGEST_PACKET} bytes", least_mtu(ipv6)),
        ));
    }
    Ok(PathPlan {
        target: Target { host: host.host.clone(), address },
        method,
        largest,
        service: args.service.service.map(|port| service(&args.service, port, ipv6)).transpose()?,
        encap: args.encap.as_ref().map(ToString::to_string),
        local: LocalOptions { link: args.session.link, ..way(&args.target.origin) },
    })
}

fn service(args: &ServiceArgs, port: u16, ipv6: bool) -> Result<ServicePlan, Failure> {
    let octets =
        |pattern: &Option<crate::cli::Pattern>| pattern.as_ref().map(|p| p.0.clone()).unwrap_or_default();
    let payload = octets(&args.payload);
    let largest = if ipv6 { LARGEST_PACKET - 8 } else { LARGEST_PACKET - 28 };
    if payload.len() > largest as usize {
        return Err(Failure::usage(
            format!("--payload: {} bytes are more than a datagram carries", payload.len()),
            format!("give at most {largest}"),
        ));
    }
    Ok(ServicePlan {
        port,
        payload,
        fill: args.fill,
        reply: octets(&args.reply),
        timeout: args.reply_timeout,
        largest,
    })
}

/// Largest packet that the length fields of IPv4, and of IPv6 without jumbograms, can tell.
const LARGEST_PACKET: u32 = 65_535;
