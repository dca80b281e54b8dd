//! The facts about this host that `pathmeter doctor` judges. Nothing is changed and nothing is sent beyond this machine.

use linux::cpu;
use linux::namespace::{self, Namespace};
use linux::nft::FragmentFilter;
use linux::nic::Nic;
use linux::options;
use linux::privilege::{self, Capabilities, Capability, Uname};
use model::units::{Bytes, Nanos};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The facts. Where something was tried, `Err` holds the reason it failed.
#[derive(Debug)]
pub(super) struct Facts {
    /// Where this program lies, for the commands that fix a defect.
    pub(super) program: Option<PathBuf>,
    /// Effective user is root.
    pub(super) is_root: bool,
    /// Capabilities in force.
    pub(super) capabilities: Vec<Capability>,
    /// `net.core.rmem_max`.
    pub(super) rmem_max: Option<Bytes>,
    /// `net.core.wmem_max`.
    pub(super) wmem_max: Option<Bytes>,
    /// One send became several datagrams on loopback.
    pub(super) udp_gso: Result<(), String>,
    /// Several datagrams were received by one call on loopback.
    pub(super) udp_gro: Result<(), String>,
    /// A ring could be made.
    pub(super) io_uring: Result<(), String>,
    /// A capture of packets could be begun on loopback.
    pub(super) capture: Result<(), String>,
    /// The kernel's clock source.
    pub(super) clock_source: Option<String>,
    /// The clock sources that could be chosen.
    pub(super) clock_sources: Vec<String>,
    /// CPUs this process may use.
    pub(super) usable_cpus: usize,
    /// CPUs online.
    pub(super) online_cpus: usize,
    /// The first usable CPU's frequency governor.
    pub(super) governor: Option<String>,
    /// Longest time to wake up from the sleep states that are enabled.
    pub(super) deepest_sleep: Option<Nanos>,
    /// Default congestion control.
    pub(super) congestion: Option<String>,
    /// Congestion controls loaded.
    pub(super) congestions: Vec<String>,
    /// A user namespace with a working network could be made.
    pub(super) user_namespace: Result<(), String>,
    /// Whether a filter could be installed in a namespace.
    pub(super) nf_tables: NfTables,
    /// An IPv6 socket could be bound to loopback.
    pub(super) ipv6: Result<(), String>,
    /// A route leads to IPv6 destinations beyond this host.
    pub(super) has_ipv6_route: bool,
    /// The interface of the default route.
    pub(super) nic: Result<Nic, String>,
}

/// The state of nf_tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NfTables {
    /// The filter was installed and removed in a namespace of its own.
    Works,
    /// Not tried, for want of privilege; the kernel has it.
    Present,
    /// Not tried, for want of privilege; it is not known whether the kernel has it.
    Unknown,
    /// Tried and refused.
    Missing(String),
}

impl Facts {
    /// Looks at everything; takes a fraction of a second.
    pub(super) fn gather() -> Self {
        let rights = Capabilities::of_this_thread().unwrap_or_default();
        let online = cpu::CpuSnapshot::take().map_or_else(|_| cpu::count(), |now| now.cpus.len());
        Self {
            program: std::env::current_exe().ok(),
            is_root: privilege::is_root(),
            capabilities: Capability::ALL.iter().copied().filter(|right| rights.has(*right)).collect(),
            rmem_max: bytes("/proc/sys/net/core/rmem_max"),
            wmem_max: bytes("/proc/sys/net/core/wmem_max"),
            udp_gso: probe_udp(false),
            udp_gro: probe_udp(true),
            io_uring: with_text(privilege::try_io_uring()),
            capture: with_text(linux::capture::try_capture()),
            clock_source: linux::clock::clock_source().ok(),
            clock_sources: settings("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
            usable_cpus: cpu::count(),
            online_cpus: online,
            governor: cpu::affinity().ok().and_then(|cpus| cpu::governor(*cpus.first()?)),
            deepest_sleep: cpu::affinity().ok().and_then(|cpus| cpu::deepest_sleep(*cpus.first()?)),
            congestion: options::default_congestion().ok(),
            congestions: options::available_congestion_controls().unwrap_or_default(),
            user_namespace: with_text(namespace::try_user_namespace()),
            nf_tables: probe_nf_tables(rights),
            ipv6: with_text(UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).map(drop)),
            has_ipv6_route: Nic::toward(SOMEWHERE_V6).is_ok(),
            nic: with_text(Nic::toward(SOMEWHERE_V4).or_else(|_| Nic::toward(SOMEWHERE_V6))),
        }
    }

    /// Whether this capability is in force.
    pub(super) fn has(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// Sends four datagrams with one call over loopback; with `joined` they must also be received with one.
fn probe_udp(joined: bool) -> Result<(), String> {
    const SEGMENT: u16 = 100;
    const WHOLE: usize = 400;
    let expected = if joined { WHOLE } else { SEGMENT.into() };
    let exchange = || -> io::Result<usize> {
        let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        receiver.set_read_timeout(Some(Duration::from_secs(1)))?;
        options::set_udp_gro(&receiver, joined).map_err(|error| error.source)?;
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        options::set_udp_segment(&sender, SEGMENT).map_err(|error| error.source)?;
        sender.send_to(&[0; WHOLE], receiver.local_addr()?)?;
        receiver.recv(&mut [0; WHOLE * 2])
    };
    match exchange() {
        Ok(length) if length == expected => Ok(()),
        Ok(length) => Err(format!("received {length} bytes at once where {expected} were expected")),
        Err(error) => Err(error.to_string()),
    }
}

fn probe_nf_tables(rights: Capabilities) -> NfTables {
    if !(rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin)) {
        return if kernel_lists("nf_tables", "nft_do_chain") { NfTables::Present } else { NfTables::Unknown };
    }
    let tried = Namespace::new()
        .and_then(|namespace| namespace.run(|| FragmentFilter::install().map(drop)))
        .and_then(|installed| installed);
    tried.map_or_else(|error| NfTables::Missing(error.to_string()), |()| NfTables::Works)
}

/// Whether the running kernel has a module of this name loaded or on disk, or a function of it built in.
fn kernel_lists(module: &str, function: &str) -> bool {
    let directory = PathBuf::from("/lib/modules").join(Uname::get().release);
    let holds = |file: &Path, text: &str| fs::read_to_string(file).is_ok_and(|found| found.contains(text));
    fs::exists(format!("/sys/module/{module}")).unwrap_or(false)
        || holds(&directory.join("modules.dep"), &format!("/{module}.ko"))
        || holds(Path::new("/proc/kallsyms"), &format!(" {function}\n"))
}

fn bytes(path: &str) -> Option<Bytes> {
    privilege::setting(path)?.parse().ok().map(Bytes)
}

fn settings(path: &str) -> Vec<String> {
    privilege::setting(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn with_text<T, E: ToString>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// Addresses for documentation (RFC 5737, RFC 3849): only the default route leads there, and nothing is sent.
const SOMEWHERE_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));
const SOMEWHERE_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
