//! The table of facts of hosts: where each is read, from when on it counts, which kinds of limits it explains or names by itself, in
//! which words, and with which command it is repaired. `docs/methods/limit.md` has the same table.

use super::signs::Signs;
use super::{End, limit, path};
use crate::finding::percent;
use crate::fix;
use model::limit::{Confidence, FactName, HostFact, Limit, LimitKind};
use model::units::{BitRate, Bytes};

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct FactRow {
    /// The fact.
    pub name: FactName,
    /// Where it is read.
    pub source: &'static str,
    /// The end at which it counts.
    pub end: End,
    /// From when on it counts.
    from: Threshold,
    /// The kind it names by itself; absent: it explains only.
    names: Option<LimitKind>,
    /// The kinds it explains.
    explains: &'static [LimitKind],
    /// Its words about a host.
    sentence: fn(&HostFact, &str) -> String,
    /// The command that repairs it, or what to buy.
    fix: fn(&HostFact) -> String,
}

/// When a fact counts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Threshold {
    /// The value is so much at least.
    Value(f64),
    /// The value is so much of its whole at least.
    Share(f64),
    /// The value is less than so much of its whole.
    Below(f64),
    /// The value is at least this share of the packets of the test.
    Packets(f64),
    /// One in a thousand of the packets of the test, and most of those that TCP lost.
    Losses,
    /// The limit holds back all that is above its rate, which the test reached.
    Held,
    /// The test reached what a bus carries in practice, and the link would carry more.
    Bus,
    /// The buffer is what a window of this size fills.
    Window,
    /// The interface of the sender takes larger packets.
    SmallerMtu,
}

