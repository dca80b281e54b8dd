//! The tests of fragments: how datagrams were cut, and what arrived.

use super::heading::known_directions;
use model::path::{FragmentShape, FragmentTest, PathResult};
use model::units::count;

/// One row for each method of cutting, the directions side by side.
pub(in crate::format) fn rows(path: &PathResult) -> Vec<Vec<String>> {
    let directions: Vec<_> =
        known_directions(path).into_iter().filter_map(|direction| path.in_direction(direction)).collect();
    let cell = |shape: FragmentShape, tests: &[FragmentTest]| {
        let cells: Vec<String> = tests.iter().filter(|test| test.shape == shape).map(outcome).collect();
        if cells.is_empty() { "-".into() } else { cells.join("; ") }
    };
    let row = |shape| {
        let cells = directions.iter().map(|one_way| cell(shape, &one_way.fragments.tests));
        std::iter::once(name(shape).to_owned()).chain(cells).collect()
    };
    shapes(path).into_iter().map(row).collect()
}

/// The methods of cutting that were tested in any direction.
pub(in crate::format) fn shapes(path: &PathResult) -> Vec<FragmentShape> {
    let directions = known_directions(path).into_iter().filter_map(|direction| path.in_direction(direction));
    let tests = directions.flat_map(|one_way| &one_way.fragments.tests);
    let mut shapes: Vec<FragmentShape> = tests.map(|test| test.shape).collect();
    shapes.sort_unstable();
    shapes.dedup();
    shapes
}

/// The test sends whole datagrams, which may arrive.
pub(in crate::format) fn is_whole(shape: FragmentShape) -> bool {
    !matches!(shape, FragmentShape::FirstAlone | FragmentShape::RestAlone)
}

pub(in crate::format) fn name(shape: FragmentShape) -> &'static str {
    match shape {
        FragmentShape::MayBeCut => "may be cut",
        FragmentShape::ByKernel => "by the kernel",
        FragmentShape::InOrder => "in order",
        FragmentShape::Reversed => "last first",
        FragmentShape::FirstAlone => "first alone",
        FragmentShape::RestAlone => "rest alone",
    }
}

/// `10 of 10, payload 2944, 20 of 20 pieces`
fn outcome(test: &FragmentTest) -> String {
    let pieces = u64::from(test.pieces) * u64::from(test.sent);
    let cut_on_the_path = test.shape == FragmentShape::MayBeCut;
    let counted = test.pieces_received.map(|arrived| match cut_on_the_path {
        true => count(arrived, "piece"),
        false => format!("{arrived} of {pieces} pieces"),
    });
    let arrived = is_whole(test.shape)
        .then(|| format!("{} of {} with {} bytes", test.received, test.sent, test.payload));
    let cut = test.largest_piece.filter(|_| cut_on_the_path);
    let cut = cut.map(|piece| format!("cut to {piece}"));
    let parts: Vec<String> = [arrived, cut, counted].into_iter().flatten().collect();
    match parts.is_empty() {
        true => format!("{} sent", test.sent),
        false => parts.join(", "),
    }
}
