//! The reports that agents publish about themselves.

use engine::host::describe;
use engine::host::host_port::HostPort;
use experiment::KnownAgent;
use fleet::FleetError;
use fleet::Result;
use fleet::agent::{REPORT_LIVES, at_work, is_there};
use fleet::broker::{Broker, Bucket, Expected};
use fleet::name::run_name;
use linux::nic::Nic as SystemNic;
use linux::privilege::{Capabilities, Capability, try_io_uring};
use model::agent::AgentStatus;
use model::host::{Host, Nic};
use model::time::WallTime;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;

/// A report that an agent publishes about itself. Fields that another version does not send are empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AgentReport {
    /// Version of the program.
    pub version: String,
    /// Address at which other agents reach it.
    pub address: String,
    /// Further addresses of it, of the other IP version.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_addresses: Vec<String>,
    /// Its port.
    pub port: u16,
    /// Whether it serves other agents.
    pub listens: bool,
    /// Address from which it connects to the coordinator's server.
    pub own_address: Option<IpAddr>,
    /// Address from which the server sees it come.
    pub seen_as: Option<IpAddr>,
    /// The host, with the interface toward the server and the clock source.
    pub host: Option<Host>,
    /// The other interfaces that have an address.
    pub interfaces: Vec<Nic>,
    /// Names the host and its network namespace: agents of which it is the same share their interfaces. Empty: not known.
    pub network: String,
    /// The interface that leads to an address, for each address in the query.
    #[serde(skip)]
    pub toward: BTreeMap<String, String>,
    /// The form of the leases that it takes: 2, under a coordinator's grant; 0: an earlier version, which knows no grants.
    pub leases: u32,
    /// Functions that its privileges and kernel permit.
    pub capabilities: Vec<String>,
    /// How it stands.
    #[serde(flatten)]
    pub status: AgentStatus,
}

impl AgentReport {
    /// The address at which other agents reach it by this IP version. A name may have both.
    #[must_use]
    pub fn address_of(&self, family: Option<u8>) -> Option<String> {
        let Some(family) = family else { return Some(self.address.clone()) };
        let is_of = |address: &IpAddr| address.to_canonical().is_ipv4() == (family == 4);
        let named = || std::iter::once(&self.address).chain(&self.more_addresses);
        let literal = |text: &&String| text.parse::<IpAddr>().is_ok_and(|address| is_of(&address));
        let name = |text: &&String| text.parse::<IpAddr>().is_err();
        if let Some(text) = named().find(literal).or_else(|| named().find(name)) {
            return Some(text.clone());
        }
        // Addresses that were named are all that others may use.
        let own = self.own_address.filter(|own| own.to_string() == self.address)?;
        let nic = self.host.as_ref().and_then(|host| host.nic.as_ref());
        let nic = nic
            .filter(|nic| nic.addresses.iter().any(|address| address.to_canonical() == own.to_canonical()))?;
        nic.addresses.iter().find(|address| is_of(address)).map(ToString::to_string)
    }

    /// Why no run can be handed out to it: it is of a version whose leases do not count for others; absent: one can.
    #[must_use]
    pub fn why_outdated(&self, name: &str) -> Option<String> {
        let version = if self.version.is_empty() { "an earlier version" } else { &self.version };
        (self.leases < LEASES)
            .then(|| format!("the agent {name} ({version}) takes its leases without a grant: update it"))
    }

    /// Whether the server sees another address than the host has; absent: nothing is known.
    #[must_use]
    pub fn is_behind_nat(&self) -> Option<bool> {
        Some(self.own_address?.to_canonical() != self.seen_as?.to_canonical())
    }
}

/// An agent that the server knows.
#[derive(Clone, Debug, Default)]
pub struct KnownReport {
    /// Its last report. One that cannot be read is empty, as of an agent that does not listen.
    pub report: AgentReport,
    /// The agent was heard within 30 s.
    pub is_there: bool,
    /// The agent was removed on purpose and is no longer expected ([`forget`]).
    pub is_forgotten: bool,
}