/// Every fact that counts; of several the first is the cause.
pub const FACTS: &[FactRow] = &[
    fact(
        FactName::CpuQuota,
        "`cpu.max` and `cpu.stat` of the cgroups (both versions)",
        Threshold::Value(MOSTLY),
    )
    .explaining(CPU)
    .reads(|fact, host| {
        let cpus = fact.whole.unwrap_or_default();
        let share = percent(fact.value);
        format!(
            "cgroup {} of {host} may use {cpus:.2} CPUs and was throttled in {share} of its \
             periods",
            fact.of
        )
    })
    .repaired(|fact| {
        format!(
            "raise the CPU quota of cgroup {}: `cpu.max`, a container's CPU limit, or \
             `docker update --cpus`",
            fact.of
        )
    }),
    fact(FactName::CpuShared, "`SO_INCOMING_CPU` and the CPU of the stream's thread", Threshold::Value(0.0))
        .at(End::Receiver)
        .explaining(&[LimitKind::ReceiverCpu])
        .reads(|fact, host| {
            format!("CPU {} of {host} takes the packets and runs the program, too", fact.value)
        })
        .repaired(|_| {
            "keep them apart: `--affinity` with another CPU, or more queues (`ethtool -L \
             INTERFACE combined N`)"
                .into()
        }),
    fact(FactName::CpuSteal, "`/proc/stat`", Threshold::Share(0.1))
        .explaining(CPU)
        .reads(|fact, host| {
            format!("the hypervisor took {} of the CPU time of {host}", percent(fact.share()))
        })
        .repaired(|_| "a machine whose CPUs are its own".into()),
    fact(FactName::CpuThrottled, "`core_throttle_count` of the CPUs", Threshold::Value(1.0))
        .explaining(CPU)
        .reads(|fact, host| format!("heat slowed the CPUs of {host} down {} times", fact.value))
        .repaired(|_| "cool the machine".into()),
    fact(
        FactName::CpuFrequency,
        "`scaling_governor`, `scaling_cur_freq` and `cpuinfo_max_freq`",
        Threshold::Below(0.8),
    )
    .explaining(CPU)
    .reads(|fact, host| {
        format!("the governor {} held a CPU of {host} at {} of its frequency", fact.of, percent(fact.share()))
    })
    .repaired(|_| fix::governor()),
    fact(FactName::OffloadsOff, "`ETHTOOL_GFEATURES`", Threshold::Value(1.0))
        .explaining(CPU)
        .reads(|fact, host| format!("offloads are off at {host}: {}", fact.of))
        .repaired(|fact| {
            let (names, interface) = fact.of.split_once(" of ").unwrap_or((&fact.of, "INTERFACE"));
            let on: Vec<String> = names.split(", ").map(|name| format!("{name} on")).collect();
            format!("`ethtool -K {interface} {}`", on.join(" "))
        }),
    fact(FactName::TcpChecksums, "`Tcp: InCsumErrors`", Threshold::Losses)
        .at(End::Receiver)
        .naming(LimitKind::Offload)
        .explaining(&[LimitKind::Loss])
        .reads(|fact, host| {
            format!("{} segments came to {host} with a wrong checksum and were dropped", fact.value)
        })
        .repaired(|_| {
            "try without checksum offload: `ethtool -K INTERFACE tx off` at the sender and \
             at boxes that forward, `rx off` at the receiver"
                .into()
        }),
    fact(
        FactName::QueueHeld,
        "`RTM_GETQDISC` of the interface: `overlimits` and the rate of a token bucket",
        Threshold::Held,
    )
    .at(End::Sender)
    .naming(LimitKind::HostQueue)
    .reads(|fact, host| format!("queueing discipline {} at {host} holds its packets back", fact.of))
    .repaired(|fact| {
        let interface = fact.of.rsplit(' ').next().unwrap_or("INTERFACE");
        format!(
            "`tc qdisc show dev {interface}` shows its rate, `tc qdisc del dev {interface} \
             root` removes it"
        )
    }),
    fact(FactName::QueueDrops, "`RTM_GETQDISC` of the interface: `drops`", Threshold::Losses)
        .at(End::Sender)
        .naming(LimitKind::HostQueue)
        .explaining(&[LimitKind::HostQueue])
        .reads(|fact, host| {
            format!("queueing discipline {} at {host} dropped {} packets", fact.of, fact.value)
        })
        .repaired(|fact| {
            let interface = fact.of.rsplit(' ').next().unwrap_or("INTERFACE");
            format!("a queue of packets for each flow: `tc qdisc replace dev {interface} root fq`")
        }),
    fact(FactName::CloudAllowance, "`ethtool -S` of ena", Threshold::Packets(NOTICED))
        .naming(LimitKind::HostDrop)
        .explaining(&[
            LimitKind::Shaper,
            LimitKind::Policer,
            LimitKind::PacketRate,
            LimitKind::Loss,
            LimitKind::Aqm,
        ])
        .reads(|fact, host| {
            format!(
                "the cloud queued or dropped {} packets beyond the allowance of {host}: {}",
                fact.value, fact.of
            )
        })
        .repaired(|fact| allowance_fix(&fact.of).into()),
    drops(FactName::DriverDrops, "`ethtool -S` of gve, mana, hv_netvsc, virtio_net, mlx5, ena")
        .reads(|fact, host| {
            format!("the driver of {host} had no buffer for {} packets: {}", fact.value, fact.of)
        })
        .repaired(|_| {
            "longer rings, `ethtool -G INTERFACE rx MAXIMUM`, and more queues, `ethtool -L \
             INTERFACE combined N`"
                .into()
        }),
    drops(FactName::RingDrops, "`IFLA_STATS64`: `rx_missed_errors`, `rx_fifo_errors`")
        .reads(|fact, host| {
            format!("the ring of {} at {host} was full and dropped {} frames", fact.of, fact.value)
        })
        .repaired(|fact| {
            format!("a longer ring: `ethtool -G {} rx MAXIMUM` (`ethtool -g {}` shows it)", fact.of, fact.of)
        }),
    drops(FactName::BacklogDrops, "`/proc/net/softnet_stat`, column 2")
        .reads(|fact, host| format!("the backlog of a CPU of {host} dropped {} packets", fact.value))
        .repaired(|_| "`sudo sysctl -w net.core.netdev_max_backlog=10000`".into()),
    drops(FactName::ConntrackDrops, "`/proc/net/stat/nf_conntrack`: insert_failed, drop, early_drop")
        .reads(|fact, host| format!("connection tracking of {host} dropped {} packets", fact.value))
        .repaired(|_| {
            "a larger table, `sudo sysctl -w net.netfilter.nf_conntrack_max=N`, or no \
             tracking of these flows (`notrack`)"
                .into()
        }),
    drops(FactName::FirewallDrops, "rules of nf_tables with a counter (with CAP_NET_ADMIN)")
        .reads(|fact, host| format!("the firewall of {host} dropped {} packets, in {}", fact.value, fact.of))
        .repaired(|_| "`nft list ruleset` shows the rule".into()),
    fact(FactName::ConntrackTable, "`nf_conntrack_count` and `nf_conntrack_max`", Threshold::Share(0.95))
        .explaining(&[LimitKind::HostDrop])
        .reads(|fact, host| {
            format!("the table of tracked connections of {host} is {} full", percent(fact.share()))
        })
        .repaired(|_| "`sudo sysctl -w net.netfilter.nf_conntrack_max=N`".into()),
    fact(FactName::DriverStops, "`ethtool -S`: the driver's queue was full", Threshold::Packets(NOTICED))
        .at(End::Sender)
        .explaining(&[LimitKind::HostQueue])
        .reads(|fact, host| {
            format!("the driver of {host} stopped its queue {} times: {}", fact.value, fact.of)
        })
        .repaired(|_| {
            "longer rings (`ethtool -G INTERFACE tx MAXIMUM`); where a hypervisor holds the \
             rate, a larger instance"
                .into()
        }),
    fact(
        FactName::LinkSpeed,
        "`ETHTOOL_GLINKSETTINGS`: speed, and the best of what both ends offer",
        Threshold::Below(1.0),
    )
    .explaining(&[LimitKind::LineRate, LimitKind::Link])
    .reads(|fact, host| {
        let (speed, best) = (rate(fact.value), rate(fact.whole.unwrap_or_default()));
        format!("{} of {host} runs at {speed}, though both ends of its link offer {best}", fact.of)
    })
    .repaired(|fact| format!("another cable or port, then `ethtool -s {} autoneg on`", fact.of)),
    fact(FactName::HalfDuplex, "`IFLA_STATS64`: `collisions`", Threshold::Packets(NOTICED))
        .naming(LimitKind::Link)
        .explaining(&[LimitKind::LineRate, LimitKind::Loss])
        .reads(|fact, host| format!("{} of {host} is half duplex: {} collisions", fact.of, fact.value))
        .repaired(|fact| format!("the same setting at both ends: `ethtool -s {} autoneg on`", fact.of)),
    fact(FactName::LineErrors, "`IFLA_STATS64`: `rx_crc_errors`", Threshold::Losses)
        .at(End::Receiver)
        .naming(LimitKind::Link)
        .explaining(&[LimitKind::Loss])
        .reads(|fact, host| format!("{} frames came to {} of {host} damaged (CRC)", fact.value, fact.of))
        .repaired(|_| "another cable, optic or port".into()),
    fact(FactName::CarrierLosses, "`IFLA_CARRIER_DOWN_COUNT`", Threshold::Value(1.0))
        .explaining(&[LimitKind::Loss, LimitKind::VariableRate, LimitKind::Link])
        .reads(|fact, host| {
            format!("{} of {host} lost its link {} times during the test", fact.of, fact.value)
        })
        .repaired(|_| "another cable, optic or port".into()),
    pauses(FactName::PauseReceived, End::Sender).reads(|fact, host| {
        format!("the neighbour of {} at {host} made it wait with {} pause frames", fact.of, fact.value)
    }),
    pauses(FactName::PauseSent, End::Receiver).reads(|fact, host| {
        format!("{} of {host} made its neighbour wait with {} pause frames", fact.of, fact.value)
    }),
    fact(FactName::Bus, "`current_link_speed`, `current_link_width` of PCIe; `speed` of USB", Threshold::Bus)
        .naming(LimitKind::Bus)
        .reads(|fact, host| format!("the bus carries {} at most: {}, at {host}", rate(fact.value), fact.of))
        .repaired(|fact| match fact.whole.is_some_and(|best| best > fact.value) {
            true => "a slot as wide and as fast as the card (`lspci -vv`: LnkCap, LnkSta)".into(),
            false => "an interface on a faster bus".into(),
        }),
    fact(FactName::BondMember, "bytes of the members, `IFLA_BOND_XMIT_HASH_POLICY`", Threshold::Share(0.9))
        .at(End::Sender)
        .explaining(&[LimitKind::LineRate, LimitKind::Shaper, LimitKind::Policer])
        .reads(|fact, host| {
            format!("one member of {} at {host} sent {} of the bytes", fact.of, percent(fact.share()))
        })
        .repaired(|fact| {
            let name = fact.of.split(' ').next().unwrap_or("BOND");
            format!(
                "several flows (`-P 4`), shared out by ports: `ip link set {name} type bond \
             xmit_hash_policy layer3+4`"
            )
        }),
    buffer(End::Receiver, &[LimitKind::ReceiverWindow]),
    buffer(End::Sender, &[LimitKind::SenderBuffer]),
    fact(FactName::MemoryPressure, "`TcpExt: TCPMemoryPressures`", Threshold::Value(1.0))
        .explaining(&[LimitKind::ReceiverWindow, LimitKind::SenderBuffer])
        .reads(|_, host| format!("TCP of {host} ran short of memory"))
        .repaired(|_| {
            "more memory for TCP: `net.ipv4.tcp_mem`, or fewer connections that are not read".into()
        }),
    fact(FactName::MtuProbesFailed, "`TcpExt: TCPMTUPFail`", Threshold::Value(1.0))
        .at(End::Sender)
        .explaining(&[LimitKind::Mtu])
        .reads(|fact, host| format!("TCP of {host} had to make its segments smaller, {} times", fact.value))
        .repaired(|_| "`pathmeter mtu HOST` finds the size that passes".into()),
    fact(FactName::InterfaceMtu, "`IFLA_MTU` of both ends", Threshold::SmallerMtu)
        .at(End::Receiver)
        .explaining(&[LimitKind::Mtu])
        .reads(|fact, host| {
            format!("{} of {host} has an MTU of {}, less than the other end's", fact.of, fact.value)
        })
        .repaired(|fact| {
            format!("the same MTU at both ends and between them: `ip link set dev {} mtu N`", fact.of)
        }),
    fact(
        FactName::Tunnel,
        "`IFLA_INFO_KIND`; `/proc/PID/fdinfo` and `/proc/PID/task/*/stat` of the \
             program behind a `tun`",
        Threshold::Value(0.9),
    )
    .naming(LimitKind::Tunnel)
    .reads(|fact, host| {
        let share = percent(fact.value);
        format!("a thread of the program behind {} at {host} used {share} of a CPU", fact.of)
    })
    .repaired(|_| "a tunnel that the kernel runs (WireGuard, IPsec), or a test beside it to compare".into()),
    fact(FactName::WifiRate, "nl80211: `GET_STATION`", Threshold::Value(1.0))
        .explaining(&[LimitKind::Wifi])
        .reads(|fact, host| format!("Wi-Fi {} of {host} sent at {}", fact.of, rate(fact.value)))
        .repaired(|_| "a place nearer to the access point, another channel or band, or a cable".into()),
];

