//! Which runs a mesh has: every pair of agents in rounds, some pairs, or some that start at the same time.

use crate::inventory::AgentReport;
use crate::job::{MeshJob, MeshTest};
use engine::request::Request;
use fleet::lease::{Class, Resource};
use fleet::mesh::{Crossing, MeshPlan, RunRequest};
use fleet::rounds::Pair;
use fleet::{FleetError, check_name};
use model::toml_file::suggest;
use model::units::Nanos;
use std::collections::{BTreeMap, HashSet};

/// The agents, with what they report of themselves.
pub type Reports = BTreeMap<String, AgentReport>;

/// The pairs, tests and times of a mesh to plan.
#[derive(Clone, Debug)]
pub struct MeshRequest {
    /// Tests of each pair.
    pub tests: Vec<MeshTest>,
    /// How long each test takes.
    pub time: Nanos,
    /// These pairs; empty: all of them.
    pub pairs: Vec<(String, String)>,
    /// The IP versions, each measured by runs of its own; `None`: that of the agent's address.
    pub families: Vec<Option<u8>>,
    /// All at the same time, each from its first host to its second.
    pub is_together: bool,
    /// Links that pairs share.
    pub links: Vec<Crossing>,
    /// Links that whole sites share.
    pub uplinks: Vec<Uplink>,
}

/// The link by which a site reaches all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uplink {
    /// Its resource.
    pub resource: Resource,
    /// The agents of the site.
    pub agents: Vec<String>,
}

/// The planned runs of a mesh, and the pairs without any.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its runs.
    pub plan: MeshPlan,
    /// Pairs that cannot be measured, as neither end serves the other.
    pub unreachable: Vec<String>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// An agent is not there.
    #[error("no agent is called `{name}`{meant}")]
    Unknown {
        /// The name.
        name: String,
        /// Similar names of agents that are there, as a suffix of the error.
        meant: String,
    },
    /// A mesh of fewer than two.
    #[error("a mesh needs two agents; connected: {0}")]
    TooFew(usize),
    /// Runs that start together, of a pair that cannot be measured.
    #[error("{0}: neither of them listens, so that no pair of them can be measured")]
    Unreachable(String),
}

/// A link between sites: `NAME[=CAPACITY],A:B,C:D`.
///
/// # Errors
/// The text is something else.
pub fn link_of(text: &str) -> Result<Crossing, String> {
    let (link, rest) = shared("link", text)?;
    let pairs = rest.iter().map(|pair| pair_of(pair)).collect::<Result<Vec<_>, _>>()?;
    match pairs.is_empty() {
        true => Err("name the pairs that cross it: NAME[=CAPACITY],A:B,C:D".into()),
        false => Ok(Crossing { link, pairs }),
    }
}

/// The link by which a site reaches all others: `NAME[=CAPACITY],A,B`.
///
/// # Errors
/// The text is something else.
pub fn uplink_of(text: &str) -> Result<Uplink, String> {
    let (resource, rest) = shared("uplink", text)?;
    match rest.is_empty() {
        true => Err("name the agents of its site: NAME[=CAPACITY],A,B".into()),
        false => Ok(Uplink { resource, agents: rest.into_iter().map(str::to_owned).collect() }),
    }
}

/// The resource that stands first, and what stands behind it.
fn shared<'t>(what: &'static str, text: &'t str) -> Result<(Resource, Vec<&'t str>), String> {
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default();
    let (name, capacity) = first.split_once('=').unwrap_or((first, "1"));
    check_name("a link", name).map_err(|error: FleetError| error.to_string())?;
    let capacity: u32 =
        capacity.parse().ok().filter(|capacity| *capacity > 0).ok_or_else(|| {
            format!("`{capacity}` is not a capacity: how many tests it takes at once, from 1")
        })?;
    Ok((
        Resource { name: format!("{what}.{name}"), capacity },
        parts.filter(|part| !part.is_empty()).collect(),
    ))
}

/// A pair of two agents: `A:B`.
///
/// # Errors
/// The text is not a pair.
pub fn pair_of(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((a, b)) if !a.is_empty() && !b.is_empty() && a != b => Ok((a.to_owned(), b.to_owned())),
        _ => Err(format!("`{text}` is not a pair of two agents: write A:B")),
    }
}

