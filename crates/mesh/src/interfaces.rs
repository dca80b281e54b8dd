//! Which interface of an agent a run uses: two agents of one host share its interfaces, and one with two of them can use both.

use crate::inventory::AgentReport;
use crate::rounds::Reports;
use fleet::Result;
use fleet::agent::{Answer, Command};
use fleet::broker::{Broker, Mailbox};
use fleet::clock::Clock;
use fleet::lease::Resource;
use linux::nic::Nic as SystemNic;
use model::host::Nic;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Asks an agent through which interface it reaches these addresses.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    toward: Vec<IpAddr>,
}

/// The answer to a coordinator's question about this host; absent: this version does not know it.
#[must_use]
pub fn answer(question: &str) -> Option<String> {
    let Question { toward } = serde_json::from_str(question).ok()?;
    let leads = |address: IpAddr| Some((address, SystemNic::toward(address.to_canonical()).ok()?.link.name));
    let known: BTreeMap<IpAddr, String> = toward.into_iter().filter_map(leads).collect();
    serde_json::to_string(&known).ok()
}

/// Asks the agents that have several interfaces by which of them they reach the others, and `hosts`. One that does not answer is
/// taken to use that toward the server.
///
/// # Errors
/// The server cannot be reached, or does not permit it.
pub fn ask(broker: &dyn Broker, clock: &dyn Clock, reports: &mut Reports, hosts: &[String]) -> Result<()> {
    let families = [None, Some(4), Some(6)];
    let all =
        |report: &AgentReport| families.iter().filter_map(|one| report.address_of(*one)).collect::<Vec<_>>();
    let mut toward: BTreeSet<IpAddr> = hosts.iter().filter_map(|host| host.parse().ok()).collect();
    toward.extend(reports.values().flat_map(all).filter_map(|host| host.parse::<IpAddr>().ok()));
    let question = Question { toward: toward.into_iter().collect() };
    let question = serde_json::to_string(&question).unwrap_or_default();
    let command = serde_json::to_vec(&Command::Ask(question)).unwrap_or_default();
    let mut pending: Vec<(String, Box<dyn Mailbox>)> = Vec::new();
    for (name, _) in reports.iter().filter(|(_, report)| report.has_several_interfaces()) {
        pending.push((name.clone(), broker.request(&format!("pm.cmd.{name}"), &command)?));
    }
    let end = clock.mono() + ANSWER_WITHIN;
    for (name, mut mailbox) in pending {
        let Ok(Some(message)) = mailbox.next(end - clock.mono()) else { continue };
        let Ok(Answer::Text(text)) = serde_json::from_slice(&message.data) else { continue };
        if let Some(report) = reports.get_mut(&name) {
            report.toward = serde_json::from_str(&text).unwrap_or_default();
        }
    }
    Ok(())
}

impl AgentReport {
    fn nics(&self) -> impl Iterator<Item = &Nic> {
        self.host.iter().filter_map(|host| host.nic.as_ref()).chain(&self.interfaces)
    }

    fn has_several_interfaces(&self) -> bool {
        self.nics().filter(|nic| nic.name != "lo").count() > 1
    }

    /// The interface by which it reaches this address.
    pub fn nic_toward(&self, name: &str, address: &str) -> Resource {
        self.resource(name, self.toward.get(address).map(String::as_str))
    }

    /// The interface at which it is reached by this address of its own.
    pub fn nic_at(&self, name: &str, own: &str) -> Resource {
        let own = own.parse::<IpAddr>().ok().map(|own| own.to_canonical());
        let has = |nic: &&Nic| nic.addresses.iter().any(|one| Some(one.to_canonical()) == own);
        self.resource(name, self.nics().find(has).map(|nic| nic.name.as_str()))
    }

    /// `nic.HOST.INTERFACE`, or that of the agent alone where it does not report its host. `interface`: that toward the server where
    /// it is not known.
    fn resource(&self, name: &str, interface: Option<&str>) -> Resource {
        let toward_server = || self.host.as_ref()?.nic.as_ref().map(|nic| nic.name.as_str());
        match interface.or_else(toward_server).filter(|_| !self.network.is_empty()) {
            Some(interface) => {
                Resource::sole(format!("nic.{}.{}", as_word(&self.network), as_word(interface)))
            }
            None => Resource::sole(format!("nic.{name}")),
        }
    }
}

