//! Tables in Markdown, and the document for other programs.

use super::common::machine::is_disturbed;
use super::common::table::{extremes, markdown, middle_of, ratio, row};
use super::pacing::{Paced, Pacing};
use super::router::Router;
use super::run::Run;
use super::senders::Sender;
use serde::Serialize;

/// Everything measured.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Document {
    pub(crate) senders: Vec<Sender>,
    pub(crate) pacing: Vec<Pacing>,
    pub(crate) router: Option<Router>,
}

/// Each with its rate, and how that compares with the best that sockets give.
pub(crate) fn senders(senders: &[Sender]) -> String {
    let best = senders
        .iter()
        .filter(|sender| sender.is_socket)
        .filter_map(|sender| Some((rate(sender)?, sender.label)))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let (best, whose) = best.map_or((None, "none"), |(rate, whose)| (Some(rate), whose));
    let against = format!("/ best socket ({whose})");
    let mut rows =
        vec![row(["sender, 64-byte frames", "runs", "Mpps received", "least to most", &against, "lost"])];
    let mut notes = String::new();
    for sender in senders {
        let Some(middle) = rate(sender) else {
            let why = sender.left_out.as_deref().unwrap_or("not run");
            rows.push(row([sender.label, "0", "left out", "", "", ""]));
            notes += &format!("\n{}: {why}\n", sender.label);
            continue;
        };
        let (least, most) = extremes(sender.runs.iter().map(|run| run.rate() / 1e6));
        let lost = middle_of(sender.runs.iter().map(Run::lost)).unwrap_or_default();
        rows.push([
            sender.label.to_owned(),
            runs(sender.runs.iter()),
            format!("{:.3}", middle / 1e6),
            format!("{least:.3} to {most:.3}"),
            best.map_or(String::new(), |best| ratio(middle / best)),
            format!("{:.2} %", lost * 100.0),
        ]);
    }
    markdown(rows) + &notes
}

/// Each rate asked for, and what came.
pub(crate) fn pacing(all: &[Pacing]) -> String {
    let mut rows = vec![row(["asked, frames/s", "runs", "came", "greatest error", "most late, us"])];
    for Pacing { asked, runs: each } in all {
        let Some(middle) = middle_of(each.iter().map(Paced::rate)) else { continue };
        let error = each.iter().map(|run| (run.rate() / asked - 1.0).abs()).fold(0.0, f64::max);
        let late = each.iter().map(|run| run.late.0).max().unwrap_or_default();
        rows.push([
            format!("{asked:.0}"),
            runs(each.iter().map(|paced| &paced.run)),
            format!("{middle:.1}"),
            format!("{:.4} %", error * 100.0),
            format!("{:.1}", late as f64 / 1e3),
        ]);
    }
    markdown(rows)
}

/// The two places of a router, and its rate.
pub(crate) fn router(router: &Router) -> String {
    let mut rows = vec![row(["router", "Mpps sent", "Mpps forwarded", "lost", "what it shows"])];
    for (place, run) in
        [("on the generator's CPU, flood", router.shared), ("on its own CPU, flood", router.own)]
    {
        let sent = run.sent as f64 / run.time.as_secs_f64() / 1e6;
        let shows = if run.lost() == 0.0 {
            "generator-bound: the router holds the generator back"
        } else {
            "overload"
        };
        rows.push([
            format!("{place}{}", mark(is_disturbed(run.foreign))),
            format!("{sent:.3}"),
            format!("{:.3}", run.rate() / 1e6),
            format!("{:.2} %", run.lost() * 100.0),
            shows.to_owned(),
        ]);
    }
    let mut text = markdown(rows);
    if let Some(middle) = middle_of(router.rates.iter().copied()) {
        let (least, most) = extremes(router.rates.iter().copied());
        text += &format!(
            "\nOn its own CPU without loss (MLRsearch): {:.3} Mpps, {:.3} to {:.3} in {} searches, spread {:.1} %.\n",
            middle / 1e6,
            least / 1e6,
            most / 1e6,
            router.rates.len(),
            (most - least) / middle * 100.0
        );
    }
    text
}

fn rate(sender: &Sender) -> Option<f64> {
    middle_of(sender.runs.iter().map(Run::rate))
}

/// How many, and how many of them others disturbed.
fn runs<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let (mut all, mut disturbed) = (0, 0);
    for run in runs {
        all += 1;
        disturbed += usize::from(is_disturbed(run.foreign));
    }
    if disturbed == 0 { all.to_string() } else { format!("{all} ({disturbed} disturbed)") }
}

fn mark(disturbed: bool) -> &'static str {
    if disturbed { " (disturbed)" } else { "" }
}