const fn fact(name: FactName, source: &'static str, from: Threshold) -> FactRow {
    FactRow {
        name,
        source,
        end: End::Either,
        from,
        names: None,
        explains: &[],
        sentence: |_, _| String::new(),
        fix: |_| String::new(),
    }
}

const fn drops(name: FactName, source: &'static str) -> FactRow {
    fact(name, source, Threshold::Losses).naming(LimitKind::HostDrop).explaining(&[LimitKind::HostDrop])
}

const fn pauses(name: FactName, end: End) -> FactRow {
    fact(name, "`ETHTOOL_MSG_PAUSE_GET` with statistics", Threshold::Packets(NOTICED))
        .at(end)
        .naming(LimitKind::Pause)
        .repaired(|fact| {
            format!(
                "find the slower port behind the switch; `ethtool -A {} rx off tx off` drops packets instead",
                fact.of
            )
        })
}

const fn buffer(end: End, explains: &'static [LimitKind]) -> FactRow {
    let source = "the third number of `net.ipv4.tcp_rmem` (receiver) and `net.ipv4.tcp_wmem` (sender)";
    fact(FactName::BufferLimit, source, Threshold::Window)
        .at(end)
        .explaining(explains)
        .reads(|fact, host| format!("{} of {host} allows {} at most", fact.of, bytes(fact.value)))
        .repaired(|fact| {
            let (default, more) =
                (if fact.of.ends_with("rmem") { 131_072 } else { 16_384 }, bytes(fact.value * 8.0).0);
            format!("`sudo sysctl -w {}=\"4096 {default} {}\"`", fact.of, more.next_power_of_two())
        })
}

