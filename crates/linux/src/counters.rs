//! The kernel's network counters: `/proc/net/{snmp,snmp6,netstat}` of the calling thread's namespace, and `softnet_stat`.
//!
//! Counters only ever grow, so a measurement takes a snapshot before and one after and looks at the difference.
//! Sources: `Documentation/networking/snmp_counter.rst` and `net/core/net-procfs.c` of the kernel; RFC 4293 (IP),
//! RFC 4113 (UDP), RFC 4022 (TCP).

use crate::error::{Named, Result};
use std::collections::BTreeMap;
use std::fs;
use std::io;

/// A counter we reason about. Where both families have one, its value is the sum over IPv4 and IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// IP datagrams received, before any check.
    IpInReceives,
    /// IP datagrams handed to a protocol of this host.
    IpInDelivers,
    /// IP datagrams passed on to another host.
    IpForwDatagrams,
    /// IP datagrams received and dropped for their header, address, route or length.
    IpInErrors,
    /// IP datagrams received intact but dropped for want of a resource.
    IpInDiscards,
    /// Fragments received that needed reassembly.
    ReasmReqds,
    /// Datagrams put together from fragments.
    ReasmOks,
    /// Reassembly failures of any reason, expiry included.
    ReasmFails,
    /// Fragments made here.
    FragCreates,
    /// UDP datagrams dropped because the receiving socket's buffer was full.
    UdpRcvbufErrors,
    /// UDP datagrams not sent because the sending socket's buffer or the device queue was full.
    UdpSndbufErrors,
    /// UDP datagrams with a wrong checksum.
    UdpInCsumErrors,
    /// TCP segments with a wrong checksum.
    TcpInCsumErrors,
}

impl Counter {
    /// The kernel's names of this counter, to be added up: `Group.Name` of `snmp` and `netstat`, bare of `snmp6`.
    const fn kernel_names(self) -> &'static [&'static str] {
        match self {
            Self::IpInReceives => &["Ip.InReceives", "Ip6InReceives"],
            Self::IpInDelivers => &["Ip.InDelivers", "Ip6InDelivers"],
            Self::IpForwDatagrams => &["Ip.ForwDatagrams", "Ip6OutForwDatagrams"],
            Self::IpInErrors => &[
                "Ip.InHdrErrors",
                "Ip.InAddrErrors",
                "Ip.InUnknownProtos",
                "IpExt.InNoRoutes",
                "IpExt.InTruncatedPkts",
                "TcpExt.IPReversePathFilter",
                "Ip6InHdrErrors",
                "Ip6InAddrErrors",
                "Ip6InUnknownProtos",
                "Ip6InNoRoutes",
                "Ip6InTruncatedPkts",
                "Ip6InTooBigErrors",
            ],
            Self::IpInDiscards => &["Ip.InDiscards", "Ip6InDiscards"],
            Self::ReasmReqds => &["Ip.ReasmReqds", "Ip6ReasmReqds"],
            Self::ReasmOks => &["Ip.ReasmOKs", "Ip6ReasmOKs"],
            Self::ReasmFails => &["Ip.ReasmFails", "Ip6ReasmFails"],
            Self::FragCreates => &["Ip.FragCreates", "Ip6FragCreates"],
            Self::UdpRcvbufErrors => &["Udp.RcvbufErrors", "Udp6RcvbufErrors"],
            Self::UdpSndbufErrors => &["Udp.SndbufErrors", "Udp6SndbufErrors"],
            Self::UdpInCsumErrors => &["Udp.InCsumErrors", "Udp6InCsumErrors"],
            Self::TcpInCsumErrors => &["Tcp.InCsumErrors"],
        }
    }
}

/// The counters of one network namespace at one moment, or how far they moved between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    by_kernel_name: BTreeMap<String, u64>,
}

