//! A topology drawn, and what a measurement must find in it.

use super::{document, drawing, lacking};
use lab::feature::Lack;
use lab::topology::{Expect, NodePlace, Topology};
use model::units::plain_percent;
use report::document::{Block, Csv, Document, Head, json_value};
use serde_json::Value;

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

    /// The drawing, then sections of text.
    fn blocks(&self) -> Vec<Block> {
        let Shown { asked, topology, lacks } = self;
        let mut blocks = vec![Block::Preformatted(drawing::draw(topology))];
        let mut section = |title: String, parts: Vec<Block>| {
            if !parts.iter().all(Block::is_empty) {
                blocks.push(Block::Heading(title));
                blocks.extend(parts);
            }
        };
        section("What it shows".into(), paragraphs(&topology.about));
        for node in &topology.nodes {
            if let NodePlace::External { instructions } = &node.place {
                section(format!("What to do with {}", node.name), vec![as_typed(instructions.lines())]);
            }
        }
        let expected = Block::facts(expectations(topology));
        section("What a measurement must find".into(), vec![expected]);
        let lacking =
            (!lacks.is_empty()).then(|| lacking(lacks.iter().map(|lack| (lack.needs.as_str(), lack.in_vm))));
        let reasons = lacking.into_iter().chain(lacks.iter().map(|lack| lack.reason.clone()));
        section("What this host lacks".into(), vec![Block::Sentences(reasons.collect())]);
        let goal = topology.node(&topology.to).and_then(|node| node.addresses.first()).map(|own| own.address);
        let mut commands = vec![format!("pathmeter lab run {asked}"), format!("pathmeter lab up {asked}")];
        commands.extend(goal.map(|goal| format!("pathmeter lab exec {} -- ping -c 3 {goal}", topology.from)));
        section("How to run it".into(), vec![as_typed(commands.iter().map(String::as_str))]);
        blocks
    }

    /// A row for each thing that it expects.
    fn csv(&self) -> Csv {
        let row = |(name, value): (&str, String)| [self.topology.name.clone(), name.into(), value];
        Csv::new(["topology", "what", "expected"], expectations(&self.topology).into_iter().map(row))
    }

    fn value(&self) -> Value {
        json_value(&document::topology_document(&self.topology, &self.lacks))
    }
}

/// Lines that no screen breaks: commands, and what is indented.
fn as_typed<'a>(lines: impl Iterator<Item = &'a str>) -> Block {
    Block::Preformatted(lines.map(|line| format!("  {line}\n")).collect())
}

/// Sentences run on; a line that is indented stays as it is.
fn paragraphs(about: &str) -> Vec<Block> {
    let is_running = |line: &&str| !line.starts_with(' ') && !line.is_empty();
    let lines: Vec<&str> = about.lines().collect();
    let part = |lines: &[&str]| match lines.first().is_some_and(is_running) {
        true => Block::Paragraph(lines.join(" ")),
        false => as_typed(lines.iter().copied()),
    };
    let parts = lines.chunk_by(|one, next| is_running(one) == is_running(next));
    parts.filter(|lines| lines.iter().any(|line| !line.is_empty())).map(part).collect()
}

/// Expected results of a measurement, by name.
fn expectations(topology: &Topology) -> Vec<(&'static str, String)> {
    let Expect { path_mtu, rate, delay, loss, reachable, findings, absent } = &topology.expect;
    let mut rows = Vec::new();
    let over = |mtu: &Option<[u32; 2]>, family| Some(format!("{} over {family}", both_directions((*mtu)?)));
    match path_mtu {
        [Some(one), Some(other)] if one == other => rows.push(("path MTU", both_directions(*one))),
        [None, None] => {}
        [v4, v6] => {
            let mtus: Vec<String> = [over(v4, "IPv4"), over(v6, "IPv6")].into_iter().flatten().collect();
            rows.push(("path MTU", mtus.join(", ")));
        }
    }
    rows.extend(rate.iter().map(|rate| ("rate", both_directions(*rate))));
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
fn both_directions<T: ToString>(figures: [T; 2]) -> String {
    let [up, down] = figures.map(|figure| figure.to_string());
    if up == down { up } else { format!("{up} up, {down} down") }
}