/// The fact that a counter of a driver is, and its name without the numbers of queues; `None`: nothing that the table knows.
#[must_use]
pub fn driver_counter(driver: &str, counter: &str) -> Option<(FactName, String)> {
    let common = without_numbers(counter);
    let known = DRIVERS.iter().find(|(name, pattern, _)| *name == driver && *pattern == common);
    known.map(|(_, pattern, fact)| (*fact, (*pattern).to_owned()))
}

/// `queue_3_tx_queue_stop` and `tx_stop[3]` become `queue_N_tx_queue_stop` and `tx_stop[N]`, `rx3_drops` `rxN_drops`.
fn without_numbers(counter: &str) -> String {
    let mut text = String::new();
    for letter in counter.chars() {
        match letter {
            '0'..='9' if text.ends_with('N') => {}
            '0'..='9' => text.push('N'),
            other => text.push(other),
        }
    }
    text
}

/// Counters of drivers, as their sources in Linux name them (`ena_ethtool.c`, `gve_ethtool.c`, `mana_ethtool.c`, `netvsc_drv.c`,
/// `virtio_net.c`, `en_stats.c` of mlx5).
const DRIVERS: &[(&str, &str, FactName)] = &[
    ("ena", "bw_in_allowance_exceeded", FactName::CloudAllowance),
    ("ena", "bw_out_allowance_exceeded", FactName::CloudAllowance),
    ("ena", "pps_allowance_exceeded", FactName::CloudAllowance),
    ("ena", "conntrack_allowance_exceeded", FactName::CloudAllowance),
    ("ena", "linklocal_allowance_exceeded", FactName::CloudAllowance),
    ("ena", "queue_N_rx_empty_rx_ring", FactName::DriverDrops),
    ("ena", "queue_N_tx_queue_stop", FactName::DriverStops),
    ("gve", "rx_queue_drop_cnt[N]", FactName::DriverDrops),
    ("gve", "rx_no_buffers_posted[N]", FactName::DriverDrops),
    ("gve", "tx_stop[N]", FactName::DriverStops),
    ("mana", "hc_rx_discards_no_wqe", FactName::DriverDrops),
    ("mana", "stop_queue", FactName::DriverStops),
    ("hv_netvsc", "tx_no_memory", FactName::DriverDrops),
    ("hv_netvsc", "tx_no_space", FactName::DriverDrops),
    ("hv_netvsc", "rx_no_memory", FactName::DriverDrops),
    ("hv_netvsc", "tx_busy", FactName::DriverStops),
    ("hv_netvsc", "tx_send_full", FactName::DriverStops),
    ("hv_netvsc", "stop_queue", FactName::DriverStops),
    ("virtio_net", "rxN_drops", FactName::DriverDrops),
    ("mlx5_core", "rx_out_of_buffer", FactName::DriverDrops),
    ("mlx5_core", "rx_discards_phy", FactName::DriverDrops),
    ("mlx5_core", "tx_queue_stopped", FactName::DriverStops),
];