impl Counters {
    /// Reads the counters of the calling thread's network namespace.
    ///
    /// # Errors
    /// `snmp` and `netstat` must be readable; a host without IPv6 has no `snmp6`, and that is no error.
    pub fn snapshot() -> Result<Self> {
        let mut by_kernel_name = BTreeMap::new();
        parse_paired_lines(&read("snmp")?, &mut by_kernel_name);
        parse_paired_lines(&read("netstat")?, &mut by_kernel_name);
        match read("snmp6") {
            Ok(text) => parse_name_and_value(&text, &mut by_kernel_name),
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(Self { by_kernel_name })
    }

    /// The value of a counter; `None` when this kernel keeps none of its names.
    #[must_use]
    pub fn get(&self, counter: Counter) -> Option<u64> {
        counter.kernel_names().iter().filter_map(|name| self.by_kernel_name(name)).reduce(u64::saturating_add)
    }

    /// The part of a counter that one IP version has: fragments of the other one say nothing about this one's path.
    #[must_use]
    pub fn of_version(&self, counter: Counter, ipv6: bool) -> Option<u64> {
        let names = counter.kernel_names().iter().filter(|name| name.contains('6') == ipv6);
        names.filter_map(|name| self.by_kernel_name(name)).reduce(u64::saturating_add)
    }

    /// Packets of one IP version that reached this host and were neither delivered nor passed on, and that no other counter explains:
    /// what its firewall drops counts here. Such a total is of use as a difference of two snapshots alone.
    #[must_use]
    pub fn undelivered(&self, ipv6: bool) -> Option<u64> {
        let count = |counter| self.of_version(counter, ipv6);
        let waiting = count(Counter::ReasmReqds)?.saturating_sub(count(Counter::ReasmOks)?);
        let explained = [Counter::IpForwDatagrams, Counter::IpInErrors, Counter::IpInDiscards];
        let explained = explained.into_iter().filter_map(count).fold(waiting, u64::saturating_add);
        let taken = count(Counter::IpInDelivers)?.saturating_add(explained);
        Some(count(Counter::IpInReceives)?.saturating_sub(taken))
    }

    /// The value under the kernel's own name: `Udp.RcvbufErrors`, `TcpExt.TCPTimeouts`, `Ip6ReasmFails`.
    #[must_use]
    pub fn by_kernel_name(&self, name: &str) -> Option<u64> {
        self.by_kernel_name.get(name).copied()
    }

    /// How far every counter moved since `earlier`; one that went backwards (namespace changed) counts as not moved.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let moved = |(name, value): (&String, &u64)| {
            let before = earlier.by_kernel_name(name).unwrap_or(0);
            (name.clone(), value.saturating_sub(before))
        };
        Self { by_kernel_name: self.by_kernel_name.iter().map(moved).collect() }
    }
}

/// Counters of one CPU's packet backlog (`netif_receive_skb` and NAPI), over all namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Softnet {
    /// Which CPU.
    pub cpu: u32,
    /// Frames processed.
    pub processed: u64,
    /// Frames dropped because the backlog (`net.core.netdev_max_backlog`) was full.
    pub dropped: u64,
    /// Times the softirq ran out of budget or time with work left.
    pub squeezed: u64,
}

/// Reads `softnet_stat`: one row for each online CPU.
///
/// # Errors
/// When `/proc/net/softnet_stat` cannot be read.
pub fn softnet() -> Result<Vec<Softnet>> {
    Ok(parse_softnet(&read("softnet_stat")?))
}

/// Frames dropped and budgets overrun over all CPUs between two readings of [`softnet`].
#[must_use]
pub fn softnet_since(now: &[Softnet], earlier: &[Softnet]) -> Vec<Softnet> {
    let moved = |row: &Softnet| {
        let before = earlier.iter().find(|old| old.cpu == row.cpu).copied().unwrap_or_default();
        // The kernel prints 32 bits, so a busy host wraps `processed` within hours.
        Softnet {
            cpu: row.cpu,
            processed: wrapped_difference(row.processed, before.processed),
            dropped: wrapped_difference(row.dropped, before.dropped),
            squeezed: wrapped_difference(row.squeezed, before.squeezed),
        }
    };
    now.iter().map(moved).collect()
}

/// Packets that connection tracking dropped since the namespace began: its table was full, or an entry could not be made. Zero where
/// it is not in use.
#[must_use]
pub fn conntrack_drops() -> u64 {
    read("stat/nf_conntrack").map(|text| parse_conntrack(&text)).unwrap_or_default()
}

/// Columns under their names, a row of hexadecimal numbers for each CPU.
fn parse_conntrack(text: &str) -> u64 {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let wanted = |name: &&str| matches!(*name, "insert_failed" | "drop" | "early_drop");
    let row = |line: &str| {
        let columns = names.iter().zip(line.split_whitespace()).filter(|(name, _)| wanted(name));
        columns.filter_map(|(_, value)| u64::from_str_radix(value, 16).ok()).fold(0, u64::saturating_add)
    };
    lines.map(row).fold(0, u64::saturating_add)
}

fn wrapped_difference(now: u64, before: u64) -> u64 {
    now.wrapping_sub(before) & u64::from(u32::MAX)
}

/// `/proc/net` belongs to the process's first thread; `thread-self` to the thread that asks.
fn read(file: &str) -> Result<String> {
    let path = format!("/proc/thread-self/net/{file}");
    fs::read_to_string(&path).named("read", || path)
}

/// Pairs of lines, names then values: `Udp: InDatagrams NoPorts` over `Udp: 12 0`. A torn pair is left out.
fn parse_paired_lines(text: &str, into: &mut BTreeMap<String, u64>) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        if let (Some((group, names)), Some((same_group, values))) =
            (names.split_once(':'), values.split_once(':'))
            && group == same_group
        {
            // Tcp.MaxConn is -1: not a counter.
            let counter =
                |(name, value): (&str, &str)| Some((format!("{group}.{name}"), value.parse().ok()?));
            into.extend(names.split_whitespace().zip(values.split_whitespace()).filter_map(counter));
        }
    }
}

