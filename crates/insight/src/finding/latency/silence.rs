//! `no-reply`: a way on which nothing came back. Never a zero.

use super::super::text::count;
use super::super::{Finding, Severity};
use super::{each_way, name, one_way};
use model::latency::EgressResult;
use model::plan::Direction;
use model::run::Run;

/// Messages that asked for a reply got none; of one-way messages the far end received none.
pub(in super::super) fn no_reply(run: &Run) -> Vec<Finding> {
    each_way(run, |run, egress| silent(run, egress).then(|| finding(run, egress)))
}

/// Nothing is known to have crossed.
pub(super) fn silent(run: &Run, egress: &EgressResult) -> bool {
    let counted = &egress.counted;
    match one_way(run) {
        true => counted.sent > 0 && counted.far_received == Some(0),
        false => counted.asked > 0 && counted.received == 0 && counted.late == 0,
    }
}

fn finding(run: &Run, egress: &EgressResult) -> Finding {
    let counted = &egress.counted;
    let name = name(run, egress);
    let title = match one_way(run) {
        true => format!("The far end received none of {} {name}", count(counted.sent, "message")),
        false => {
            format!("No reply came to any of {} {name}", count(counted.asked, "message"))
        }
    };
    let finding = Finding::new("no-reply", Severity::Problem, Direction::Up, title).everywhere();
    let finding = finding
        .with("sent_count", counted.sent)
        .with("asked_count", counted.asked)
        .with("received_count", counted.received)
        .with("strays_count", counted.strays);
    let port = egress.ends.remote.port();
    let half = match (counted.lost_up, counted.lost_down) {
        (_, Some(down)) if down > 0 => {
            " Messages reach the far end, its replies do not come back: look at the way down."
        }
        _ => "",
    };
    finding.advise(format!(
        "Check that the server runs at {}, that firewalls on this path let port {port} through in both directions, and that the message is not too large for the path.{half}",
        egress.ends.remote
    ))
}
