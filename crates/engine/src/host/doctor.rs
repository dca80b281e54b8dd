//! Checks of what this host can do for a measurement, why it matters, and the command that fixes a defect.
//!
//! [`examine`] looks and judges; the judging alone is pure, so every verdict is tested without the host it needs.

mod facts;
mod latency;

use facts::{Facts, NfTables};
use insight::fix;
use linux::nic::{Nic, Offload};
use linux::privilege::Capability;
use model::doctor::{Check, Status};
use model::units::Bytes;

/// Looks at this host. Changes nothing, sends nothing beyond this machine, and takes a fraction of a second.
pub fn examine() -> Vec<Check> {
    judge(&Facts::gather())
}

fn judge(facts: &Facts) -> Vec<Check> {
    vec![
        privileges(facts),
        buffer("receive-buffer", "net.core.rmem_max", facts.rmem_max, facts),
        buffer("send-buffer", "net.core.wmem_max", facts.wmem_max, facts),
        tried(
            "udp-gso",
            &facts.udp_gso,
            "one call sent four datagrams over loopback",
            "with it a sender hands over some 40 datagrams in one call and is many times faster; needs Linux 4.18",
            None,
        ),
        tried(
            "udp-gro",
            &facts.udp_gro,
            "one call received four datagrams over loopback",
            "with it a receiver takes many datagrams in one call and loses fewer; needs Linux 5.0",
            None,
        ),
        tried(
            "io-uring",
            &facts.io_uring,
            "a ring can be made",
            "with it a single TCP stream is received faster; without it pathmeter uses plain calls",
            Some("sudo sysctl -w kernel.io_uring_disabled=0".into()),
        ),
        tried(
            "packet-capture",
            &facts.capture,
            "a packet socket with a ring can be opened",
            "--capture and --pcap count and keep the packets of a test; without it TCP's segments are still counted",
            Some(fix::rights(Some(&program(facts)))),
        ),
        clock_source(facts),
        cpus(facts),
        cpu_frequency(facts),
        congestion(facts),
        user_namespaces(facts),
        nf_tables(facts),
        ipv6(facts),
        interface(facts),
        latency::coalescing(facts),
        latency::packet_times(facts),
        latency::sleep_states(facts),
    ]
}

fn privileges(facts: &Facts) -> Check {
    let wanted = [Capability::NetAdmin, Capability::NetRaw, Capability::SysNice];
    let is_fine = wanted.iter().all(|right| facts.has(*right));
    let held = facts.capabilities.iter().copied().map(Capability::name).collect::<Vec<_>>().join(", ");
    let who = if facts.is_root { "root" } else { "an ordinary user" };
    let with = if held.is_empty() { "no capabilities".to_owned() } else { held };
    Check {
        name: "privileges",
        status: if is_fine { Status::Ok } else { Status::Warn },
        found: format!("{who} with {with}"),
        why_it_matters: "buffers beyond the system's limit, ICMP and packet sockets, and real-time priority need rights; \
                         throughput and latency work without",
        fix: (!is_fine).then(|| fix::rights(Some(&program(facts)))),
    }
}

fn buffer(name: &'static str, setting: &str, found: Option<Bytes>, facts: &Facts) -> Check {
    let is_enough = found.is_some_and(|limit| limit >= WANTED_BUFFER);
    let may_exceed = facts.has(Capability::NetAdmin);
    let limit = found.map_or("not visible in this network namespace".into(), |limit| format!("{limit:#}"));
    let excuse = if !is_enough && may_exceed { ", but cap_net_admin goes beyond it" } else { "" };
    let is_fine = is_enough || may_exceed;
    Check {
        name,
        status: if is_fine { Status::Ok } else { Status::Warn },
        found: format!("{setting} {limit}{excuse}"),
        why_it_matters: "at high rates a small UDP socket buffer loses datagrams that the network delivered; \
                         the limit takes no memory, it lets `-w` ask for as much as a busy host needs",
        fix: (!is_fine).then(|| fix::buffer_limit(setting)),
    }
}

fn clock_source(facts: &Facts) -> Check {
    let current = facts.clock_source.as_deref();
    let is_fast = current.is_some_and(|name| FAST_CLOCKS.contains(&name));
    let better = facts.clock_sources.iter().find(|name| FAST_CLOCKS.contains(&name.as_str()));
    let switch = |name: &String| {
        format!("echo {name} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource")
    };
    Check {
        name: "clock-source",
        status: if is_fast { Status::Ok } else { Status::Warn },
        found: current.unwrap_or("unknown").to_owned(),
        why_it_matters: "a slow clock source makes every time stamp a system call of a microsecond, which shows in latency \
                         and packet rates",
        fix: better.filter(|_| !is_fast).map(switch),
    }
}

fn cpus(facts: &Facts) -> Check {
    let Facts { usable_cpus: usable, online_cpus: online, .. } = *facts;
    Check {
        name: "cpus",
        status: if usable >= 2 { Status::Ok } else { Status::Warn },
        found: format!("{usable} usable of {online} online"),
        why_it_matters: "with one CPU the program and the kernel's packet work take turns, and that, not the path, \
                         sets the rate",
        fix: None,
    }
}

fn cpu_frequency(facts: &Facts) -> Check {
    let is_steady = matches!(facts.governor.as_deref(), None | Some("performance"));
    Check {
        name: "cpu-frequency",
        status: if is_steady { Status::Ok } else { Status::Warn },
        found: match &facts.governor {
            Some(governor) => format!("governor {governor}"),
            None => "not scaled by this kernel".into(),
        },
        why_it_matters: "a CPU that slows down when idle adds tens of microseconds to latency and scatter to throughput",
        fix: (!is_steady).then(fix::governor),
    }
}