fn parse_name_and_value(text: &str, into: &mut BTreeMap<String, u64>) {
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        if let (Some(name), Some(Ok(value))) = (fields.next(), fields.next().map(str::parse)) {
            into.insert(name.to_owned(), value);
        }
    }
}

fn parse_softnet(text: &str) -> Vec<Softnet> {
    let row = |(position, line): (usize, &str)| {
        let columns: Vec<u64> =
            line.split_whitespace().map_while(|word| u64::from_str_radix(word, 16).ok()).collect();
        // Kernels since 5.10 say which CPU in column 12; before, the position had to do.
        let cpu = columns.get(12).copied().or(u64::try_from(position).ok())?;
        Some(Softnet {
            cpu: u32::try_from(cpu).ok()?,
            processed: *columns.first()?,
            dropped: *columns.get(1)?,
            squeezed: *columns.get(2)?,
        })
    };
    text.lines().enumerate().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    const SNMP: &str = "Tcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 7\n\
                        Udp: InDatagrams RcvbufErrors\nUdp: 100 3\n";

    #[test]
    fn reads_pairs_and_leaves_out_what_is_no_counter() {
        let mut values = BTreeMap::new();
        parse_paired_lines(SNMP, &mut values);
        let counters = Counters { by_kernel_name: values };
        assert_eq!(counters.by_kernel_name("Tcp.RetransSegs"), Some(7));
        assert_eq!(counters.by_kernel_name("Tcp.MaxConn"), None);
        assert_eq!(counters.get(Counter::UdpSndbufErrors), None);
    }

    #[test]
    fn adds_both_families_and_takes_the_difference() {
        let mut before = BTreeMap::new();
        parse_paired_lines(SNMP, &mut before);
        let mut after = before.clone();
        after.insert("Udp.RcvbufErrors".into(), 10);
        parse_name_and_value("Udp6RcvbufErrors \t 5\nIp6Torn\n", &mut after);
        let moved = Counters { by_kernel_name: after }.since(&Counters { by_kernel_name: before });
        assert_eq!(moved.get(Counter::UdpRcvbufErrors), Some(12));
        assert_eq!(moved.of_version(Counter::UdpRcvbufErrors, false), Some(7));
        assert_eq!(moved.of_version(Counter::UdpRcvbufErrors, true), Some(5));
        assert_eq!(moved.by_kernel_name("Tcp.RetransSegs"), Some(0));
    }

    #[test]
    fn survives_torn_text() {
        let mut values = BTreeMap::new();
        parse_paired_lines("Udp: A B\nTcp: 1 2\nnonsense\n\nIp: X\n", &mut values);
        assert!(values.is_empty());
        assert!(parse_softnet("zz\n0001\n").is_empty());
    }

    #[test]
    fn conntrack_drops_are_added_over_cpus() {
        let text = "entries  clashres found insert insert_failed drop early_drop search_restart\n\
                    00000005  00000000 00000001 00000000 00000002 0000000a 00000001 00000009\n\
                    00000005  00000000 00000001 00000000 00000000 00000001 00000000 00000000\n";
        assert_eq!(parse_conntrack(text), 2 + 10 + 1 + 1);
        assert_eq!(parse_conntrack(""), 0);
    }

    #[test]
    fn softnet_rows_name_their_cpu_and_wrap() {
        let text = "ffffffff 1 2 0 0 0 0 0 0 0 0 0 00000003 0 0\n";
        let earlier = parse_softnet(text);
        assert_eq!(earlier, [Softnet { cpu: 3, processed: 0xffff_ffff, dropped: 1, squeezed: 2 }]);
        let now = [Softnet { cpu: 3, processed: 4, dropped: 1, squeezed: 3 }];
        let moved = softnet_since(&now, &earlier);
        assert_eq!(moved, [Softnet { cpu: 3, processed: 5, dropped: 0, squeezed: 1 }]);
    }

    #[test]
    fn a_sent_datagram_is_counted() {
        let before = Counters::snapshot().expect("/proc/net is readable");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback binds");
        let to = socket.local_addr().expect("a bound socket has an address");
        socket.send_to(b"x", to).expect("loopback takes a datagram");
        let moved = Counters::snapshot().expect("/proc/net is readable").since(&before);
        assert!(moved.by_kernel_name("Udp.OutDatagrams") >= Some(1));
        let all = [
            Counter::IpInReceives,
            Counter::IpInDelivers,
            Counter::IpForwDatagrams,
            Counter::IpInErrors,
            Counter::IpInDiscards,
            Counter::ReasmReqds,
            Counter::ReasmOks,
            Counter::ReasmFails,
            Counter::FragCreates,
            Counter::UdpRcvbufErrors,
            Counter::UdpSndbufErrors,
            Counter::UdpInCsumErrors,
            Counter::TcpInCsumErrors,
        ];
        for counter in all {
            assert!(moved.get(counter).is_some(), "{counter:?} is unknown to this kernel");
        }
        assert!(!softnet().expect("softnet_stat is readable").is_empty());
    }
}