fn allowance_fix(counter: &str) -> &'static str {
    if counter.starts_with("conntrack") {
        "fewer tracked connections: security group rules that need no tracking, or a larger instance"
    } else if counter.starts_with("linklocal") {
        "fewer requests to DNS, metadata and time of the instance"
    } else if counter.starts_with("pps") {
        "larger packets (an MTU of 9001 within the network), or a larger instance"
    } else {
        "a larger instance; for one flow ENA Express or a cluster placement group"
    }
}

/// The limit that facts name by themselves: most of what was lost, or what held the rate back.
pub(super) fn named(signs: &Signs<'_>) -> Option<Limit> {
    let (row, fact, end) = FACTS.iter().find_map(|row| {
        let kind = row.names?;
        let is_brake = kind == LimitKind::Pause || kind == LimitKind::Tunnel;
        let (fact, end) = row.found(signs, None).filter(|_| !is_brake || is_unexplained(signs))?;
        Some((row, fact, end))
    })?;
    let kind = row.names?;
    let path = path::any(signs);
    let of_path =
        path.as_ref().and_then(|limit| limit.rate).or_else(|| Some(BitRate(signs.hot?.rate as u64)));
    let of_queue = signs.facts(End::Sender).find(|fact| fact.name == FactName::QueueRate);
    let of_queue = of_queue.filter(|_| row.name == FactName::QueueHeld).map(|fact| rate(fact.value));
    Some(Limit {
        rate: of_queue.or(of_path),
        queue: path.as_ref().and_then(|limit| limit.queue).filter(|_| kind == LimitKind::HostQueue),
        packets: path.as_ref().and_then(|limit| limit.packets),
        cause: Some((row.sentence)(fact, end)),
        fix: Some((row.fix)(fact)),
        ..limit(kind, Confidence::Medium)
    })
}

