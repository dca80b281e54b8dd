//! The topologies, and what this host lacks for them.

use crate::refusal::failed;
use engine::error::{Result, fault};
use lab::feature::{Host, Lack};
use lab::shipped::SHIPPED;
use lab::state::{Directory, HeldLab};
use report::document::{
    Block, Column, Csv, Document, Head, Line, NamedLines, Paint, Part, Table, json_line, json_value,
};
use serde::Serialize;
use serde_json::Value;

/// The list.
#[derive(Debug)]
pub struct Topologies(pub Vec<TopologyRow>);

impl Topologies {
    /// The topologies that come with the program and those of labs that are up, on this host. Without the right to build labs every
    /// row has that reason.
    ///
    /// # Errors
    /// The directory of the labs that are up cannot be read.
    pub fn here() -> Result<Topologies> {
        // Before the rights change: the directory is the calling user's.
        let labs = Directory::open().and_then(|directory| directory.labs()).map_err(failed)?;
        lab::privilege::gain().ok();
        let mut host = Host::default();
        let rows = SHIPPED.iter().map(|shipped| {
            let topology = shipped.topology().map_err(|error| fault(error.to_string()))?;
            let lacks = host.lacks(&topology).iter().map(Lacking::from_lack).collect();
            Ok(TopologyRow { name: topology.name, title: topology.title, lacks, up: Vec::new() })
        });
        let mut rows: Vec<TopologyRow> = rows.collect::<Result<_>>()?;
        for lab in labs.into_iter().filter(HeldLab::is_up) {
            add(&mut rows, lab);
        }
        Ok(Topologies(rows))
    }
}

impl Document for Topologies {
    fn head(&self) -> Head {
        Head { kind: "lab-list".into(), title: "Topologies of the lab".into(), depth: 1, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let columns = ["Topology", "What it is", "Runs here", "Up"].map(Column::left);
        let row =
            |row: &TopologyRow| vec![row.name.clone(), row.title.clone(), row.here(), row.up.join(", ")];
        vec![Block::Table(Table::new(columns.into(), self.0.iter().map(row).collect()))]
    }

    fn csv(&self) -> Csv {
        let row = |row: &TopologyRow| [row.name.clone(), row.title.clone(), row.here()];
        Csv::new(["name", "title", "runs_here"], self.0.iter().map(row))
    }

    fn value(&self) -> Value {
        json_value(&self.0)
    }

    /// A line for each.
    fn ndjson(&self) -> String {
        self.0.iter().map(json_line).collect()
    }

    fn parts(&self, _detail: bool) -> Vec<Part> {
        let shipped = &self.0[..SHIPPED.len()];
        let here = shipped.iter().filter(|row| row.lacks.is_empty()).count();
        let next = format!(
            "{here} of {} run here. `pathmeter lab show NAME` draws one, `pathmeter lab run NAME` measures it.",
            shipped.len()
        );
        let gap = Part::gap();
        vec![Part::Named(self.0.iter().map(TopologyRow::entry).collect()), gap, Block::Paragraph(next).into()]
    }
}

/// A topology.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologyRow {
    name: String,
    title: String,
    /// Features that this host lacks for it; empty: none.
    lacks: Vec<Lacking>,
    /// The labs that were built from it and are up.
    up: Vec<String>,
}

/// Something that this host lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Lacking {
    /// The missing feature.
    needs: String,
    /// The host's reason.
    reason: String,
    /// A virtual machine on this host would have it.
    in_vm: bool,
}

impl Lacking {
    pub(super) fn from_lack(lack: &Lack) -> Lacking {
        Lacking { needs: lack.needs.clone(), reason: lack.reason.clone(), in_vm: lack.in_vm }
    }
}

/// A lab that is up, at its topology; one of a file of the user's has a row of its own.
fn add(rows: &mut Vec<TopologyRow>, lab: HeldLab) {
    match rows.iter_mut().find(|row| row.name == lab.topology && row.title == lab.title) {
        Some(row) => row.up.push(lab.name),
        None => {
            rows.push(TopologyRow {
                name: lab.topology,
                title: lab.title,
                lacks: Vec::new(),
                up: vec![lab.name],
            });
        }
    }
}

impl TopologyRow {
    fn here(&self) -> String {
        match self.lacks.as_slice() {
            [] => "yes".to_owned(),
            lacks => lacking(lacks.iter().map(|lack| (lack.needs.as_str(), lack.in_vm))),
        }
    }

    fn entry(&self) -> NamedLines {
        let up = (!self.up.is_empty()).then(|| Line::new(Paint::Good, format!("up: {}", self.up.join(", "))));
        let lacks = (!self.lacks.is_empty()).then(|| Line::new(Paint::Warning, self.here()));
        let title = Line::new(Paint::Plain, &self.title);
        let lines = [title].into_iter().chain(up).chain(lacks).collect();
        NamedLines { name: Line::new(Paint::Bold, &self.name), lines, ..NamedLines::default() }
    }
}

/// `not here: needs …`, and whether a virtual machine would do. `lacks`: what is needed, and whether a machine has it.
pub fn lacking<'a>(lacks: impl Iterator<Item = (&'a str, bool)> + Clone) -> String {
    let needs: Vec<&str> = lacks.clone().map(|(needs, _)| needs).collect();
    let advice = if lacks.clone().all(|(_, in_vm)| in_vm) { "; runs with --in-vm" } else { "" };
    format!("not here: needs {}{advice}", needs.join(", and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::format::{Style, by_name, render};

    #[test]
    fn a_list_fits_a_narrow_screen() {
        let row = |file: &&str| TopologyRow {
            name: (*file).to_owned(),
            title: "A home router between one address and the world".into(),
            lacks: Vec::new(),
            up: Vec::new(),
        };
        let rows: Vec<TopologyRow> = ["conntrack-reassembly"; SHIPPED.len()].iter().map(row).collect();
        let style = Style { width: 60, ..Style::default() };
        let text = render(&Topologies(rows), by_name("text").expect("text"), &style);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.contains("conntrack-reassembly  A home router between one address and\n"), "{text}");
    }
}
