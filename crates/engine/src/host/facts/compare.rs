//! How two readings of a host differ, as facts. Pure: what is not known, and what did not move, is left out.

use super::{Interface, Reading};
use insight::limit::facts::driver_counter;
use linux::netlink::QdiscStatistics;
use linux::nic::Offload;
use model::limit::{FactName, HostFact};
use model::units::Nanos;
use std::collections::BTreeMap;

/// The facts of the time between two readings.
pub(super) fn facts(before: &Reading, after: &Reading) -> Vec<HostFact> {
    let mut found = of_host(before, after);
    for now in &after.interfaces {
        let mut earlier = before.interfaces.iter();
        let Some(earlier) = earlier.find(|earlier| earlier.nic.link.index == now.nic.link.index) else {
            continue;
        };
        found.extend(of_link(earlier, now));
        found.extend(of_queues(earlier, now));
        found.extend(of_driver(earlier, now));
        found.extend(of_hardware(now));
        found.extend(of_bond(earlier, now));
        found.extend(of_wifi(earlier, now));
        found.extend(of_tunnel(earlier, now, after.at.saturating_since(before.at)));
    }
    found.retain(|fact| fact.value != 0.0 || fact.name == FactName::Tunnel);
    found
}

fn of_host(before: &Reading, after: &Reading) -> Vec<HostFact> {
    let moved = after.counters.since(&before.counters);
    let counter = |name: &str| moved.by_kernel_name(name).unwrap_or(0) as f64;
    let mut found = vec![
        HostFact::new(FactName::MemoryPressure, "", counter("TcpExt.TCPMemoryPressures")),
        HostFact::new(FactName::MtuProbesFailed, "", counter("TcpExt.TCPMTUPFail")),
        HostFact::new(FactName::TcpChecksums, "", counter("Tcp.InCsumErrors")),
        HostFact::new(FactName::BacklogDrops, "", grown(after.backlog_drops, before.backlog_drops)),
        HostFact::new(FactName::ConntrackDrops, "", grown(after.conntrack_drops, before.conntrack_drops)),
    ];
    found.extend(after.conntrack.map(|(tracked, most)| {
        HostFact::new(FactName::ConntrackTable, "", tracked as f64).of_whole(most as f64)
    }));
    for quota in &after.quotas {
        let earlier = before.quotas.iter().find(|earlier| earlier.group == quota.group);
        let throttled = earlier.and_then(|earlier| quota.throttled_since(earlier));
        let fact = |share| HostFact::new(FactName::CpuQuota, quota.group.clone(), share).of_whole(quota.cpus);
        found.extend(throttled.map(fact));
    }
    for (chain, packets) in &after.firewall {
        let earlier = before.firewall.get(chain).copied().unwrap_or(0);
        found.push(HostFact::new(FactName::FirewallDrops, chain.clone(), grown(*packets, earlier)));
    }
    found.extend(after.frequency.as_ref().map(|(governor, now, most)| {
        HostFact::new(FactName::CpuFrequency, governor.clone(), *now as f64).of_whole(*most as f64)
    }));
    let hot = after.throttled.zip(before.throttled).map(|(now, earlier)| grown(now, earlier));
    found.extend(hot.map(|times| HostFact::new(FactName::CpuThrottled, "", times)));
    let buffer = |(name, bytes): &(&str, u64)| HostFact::new(FactName::BufferLimit, *name, *bytes as f64);
    found.extend(after.buffers.iter().map(buffer));
    found
}

fn of_link(before: &Interface, now: &Interface) -> Vec<HostFact> {
    let (link, name) = (&now.nic.link, || now.nic.link.name.clone());
    let moved = link.statistics.since(&before.nic.link.statistics);
    let received = moved.rx_packets as f64;
    let lost = link.carrier_losses.unwrap_or(0).saturating_sub(before.nic.link.carrier_losses.unwrap_or(0));
    let pause = now.pause.zip(before.pause).map(|(now, earlier)| now.since(earlier)).unwrap_or_default();
    let room = moved.rx_missed.saturating_add(moved.rx_fifo) as f64;
    vec![
        HostFact::new(FactName::RingDrops, name(), room).of_whole(received),
        HostFact::new(FactName::LineErrors, name(), moved.rx_crc as f64).of_whole(received),
        HostFact::new(FactName::HalfDuplex, name(), moved.collisions as f64),
        HostFact::new(FactName::CarrierLosses, name(), f64::from(lost)),
        HostFact::new(FactName::PauseReceived, name(), pause.received as f64),
        HostFact::new(FactName::PauseSent, name(), pause.sent as f64),
        HostFact::new(FactName::InterfaceMtu, name(), f64::from(link.mtu)),
    ]
}

/// The discipline at the root counts what those below it do; with several of them (mq) the kernel adds them up.
fn of_queues(before: &Interface, now: &Interface) -> Vec<HostFact> {
    let root = |interface: &Interface| -> Option<QdiscStatistics> {
        interface.qdiscs.iter().find(|qdisc| qdisc.is_root).cloned()
    };
    let (Some(qdisc), earlier) = (root(now), root(before).unwrap_or_default()) else { return Vec::new() };
    let earlier = if earlier.kind == qdisc.kind { earlier } else { QdiscStatistics::default() };
    let name = format!("{} of {}", qdisc.kind, now.nic.link.name);
    let sent = grown(qdisc.packets, earlier.packets);
    let rate = qdisc.rate.map_or(0.0, |rate| rate.0 as f64);
    let held = grown(qdisc.overlimits, earlier.overlimits);
    vec![
        HostFact::new(FactName::QueueHeld, name.clone(), held).of_whole(sent),
        HostFact::new(FactName::QueueRate, name.clone(), if held > 0.0 { rate } else { 0.0 }),
        HostFact::new(FactName::QueueDrops, name, grown(qdisc.drops, earlier.drops)).of_whole(sent),
    ]
}

