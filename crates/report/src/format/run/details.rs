//! Details behind the figures of a run: the streams, the ends, how it ran, and deviations from the plan.

use super::method;
use crate::document::Block;
use crate::format::fingerprint;
use crate::format::text::{data_paths, ended, host_line, phrases, stream_table};
use model::plan::Direction;
use model::run::Run;

/// Every part that there is something to say in.
pub(super) fn detail_blocks(run: &Run) -> Vec<Block> {
    let mut parts = directions(run);
    parts.extend(
        run.plan.as_ref().map(|plan| ("How it ran".into(), vec![Block::facts(data_paths(run, plan))])),
    );
    let ended = ended(&run.summary).into_iter();
    // Those of transfers stand beside their table.
    let warnings = run.summary.warnings.iter().filter(|_| run.transfer.is_none() && !run.is_frames());
    let notes = Block::list(ended.chain(warnings.map(|warning| warning.text.clone())));
    parts.push(("What went otherwise than planned".into(), vec![notes]));
    parts.push(("Method".into(), method::method_blocks(run)));
    parts.push(("The ends".into(), vec![ends(run)]));
    let fingerprint = fingerprint::table(run).into_iter().map(Block::Table);
    parts.push(("Fingerprint".into(), fingerprint.collect()));
    let parts = parts.into_iter().map(|(title, blocks)| Block::Details(title, blocks));
    parts.filter(|part| !part.is_empty()).collect()
}

/// The streams of each direction of a single test.
fn directions(run: &Run) -> Vec<(String, Vec<Block>)> {
    let known = [Direction::Up, Direction::Down].into_iter().filter_map(|direction| {
        let one_way = run.summary.direction(direction).filter(|_| run.tests.is_empty())?;
        let blocks = stream_table(one_way).map(Block::Table).into_iter().collect();
        Some((format!("Streams {}", phrases::direction_word(direction).to_lowercase()), blocks))
    });
    known.collect()
}

fn ends(run: &Run) -> Block {
    let plan = run.plan.as_ref().or_else(|| run.tests.iter().find_map(|test| test.plan.as_ref()));
    let to = plan.map(|plan| ("to", format!("{}, {} protocol", plan.target.address, plan.protocol)));
    let here = run.host.as_ref().map(|host| ("this end", host_line(host)));
    let there = run.peer.as_ref().map(|host| ("far end", host_line(host)));
    Block::facts([to, here, there].into_iter().flatten())
}
