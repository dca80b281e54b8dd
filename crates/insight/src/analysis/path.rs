//! The size of packets that the path of each run carries.

use super::Subject;
use model::path::Bound;
use model::plan::Direction;
use serde::{Deserialize, Serialize};

/// One direction of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathBound {
    /// Name of the run.
    pub run: String,
    /// Direction of the packets.
    pub direction: Direction,
    /// The path MTU, bytes, with the certainty of `bound`.
    #[serde(rename = "path_mtu_bytes")]
    pub path_mtu: u32,
    /// Whether it is that, at least that or at most that.
    pub bound: Bound,
}

pub(super) fn path_bounds(subjects: &[Subject<'_>]) -> Vec<PathBound> {
    let mut bounds = Vec::new();
    for subject in subjects {
        for direction in Direction::BOTH {
            let one_way = subject.run.summary.path.as_ref().and_then(|path| path.in_direction(direction));
            bounds.extend(one_way.and_then(|one_way| {
                let (path_mtu, bound) = (one_way.path_mtu?, one_way.bound);
                Some(PathBound { run: subject.name.into(), direction, path_mtu, bound })
            }));
        }
    }
    bounds
}
