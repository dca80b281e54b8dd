//! Runs about packet sizes as text: what crosses in each direction, the sizes tried, fragments, what is not known, what to set.

mod advice;
mod directions;
mod fragments;
mod heading;
mod sizes;
mod wide;

pub(in crate::format) use advice::name as setting;
pub(in crate::format) use directions::{bound, facts, fate_word, rows, service};
pub(in crate::format) use fragments::{
    is_whole, name as fragment_shape, rows as fragment_rows, shapes as fragment_shapes,
};
pub(super) use heading::{of_run, started};
pub(in crate::format) use heading::{subject, unknown};

use super::super::{Paint, Style};
use super::result::outcome;
use model::path::PathResult;
use model::run::Run;
use model::units::count;

/// Everything between the heading and the findings.
pub(super) fn path_text(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    if let Some(path) = &run.summary.path {
        text.push_str(&directions::table(path, style));
        text.push_str(&of_service(path, style));
        text.push_str(&sizes::strips(path, style));
        text.push_str(&fragments::table(path, style));
        text.push_str(&heading::not_known(path, style));
        text.push_str(&advice::advice_text(&run.advice, style));
        text.push_str(&effort(path, style));
    }
    text.push_str(&outcome(&run.summary, style));
    text
}

/// The datagrams that a UDP service answers.
fn of_service(path: &PathResult, style: &Style) -> String {
    let Some(service) = &path.service else { return String::new() };
    let facts = directions::service(service).into_iter();
    facts.fold(title("The service", style), |text, (name, value)| {
        text + &super::result::fact(name, &value, style)
    })
}

fn effort(path: &PathResult, style: &Style) -> String {
    if path.packets == 0 {
        return String::new();
    }
    let line = format!("Found out with {} in {}.", count(path.packets, "packet"), path.elapsed);
    format!("\n{}\n", style.paint(Paint::Dim, &line))
}

/// An empty line and a heading.
fn title(text: &str, style: &Style) -> String {
    let lines = style.wrap(text, 0);
    lines.iter().fold(String::from("\n"), |all, line| all + &style.paint(Paint::Bold, line) + "\n")
}