fn congestion(facts: &Facts) -> Check {
    let has_bbr = facts.congestions.iter().any(|name| name == "bbr");
    let current = facts.congestion.as_deref().unwrap_or("unknown");
    Check {
        name: "congestion-control",
        status: if has_bbr { Status::Ok } else { Status::Warn },
        found: format!("{current}; available: {}", facts.congestions.join(" ")),
        why_it_matters: "TCP's rate on a lossy path depends on it; to compare cubic with bbr both must be there",
        fix: (!has_bbr).then(|| "sudo modprobe tcp_bbr".into()),
    }
}

fn user_namespaces(facts: &Facts) -> Check {
    let mut check = tried(
        "user-namespaces",
        &facts.user_namespace,
        "an ordinary user can make a network of its own",
        "the demonstration and the lab build whole networks on this host; without this they need root",
        Some(
            "sudo sysctl -w user.max_user_namespaces=10000   (Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0, \
             older Debian: kernel.unprivileged_userns_clone=1)"
                .into(),
        ),
    );
    if check.status != Status::Ok && facts.has(Capability::SysAdmin) {
        check.status = Status::Ok;
        check.found.push_str("; not needed, for cap_sys_admin is there");
        check.fix = None;
    } else if check.status != Status::Ok {
        check.status = Status::Fail;
    }
    check
}

fn nf_tables(facts: &Facts) -> Check {
    let (status, found) = match &facts.nf_tables {
        NfTables::Works => {
            (Status::Ok, "a filter was installed and removed in a namespace of its own".into())
        }
        NfTables::Present => (Status::Ok, "the kernel has it".into()),
        NfTables::Unknown => (Status::Ok, "not tried: that takes root".into()),
        NfTables::Missing(reason) => (Status::Warn, reason.clone()),
    };
    Check {
        name: "nf-tables",
        status,
        found,
        why_it_matters: "the router of the demonstration and of the lab drops fragments with it",
        fix: (status != Status::Ok).then(|| "sudo modprobe nf_tables".into()),
    }
}

fn ipv6(facts: &Facts) -> Check {
    let (status, found) = match &facts.ipv6 {
        Ok(()) if facts.has_ipv6_route => (Status::Ok, "present, with a default route".into()),
        Ok(()) => (Status::Ok, "present, but no route leads beyond this host's networks".into()),
        Err(reason) => (Status::Warn, format!("absent: {reason}")),
    };
    Check {
        name: "ipv6",
        status,
        found,
        why_it_matters: "without it only IPv4 paths can be measured",
        fix: (status != Status::Ok).then(|| {
            "sudo sysctl -w net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.lo.disable_ipv6=0".into()
        }),
    }
}

fn interface(facts: &Facts) -> Check {
    const WHY: &str = "without segmentation and joining by the interface or the kernel every packet is handled singly, \
                       at several times the CPU";
    let nic = match &facts.nic {
        Ok(nic) => nic,
        Err(reason) => {
            let found = format!("no default route: {reason}");
            return Check { name: "interface", status: Status::Warn, found, why_it_matters: WHY, fix: None };
        }
    };
    let wanted = [Offload::Tso, Offload::Gso, Offload::Gro];
    let missing: Vec<_> =
        wanted.into_iter().filter(|offload| !nic.has(*offload)).map(Offload::name).collect();
    let switch: Vec<_> = missing.iter().map(|name| format!("{name} on")).collect();
    let is_fine = missing.is_empty() || nic.link.is_loopback;
    Check {
        name: "interface",
        status: if is_fine { Status::Ok } else { Status::Warn },
        found: describe(nic, &missing),
        why_it_matters: WHY,
        fix: (!is_fine).then(|| format!("sudo ethtool -K {} {}", quoted(&nic.link.name), switch.join(" "))),
    }
}

fn describe(nic: &Nic, missing: &[&str]) -> String {
    let driver = nic.driver.as_deref().unwrap_or("unknown driver");
    let speed = match nic.speed {
        Some(speed) => speed.to_string(),
        None if nic.is_virtual => "no speed of its own (virtual)".into(),
        None => "speed unknown".into(),
    };
    let on: Vec<_> = nic.offloads.iter().map(|offload| offload.name()).collect();
    let off = if missing.is_empty() { String::new() } else { format!("; off: {}", missing.join(" ")) };
    format!("{} ({driver}), MTU {}, {speed}; on: {}{off}", nic.link.name, nic.link.mtu, on.join(" "))
}

/// This program as one word of a shell.
fn program(facts: &Facts) -> String {
    quoted(&facts.program.as_ref().map_or("pathmeter".into(), |path| path.display().to_string()))
}

/// A check that is nothing but an attempt.
fn tried(
    name: &'static str,
    result: &Result<(), String>,
    success: &str,
    why_it_matters: &'static str,
    fix: Option<String>,
) -> Check {
    let (status, found) = match result {
        Ok(()) => (Status::Ok, success.to_owned()),
        Err(reason) => (Status::Warn, reason.clone()),
    };
    Check { name, status, found, why_it_matters, fix: fix.filter(|_| status != Status::Ok) }
}

/// The text as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@:".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

const WANTED_BUFFER: Bytes = Bytes(16 * 1024 * 1024);
/// Clock sources that are read without entering the kernel.
const FAST_CLOCKS: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource"];

#[cfg(test)]
mod tests;
