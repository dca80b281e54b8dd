//! Rates, delays, queues and MTUs that the kernel can hold.

use super::Checker;
use crate::topology::{Device, DeviceKind, End, Link, Node, Queue, Shape, Side, Topology};
use model::units::{BitRate, Bytes, Nanos};

pub(super) fn check(topology: &Topology, checker: &mut Checker<'_>) {
    for (number, link) in topology.links.iter().enumerate() {
        for (place, side) in link.sides.iter().enumerate() {
            let mut wrong = |key: &str, text: String| {
                checker.wrong(&["links", &number.to_string(), key, &place.to_string()], text);
            };
            rate(side, &mut wrong);
            queue(side, &mut wrong);
            delay(&side.shape, &mut wrong);
            if side.mac.is_some_and(|mac| mac[0] & 1 != 0 || mac == [0; 6]) {
                wrong("mac", "that is not an address of one interface: the lowest bit of its first byte must be 0, such as 02:00:00:00:00:01".to_owned());
            }
        }
        mac(link, number, checker);
    }
    for node in &topology.nodes {
        for device in &node.devices {
            vlan(topology, node, device, checker);
        }
        ipv6(topology, node, checker);
    }
}

fn rate(side: &Side, wrong: &mut impl FnMut(&str, String)) {
    let Some(rate) = side.shape.rate else { return };
    let frame = frame(side);
    let least = frame.0 * 8;
    if rate.0 < least {
        let mtu = side.mtu;
        let text = format!(
            "{rate} is too low for the shaper: a packet of {mtu} bytes would take more than a second; give at least {least} bit/s"
        );
        wrong("rate", text);
    } else if rate > MOST_RATE {
        let text = format!(
            "{rate} is too high for the shaper, which is one CPU's work: give at most {MOST_RATE}, or no rate"
        );
        wrong("rate", text);
    }
}

fn queue(side: &Side, wrong: &mut impl FnMut(&str, String)) {
    let Some(queue) = side.shape.queue else { return };
    let frame = frame(side);
    let held = match (queue, side.shape.rate) {
        (Queue::Packets(packets), _) => Bytes(u64::from(packets) * frame.0),
        (Queue::Bytes(bytes), _) => bytes,
        (Queue::Time(time), Some(rate)) => rate.bytes_in(time),
        (Queue::Time(_), None) => {
            let text = "room for some time needs a rate: give the link a `rate`, or the room in packets";
            return wrong("queue", text.to_owned());
        }
    };
    if side.shape.rate.is_none() && side.shape.delay.is_none() {
        wrong("queue", "nothing waits on this link: give it a `rate` or a `delay`, or no queue".to_owned());
    } else if held < frame {
        let (held, frame) = (held.0, frame.0);
        let text = format!(
            "the queue has room for {held} bytes and a frame of this link has {frame}: nothing would cross"
        );
        wrong("queue", text);
    } else if held > MOST_QUEUE {
        wrong("queue", format!("the queue has room for {held}: give at most {MOST_QUEUE}"));
    }
}

fn delay(shape: &Shape, wrong: &mut impl FnMut(&str, String)) {
    let delay = shape.delay.unwrap_or_default();
    if delay > MOST_DELAY {
        wrong("delay", format!("{delay} is too long: give at most {MOST_DELAY}"));
    }
    if shape.jitter.is_some_and(|jitter| jitter > delay) {
        let text =
            format!("the jitter is more than the delay ({delay}): a packet cannot arrive before it is sent");
        wrong("jitter", text);
    }
    if shape.reorder > 0.0 && delay == Nanos::ZERO {
        wrong("reorder", "packets overtake those that are delayed: give the link a `delay`".to_owned());
    }
}

fn mac(link: &Link, number: usize, checker: &mut Checker<'_>) {
    let [one, other] = &link.sides;
    if one.mac.is_some() && one.mac == other.mac {
        let path = ["links", &number.to_string(), "mac"];
        checker.wrong(&path, "both ends have the same hardware address: give each its own");
    }
}

/// A VLAN's packets must fit the device below, without its tag (802.1Q adds 4 bytes that no MTU counts).
fn vlan(topology: &Topology, node: &Node, device: &Device, checker: &mut Checker<'_>) {
    let DeviceKind::Vlan { on, .. } = &device.kind else { return };
    if let (Some(own), Some(below)) = (device.mtu, mtu_of(topology, &node.end(on)))
        && own > below
    {
        let path = ["nodes", &node.name, "devices", &device.name, "mtu"];
        checker.wrong(&path, format!("an MTU of {own} does not fit `{on}` below, whose MTU is {below}"));
    }
}

/// RFC 8200 section 5: IPv6 needs 1280 bytes, and the kernel takes it off an interface with less.
fn ipv6(topology: &Topology, node: &Node, checker: &mut Checker<'_>) {
    for address in node.addresses.iter().filter(|address| address.address.is_ipv6()) {
        let end = node.end(&address.device);
        let Some(mtu) = mtu_of(topology, &end).filter(|mtu| *mtu < 1280) else { continue };
        let text = format!(
            "`{end}` has an IPv6 address and an MTU of {mtu}: IPv6 needs 1280; raise the MTU or take the address away"
        );
        let place = topology.links.iter().enumerate().find_map(|(number, link)| {
            let place = link.sides.iter().position(|side| side.end == end)?;
            Some((number.to_string(), place.to_string()))
        });
        match place {
            Some((number, place)) => checker.wrong(&["links", &number, "mtu", &place], text),
            None => checker.wrong(&["nodes", &end.node, "devices", &end.device, "mtu"], text),
        }
    }
}

fn mtu_of(topology: &Topology, device: &End) -> Option<u32> {
    let side = topology.sides().find(|side| side.end == *device).map(|side| side.mtu);
    side.or_else(|| topology.made().find(|(end, _)| end == device)?.1.mtu)
}

/// The largest frame of a link, as the kernel counts it: without FCS.
fn frame(side: &Side) -> Bytes {
    Bytes(u64::from(side.mtu) + 14)
}

const MOST_RATE: BitRate = BitRate(10_000_000_000);
const MOST_QUEUE: Bytes = Bytes(1 << 30);
const MOST_DELAY: Nanos = Nanos::from_secs(60);
