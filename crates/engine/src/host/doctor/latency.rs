//! Checks of what lengthens round trips, and of what can time them.

use super::{Check, Facts, Status, quoted};
use linux::nic::{Nic, PacketClock};
use model::units::Nanos;

pub(super) fn coalescing(facts: &Facts) -> Check {
    let nic = hardware(facts);
    let wait = nic.and_then(|nic| nic.coalescing);
    let is_long = wait.is_some_and(|wait| wait > LONG_COALESCING);
    Check {
        name: "interrupt-coalescing",
        status: if is_long { Status::Warn } else { Status::Ok },
        found: match (nic, wait) {
            (None, _) => "no hardware interface on the default route".into(),
            (Some(_), None) => "the driver has no such setting".into(),
            (Some(nic), Some(Nanos::ZERO)) => format!("{} waits for no further packet", nic.link.name),
            (Some(nic), Some(wait)) => format!("{} waits up to {wait} with a received packet", nic.link.name),
        },
        why_it_matters: "the interface gathers packets before it interrupts, and every round trip waits with them",
        fix: nic.filter(|_| is_long).map(|nic| {
            format!(
                "sudo ethtool -C {} adaptive-rx off rx-usecs 0 (while round trips are measured)",
                quoted(&nic.link.name)
            )
        }),
    }
}

pub(super) fn packet_times(facts: &Facts) -> Check {
    let nic = hardware(facts);
    let clock = nic.map(|nic| nic.packet_clock);
    Check {
        name: "packet-times",
        status: match clock {
            None | Some(PacketClock::InterfaceOn) => Status::Ok,
            Some(PacketClock::Kernel | PacketClock::InterfaceOff) => Status::Warn,
        },
        found: match clock {
            None => "by the kernel; no hardware interface on the default route".into(),
            Some(PacketClock::Kernel) => "by the kernel: this interface has no clock for packets".into(),
            Some(PacketClock::InterfaceOff) => "by the kernel: the interface could and is not set to".into(),
            Some(PacketClock::InterfaceOn) => "by the interface and the kernel".into(),
        },
        why_it_matters: "round trips on the wire, without this host's own part, are timed by the interface, or a little \
                         less exactly by the kernel",
        fix: nic
            .filter(|nic| nic.packet_clock == PacketClock::InterfaceOff)
            .map(|nic| format!("sudo hwstamp_ctl -i {} -t 1 -r 1", quoted(&nic.link.name))),
    }
}

pub(super) fn sleep_states(facts: &Facts) -> Check {
    let is_deep = facts.deepest_sleep.is_some_and(|exit| exit > DEEP_SLEEP);
    Check {
        name: "cpu-sleep",
        status: if is_deep { Status::Warn } else { Status::Ok },
        found: match facts.deepest_sleep {
            Some(exit) => format!("an idle CPU takes up to {exit} to wake up"),
            None => "the kernel lists no sleep states".into(),
        },
        why_it_matters: "a CPU that sleeps deeply between two packets adds the time of its waking to every round trip, \
                         unless the tool spins (`--wait spin`)",
        fix: is_deep.then(|| {
            format!(
                "sudo cpupower idle-set --disable-by-latency {} (while round trips are measured)",
                DEEP_SLEEP.0 / 1000
            )
        }),
    }
}

/// The interface of the default route, when it is one of hardware.
fn hardware(facts: &Facts) -> Option<&Nic> {
    facts.nic.as_ref().ok().filter(|nic| !nic.is_virtual)
}

/// Much more than a round trip in the same room.
const LONG_COALESCING: Nanos = Nanos::from_micros(10);
const DEEP_SLEEP: Nanos = Nanos::from_micros(20);
