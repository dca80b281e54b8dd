//! `pathmeter lab show`: a topology drawn, and what a measurement must find in it.

mod document;
mod drawing;

use super::list::lacking;
use crate::cli::{Common, Format, LabShowArgs};
use crate::commands::output::{Screen, deliver};
use crate::exit::Exit;
use engine::error::Failure;
use lab::feature::{Host, Lack};
use lab::shipped::{FindError, find, text_of};
use lab::topology::{Expect, Place, Topology};
use report::format::{Paint, Style};

/// Prints each topology.
pub(crate) fn run(args: &LabShowArgs, global: &Common) -> anyhow::Result<Exit> {
    let refused =
        |error: FindError| Failure::usage(error.to_string(), "docs/lab.md has the form of the file");
    if args.file {
        let texts: Result<Vec<String>, _> =
            args.topologies.iter().map(|name| text_of(name).map_err(refused)).collect();
        deliver(global, texts?.join("\n").as_bytes())?;
        return Ok(Exit::Done);
    }
    lab::privilege::gain().ok();
    let mut host = Host::default();
    let mut text = String::new();
    for name in &args.topologies {
        let topology = find(name).map_err(refused)?;
        let lacks = host.lacks(&topology);
        text.push_str(&match global.format() {
            Format::Json => serde_json::to_string_pretty(&document::of(&topology, &lacks))? + "\n",
            Format::Ndjson => serde_json::to_string(&document::of(&topology, &lacks))? + "\n",
            Format::Text => shown(name, &topology, &lacks, &Screen::of(global).style()) + "\n",
            Format::Markdown => {
                let drawn = drawing::draw(&topology);
                format!(
                    "### {}: {}\n\n{}\n\n```\n{drawn}```\n\n",
                    topology.name, topology.title, topology.about
                )
            }
            Format::Csv => {
                return Err(
                    Failure::usage("a topology is no table", "leave --format csv out, or take json").into()
                );
            }
        });
    }
    deliver(global, text.as_bytes())?;
    Ok(Exit::Done)
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
        if let Place::External { instructions } = &node.place {
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
    let mut ways = vec![format!("pathmeter lab run {asked}"), format!("pathmeter lab up {asked}")];
    ways.extend(goal.map(|goal| format!("pathmeter lab exec {} -- ping -c 3 {goal}", topology.from)));
    section("How to run it", ways);
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
    let Expect { path_mtu, rate, delay, loss, reachable, findings, absent } = &topology.expect;
    let mut lines = Vec::new();
    let mut row = |name: &str, value: String| {
        for (index, line) in style.wrap(&value, 20).into_iter().enumerate() {
            lines.push(format!("{:<16}  {line}", if index == 0 { name } else { "" }));
        }
    };
    let mut mtus: Vec<String> = Vec::new();
    for (mtu, family) in path_mtu.iter().zip(["IPv4", "IPv6"]) {
        mtus.extend(mtu.map(|mtu| format!("{} over {family}", ways(mtu.map(|mtu| mtu.to_string())))));
    }
    if path_mtu[0].is_some() && path_mtu[0] == path_mtu[1] {
        mtus = path_mtu[0].iter().map(|mtu| ways(mtu.map(|mtu| mtu.to_string()))).collect();
    }
    if !mtus.is_empty() {
        row("path MTU", mtus.join(", "));
    }
    rate.iter().for_each(|rate| row("rate", ways(rate.map(|rate| rate.to_string()))));
    delay.iter().for_each(|delay| row("round trip", format!("{delay} more than without the links' delays")));
    loss.iter().for_each(|loss| row("loss", ways(loss.map(drawing::percent))));
    match reachable {
        [true, false] => row("reachable", "over IPv4 alone".to_owned()),
        [false, true] => row("reachable", "over IPv6 alone".to_owned()),
        [false, false] => row("reachable", "over neither family".to_owned()),
        [true, true] => {}
    }
    for (name, ids) in [("must be found", findings), ("must not be", absent)] {
        if !ids.is_empty() {
            row(name, ids.join(", "));
        }
    }
    lines
}

/// One figure where both ways have the same.
fn ways([up, down]: [String; 2]) -> String {
    if up == down { up } else { format!("{up} up, {down} down") }
}
