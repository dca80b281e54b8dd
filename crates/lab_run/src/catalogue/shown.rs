//! A topology drawn, and what a measurement must find in it.

use super::{document, drawing, lacking};
use lab::feature::Lack;
use lab::topology::{Expect, NodePlace, Topology};
use model::units::plain_percent;
use report::document::{Block, Column, Csv, Document, Head, Paint, Style, Table, indented_json, json_line};

/// Every topology that comes with the program, as JSON has it, with its drawing and what it must show. What this host lacks
/// for them is not looked for: that would take rights.
#[must_use]
pub fn shipped() -> Vec<serde_json::Value> {
    let shown = |topology: Topology| {
        let mut value = serde_json::to_value(document::topology_document(&topology, &[])).ok()?;
        let object = value.as_object_mut()?;
        object.insert("drawing".into(), drawing::draw(&topology).into());
        object.insert("expected".into(), serde_json::json!(expectations(&topology)));
        object.remove("lacks");
        Some(value)
    };
    lab::shipped::SHIPPED.iter().filter_map(|one| shown(one.topology().ok()?)).collect()
}

/// A topology, and what this host lacks for it.
#[derive(Debug)]
pub struct Shown {
    /// Name or file, as requested.
    pub asked: String,
    /// The topology.
    pub topology: Topology,
    /// Features that this host lacks for it.
    pub lacks: Vec<Lack>,
}

impl Document for Shown {
    fn head(&self) -> Head {
        let title = format!("{}: {}", self.topology.name, self.topology.title);
        Head { kind: "topology".into(), title, depth: 3, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let columns = ["What a measurement must find", ""].map(Column::left);
        let rows = expectations(&self.topology).into_iter().map(|(name, value)| vec![name.into(), value]);
        let lacks = lacking(self.lacks.iter().map(|lack| (lack.needs.as_str(), lack.in_vm)));
        let lacks = (!self.lacks.is_empty()).then_some(lacks);
        vec![
            Block::Preformatted(drawing::draw(&self.topology)),
            Block::Preformatted(self.topology.about.clone()),
            Block::Table(Table::new(columns.into(), rows.collect())),
            Block::list(lacks.into_iter().chain(self.lacks.iter().map(|lack| lack.reason.clone()))),
        ]
    }

    /// A row for each thing that it expects.
    fn csv(&self) -> Csv {
        let row = |(name, value): (&str, String)| [self.topology.name.clone(), name.into(), value];
        Csv::new(["topology", "what", "expected"], expectations(&self.topology).into_iter().map(row))
    }

    fn json(&self) -> String {
        indented_json(&document::topology_document(&self.topology, &self.lacks))
    }

    fn ndjson(&self) -> String {
        json_line(&document::topology_document(&self.topology, &self.lacks))
    }

    fn own_text(&self, style: &Style) -> Option<String> {
        Some(shown(&self.asked, &self.topology, &self.lacks, style) + "\n")
    }

    /// In Markdown the drawing is the document.
    fn own_markdown(&self) -> Option<String> {
        let (topology, drawn) = (&self.topology, drawing::draw(&self.topology));
        let (name, title, about) = (&topology.name, &topology.title, &topology.about);
        Some(format!("### {name}: {title}\n\n{about}\n\n```\n{drawn}```\n\n"))
    }
}

/// The drawing, then sections of text.
fn shown(asked: &str, topology: &Topology, lacks: &[Lack], style: &Style) -> String {
    let heading = style.paint(Paint::Bold, &format!("{}: {}", topology.name, topology.title));
    let mut text = format!("{heading}\n\n{}\n", drawing::draw(topology));
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("{}\n", style.paint(Paint::Bold, title)));
            lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
            text.push('\n');
        }
    };
    section("What it shows", paragraphs(&topology.about, style));
    for node in &topology.nodes {
        if let NodePlace::External { instructions } = &node.place {
            section(
                &format!("What to do with {}", node.name),
                instructions.lines().map(str::to_owned).collect(),
            );
        }
    }
    section("What a measurement must find", expected(topology, style));
    if !lacks.is_empty() {
        let lacks_text = lacking(lacks.iter().map(|lack| (lack.needs.as_str(), lack.in_vm)));
        let reasons = lacks.iter().map(|lack| lack.reason.clone());
        section(
            "What this host lacks",
            [lacks_text].into_iter().chain(reasons).flat_map(|line| style.wrap(&line, 2)).collect(),
        );
    }
    let goal = topology.nodes.iter().find(|node| node.name == topology.to);
    let goal = goal.and_then(|node| node.addresses.first()).map(|own| own.address.to_string());
    let mut directions = vec![format!("pathmeter lab run {asked}"), format!("pathmeter lab up {asked}")];
    directions.extend(goal.map(|goal| format!("pathmeter lab exec {} -- ping -c 3 {goal}", topology.from)));
    section("How to run it", directions);
    text
}

/// Sentences run on; a line that is indented stays as it is.
fn paragraphs(about: &str, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    let mut running = String::new();
    for line in about.lines() {
        if line.starts_with(' ') || line.is_empty() {
            lines.extend(style.wrap(&std::mem::take(&mut running), 2));
            lines.push(line.to_owned());
        } else {
            running.push_str(line);
            running.push(' ');
        }
    }
    lines.extend(style.wrap(&running, 2));
    lines
}

fn expected(topology: &Topology, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, value) in expectations(topology) {
        for (index, line) in style.wrap(&value, 20).into_iter().enumerate() {
            lines.push(format!("{:<16}  {line}", if index == 0 { name } else { "" }));
        }
    }
    lines
}

/// Expected results of a measurement, by name.
fn expectations(topology: &Topology) -> Vec<(&'static str, String)> {
    let Expect { path_mtu, rate, delay, loss, reachable, findings, absent } = &topology.expect;
    let mut rows = Vec::new();
    let mut mtus: Vec<String> = Vec::new();
    for (mtu, family) in path_mtu.iter().zip(["IPv4", "IPv6"]) {
        mtus.extend(
            mtu.map(|mtu| format!("{} over {family}", both_directions(mtu.map(|mtu| mtu.to_string())))),
        );
    }
    if path_mtu[0].is_some() && path_mtu[0] == path_mtu[1] {
        mtus = path_mtu[0].iter().map(|mtu| both_directions(mtu.map(|mtu| mtu.to_string()))).collect();
    }
    if !mtus.is_empty() {
        rows.push(("path MTU", mtus.join(", ")));
    }
    rows.extend(rate.iter().map(|rate| ("rate", both_directions(rate.map(|rate| rate.to_string())))));
    let added = |delay| format!("{delay} more than without the links' delays");
    rows.extend(delay.iter().map(|delay| ("round trip", added(delay))));
    rows.extend(loss.iter().map(|loss| ("loss", both_directions(loss.map(plain_percent)))));
    match reachable {
        [true, false] => rows.push(("reachable", "over IPv4 alone".to_owned())),
        [false, true] => rows.push(("reachable", "over IPv6 alone".to_owned())),
        [false, false] => rows.push(("reachable", "over neither family".to_owned())),
        [true, true] => {}
    }
    for (name, ids) in [("must be found", findings), ("must not be", absent)] {
        if !ids.is_empty() {
            rows.push((name, ids.join(", ")));
        }
    }
    rows
}

/// One figure where both directions have the same.
fn both_directions([up, down]: [String; 2]) -> String {
    if up == down { up } else { format!("{up} up, {down} down") }
}