/// No CPU is full and nothing was lost: something made the sender wait.
fn is_unexplained(signs: &Signs<'_>) -> bool {
    let host = &signs.evidence.host;
    host.sender_full.is_none() && host.receiver_full.is_none() && signs.lost() < NOTICED
}

/// A CPU quota that held an end back most of the time: its words, and its command.
pub(super) fn quota(signs: &Signs<'_>, end: End) -> Option<(String, String)> {
    let row = FACTS.iter().find(|row| row.name == FactName::CpuQuota)?;
    let fact = signs.facts(end).find(|fact| row.counts(fact, signs, None))?;
    Some(((row.sentence)(fact, host_of(end)), (row.fix)(fact)))
}

/// The limit with the fact that explains it, where there is one and it has not named the limit by itself.
pub(super) fn explained(limit: Limit, signs: &Signs<'_>) -> Limit {
    if limit.fix.is_some() {
        return limit;
    }
    let explains = |row: &&FactRow| row.explains.contains(&limit.kind);
    let cause = FACTS.iter().filter(explains).find_map(|row| {
        let (fact, host) = row.found(signs, Some(&limit))?;
        Some(((row.sentence)(fact, host), (row.fix)(fact)))
    });
    let Some((sentence, fix)) = cause else { return limit };
    let cause = match limit.cause.clone() {
        Some(before) => format!("{before}; {sentence}"),
        None => sentence,
    };
    Limit { cause: Some(cause), fix: Some(fix), ..limit }
}

