//! Results of the probes of a `measure` run.

use super::super::{Paint, Style};
use super::phrases;
use super::result::fact;
use model::run::Run;

/// The text below the table with `-v`.
pub(super) fn measure_text(run: &Run, style: &Style) -> String {
    let lines: String = path_facts(run).iter().map(|(name, value)| fact(name, value, style)).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\n{}\n{lines}", style.paint(Paint::Bold, "The path")),
    }
}

/// The results of the probes, by name.
pub(in crate::format) fn path_facts(run: &Run) -> Vec<(&'static str, String)> {
    let summary = &run.summary;
    let mut facts = Vec::new();
    if let Some(rtt) = &summary.rtt {
        let lost = match summary.lost {
            0 => String::new(),
            lost => format!("; {lost} of {} probes without an answer", rtt.count + lost),
        };
        facts.push(("idle RTT", phrases::distribution(rtt) + &lost));
    }
    facts.extend(summary.path.iter().flat_map(super::path::facts));
    facts.extend(summary.reach.iter().flat_map(|reach| super::reach::facts(reach)));
    if let Some(link) = &summary.link {
        facts.push(("link", format!("{} ({})", link.rate, link.source)));
    }
    facts
}