/// Plans the requested tests between these agents. `name` identifies this occurrence and is never used for another.
///
/// # Errors
/// A pair or a link names an agent that is not there.
pub fn plan(name: &str, reports: &Reports, asked: &MeshRequest) -> Result<Planned, PlanError> {
    let sites: Vec<String> = reports.keys().cloned().collect();
    let mut crossings = crossings(reports, asked)?;
    let pairs = asked
        .pairs
        .iter()
        .map(|(a, b)| Ok((known(reports, a)?, known(reports, b)?)))
        .collect::<Result<Vec<(usize, usize)>, PlanError>>()?;
    if asked.is_together {
        return together(name, reports, &sites, asked, &crossings, &pairs);
    }
    let edges: Vec<Pair> = match pairs.as_slice() {
        [] => fleet::rounds::tournament(sites.len()).concat(),
        some => some.iter().filter_map(|(a, b)| Pair::new(*a, *b)).collect(),
    };
    let mut unreachable: Vec<String> = Vec::new();
    for pair in &edges {
        let (a, b) = (&sites[pair.a], &sites[pair.b]);
        let deaf = asked.families.iter().filter(|family| ends(reports, a, b, **family).is_none());
        unreachable.extend(deaf.map(|family| {
            let family = family.map(|family| format!(" by IPv{family}")).unwrap_or_default();
            format!("{a} and {b}{family}")
        }));
    }
    unreachable.sort_unstable();
    unreachable.dedup();
    crossings.extend(shared_nics(reports, asked, &sites, &edges));
    let some = (!pairs.is_empty()).then_some(edges.as_slice());
    let plan = MeshPlan::new(name, &sites, some, &crossings, |a, b| both_directions(reports, asked, a, b));
    Ok(Planned { plan, unreachable })
}

/// All pairs at once, each from its first host to its second.
fn together(
    name: &str,
    reports: &Reports,
    sites: &[String],
    asked: &MeshRequest,
    crossings: &[Crossing],
    pairs: &[(usize, usize)],
) -> Result<Planned, PlanError> {
    let mut runs = Vec::new();
    let each = pairs.iter().flat_map(|pair| asked.families.iter().map(move |family| (pair, *family)));
    for (number, ((from, to), family)) in each.enumerate() {
        let (sender, receiver) = (sites[*from].as_str(), sites[*to].as_str());
        let Some((opener, listener)) = ends(reports, sender, receiver, family) else {
            return Err(PlanError::Unreachable(format!("{sender} and {receiver}")));
        };
        let Some(pair) = Pair::new(*from, *to) else { continue };
        let flow = Flow { ends: (opener, listener), reverse: opener != sender, family };
        let request = request(reports, asked, flow, MeshTest::Throughput);
        runs.push((pair, RunRequest { part: format!("{number}-{}", request.part), ..request }));
    }
    let plan = MeshPlan::together(name, sites, crossings, runs);
    Ok(Planned { plan, unreachable: Vec::new() })
}

/// Which of two ends opens the connections, and which one listens; absent: neither can be reached by this IP version.
fn ends<'s>(reports: &Reports, a: &'s str, b: &'s str, family: Option<u8>) -> Option<(&'s str, &'s str)> {
    let listens = |agent: &str| {
        let report = &reports[agent];
        report.listens && report.address_of(family).is_some()
    };
    match (listens(a), listens(b)) {
        (_, true) => Some((a, b)),
        (true, false) => Some((b, a)),
        (false, false) => None,
    }
}

/// The runs of a pair: all are carried out by the end that opens the connections, but for a trace of hops, which each end does
/// toward the other.
fn both_directions(reports: &Reports, asked: &MeshRequest, a: &str, b: &str) -> Vec<RunRequest> {
    let mut runs = Vec::new();
    for (test, family) in
        asked.tests.iter().flat_map(|test| asked.families.iter().map(move |one| (*test, *one)))
    {
        let Some(ends) = ends(reports, a, b, family) else { continue };
        let flow = |reverse: bool| Flow { ends, reverse, family };
        runs.push(request(reports, asked, flow(false), test));
        match test {
            MeshTest::Throughput => runs.push(request(reports, asked, flow(true), test)),
            MeshTest::Hops => {
                let back = (ends.1, ends.0);
                if self::ends(reports, back.0, back.1, family) == Some(back) {
                    let run = request(reports, asked, Flow { ends: back, reverse: false, family }, test);
                    runs.push(RunRequest { part: format!("back-{}", run.part), ..run });
                }
            }
            MeshTest::Latency | MeshTest::Mtu => {}
        }
    }
    runs
}

