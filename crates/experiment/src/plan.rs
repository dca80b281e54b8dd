//! A plan: its paths and tests, and the steps that they make.

use crate::request::Toward;
use engine::host::address::Family;
use engine::host::host_port::HostPort;
use engine::request::{Origin, Request};
use engine::session::connect::Security;
use lab::topology::Topology;
use model::experiment::{Setting, Sites};
use model::plan::End;
use model::units::{BitRate, Bytes, Nanos};
use std::net::IpAddr;

/// A plan file, read and checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name: that of its file, without `.toml`.
    pub name: String,
    /// Description in one line.
    pub title: String,
    /// Words that hold its runs together in a store.
    pub labels: Vec<String>,
    /// Runs of each cell.
    pub repetitions: u32,
    /// In which order they come.
    pub order: RunSequence,
    /// Its limits.
    pub limits: Limits,
    /// Every path, in the order of the file.
    pub paths: Vec<Path>,
    /// Every test, in the order of the file.
    pub tests: Vec<Test>,
    /// The file as it is, by which a journal knows its plan.
    pub text: String,
}

/// In which order runs come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunSequence {
    /// Every cell once, then every cell again: a slow drift affects all of them equally.
    #[default]
    Interleaved,
    /// All runs of a cell, then all of the next.
    Blocks,
}

/// Limits of a plan's time and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// No run begins that would end later.
    pub time: Option<Nanos>,
    /// No run begins after so many bytes of payload.
    pub bytes: Option<Bytes>,
}

/// From where to where.
#[derive(Clone, Debug)]
pub struct Path {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub place: PathPlace,
    /// Where it ends.
    pub to: HostPort,
    /// Address family, local address, interface and connection timeout.
    pub origin: Origin,
    /// Speed of its link, where that is given.
    pub link: Option<BitRate>,
    /// The ends' authentication, where the configuration has it.
    pub security: Security,
    /// The file's name of the far end, where that is a name of the configuration whose token or fingerprint the agent at which the
    /// path begins must have itself.
    pub named: Option<HostPort>,
    /// The sites that it lies between, where they are named.
    pub sites: Option<Sites>,
}

/// Where a path begins.
#[derive(Clone, Debug)]
pub enum PathPlace {
    /// At this host.
    Here,
    /// At a node of a lab.
    Lab {
        /// The lab.
        topology: Box<Topology>,
        /// The node that measures.
        from: String,
        /// The node that answers.
        to: String,
    },
    /// At an agent.
    Agent {
        /// Its name.
        from: String,
        /// The agent at which it ends; absent: it ends at a host.
        to: Option<String>,
        /// A coordinator knows them.
        are_known: bool,
    },
    /// At several agents: these paths are measured at the same time, as one.
    Together(Vec<Path>),
}

/// A test, with every combination of its variables.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// The command that does the same: `throughput`, `latency`.
    pub kind: &'static str,
    /// Names of the paths that it is done on; empty: all.
    pub paths: Vec<String>,
    /// Its paths as one, where all of them start together.
    pub together: Option<Box<Path>>,
    /// Baseline of its rows.
    pub against: Against,
    /// Expectations of every run.
    pub expect: Vec<String>,
    /// The combinations, the first variable slowest.
    pub variants: Vec<Variant>,
}

/// Baseline of the rows of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Against {
    /// The same values on the first path; on the first path the first values.
    #[default]
    Paths,
    /// The first values on the same path.
    Values,
}

/// A combination of values.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The values of the variables.
    pub settings: Vec<Setting>,
    /// The keys of the test with the values of this combination, as lines of TOML.
    pub text: String,
    /// The request to the engine, for a far end that is not known yet.
    pub request: Request,
}

/// A path with a test and a combination of values: a row of the result.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// The path.
    pub path: &'a Path,
    /// The test.
    pub test: &'a Test,
    /// The combination.
    pub variant: &'a Variant,
}

/// A run of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The round, from 1.
    pub round: u32,
    /// The number of the cell, from 0.
    pub cell: usize,
}