/// A variable rate is Wi-Fi's where an end reports so, with its signal and its retries.
pub(super) fn wifi(limit: Limit, signs: &Signs<'_>) -> Limit {
    let is_wifi = |end: &End| signs.facts(*end).any(|fact| fact.name == FactName::WifiRate);
    if limit.kind != LimitKind::VariableRate {
        return limit;
    }
    let Some(end) = [End::Sender, End::Receiver].into_iter().find(is_wifi) else { return limit };
    let fact = |name: FactName| signs.facts(end).find(|fact| fact.name == name);
    let signal = fact(FactName::WifiSignal).map(|fact| format!("signal {} dBm", fact.value));
    let retries = fact(FactName::WifiRetries).filter(|fact| fact.whole.is_some_and(|sent| sent > 0.0));
    let retries = retries.map(|fact| format!("{:.0} retries for each 100 frames sent", 100.0 * fact.share()));
    let signs: Vec<String> = signal.into_iter().chain(retries).collect();
    let cause = (!signs.is_empty()).then(|| signs.join(", "));
    Limit { kind: LimitKind::Wifi, cause, ..limit }
}

/// What a queue or a drop of a host on the path states of a limit that the load met: a sentence, and its command.
pub(super) fn on_the_path(facts: &[HostFact], host: &str, signs: &Signs<'_>) -> Option<(String, String)> {
    FACTS.iter().find_map(|row| {
        let rate = |fact: &HostFact| {
            let of_queue = facts.iter().find(|one| one.name == FactName::QueueRate && one.of == fact.of);
            of_queue.map(|rate| rate.value)
        };
        let is_it = |fact: &&HostFact| match row.from {
            Threshold::Losses => row.counts(fact, signs, None),
            Threshold::Held => fact.name == row.name && fact.share() >= HELD && is_reached(rate(fact), signs),
            _ => false,
        };
        let fact = facts.iter().find(is_it)?;
        Some(((row.sentence)(fact, host), (row.fix)(fact)))
    })
}

impl FactRow {
    const fn at(self, end: End) -> FactRow {
        FactRow { end, ..self }
    }

    const fn naming(self, kind: LimitKind) -> FactRow {
        FactRow { names: Some(kind), ..self }
    }

    const fn explaining(self, explains: &'static [LimitKind]) -> FactRow {
        FactRow { explains, ..self }
    }

    const fn reads(self, sentence: fn(&HostFact, &str) -> String) -> FactRow {
        FactRow { sentence, ..self }
    }

    const fn repaired(self, fix: fn(&HostFact) -> String) -> FactRow {
        FactRow { fix, ..self }
    }

    /// The first fact of this row that counts, and the host it is of.
    fn found<'a>(&self, signs: &Signs<'a>, limit: Option<&Limit>) -> Option<(&'a HostFact, &'static str)> {
        let ends = [End::Sender, End::Receiver].into_iter().filter(|end| self.is_of(*end, limit));
        ends.into_iter().find_map(|end| {
            let fact = signs.facts(end).find(|fact| self.counts(fact, signs, limit))?;
            Some((fact, host_of(end)))
        })
    }

    /// A CPU is that of its own end alone.
    fn is_of(&self, end: End, limit: Option<&Limit>) -> bool {
        let other = match limit.map(|limit| limit.kind) {
            Some(LimitKind::SenderCpu | LimitKind::SenderBuffer) => Some(End::Receiver),
            Some(LimitKind::ReceiverCpu | LimitKind::ReceiverWindow) => Some(End::Sender),
            _ => None,
        };
        (self.end == End::Either || self.end == end) && other != Some(end)
    }

    fn counts(&self, fact: &HostFact, signs: &Signs<'_>, limit: Option<&Limit>) -> bool {
        let (packets, lost) = signs.packets();
        let (packets, lost) = (packets as f64, lost as f64);
        let is_it = fact.name == self.name;
        is_it
            && match self.from {
                Threshold::Value(least) => fact.value >= least,
                Threshold::Share(least) => fact.share() >= least,
                Threshold::Below(most) => fact.whole.is_some() && fact.share() < most,
                Threshold::Packets(least) => packets > 0.0 && fact.value >= least * packets,
                Threshold::Losses => {
                    packets > 0.0
                        && fact.value >= NOTICED * packets
                        && fact.value >= MOST_DROPS * lost.max(1.0)
                }
                Threshold::Held => is_held(fact, signs),
                Threshold::Bus => is_bus(fact, signs),
                Threshold::Window => is_window(fact, limit),
                Threshold::SmallerMtu => {
                    let mut sender =
                        signs.facts(End::Sender).filter(|fact| fact.name == FactName::InterfaceMtu);
                    sender.any(|sender| sender.value > fact.value)
                }
            }
    }
}

