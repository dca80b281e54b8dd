//! The documents that show the stored turns: one page for each benchmark, and sections between marks in others.

use super::{Record, Setting, tables};
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The benchmarks, by the names of their files in `docs/benchmarks/`.
pub(crate) const BENCHMARKS: [&str; 4] = ["peers", "latency", "mtu", "generator"];

/// Where a benchmark's turns are stored.
pub(crate) fn stored(root: &Path, name: &str) -> PathBuf {
    root.join(format!("docs/benchmarks/{name}.json"))
}

/// The stored turns of a benchmark; nothing measured where there is no file.
pub(crate) fn load(root: &Path, name: &str) -> anyhow::Result<Record> {
    let path = stored(root, name);
    if !path.exists() {
        return Ok(Record::default());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))
}

/// Every document with figures in it, as it should be: its path and its text.
pub(crate) fn all(root: &Path) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut records = BTreeMap::new();
    for name in BENCHMARKS {
        records.insert(name, load(root, name)?);
    }
    let mut pages: Vec<(PathBuf, String)> = records
        .iter()
        .map(|(name, record)| (root.join(format!("docs/benchmarks/{name}.md")), page(name, record)))
        .collect();
    let path = root.join("docs/benchmarks.md");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let mut text = fill(&text, "best", &tables::best(&[&records["peers"], &records["latency"]]))?;
    for (name, record) in &records {
        text = fill(&text, name, &tables::goals(record))?;
    }
    pages.push((path, text));
    Ok(pages)
}

/// Writes them.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    for (path, text) in all(root)? {
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

fn page(name: &str, record: &Record) -> String {
    let mut text = format!(
        "# Benchmark `{name}`: every case\n\nMade of [{name}.json]({name}.json), which has every turn, by \
         `cargo bench --bench {name} -- --tables`; what it means is in [docs/benchmarks.md](../benchmarks.md).\n\n"
    );
    let mut settings: BTreeMap<&Setting, Vec<&str>> = BTreeMap::new();
    for case in &record.cases {
        settings.entry(&case.setting).or_default().push(&case.name);
    }
    for (setting, cases) in settings {
        let Setting { date, machine, command, versions } = setting;
        text += &format!("**{date}**, {machine}: {}.\n\n```sh\n{command}\n```\n\n", cases.join(", "));
        text += &versions.iter().map(|version| format!("- {version}\n")).collect::<String>();
        text += "\n";
    }
    for case in &record.cases {
        text += &tables::case(record, case);
        text += "\n";
    }
    text
}

/// Puts it between the marks of this name, if the text has them.
fn fill(text: &str, name: &str, section: &str) -> anyhow::Result<String> {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let Some((before, rest)) = text.split_once(&begin) else { return Ok(text.into()) };
    let (_, after) = rest.split_once(&end).with_context(|| format!("{end} is missing"))?;
    ensure!(!after.contains(&begin), "{begin} is there twice");
    Ok(format!("{before}{begin}\n{section}\n{end}{after}"))
}
