//! Options of `pathmeter rfc2544` that exclude each other, and values beyond what can be.

use super::super::check::{MAX_TIME, at_most, positive};
use super::super::far::check_link;
use super::{Device, GoalName, Standard};
use crate::error::Failure;
use model::dut::Test;
use model::units::{Bytes, PacketRate};
use std::net::IpAddr;

pub(super) fn check(asked: &Device) -> Result<(), Failure> {
    check_link(asked.link)?;
    ports(asked)?;
    lab(asked)?;
    frames(&asked.traffic.frames)?;
    pair("--address", &asked.addresses)?;
    pair("--gateway", &asked.gateways)?;
    tunnel(asked)?;
    bounds(asked.search.min_rate, asked.search.max_rate)?;
    goals(asked)?;
    service(asked)?;
    reset(asked)?;
    for (name, time) in [("--time", asked.search.time), ("--service-time", asked.service_time)] {
        at_most(name, time.unwrap_or_default(), MAX_TIME)?;
    }
    asked.search.time.map_or(Ok(()), |time| positive("--time", time))
}

fn ports(asked: &Device) -> Result<(), Failure> {
    match asked.ports.as_slice() {
        [] if asked.lab.is_empty() => Err(Failure::usage(
            "nothing to test: a device is between two ports, or in a topology of the lab",
            "as in `pathmeter rfc2544 eth1 eth2` or `pathmeter rfc2544 --lab forward --quick`",
        )),
        [only] => Err(Failure::usage(
            format!("one port, {only}: a device is tested between two"),
            "name the other one too, as in `pathmeter rfc2544 eth1 eth2`",
        )),
        [one, other] if one == other => Err(Failure::usage(
            format!("{one} twice: frames have to leave by one port and arrive at another"),
            "name two interfaces, one at each side of the device",
        )),
        _ => Ok(()),
    }
}

/// Refuses options that a topology sets itself.
fn lab(asked: &Device) -> Result<(), Failure> {
    if asked.lab.is_empty() {
        return Ok(());
    }
    let options = [
        ("--address", asked.addresses.is_empty()),
        ("--gateway", asked.gateways.is_empty()),
        ("--tunnel", asked.tunnel.is_empty()),
    ];
    match options.iter().find(|(_, absent)| !absent) {
        Some((name, _)) => Err(Failure::usage(
            format!("{name} cannot be used with --lab: a topology has its own addresses"),
            format!("drop {name}, or put the addresses into a file: pathmeter lab show NAME --file"),
        )),
        None => Ok(()),
    }
}

fn frames(sizes: &[Bytes]) -> Result<(), Failure> {
    match sizes.iter().find(|size| !(LEAST_FRAME..=MOST_FRAME).contains(*size)) {
        Some(size) => Err(Failure::usage(
            format!("--frame {}: Ethernet has no such frame", size.0),
            format!("give {} to {} bytes, the 4 of the FCS included", LEAST_FRAME.0, MOST_FRAME.0),
        )),
        None => Ok(()),
    }
}

/// One of each port, of either IP version or both.
fn pair(name: &str, addresses: &[IpAddr]) -> Result<(), Failure> {
    let four = addresses.iter().filter(|address| address.is_ipv4()).count();
    match (four, addresses.len() - four) {
        (0 | 2, 0 | 2) => Ok(()),
        _ => Err(Failure::usage(
            format!("{name} takes two addresses of an IP version: the first port's, and the second port's"),
            format!("as in {name} 198.18.0.1,198.19.0.1 or {name} 2001:2::1,2001:2:0:1::1"),
        )),
    }
}

/// Two ends, around IPv4 alone.
fn tunnel(asked: &Device) -> Result<(), Failure> {
    let has_ipv6 = asked.traffic.ipv6 || (asked.standard == Standard::Rfc5180 && !asked.traffic.ipv4);
    match asked.tunnel.as_slice() {
        [] => Ok(()),
        [_, _] if has_ipv6 => Err(Failure::usage(
            "--tunnel carries IPv4, and frames of IPv6 are asked for",
            "give -4 or another --standard, and test IPv6 without --tunnel",
        )),
        [local, remote] if local == remote => Err(Failure::usage(
            format!("--tunnel {local},{remote}: both ends of the tunnel have one address"),
            "give the address that the second port speaks for, and then the device's",
        )),
        [_, _] => Ok(()),
        _ => Err(Failure::usage(
            "--tunnel takes two addresses of IPv6: that which the second port speaks for, and the device's",
            "as in --tunnel 2001:db8:12::2,2001:db8:12::1",
        )),
    }
}

fn bounds(min: Option<PacketRate>, max: Option<PacketRate>) -> Result<(), Failure> {
    let advice = "give a --min-rate above 0 and below --max-rate, or none";
    match (min, max) {
        (Some(PacketRate(0)), _) => Err(Failure::usage("--min-rate 0: a load is above 0", advice)),
        (_, Some(PacketRate(0))) => Err(Failure::usage("--max-rate 0: a load is above 0", advice)),
        (Some(min), Some(max)) if min >= max => {
            let message =
                format!("--min-rate {min} is not below --max-rate {max}: nothing is left to search");
            Err(Failure::usage(message, advice))
        }
        _ => Ok(()),
    }
}

fn goals(asked: &Device) -> Result<(), Failure> {
    let wants = |goal| asked.search.goals.contains(&goal);
    if wants(GoalName::Pdr) && wants(GoalName::Ndr) && asked.search.loss_ratio == 0.0 {
        let message = "--loss-ratio 0 makes pdr the same as ndr";
        return Err(Failure::usage(message, "give a share above 0, or drop one of the goals"));
    }
    Ok(())
}

fn service(asked: &Device) -> Result<(), Failure> {
    let wanted =
        asked.tests.contains(&Test::Service) || (asked.tests.is_empty() && asked.standard == Standard::Y1564);
    match asked.service.map(|service| service.committed) {
        None if wanted => Err(Failure::usage(
            "a service is tested against what was promised of it, and --cir is not given",
            "give the committed rate, as in --cir 200M",
        )),
        Some(_) if !wanted => Err(Failure::usage(
            "--cir is for the test of a service, which is not asked for",
            "add --standard y1564 or --tests service, or drop --cir",
        )),
        Some(rate) if rate.0 == 0 => {
            Err(Failure::usage("--cir 0 promises nothing", "give the committed rate"))
        }
        _ => Ok(()),
    }
}

fn reset(asked: &Device) -> Result<(), Failure> {
    let wanted = asked.tests.contains(&Test::Reset);
    match &asked.reset_command {
        None if wanted && asked.lab.is_empty() => Err(Failure::usage(
            "no option gives the command that resets the device",
            "give the command that does it, as in --reset-command 'ssh router reboot'; a lab's device resets by itself",
        )),
        Some(_) if !wanted && !asked.tests.is_empty() => Err(Failure::usage(
            "--reset-command is for the test of reset, which is not asked for",
            "add reset to --tests, or drop --reset-command",
        )),
        Some(command) if command.trim().is_empty() => {
            Err(Failure::usage("--reset-command is empty", "give the command that resets the device"))
        }
        _ => Ok(()),
    }
}

const LEAST_FRAME: Bytes = Bytes(64);
/// The longest IP packet in an Ethernet frame.
const MOST_FRAME: Bytes = Bytes(65_535 + 18);