/// A queueing discipline held packets back often, and its rate is what TCP reached.
fn is_held(fact: &HostFact, signs: &Signs<'_>) -> bool {
    let rate = signs.facts(End::Sender).find(|fact| fact.name == FactName::QueueRate).map(|fact| fact.value);
    is_reached(rate, signs) && fact.share() >= HELD
}

/// The test reached the rate of a queue.
fn is_reached(rate: Option<f64>, signs: &Signs<'_>) -> bool {
    rate.is_some_and(|rate| (0.85..1.05).contains(&(signs.rate / rate)))
}

/// The test reached the part of a bus that packets can use, and the link is not what it reached.
fn is_bus(fact: &HostFact, signs: &Signs<'_>) -> bool {
    let name = fact.of.rsplit(' ').next().unwrap_or_default();
    let ends = signs.facts(End::Sender).chain(signs.facts(End::Receiver));
    let speed =
        ends.filter(|link| link.name == FactName::LinkSpeed && link.of == name).map(|link| link.value);
    let is_narrower = speed.reduce(f64::max).is_some_and(|speed| USABLE_BUS * fact.value < speed);
    is_narrower && (LEAST_BUS * fact.value..=fact.value).contains(&signs.rate)
}

/// Half of a buffer is window, and the rest room for the kernel's own data; large ones are not the reason.
fn is_window(fact: &HostFact, limit: Option<&Limit>) -> bool {
    let setting = match limit.map(|limit| limit.kind) {
        Some(LimitKind::ReceiverWindow) => "net.ipv4.tcp_rmem",
        _ => "net.ipv4.tcp_wmem",
    };
    let window = limit.and_then(|limit| limit.window).map_or(0.0, |window| window.0 as f64);
    fact.of == setting && window > 0.0 && fact.value <= 2.5 * window
}

const fn host_of(end: End) -> &'static str {
    match end {
        End::Sender => "the sender",
        End::Receiver | End::Either => "the receiver",
    }
}

fn rate(bits: f64) -> BitRate {
    BitRate(bits.max(0.0).round() as u64)
}

fn bytes(value: f64) -> Bytes {
    Bytes(value.max(0.0).round() as u64)
}

const CPU: &[LimitKind] = &[LimitKind::SenderCpu, LimitKind::ReceiverCpu];
/// Share of the periods of a quota in which it throttled.
const MOSTLY: f64 = 0.5;
/// One packet in a thousand.
const NOTICED: f64 = 0.001;
/// Share of the packets that the test lost, as for the load.
const MOST_DROPS: f64 = 0.3;
/// Share of its packets that a discipline held back: with TSO one counts for up to 44 packets.
const HELD: f64 = 0.01;
/// Packets get so much of a bus at most …
const USABLE_BUS: f64 = 0.8;
/// … and so much at least when it is full: USB's share is smaller than that of PCIe.
const LEAST_BUS: f64 = 0.6;

#[cfg(test)]
mod tests;