/// Every agent that ever reported, those that are gone, too.
///
/// # Errors
/// The server cannot be reached, or does not permit it.
pub fn everyone(broker: &dyn Broker) -> Result<BTreeMap<String, KnownReport>> {
    let there: BTreeSet<String> = at_work(broker)?.into_iter().collect();
    let mut everyone = BTreeMap::new();
    for name in broker.keys(Bucket::Agents)? {
        // One may be removed meanwhile.
        let Some(entry) = broker.get(Bucket::Agents, &name)? else { continue };
        let known = KnownReport {
            report: serde_json::from_slice(&entry.value).unwrap_or_default(),
            is_there: there.contains(&name),
            is_forgotten: entry.value == FORGOTTEN,
        };
        everyone.insert(name, known);
    }
    Ok(everyone)
}

/// The agents that are there, with what they report.
///
/// # Errors
/// Those of [`everyone`].
pub fn agents(broker: &dyn Broker) -> Result<BTreeMap<String, AgentReport>> {
    let there = everyone(broker)?.into_iter().filter(|(_, known)| known.is_there);
    Ok(there.map(|(name, known)| (name, known.report)).collect())
}

/// An agent is gone on purpose, and expected by no mesh any more, until it reports again.
///
/// # Errors
/// The agent is there; or those of [`everyone`].
pub fn forget(broker: &dyn Broker, name: &str) -> Result<()> {
    fleet::check_name("an agent", name)?;
    if is_there(broker, name)? {
        let why = "it is there: end it first".to_owned();
        return Err(FleetError::Refused { agent: name.to_owned(), why });
    }
    broker.put(Bucket::Agents, name, FORGOTTEN, Expected::Anything, None).map(|_| ())
}

/// Agents whose clocks are more than a minute wrong by what they reported, each in a sentence. A report can be 30 s old; how a
/// clock stands exactly, [`Roster::read`](crate::roster::Roster::read) asks.
#[must_use]
pub fn wrong_clocks(reports: &BTreeMap<String, AgentReport>, now: WallTime) -> Vec<String> {
    let sentence = |(name, report): (&String, &AgentReport)| {
        let clock = report.status.clock?;
        let (ahead, behind) = (clock - now, now - clock);
        let is_wrong = ahead > MINUTE || behind > MINUTE + REPORT_LIVES;
        is_wrong.then(|| wrong_clock(name, ahead > MINUTE, ahead.max(behind)))
    };
    reports.iter().filter_map(sentence).collect()
}

/// The warning about an agent's clock that is wrong by `span`.
pub(crate) fn wrong_clock(agent: &str, is_ahead: bool, span: Nanos) -> String {
    let side = if is_ahead { "ahead of" } else { "behind" };
    let seconds = (span.0 + 500_000_000) / 1_000_000_000;
    let minutes = (seconds + 30) / 60;
    let span = match (seconds, minutes) {
        (..120, _) => format!("{seconds} s"),
        (_, ..120) => format!("{minutes} min"),
        _ => format!("{} h", (minutes + 30) / 60),
    };
    format!("{agent}: its clock is {span} {side} this host's (set one of them by NTP)")
}

/// The agents that are there, as plans know them.
///
/// # Errors
/// Those of [`agents`].
pub fn known_agents(broker: &dyn Broker) -> Result<BTreeMap<String, KnownAgent>> {
    let known = |report: AgentReport| {
        let port = Some(report.port).filter(|port| *port > 0);
        let address = report.listens.then_some(HostPort { host: report.address, port });
        KnownAgent { address }
    };
    Ok(agents(broker)?.into_iter().map(|(name, report)| (name, known(report))).collect())
}

/// This host, whose connection to the server leaves from `own`; `seen_as`: the address that the server sees.
#[must_use]
pub fn inventory(own: Option<IpAddr>, server: Option<IpAddr>, seen_as: Option<IpAddr>) -> AgentReport {
    let host = describe(server);
    let interfaces = SystemNic::all().unwrap_or_default();
    let toward = host.nic.as_ref().map(|nic| nic.name.clone());
    AgentReport {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        own_address: own,
        seen_as,
        interfaces: interfaces
            .iter()
            .filter(|nic| Some(&nic.link.name) != toward.as_ref() && !nic.addresses.is_empty())
            .map(engine::host::describe_nic)
            .collect(),
        host: Some(host),
        capabilities: capabilities(),
        network: network(),
        leases: LEASES,
        ..AgentReport::default()
    }
}