impl Plan {
    /// Every cell: test by test, and for each combination of values path by path.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell<'_>> {
        let on = |test: &Test, path: &Path| test.paths.is_empty() || test.paths.contains(&path.name);
        let mut cells = Vec::new();
        for test in &self.tests {
            for variant in &test.variants {
                let single = self.paths.iter().filter(|path| test.together.is_none() && on(test, path));
                let paths = test.together.as_deref().into_iter().chain(single);
                cells.extend(paths.map(|path| Cell { path, test, variant }));
            }
        }
        cells
    }

    /// Every run, in the order in which they come.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let (cells, rounds) = (0..self.cells().len(), 1..=self.repetitions);
        match self.order {
            RunSequence::Interleaved => {
                rounds.flat_map(|round| cells.clone().map(move |cell| Step { round, cell })).collect()
            }
            RunSequence::Blocks => {
                cells.flat_map(|cell| rounds.clone().map(move |round| Step { round, cell })).collect()
            }
        }
    }

    /// The same with tests of this length, where they end by time, and so many runs of each cell.
    #[must_use]
    pub fn with(mut self, time: Option<Nanos>, repetitions: Option<u32>) -> Plan {
        self.repetitions = repetitions.unwrap_or(self.repetitions);
        for variant in self.tests.iter_mut().flat_map(|test| &mut test.variants) {
            shorten(&mut variant.request, time);
        }
        self
    }

    /// Whether it has paths that agents measure.
    #[must_use]
    pub fn has_agents(&self) -> bool {
        self.paths.iter().any(|path| matches!(path.place, PathPlace::Agent { .. }))
    }

    /// Whether it has paths in a lab.
    #[must_use]
    pub fn has_labs(&self) -> bool {
        self.paths.iter().any(|path| matches!(path.place, PathPlace::Lab { .. }))
    }

    /// Whether it has paths of this host.
    #[must_use]
    pub fn is_of_here(&self) -> bool {
        self.paths.iter().any(|path| matches!(path.place, PathPlace::Here))
    }
}

/// Tests by amount, and those that have no time of their own, stay as they are.
fn shorten(request: &mut Request, time: Option<Nanos>) {
    let Some(time) = time else { return };
    match request {
        Request::Throughput(asked) if matches!(asked.test.end, End::Time(_)) => {
            asked.test.end = End::Time(time)
        }
        Request::Latency(asked) if asked.count.is_none() => asked.time = Some(time),
        Request::Frames(asked) => asked.time = Some(time),
        _ => {}
    }
}

impl Cell<'_> {
    /// The request to the engine.
    pub fn request(&self) -> Request {
        let Path { name, to, origin, link, .. } = self.path;
        Toward { name, to, origin, link: *link }.fill(self.variant.request.clone())
    }

    /// `snat: latency, size 64`.
    #[must_use]
    pub fn name(&self) -> String {
        let settings = self.variant.settings.iter().map(|one| format!(", {} {}", one.name, one.value));
        format!("{}: {}{}", self.path.name, self.test.name, settings.collect::<String>())
    }
}

impl Path {
    /// The reason why it cannot be measured without a fleet.
    #[must_use]
    pub fn refused(&self) -> Option<String> {
        if let PathPlace::Together(paths) = &self.place {
            return paths.iter().find_map(Path::refused);
        }
        let PathPlace::Agent { from, to, are_known: false } = &self.place else { return None };
        let far = to.as_ref().map_or_else(|| format!("`{}`", self.to.host), |to| format!("agent `{to}`"));
        Some(format!(
            "needs a fleet: agent `{from}` to {far} is measured by a coordinator: give --coordinator nats://HOST:4222"
        ))
    }

    /// Where it begins, in words.
    #[must_use]
    pub fn begin(&self) -> String {
        match &self.place {
            PathPlace::Here => "this host".into(),
            PathPlace::Lab { topology, from, .. } => format!("lab {}, {from}", topology.name),
            PathPlace::Agent { from, .. } => format!("agent {from}"),
            PathPlace::Together(paths) => paths.iter().map(Path::begin).collect::<Vec<_>>().join(", "),
        }
    }

    /// Paths of agents as one, on which tests start at the same time.
    pub(crate) fn together(paths: Vec<Path>) -> Option<Path> {
        let first = paths.first()?.clone();
        let name = paths.iter().map(|path| path.name.as_str()).collect::<Vec<_>>().join(" + ");
        Some(Path { name, named: None, sites: None, place: PathPlace::Together(paths), ..first })
    }

    /// The address of a lab's node, of the requested family, or else IPv4 where it has one.
    pub(crate) fn address_in_lab(topology: &Topology, node: &str, family: Family) -> Option<IpAddr> {
        let node = topology.nodes.iter().find(|one| one.name == node)?;
        let all = || node.addresses.iter().map(|own| own.address);
        let (v4, v6) = (all().find(IpAddr::is_ipv4), all().find(IpAddr::is_ipv6));
        match family {
            Family::V4(_) => v4,
            Family::V6(_) => v6,
            Family::Any => v4.or(v6),
        }
    }
}
