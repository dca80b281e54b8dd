//! The plan of a mesh: rounds of runs, and runs beside them.

use crate::job::AgentJob;
use crate::lease::{Class, Resource};
use crate::name::run_name;
use crate::rounds::{Pair, Rounds, SharedLink, colour, tournament};
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// A link that several pairs share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crossing {
    /// The link, and how many runs it carries at once.
    pub link: Resource,
    /// The pairs that cross it, by agents.
    pub pairs: Vec<(String, String)>,
}

/// The request of one run of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRequest {
    /// Which end carries it out.
    pub agent: String,
    /// The test, as text to show.
    pub title: String,
    /// Distinguishes it from the pair's other runs: `up`.
    pub part: String,
    /// How it gets on with others.
    pub class: Class,
    /// The resources that it needs beside the links: the interfaces of this pair.
    pub resources: Vec<Resource>,
    /// How long it takes.
    pub span: Nanos,
    /// The request that the program reads.
    pub body: String,
}

/// A run and its agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// The agent that carries it out.
    pub agent: String,
    /// The run; its deadline is set when it is handed out.
    pub job: AgentJob,
}

/// The plan of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeshPlan {
    /// Names this mesh: one coordinator at a time works on it.
    #[serde(default)]
    pub name: String,
    /// Runs that are handed out together, round after round.
    pub rounds: Vec<Vec<PlannedRun>>,
    /// Runs that disturb no other, handed out beside the rounds: a few of each agent at a time.
    pub background: Vec<PlannedRun>,
    /// How much longer than planned a round may take before its runs are missed.
    pub grace: Nanos,
}

impl MeshPlan {
    /// Plans every pair (`pairs`: only these) of sites, by their agents. `mesh` names this occurrence and nothing else ever: runs are named after
    /// it. `runs` gives the runs of a pair; those of class background are put beside the rounds.
    #[must_use]
    pub fn new(
        mesh: &str,
        sites: &[String],
        pairs: Option<&[Pair]>,
        crossings: &[Crossing],
        runs: impl Fn(&str, &str) -> Vec<RunRequest>,
    ) -> MeshPlan {
        let shared = shared_links(sites, crossings);
        let rounds: Rounds = match pairs {
            None if shared.is_empty() => tournament(sites.len()),
            None => colour(sites.len(), &tournament(sites.len()).concat(), &shared),
            Some(pairs) => colour(sites.len(), pairs, &shared),
        };
        let mut plan = MeshPlan { name: mesh.to_owned(), grace: GRACE, ..MeshPlan::default() };
        for round in rounds {
            let mut weighty = Vec::new();
            for pair in round {
                let (a, b) = (&sites[pair.a], &sites[pair.b]);
                let links = links_of(pair, crossings, &shared);
                for request in runs(a, b) {
                    let run = planned(mesh, (a, b), &links, request);
                    let is_light = matches!(run.job.class, Class::Background | Class::BackgroundMulti);
                    if is_light { plan.background.push(run) } else { weighty.push(run) }
                }
            }
            plan.rounds.push(weighty);
        }
        plan
    }

    /// Plans runs of pairs that all start at the same time, as one round and one group.
    #[must_use]
    pub fn together(
        mesh: &str,
        sites: &[String],
        crossings: &[Crossing],
        runs: Vec<(Pair, RunRequest)>,
    ) -> MeshPlan {
        let group = run_name(&[mesh, "together"]);
        let shared = shared_links(sites, crossings);
        let grouped = |(pair, request): (Pair, RunRequest)| {
            let links = links_of(pair, crossings, &shared);
            let mut run = planned(mesh, (&sites[pair.a], &sites[pair.b]), &links, request);
            run.job.group.clone_from(&group);
            run
        };
        let round = runs.into_iter().map(grouped).collect();
        MeshPlan { name: mesh.to_owned(), rounds: vec![round], grace: GRACE, ..MeshPlan::default() }
    }

    /// How long it takes: the rounds, in each the agent with the most to do; or what runs beside them, where that takes longer.
    pub fn duration(&self) -> Nanos {
        let rounds: Nanos = self.rounds.iter().map(|round| span_of(round)).sum();
        let beside = Nanos(span_of(&self.background).0 / BESIDE as u64);
        let longest = self.background.iter().map(|run| run.job.span).max().unwrap_or(Nanos::ZERO);
        rounds.max(beside).max(longest)
    }

    /// All of its runs.
    pub fn all(&self) -> impl Iterator<Item = &PlannedRun> {
        self.rounds.iter().flatten().chain(&self.background)
    }

    /// The same without those runs, and those runs.
    #[must_use]
    pub fn part(mut self, is_out: impl Fn(&PlannedRun) -> bool) -> (MeshPlan, Vec<PlannedRun>) {
        let mut out = Vec::new();
        for runs in self.rounds.iter_mut().chain([&mut self.background]) {
            out.extend(runs.extract_if(.., |run| is_out(run)));
        }
        (self, out)
    }

    /// The resources of its exclusive runs, as claims of the coordinator: two meshes of which each would have to wait for the
    /// other's runs follow one another as a whole.
    #[must_use]
    pub fn turns(&self) -> Vec<Resource> {
        let exclusive = self.all().filter(|run| run.job.class == Class::Exclusive);
        let mut turns: Vec<Resource> = exclusive.flat_map(|run| run.job.resources.iter().map(turn)).collect();
        turns.sort_unstable();
        turns.dedup();
        turns
    }