/// Names this host as long as it is up, and the network namespace of this process; empty where the kernel does not show them.
#[must_use]
pub fn network() -> String {
    let (Some(boot), Ok(namespace)) = (boot(), std::fs::metadata("/proc/self/ns/net")) else {
        return String::new();
    };
    run_name(&[&boot, &namespace.ino().to_string()]).chars().take(8).collect()
}

fn capabilities() -> Vec<String> {
    let rights = Capabilities::of_this_thread().unwrap_or_default();
    let able = [
        ("raw packets", rights.has(Capability::NetRaw)),
        ("interfaces", rights.has(Capability::NetAdmin)),
        ("capture", linux::capture::try_capture().is_ok()),
        ("io_uring", try_io_uring().is_ok()),
    ];
    able.into_iter().filter(|(_, is_able)| *is_able).map(|(name, _)| name.to_owned()).collect()
}

/// Names this host as long as it is up (`random(4)`); absent where the kernel does not show it.
#[must_use]
pub fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// The form of leases of this version.
pub(crate) const LEASES: u32 = 2;
/// Stored in place of the report of an agent that was removed on purpose.
const FORGOTTEN: &[u8] = br#"{"forgotten":true}"#;
const MINUTE: Nanos = Nanos::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_far_off_is_named() {
        let now = WallTime(1_790_000_000_000_000_000);
        let at = |clock: u64| {
            let report = AgentReport {
                status: AgentStatus { clock: Some(WallTime(clock)), ..AgentStatus::default() },
                ..AgentReport::default()
            };
            wrong_clocks(&BTreeMap::from([("ams".to_owned(), report)]), now)
        };
        let second = 1_000_000_000;
        assert_eq!(
            at(now.0 + 7_191 * second),
            ["ams: its clock is 2 h ahead of this host's (set one of them by NTP)"]
        );
        assert!(at(now.0 - 910 * second)[0].contains("clock is 15 min behind this host's"));
        assert!(at(now.0 + 61 * second)[0].contains("clock is 61 s ahead of"));
        // Within the accuracy of a report, at the begin and at the end of its interval.
        assert!(at(now.0 + 59 * second).is_empty() && at(now.0 - 89 * second).is_empty());
        let silent = BTreeMap::from([("ams".to_owned(), AgentReport::default())]);
        assert!(wrong_clocks(&silent, now).is_empty());
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// The addresses are those of the interface that leads to the server, unless addresses were named.
    #[test]
    fn each_ip_version_has_its_address() {
        let nic = Nic {
            name: "eth0".into(),
            driver: None,
            mtu: 1500,
            link_bps: None,
            offloads: Vec::new(),
            is_virtual: true,
            addresses: vec![address("192.0.2.1"), address("2001:db8::1")],
        };
        let host = Host { nic: Some(nic), ..describe(None) };
        let own = Some(address("192.0.2.1"));
        let report = AgentReport {
            address: "192.0.2.1".into(),
            own_address: own,
            host: Some(host),
            ..AgentReport::default()
        };
        let addresses_of =
            |report: &AgentReport| [None, Some(4), Some(6)].map(|family| report.address_of(family));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(addresses_of(&report), [text("192.0.2.1"), text("192.0.2.1"), text("2001:db8::1")]);
        let nated = AgentReport { address: "203.0.113.9".into(), ..report.clone() };
        assert_eq!(addresses_of(&nated), [text("203.0.113.9"), text("203.0.113.9"), None]);
        let named = AgentReport { more_addresses: vec!["2001:db8::9".into()], ..nated };
        assert_eq!(addresses_of(&named)[2], text("2001:db8::9"));
        let name = AgentReport { address: "ams.example".into(), ..report };
        assert_eq!(addresses_of(&name), ["ams.example"; 3].map(text));
    }
}
