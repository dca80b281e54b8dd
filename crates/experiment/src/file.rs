//! The form of a plan file: from TOML to a [`Plan`], with every fault at once.

mod path;
mod test;

use crate::plan::{Limits, Path, PathPlace, Plan, RunSequence, Test};
use engine::host::host_port::HostPort;
use engine::session::connect::Security;
use lab::shipped::read_file;
use model::toml_file::{self, Faults, FileError, Table, Value};
use model::units::BitRate;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path as FilePath;
use toml::Spanned;
use toml::de::DeTable;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("read the plan {file}: {source}")]
    Unreadable {
        /// Its name.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// The file is not a valid plan.
    #[error(transparent)]
    Faulty(#[from] FileError),
}

impl Plan {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or everything that is wrong with it.
    pub fn read(file: &FilePath, known: &Known) -> Result<Plan, ReadError> {
        let name = file.display().to_string();
        let text =
            read_file(file, "plan").map_err(|source| ReadError::Unreadable { file: name.clone(), source })?;
        Ok(Plan::parse(&name, &text, known)?)
    }

    /// Reads the text of a file. `file` is the path to it: it stands before each fault, and topologies of other files are
    /// looked for from there.
    ///
    /// # Errors
    /// Everything found wrong: what is no TOML first; then keys and values that cannot be read; then what the engine refuses.
    pub fn parse(file: &str, text: &str, known: &Known) -> Result<Plan, FileError> {
        toml_file::parse(file, text, |document, faults| read(file, text, known, document, faults))
    }
}

/// Credentials and hosts that a file may name and does not contain.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Hosts by the names that the configuration gives them.
    pub targets: BTreeMap<String, Target>,
    /// The agents that are there; absent: they are not known yet, and any name is one.
    pub agents: Option<BTreeMap<String, KnownAgent>>,
    /// Another host wrote it, and an agent reads it: what would open files or spend keys of this host is refused unread.
    pub is_job: bool,
}

/// A host that has a name in the configuration.
#[derive(Clone, Debug)]
pub struct Target {
    /// The host.
    pub host: HostPort,
    /// The ends' authentication.
    pub security: Security,
    /// Speed of the link to it, where that is given.
    pub link: Option<BitRate>,
}

/// An agent that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownAgent {
    /// Address at which other agents reach it; absent: it does not listen.
    pub address: Option<HostPort>,
}

fn read(
    file: &str,
    text: &str,
    known: &Known,
    document: &Spanned<DeTable<'_>>,
    faults: &RefCell<Faults>,
) -> Plan {
    let mut table = Table::new(document.get_ref(), 0..0, faults);
    let title = table.need("title", "title = \"Five egress paths\"").and_then(|value| value.text());
    let labels = texts(table.get("labels"));
    let repetitions = table.get("repetitions").and_then(|value| value.number(1, 1000));
    let sequence = table.get("order").and_then(|value| value.word(&ORDERS));
    let limits = table.get("limits").and_then(|value| value.table()).map(limits).unwrap_or_default();
    let base = FilePath::new(file).parent().unwrap_or(FilePath::new(""));
    let paths = table.need("paths", "[paths.direct] with to = \"far.example\"");
    let paths: Vec<_> = match paths.and_then(|value| value.table()) {
        Some(paths) => {
            paths.all().filter_map(|(name, value)| path::read(name, &value, base, known)).collect()
        }
        None => Vec::new(),
    };
    let tests = table.need("tests", "[[tests]] with test = \"latency\"");
    let tests = tests.iter().flat_map(Value::list).filter_map(|value| {
        let test::Read { mut test, is_together } = test::read(&value, known.is_job)?;
        if is_together {
            test.together = together(&test, &paths, &value).map(Box::new);
        }
        Some(test)
    });
    let tests: Vec<_> = tests.collect();
    let plan = Plan {
        name: FilePath::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        title: title.unwrap_or_default().to_owned(),
        labels,
        repetitions: repetitions.map_or(USUAL_REPETITIONS, |number| number as u32),
        order: sequence.unwrap_or_default(),
        limits,
        paths,
        tests,
        text: text.to_owned(),
    };
    if faults.borrow().is_empty() {
        check(&plan, &mut table);
    }
    table.finish();
    plan
}

/// The paths of a test as one.
fn together(test: &Test, paths: &[Path], value: &Value<'_>) -> Option<Path> {
    let own: Vec<Path> = paths
        .iter()
        .filter(|path| test.paths.is_empty() || test.paths.contains(&path.name))
        .cloned()
        .collect();
    if own.len() < 2 || own.iter().any(|path| !matches!(path.place, PathPlace::Agent { .. })) {
        return value.wrong("`start = \"together\"` takes two paths or more, all of which begin at agents");
    }
    Path::together(own)
}

/// Finds faults in the combination of parts.
fn check(plan: &Plan, table: &mut Table<'_>) {
    if plan.paths.is_empty() {
        table.wrong("there is no path: write [paths.direct] with to = \"far.example\"");
    }
    if plan.tests.is_empty() {
        table.wrong("there is no test: write [[tests]] with test = \"latency\"");
    }
    let tests = table.get("tests").iter().flat_map(Value::list).collect::<Vec<_>>();
    let names = || plan.paths.iter().map(|path| path.name.as_str());
    for (index, (test, value)) in plan.tests.iter().zip(&tests).enumerate() {
        for name in test.paths.iter().filter(|name| !names().any(|known| known == **name)) {
            let meant = toml_file::suggest(name, names());
            value.wrong::<()>(format!("no path is called `{name}`{meant}"));
        }
        if plan.tests[..index].iter().any(|other| other.name == test.name) {
            value.wrong::<()>(format!("two tests are called `{}`: give one another `name`", test.name));
        }
    }
    let cells = plan.cells().len();
    if cells * plan.repetitions as usize > MOST_RUNS {
        table.wrong(format!(
            "{cells} combinations of path, test and values, {} times each, are more than {MOST_RUNS} runs",
            plan.repetitions
        ));
    }
}

fn limits(mut table: Table<'_>) -> Limits {
    let limits = Limits {
        time: table.get("time").and_then(|value| value.parsed("30min")),
        bytes: table.get("bytes").and_then(|value| value.scalar("10GB")),
    };
    table.finish();
    limits
}

/// A text, or a list of them.
fn texts(value: Option<Value<'_>>) -> Vec<String> {
    let all = value.iter().flat_map(Value::list).collect::<Vec<_>>();
    all.iter().filter_map(|text| text.text().map(str::to_owned)).collect()
}

const ORDERS: [(&str, RunSequence); 2] =
    [("interleaved", RunSequence::Interleaved), ("blocks", RunSequence::Blocks)];
/// With fewer there is no interval of a median, and nothing is called worse without an assumption.
const USUAL_REPETITIONS: u32 = 6;
const MOST_RUNS: usize = 100_000;

#[cfg(test)]
mod tests;
