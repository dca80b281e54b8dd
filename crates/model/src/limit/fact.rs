//! Facts of a host that can explain a limit: counters that moved during a test, and settings that hold a rate down. The table that
//! judges them is in `insight`.

use serde::{Deserialize, Serialize};

/// One fact of one end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostFact {
    /// Which fact it is, and so its unit.
    pub name: FactName,
    /// The object: an interface, a cgroup, a setting, a counter.
    #[serde(rename = "object", default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// How much.
    pub value: f64,
    /// The value to compare it with: the best it could be, or all of which it is a part; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<f64>,
}

impl HostFact {
    /// A fact without anything to compare it with.
    #[must_use]
    pub fn new(name: FactName, of: impl Into<String>, value: f64) -> HostFact {
        HostFact { name, of: of.into(), value, whole: None }
    }

    /// The same with something to compare it with.
    #[must_use]
    pub fn of_whole(self, whole: f64) -> HostFact {
        HostFact { whole: Some(whole), ..self }
    }

    /// The value as a share of the whole; 0 where there is none.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.whole.filter(|whole| *whole > 0.0).map_or(0.0, |whole| self.value / whole)
    }
}

/// The names of facts, each with the unit of its value and of what it is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FactName {
    /// Share of the periods in which a cgroup's CPU quota throttled this program; whole: the CPUs it may use.
    CpuQuota,
    /// CPUs' worth of time that the hypervisor took; whole: CPUs.
    CpuSteal,
    /// The CPU on which a receiving thread ran and which took its packets from the interface.
    CpuShared,
    /// Frequency of the slowest CPU, Hz, with the governor as object; whole: its highest.
    CpuFrequency,
    /// Times that a CPU was slowed down because it was hot.
    CpuThrottled,
    /// Packets that a queueing discipline held back to keep its rate; whole: the packets it sent.
    QueueHeld,
    /// Rate of a queueing discipline that held packets back, bits per second.
    QueueRate,
    /// Packets that a queueing discipline dropped; whole: the packets it sent.
    QueueDrops,
    /// Frames that the interface had no room for; whole: those received.
    RingDrops,
    /// Packets that a CPU's backlog dropped.
    BacklogDrops,
    /// Packets that connection tracking dropped.
    ConntrackDrops,
    /// Connections that are tracked; whole: those that may be.
    ConntrackTable,
    /// Packets that rules of the host's own firewall dropped.
    FirewallDrops,
    /// Segments with a wrong checksum.
    TcpChecksums,
    /// Packets that an instance's allowance queued or dropped, with the driver's counter as object.
    CloudAllowance,
    /// Packets that the driver had no buffer for, with its counter as object.
    DriverDrops,
    /// Times the driver's queue to the device was full, with its counter as object.
    DriverStops,
    /// Speed of the link, bits per second; whole: the best that both ends offer.
    LinkSpeed,
    /// Collisions on a link that sends in one direction at a time.
    HalfDuplex,
    /// Frames with a wrong checksum of the line; whole: those received.
    LineErrors,
    /// Times the link lost its carrier.
    CarrierLosses,
    /// Pause frames received: the neighbour made the interface wait.
    PauseReceived,
    /// Pause frames sent: the host made its neighbour wait.
    PauseSent,
    /// Rate of the bus of the interface, bits per second; whole: what the device could.
    Bus,
    /// Bytes that the busiest member of a bond carried; whole: those of all members.
    BondMember,
    /// Offloads that are off at an interface with hardware, with their names as object.
    OffloadsOff,
    /// Largest buffer that TCP may have at this end, bytes, with the setting as object.
    BufferLimit,
    /// Times TCP ran short of memory (`net.ipv4.tcp_mem`).
    MemoryPressure,
    /// Times the path MTU search of TCP failed.
    MtuProbesFailed,
    /// MTU of the interface, bytes.
    InterfaceMtu,
    /// CPU share of the busiest thread of the program behind a tunnel, 1: a whole CPU; 0 where it is not known.
    Tunnel,
    /// Signal of a Wi-Fi link, dBm.
    WifiSignal,
    /// Bit rate of a Wi-Fi link, bits per second.
    WifiRate,
    /// Retries of Wi-Fi; whole: frames sent.
    WifiRetries,
    /// One of a newer version.
    #[default]
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_of_a_newer_version_is_read_and_not_known() {
        let read: HostFact = serde_json::from_str(r#"{"name":"of-next-year","value":3}"#).expect("a fact");
        assert_eq!(read, HostFact { value: 3.0, ..HostFact::default() });
        let ring = HostFact::new(FactName::RingDrops, "eth0", 5.0).of_whole(50.0);
        let text = serde_json::to_string(&ring).expect("it is written");
        assert_eq!(text, r#"{"name":"ring-drops","object":"eth0","value":5.0,"whole":50.0}"#);
        assert!((ring.share() - 0.1).abs() < 1e-9 && HostFact::default().share() == 0.0);
    }
}
