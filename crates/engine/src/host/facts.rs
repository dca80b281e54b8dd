//! Facts of this host that can explain a limit: everything that is read before and after a test, and how it moved. The table that
//! judges the facts is `insight::limit::facts`.

mod compare;

use linux::cgroup::{CpuQuota, cpu_quotas};
use linux::counters::{Counters, conntrack_drops, softnet};
use linux::cpu;
use linux::netlink::{Link, Network, PauseFrames, QdiscStatistics, WifiPeer, pause_frames, wifi_peers};
use linux::nft::firewall_drops;
use linux::nic::{Bus, Nic, bus, driver_counters};
use linux::privilege::setting;
use linux::tunnel::threads_behind;
use model::limit::HostFact;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::thread::{Builder, JoinHandle};

/// Readings before a test. Reading takes a thread of its own, so that the test does not begin later for it.
#[derive(Debug)]
pub struct FactsBefore {
    interfaces: Interfaces,
    before: Option<JoinHandle<Reading>>,
}

impl FactsBefore {
    /// Begins to read. `toward`: hosts, whose interfaces are read.
    pub(crate) fn start(toward: impl IntoIterator<Item = IpAddr>) -> FactsBefore {
        let toward = toward.into_iter().map(|peer| peer.to_canonical()).filter(|peer| !peer.is_loopback());
        FactsBefore::start_on(Interfaces::Toward(toward.collect()))
    }

    /// Begins to read, in the namespace of the calling thread, every interface that is there.
    #[must_use]
    pub fn of_every_interface() -> FactsBefore {
        FactsBefore::start_on(Interfaces::All)
    }

    fn start_on(interfaces: Interfaces) -> FactsBefore {
        let own = interfaces.clone();
        let thread = Builder::new().name("host-facts".into()).spawn(move || Reading::take(&own));
        FactsBefore { interfaces, before: thread.ok() }
    }

    /// The names of the interfaces that are read, in the order of the hosts.
    pub(crate) fn interfaces(&self) -> Vec<String> {
        self.interfaces.find().into_iter().map(|nic| nic.link.name).collect()
    }

    /// The facts of the time since; to be called in the same namespace. Values that cannot be read are left out.
    pub fn since(&mut self) -> Vec<HostFact> {
        let before = self.before.take().and_then(|thread| thread.join().ok());
        before.map_or_else(Vec::new, |before| compare::facts(&before, &Reading::take(&self.interfaces)))
    }
}

/// The interfaces that are read.
#[derive(Clone, Debug)]
enum Interfaces {
    /// Those through which packets to these hosts leave.
    Toward(Vec<IpAddr>),
    /// Those of the namespace.
    All,
}

impl Interfaces {
    fn find(&self) -> Vec<Nic> {
        match self {
            Interfaces::Toward(hosts) => hosts.iter().filter_map(|host| Nic::toward(*host).ok()).collect(),
            Interfaces::All => Nic::all().unwrap_or_default(),
        }
    }
}

/// Everything that is read at one moment.
#[derive(Debug, Default)]
struct Reading {
    at: MonoTime,
    quotas: Vec<CpuQuota>,
    counters: Counters,
    backlog_drops: u64,
    conntrack_drops: u64,
    /// Connections tracked, and how many may be.
    conntrack: Option<(u64, u64)>,
    firewall: BTreeMap<String, u64>,
    /// The governor of the slowest CPU, its frequency and its highest.
    frequency: Option<(String, u64, u64)>,
    throttled: Option<u64>,
    /// The largest buffers of TCP by the name of their setting.
    buffers: Vec<(&'static str, u64)>,
    interfaces: Vec<Interface>,
}

/// The interface towards the peer.
#[derive(Debug)]
struct Interface {
    nic: Nic,
    /// Those below it, where it is a bond.
    members: Vec<Link>,
    counters: Vec<(String, u64)>,
    pause: Option<PauseFrames>,
    qdiscs: Vec<QdiscStatistics>,
    wifi: Vec<WifiPeer>,
    bus: Option<Bus>,
    /// CPU time of the threads behind it, where it is a tunnel.
    threads: BTreeMap<u32, Nanos>,
}

impl Reading {
    fn take(read: &Interfaces) -> Reading {
        let mut interfaces: Vec<Interface> = Vec::new();
        for one in read.find().into_iter().filter_map(Interface::take) {
            if interfaces.iter().all(|other| other.nic.link.index != one.nic.link.index) {
                interfaces.push(one);
            }
        }
        let cpus = cpu::affinity().unwrap_or_default();
        Reading {
            at: linux::clock::mono_now(),
            quotas: cpu_quotas(),
            counters: Counters::snapshot().unwrap_or_default(),
            backlog_drops: softnet().unwrap_or_default().iter().map(|row| row.dropped).sum(),
            conntrack_drops: conntrack_drops(),
            conntrack: number(CONNTRACK_COUNT).zip(number(CONNTRACK_MAX)),
            firewall: firewall_drops(),
            frequency: slowest(&cpus),
            throttled: cpu::throttle_count(&cpus),
            buffers: BUFFERS.iter().filter_map(|name| Some((*name, largest_buffer(name)?))).collect(),
            interfaces,
        }
    }
}

impl Interface {
    fn take(nic: Nic) -> Option<Interface> {
        let (index, name) = (nic.link.index, nic.link.name.clone());
        let mut network = Network::open().ok()?;
        let members = match nic.link.bond {
            Some(_) => network.links().unwrap_or_default(),
            None => Vec::new(),
        };
        Some(Interface {
            members: members.into_iter().filter(|link| link.master == Some(index)).collect(),
            counters: driver_counters(&name),
            pause: pause_frames(index).ok().flatten(),
            qdiscs: network.qdiscs(&name).unwrap_or_default(),
            wifi: wifi_peers(index).unwrap_or_default(),
            bus: bus(&name, index),
            threads: if nic.link.kind.as_deref() == Some("tun") {
                threads_behind(&name)
            } else {
                BTreeMap::new()
            },
            nic,
        })
    }
}

/// Facts of the CPUs that this program may use.
fn slowest(cpus: &[usize]) -> Option<(String, u64, u64)> {
    let clocked = |cpu: &usize| {
        let (now, most) = cpu::frequency(*cpu)?;
        Some((cpu::governor(*cpu)?, now, most))
    };
    cpus.iter().filter_map(clocked).min_by_key(|(_, now, _)| *now)
}

/// The third number of `tcp_rmem` and `tcp_wmem`.
fn largest_buffer(name: &str) -> Option<u64> {
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    setting(&path)?.split_whitespace().nth(2)?.parse().ok()
}

fn number(path: &str) -> Option<u64> {
    setting(path)?.parse().ok()
}

const BUFFERS: [&str; 2] = ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];
const CONNTRACK_COUNT: &str = "/proc/sys/net/netfilter/nf_conntrack_count";
const CONNTRACK_MAX: &str = "/proc/sys/net/netfilter/nf_conntrack_max";