/// The driver's counters that the table knows, those of its queues added up.
fn of_driver(before: &Interface, now: &Interface) -> Vec<HostFact> {
    let driver = now.nic.driver.as_deref().unwrap_or_default();
    let earlier: BTreeMap<&str, u64> =
        before.counters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let mut sums: BTreeMap<(FactName, String), f64> = BTreeMap::new();
    for (name, value) in &now.counters {
        let Some((fact, common)) = driver_counter(driver, name) else { continue };
        let Some(earlier) = earlier.get(name.as_str()) else { continue };
        *sums.entry((fact, common)).or_default() += grown(*value, *earlier);
    }
    let name = &now.nic.link.name;
    sums.into_iter()
        .map(|((fact, common), sum)| HostFact::new(fact, format!("{common} of {name} ({driver})"), sum))
        .collect()
}

/// How the hardware is set up: link, bus, offloads.
fn of_hardware(now: &Interface) -> Vec<HostFact> {
    let nic = &now.nic;
    let mut found = Vec::new();
    if let (Some(speed), Some(best)) = (nic.mode.speed, nic.mode.best) {
        let fact = HostFact::new(FactName::LinkSpeed, nic.link.name.clone(), speed.0 as f64);
        found.push(fact.of_whole(best.0 as f64));
    }
    if let Some(bus) = &now.bus {
        let fact =
            HostFact::new(FactName::Bus, format!("{} of {}", bus.name, nic.link.name), bus.rate.0 as f64);
        found.push(bus.best.map_or(fact.clone(), |best| fact.of_whole(best.0 as f64)));
    }
    let off: Vec<&str> = [Offload::Tso, Offload::Gso, Offload::Gro]
        .iter()
        .filter(|one| !nic.has(**one))
        .map(|one| one.name())
        .collect();
    if !nic.is_virtual && !off.is_empty() {
        let names = format!("{} of {}", off.join(", "), nic.link.name);
        found.push(HostFact::new(FactName::OffloadsOff, names, off.len() as f64));
    }
    found
}

/// The share of the member that sent the most: one flow goes over one of them.
fn of_bond(before: &Interface, now: &Interface) -> Option<HostFact> {
    let policy = now.nic.link.bond?.hash_policy()?;
    let sent = |link: &linux::netlink::Link| {
        let earlier = before.members.iter().find(|earlier| earlier.index == link.index)?;
        Some(grown(link.statistics.tx_bytes, earlier.statistics.tx_bytes))
    };
    let bytes: Vec<f64> = now.members.iter().filter_map(sent).collect();
    let most = bytes.iter().copied().fold(0.0, f64::max);
    let name = format!("{} ({policy})", now.nic.link.name);
    (bytes.len() >= 2).then(|| HostFact::new(FactName::BondMember, name, most).of_whole(bytes.iter().sum()))
}

/// An access point has several stations: which of them the test goes to is not known then.
fn of_wifi(before: &Interface, now: &Interface) -> Vec<HostFact> {
    let ([station], name) = (now.wifi.as_slice(), &now.nic.link.name) else { return Vec::new() };
    let earlier = match before.wifi.as_slice() {
        [earlier] if earlier.tx_packets <= station.tx_packets => *earlier,
        _ => linux::netlink::WifiPeer::default(),
    };
    let rate = station.tx_rate.map_or(0.0, |rate| rate.0 as f64);
    let retries = grown(station.tx_retries, earlier.tx_retries);
    let sent = grown(station.tx_packets, earlier.tx_packets);
    vec![
        HostFact::new(FactName::WifiSignal, name, station.signal_dbm.map_or(0.0, f64::from)),
        HostFact::new(FactName::WifiRate, name, rate),
        HostFact::new(FactName::WifiRetries, name, retries).of_whole(sent),
    ]
}

/// The device of a tunnel, and how busy the program behind it was.
fn of_tunnel(before: &Interface, now: &Interface, lasted: Nanos) -> Option<HostFact> {
    let kind = now.nic.link.kind.as_deref().filter(|kind| TUNNELS.contains(kind))?;
    let used = |(thread, time): (&u32, &Nanos)| {
        let used = time.saturating_sub(*before.threads.get(thread)?);
        Some(used.0 as f64 / lasted.0.max(1) as f64)
    };
    let busiest = now.threads.iter().filter_map(used).fold(0.0, f64::max);
    Some(HostFact::new(FactName::Tunnel, format!("{} ({kind})", now.nic.link.name), busiest))
}

fn grown(now: u64, earlier: u64) -> f64 {
    now.saturating_sub(earlier) as f64
}

/// Kinds of devices that wrap packets into others (`IFLA_INFO_KIND`).
const TUNNELS: [&str; 14] = [
    "tun",
    "wireguard",
    "gre",
    "gretap",
    "erspan",
    "ipip",
    "sit",
    "ip6tnl",
    "ip6gre",
    "vxlan",
    "geneve",
    "vti",
    "xfrm",
    "l2tp",
];

#[cfg(test)]
mod tests;