/// Interfaces that several agents share, as links that their pairs cross: two agents of one host are not measured at once.
fn shared_nics(reports: &Reports, asked: &MeshRequest, sites: &[String], edges: &[Pair]) -> Vec<Crossing> {
    type Use<'s> = (HashSet<&'s str>, Vec<(String, String)>);
    let mut uses: BTreeMap<Resource, Use<'_>> = BTreeMap::new();
    for pair in edges {
        let (a, b) = (&sites[pair.a], &sites[pair.b]);
        let all = asked.families.iter().filter_map(|family| {
            let ends = ends(reports, a, b, *family)?;
            Some(nics(reports, ends, *family).into_iter().zip([ends.0, ends.1]))
        });
        for (nic, agent) in all.flatten() {
            let (owners, pairs) = uses.entry(nic).or_default();
            owners.insert(agent);
            let named = (a.clone(), b.clone());
            if pairs.last() != Some(&named) {
                pairs.push(named);
            }
        }
    }
    let shared = uses.into_iter().filter(|(_, (owners, _))| owners.len() > 1);
    shared.map(|(link, (_, pairs))| Crossing { link, pairs }).collect()
}

/// The interfaces of the end that opens the connection and of the one that listens.
fn nics(reports: &Reports, (opener, listener): (&str, &str), family: Option<u8>) -> [Resource; 2] {
    let (own, far) = (&reports[opener], &reports[listener]);
    let address = far.address_of(family).unwrap_or_default();
    [own.nic_toward(opener, &address), far.nic_at(listener, &address)]
}

/// Data between the end that opens the connection and the one that listens.
struct Flow<'s> {
    ends: (&'s str, &'s str),
    /// The end that listens is the one that sends.
    reverse: bool,
    family: Option<u8>,
}

fn request(reports: &Reports, asked: &MeshRequest, flow: Flow<'_>, test: MeshTest) -> RunRequest {
    let Flow { ends: (opener, listener), reverse, family } = flow;
    let (from, to) = if reverse { (listener, opener) } else { (opener, listener) };
    let report = &reports[listener];
    let job = MeshJob {
        from: from.to_owned(),
        to: to.to_owned(),
        test,
        host: report.address_of(family).unwrap_or_default(),
        port: if report.port == 0 { 5210 } else { report.port },
        reverse,
        time: asked.time,
        family,
    };
    let by = family.map(|family| format!("-ip{family}")).unwrap_or_default();
    RunRequest {
        agent: opener.to_owned(),
        title: job.title(),
        part: format!("{}-{test:?}{by}", if reverse { "down" } else { "up" }),
        class: class(&job.request(Nanos::ZERO)),
        resources: nics(reports, (opener, listener), family).to_vec(),
        span: job.span(),
        body: serde_json::to_string(&job).unwrap_or_default(),
    }
}

/// How a run gets on with others on the same resources.
pub(crate) fn class(request: &Request) -> Class {
    match request {
        Request::Latency(asked) if asked.load.is_none() => Class::Normal,
        Request::Path(_) | Request::Hops(_) => Class::Background,
        _ => Class::Exclusive,
    }
}

/// The shared links: those of pairs, and the uplinks, which every pair with one end in the site crosses.
fn crossings(reports: &Reports, asked: &MeshRequest) -> Result<Vec<Crossing>, PlanError> {
    let mut all = Vec::new();
    for link in &asked.links {
        link.pairs.iter().try_for_each(|(a, b)| known(reports, a).and(known(reports, b)).map(drop))?;
        all.push(link.clone());
    }
    for uplink in &asked.uplinks {
        uplink.agents.iter().try_for_each(|agent| known(reports, agent).map(drop))?;
        let outside = || reports.keys().filter(|other| !uplink.agents.contains(other));
        let pairs =
            uplink.agents.iter().flat_map(|agent| outside().map(|other| (agent.clone(), other.clone())));
        all.push(Crossing { link: uplink.resource.clone(), pairs: pairs.collect() });
    }
    Ok(all)
}

