//! The rows of the table of facts: where each is read, from when on it counts, what it names or explains, its words and its command.

use super::super::End;
use crate::finding::percent;
use crate::fix;
use model::limit::{FactName, HostFact, LimitKind};
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
    pub(super) from: Threshold,
    /// The kind it names by itself; absent: it explains only.
    pub(super) names: Option<LimitKind>,
    /// The kinds it explains.
    pub(super) explains: &'static [LimitKind],
    /// Its words about a host.
    pub(super) sentence: fn(&HostFact, &str) -> String,
    /// The command that repairs it, or what to buy.
    pub(super) fix: fn(&HostFact) -> String,
}

/// When a fact counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Threshold {
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
}

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

pub(super) fn rate(bits: f64) -> BitRate {
    BitRate(bits.max(0.0).round() as u64)
}

fn bytes(value: f64) -> Bytes {
    Bytes(value.max(0.0).round() as u64)
}

const CPU: &[LimitKind] = &[LimitKind::SenderCpu, LimitKind::ReceiverCpu];
/// Share of the periods of a quota in which it throttled.
const MOSTLY: f64 = 0.5;
/// One packet in a thousand.
pub(super) const NOTICED: f64 = 0.001;
