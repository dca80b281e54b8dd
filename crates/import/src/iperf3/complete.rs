//! The facts of an output of iPerf3 as a whole.

use super::super::build::ParsedRun;
use super::super::command::Command;
use super::super::gaps;
use super::lines::Output;
use model::plan::Transport;
use model::sample::Role;

/// Takes the facts of the output as a whole.
pub(super) fn complete(parsed: &mut ParsedRun, output: &Output<'_>, command: Option<&Command>) {
    if let Some(outcome) = &output.failed {
        parsed.outcome = outcome.clone();
    }
    if let Some(error) = &output.late_error {
        parsed.warn(
            "error-after-end",
            format!("Behind the summary stands an error, which is not of this test: {error}."),
        );
    }
    let received =
        parsed.all_rows_mut().filter(|row| row.role == Role::Receiver).find_map(|row| row.udp.as_mut());
    if let Some((udp, count)) = received.zip(output.disordered) {
        udp.reordered = count;
        parsed.disorder_known = true;
    }
    gaps::gaps(parsed);
    gaps::rate_asked(parsed);
    if let Some(rate) = command.and_then(Command::rate).filter(|_| parsed.test.transport == Transport::Udp) {
        parsed.test.bitrate = Some(rate).filter(|rate| rate.0 > 0);
    }
    parsed.started = output.extra.started;
    let senders = if parsed.test.directions.up() { [0, 1] } else { [1, 0] };
    for (end, which) in [&mut parsed.at_client, &mut parsed.at_server].into_iter().zip(senders) {
        end.cpu = output.extra.cpu[which].clone().unwrap_or_default();
        end.datapath.congestion.clone_from(&output.extra.congestion[which]);
    }
    if parsed.server.is_none() {
        parsed.without_addresses();
    }
}