/// Interfaces as people know them, by the names of their resources: `eth0 of ams`, of all agents that have it.
#[must_use]
pub fn labels(reports: &Reports) -> BTreeMap<String, String> {
    let mut owners: BTreeMap<String, (String, Vec<&str>)> = BTreeMap::new();
    for (name, report) in reports {
        let mut own = |interface: &str| {
            let resource = report.resource(name, Some(interface)).name;
            let (_, agents) = owners.entry(resource).or_insert_with(|| (interface.to_owned(), Vec::new()));
            if !agents.contains(&name.as_str()) {
                agents.push(name);
            }
        };
        report.nics().for_each(|nic| own(&nic.name));
        if report.network.is_empty() {
            own("an interface");
        }
    }
    let labels = |(resource, (interface, agents)): (String, (String, Vec<&str>))| {
        (resource, format!("{interface} of {}", agents.join(" and ")))
    };
    owners.into_iter().map(labels).collect()
}

/// Turns a text into a word of a resource's name.
pub(crate) fn as_word(text: &str) -> String {
    text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

const ANSWER_WITHIN: Nanos = Nanos::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;
    use model::host::Host;

    fn nic(name: &str, address: &str) -> Nic {
        Nic { name: name.into(), addresses: vec![address.parse().expect("an address")], ..Nic::default() }
    }

    fn report(network: &str) -> AgentReport {
        let host = Host { nic: Some(nic("eth0", "192.0.2.1")), ..engine::host::describe(None) };
        AgentReport {
            network: network.into(),
            host: Some(host),
            interfaces: vec![nic("eth1.7", "198.51.100.1"), nic("lo", "127.0.0.1")],
            toward: BTreeMap::from([("198.51.100.9".to_owned(), "eth1.7".to_owned())]),
            ..AgentReport::default()
        }
    }

    #[test]
    fn an_interface_is_that_of_its_host() {
        let single = report("h1");
        let name = |resource: Resource| resource.name;
        assert_eq!(name(single.nic_toward("ams", "198.51.100.9")), "nic.h1.eth1-7");
        assert_eq!(name(single.nic_toward("ams", "203.0.113.9")), "nic.h1.eth0", "as toward the server");
        assert_eq!(name(single.nic_at("ams", "198.51.100.1")), "nic.h1.eth1-7");
        // Behind NAT it is reached by an address that is none of its own.
        assert_eq!(name(single.nic_at("ams", "203.0.113.1")), "nic.h1.eth0");
        // The name is the same for two agents of one host, and differs between hosts.
        assert_eq!(report("h1").nic_at("fra", "192.0.2.1"), single.nic_at("ams", "192.0.2.1"));
        assert_ne!(report("h2").nic_at("fra", "192.0.2.1"), single.nic_at("ams", "192.0.2.1"));
        assert_eq!(name(report("").nic_at("fra", "192.0.2.1")), "nic.fra");
        assert!(single.has_several_interfaces());
    }

    #[test]
    fn a_resource_is_named_as_its_agents_know_it() {
        let all = [("ams", "h1"), ("fra", "h1"), ("lon", "h2"), ("lab", "")];
        let reports = all.map(|(name, network)| (name.to_owned(), report(network))).into();
        let labels = labels(&reports);
        assert_eq!(labels["nic.h1.eth0"], "eth0 of ams and fra");
        assert_eq!(labels["nic.h2.eth1-7"], "eth1.7 of lon");
        assert!(labels["nic.lab"].ends_with(" of lab"), "{labels:?}");
    }

    #[test]
    fn this_host_answers_what_leads_where() {
        let text = answer(r#"{"toward":["127.0.0.1"]}"#).expect("an answer");
        assert_eq!(text, r#"{"127.0.0.1":"lo"}"#);
        assert_eq!(answer("what time is it?"), None);
    }
}