    /// How many runs it has.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.all().count()
    }
}

/// The claim of a coordinator for its runs on a resource.
pub fn turn(resource: &Resource) -> Resource {
    Resource { name: format!("mesh.{}", resource.name), capacity: resource.capacity }
}

/// How long a round takes: runs of one agent follow one another.
pub(crate) fn span_of(round: &[PlannedRun]) -> Nanos {
    let mut spans: std::collections::HashMap<&str, Nanos> = std::collections::HashMap::new();
    for run in round {
        let span = spans.entry(&run.agent).or_default();
        *span = span.saturating_add(run.job.span);
    }
    spans.into_values().max().unwrap_or(Nanos::ZERO)
}

/// The shared links that a pair crosses.
fn links_of(pair: Pair, crossings: &[Crossing], shared: &[SharedLink]) -> Vec<Resource> {
    let crossed = crossings.iter().zip(shared).filter(|(_, link)| link.pairs.contains(&pair));
    crossed.map(|(crossing, _)| crossing.link.clone()).collect()
}

fn shared_links(sites: &[String], crossings: &[Crossing]) -> Vec<SharedLink> {
    let number = |agent: &String| sites.iter().position(|site| site == agent);
    let shared = |crossing: &Crossing| {
        let pairs = crossing.pairs.iter().filter_map(|(a, b)| Pair::new(number(a)?, number(b)?));
        SharedLink { pairs: pairs.collect(), capacity: crossing.link.capacity as usize }
    };
    crossings.iter().map(shared).collect()
}

fn planned(mesh: &str, (a, b): (&str, &str), links: &[Resource], request: RunRequest) -> PlannedRun {
    let mut resources: Vec<Resource> = Vec::new();
    for resource in request.resources.iter().chain(links) {
        if !resources.iter().any(|one| one.name == resource.name) {
            resources.push(resource.clone());
        }
    }
    let job = AgentJob {
        run: run_name(&[mesh, a, b, &request.part]),
        title: request.title,
        class: request.class,
        resources,
        span: request.span,
        body: request.body,
        number: 1,
        since: 1,
        ..AgentJob::default()
    };
    PlannedRun { agent: request.agent, job }
}

/// Runs beside the rounds that one agent has at a time: fewer than it carries out at once, so that its rounds find room.
pub(crate) const BESIDE: usize = 4;
/// How much longer than planned a round may take.
const GRACE: Nanos = Nanos::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn request(agents: [&str; 2], part: &str, class: Class) -> RunRequest {
        let span = Nanos::from_secs(12);
        RunRequest {
            agent: agents[0].into(),
            title: String::new(),
            part: part.into(),
            class,
            resources: agents.map(|agent| Resource::sole(format!("nic.{agent}"))).into(),
            span,
            body: String::new(),
        }
    }

    fn both_directions(a: &str, b: &str) -> Vec<RunRequest> {
        ["up", "down"].map(|part| request([a, b], part, Class::Exclusive)).to_vec()
    }

    #[test]
    fn a_mesh_of_a_hundred_sites_takes_39_6_minutes() {
        let sites: Vec<String> = (0..100).map(|number| format!("s{number}")).collect();
        let plan = MeshPlan::new("m", &sites, None, &[], both_directions);
        assert_eq!((plan.rounds.len(), plan.runs()), (99, 9900));
        assert_eq!(plan.duration(), Nanos::from_secs(99 * 24));
        let names: std::collections::HashSet<&str> =
            plan.rounds.iter().flatten().map(|run| run.job.run.as_str()).collect();
        assert_eq!(names.len(), 9900);
    }

    #[test]
    fn shared_links_are_kept_and_light_runs_stand_beside() {
        let sites = ["a", "b", "c", "d"].map(str::to_owned);
        let pairs = vec![("a".to_owned(), "b".to_owned()), ("c".to_owned(), "d".to_owned())];
        let backbone = Crossing { link: Resource::sole("link.backbone"), pairs };
        let runs = |a: &str, b: &str| {
            vec![request([a, b], "up", Class::Exclusive), request([a, b], "rtt", Class::Background)]
        };
        let plan = MeshPlan::new("m", &sites, None, &[backbone], runs);
        assert_eq!(plan.background.len(), 6);
        // Runs beside the rounds count where they take longer; their time is never zero.
        let alone = MeshPlan::new("m", &sites[..2], None, &[], |a, b| {
            vec![request([a, b], "mtu", Class::Background)]
        });
        assert_eq!(alone.duration(), Nanos::from_secs(12));
        // Only exclusive runs keep another mesh waiting.
        assert!(alone.turns().is_empty());
        assert!(plan.turns().contains(&Resource::sole("mesh.link.backbone")), "{:?}", plan.turns());
        for round in &plan.rounds {
            let crossing =
                round.iter().filter(|run| run.job.resources.contains(&Resource::sole("link.backbone")));
            assert!(crossing.count() <= 1);
        }
        assert_eq!(plan.rounds.iter().map(Vec::len).sum::<usize>(), 6);
    }
}