/// The place of an agent among those that are there.
fn known(reports: &Reports, name: &str) -> Result<usize, PlanError> {
    let meant = || suggest(name, reports.keys().map(String::as_str));
    let unknown = || PlanError::Unknown { name: name.to_owned(), meant: meant() };
    reports.keys().position(|known| known == name).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports(names: &[(&str, bool)]) -> Reports {
        let report = |listens| AgentReport { listens, address: "192.0.2.1".into(), ..AgentReport::default() };
        names.iter().map(|(name, listens)| ((*name).to_owned(), report(*listens))).collect()
    }

    fn mesh_request() -> MeshRequest {
        MeshRequest {
            tests: vec![MeshTest::Throughput],
            time: Nanos::from_secs(10),
            pairs: Vec::new(),
            families: vec![None],
            is_together: false,
            links: Vec::new(),
            uplinks: Vec::new(),
        }
    }

    #[test]
    fn links_are_read_and_faults_named() {
        let link = link_of("backbone=2,ams:fra,ams:lon").expect("a link");
        assert_eq!((link.link.name.as_str(), link.link.capacity), ("link.backbone", 2));
        assert_eq!(link.pairs[1], ("ams".to_owned(), "lon".to_owned()));
        let uplink = uplink_of("site1,ams,fra").expect("an uplink");
        assert_eq!((uplink.resource.name.as_str(), uplink.agents.len()), ("uplink.site1", 2));
        for (text, part) in [
            ("a b,x:y", "cannot name a link"),
            ("l=0,x:y", "capacity"),
            ("l", "pairs"),
            ("l,x:x", "pair of two"),
        ] {
            assert!(link_of(text).expect_err(text).contains(part), "{text}");
        }
        assert!(uplink_of("up=1").expect_err("no agents").contains("agents"));
    }

    /// Two agents behind one uplink are never measured with others at the same time.
    #[test]
    fn an_uplink_parts_rounds() {
        let reports = reports(&[("a", true), ("b", true), ("c", true), ("d", true)]);
        let uplinks = vec![uplink_of("site,a,b").expect("an uplink")];
        let planned = plan("m", &reports, &MeshRequest { uplinks, ..mesh_request() }).expect("a plan");
        let crosses = |run: &fleet::mesh::PlannedRun| {
            run.job.resources.iter().any(|resource| resource.name == "uplink.site")
        };
        for round in &planned.plan.rounds {
            let titles: std::collections::BTreeSet<Vec<&str>> = round
                .iter()
                .filter(|run| crosses(run))
                .map(|run| {
                    let mut ends: Vec<&str> =
                        run.job.title.trim_start_matches("throughput ").split(" -> ").collect();
                    ends.sort_unstable();
                    ends
                })
                .collect();
            assert!(titles.len() <= 1, "{titles:?}");
        }
        // Four pairs cross it, those of a and b, and of c and d, do not.
        assert_eq!(planned.plan.rounds.iter().flatten().filter(|run| crosses(run)).count(), 8);
        let free = plan("m", &reports, &mesh_request()).expect("a plan");
        assert!(planned.plan.rounds.len() > free.plan.rounds.len());
    }

    #[test]
    fn some_pairs_and_those_that_cannot_be_measured() {
        let reports = reports(&[("a", true), ("b", false), ("c", false)]);
        let pairs = vec![("a".to_owned(), "b".to_owned()), ("b".to_owned(), "c".to_owned())];
        let planned =
            plan("m", &reports, &MeshRequest { pairs: pairs.clone(), ..mesh_request() }).expect("a plan");
        assert_eq!((planned.plan.runs(), planned.unreachable), (2, vec!["b and c".to_owned()]));
        let together = MeshRequest { pairs, is_together: true, ..mesh_request() };
        let refused = plan("m", &reports, &together).expect_err("b and c").to_string();
        assert!(refused.contains("neither of them listens"), "{refused}");
        let unknown = MeshRequest { pairs: vec![("a".into(), "bb".into())], ..mesh_request() };
        assert!(plan("m", &reports, &unknown).expect_err("bb").to_string().contains("`bb`"));
    }

    /// Each IP version has runs of its own, from the end that can be reached by it.
    #[test]
    fn both_ip_versions_are_measured_where_an_end_has_them() {
        let mut reports = reports(&[("a", true), ("b", true), ("c", true)]);
        for name in ["a", "b"] {
            if let Some(report) = reports.get_mut(name) {
                report.more_addresses = vec!["2001:db8::1".into()];
            }
        }
        if let Some(report) = reports.get_mut("a") {
            report.more_addresses.clear();
        }
        let families = vec![Some(4), Some(6)];
        let request = MeshRequest { tests: vec![MeshTest::Latency], families, ..mesh_request() };
        let planned = plan("m", &reports, &request).expect("a plan");
        let mut runs: Vec<(&str, &str)> = planned
            .plan
            .rounds
            .iter()
            .flatten()
            .map(|run| (run.job.title.as_str(), run.agent.as_str()))
            .collect();
        runs.sort_unstable();
        let expected = [
            ("latency a -> b IPv4", "a"),
            ("latency a -> b IPv6", "a"),
            ("latency a -> c IPv4", "a"),
            ("latency b -> c IPv4", "b"),
            // c alone cannot be reached by IPv6, and asks itself.
            ("latency c -> b IPv6", "c"),
        ];
        assert_eq!(runs, expected);
        assert_eq!(planned.unreachable, ["a and c by IPv6"]);
        assert!(
            planned
                .plan
                .rounds
                .iter()
                .flatten()
                .all(|run| run.job.body.contains("2001:db8::1") == run.job.title.contains("IPv6"))
        );
    }

    /// Several tests of each pair: tests that disturb no other run stand beside the rounds, and hops are traced from either
    /// end.
    #[test]
    fn several_tests_of_a_pair() {
        let tests = vec![MeshTest::Throughput, MeshTest::Latency, MeshTest::Mtu, MeshTest::Hops];
        let request = MeshRequest { tests, ..mesh_request() };
        let titles = |runs: &[fleet::mesh::PlannedRun]| {
            let mut titles: Vec<String> =
                runs.iter().map(|run| format!("{} by {}", run.job.title, run.agent)).collect();
            titles.sort_unstable();
            titles
        };
        let planned = plan("m", &reports(&[("a", true), ("b", true)]), &request).expect("a plan").plan;
        let [round] = planned.rounds.as_slice() else { panic!("one round") };
        assert_eq!(
            titles(round),
            ["latency a -> b by a", "throughput a -> b by a", "throughput b -> a by a"]
        );
        let beside = ["hops a -> b by a", "hops b -> a by b", "mtu a -> b by a"];
        assert_eq!(titles(&planned.background), beside);
        let names: HashSet<&str> = planned.all().map(|run| run.job.run.as_str()).collect();
        assert_eq!(names.len(), 6, "each has a name of its own");
        // No agent traces toward one that does not listen.
        let planned = plan("m", &reports(&[("a", true), ("b", false)]), &request).expect("a plan").plan;
        assert_eq!(titles(&planned.background), ["hops b -> a by b", "mtu b -> a by b"]);
        // The duration shown at the start is above zero for tests that have no length of their own.
        let sizes = MeshRequest { tests: vec![MeshTest::Mtu], ..mesh_request() };
        let planned = plan("m", &reports(&[("a", true), ("b", true)]), &sizes).expect("a plan").plan;
        assert!(planned.duration() >= Nanos::from_secs(2), "{}", planned.duration());
    }

    /// Two agents of one host are not measured at once with others; by another interface they are.
    #[test]
    fn agents_that_share_an_interface_are_parted() {
        let mut reports = reports(&[("a", true), ("b", true), ("c", true), ("d", true)]);
        let pairs = [("a", "c"), ("b", "d")].map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
        let request = MeshRequest { pairs, ..mesh_request() };
        let rounds = |reports: &Reports| plan("m", reports, &request).expect("a plan").plan.rounds;
        assert_eq!(rounds(&reports).len(), 1);
        let nic = |name: &str| model::host::Nic { name: name.into(), ..model::host::Nic::default() };
        for name in ["a", "b"] {
            if let Some(report) = reports.get_mut(name) {
                report.network = "h".into();
                report.host =
                    Some(model::host::Host { nic: Some(nic("eth0")), ..engine::host::describe(None) });
            }
        }
        let parted = rounds(&reports);
        assert_eq!(parted.len(), 2);
        let uses = |run: &fleet::mesh::PlannedRun| run.job.resources.contains(&Resource::sole("nic.h.eth0"));
        assert!(parted.iter().flatten().all(uses), "{parted:?}");
        if let Some(report) = reports.get_mut("b") {
            report.toward.insert("192.0.2.1".into(), "eth1".into());
        }
        assert_eq!(rounds(&reports).len(), 1, "each has an interface of its own");
    }

    /// Between the same two hosts several times, and from behind NAT by the end that can open connections.
    #[test]
    fn those_together_are_one_group() {
        let reports = reports(&[("a", true), ("b", false)]);
        let pair = ("a".to_owned(), "b".to_owned());
        let request = MeshRequest { pairs: vec![pair.clone(), pair], is_together: true, ..mesh_request() };
        let plan = plan("m", &reports, &request).expect("a plan").plan;
        let [round] = plan.rounds.as_slice() else { panic!("one round") };
        assert!(round.len() == 2 && round[0].job.run != round[1].job.run);
        assert!(round.iter().all(|run| !run.job.group.is_empty() && run.job.group == round[0].job.group));
        assert!(round.iter().all(|run| run.agent == "b" && run.job.title == "throughput a -> b"));
    }
}
