//! The steps of a plan, without carrying them out.

use crate::estimate;
use crate::plan::{Cell, Path, PathPlace, Plan, RunSequence};
use engine::host::address::lookup;
use model::experiment::{OUTLINE_SCHEMA, Outline, OutlinePath, OutlineRow};
use model::units::{Bytes, Nanos};

/// The paths with their far ends, and every run in its order. Names of this host's paths are looked up.
#[must_use]
pub fn outline(plan: &Plan) -> Outline {
    let cells = plan.cells();
    let row = |cell: &Cell<'_>| {
        let request = cell.request();
        OutlineRow {
            path: cell.path.name.clone(),
            test: cell.test.name.clone(),
            settings: cell.variant.settings.clone(),
            what: estimate::description(&request),
            time: estimate::time(&request),
            bytes: estimate::bytes(&request),
            refused: cell.path.refused(),
        }
    };
    let rows: Vec<OutlineRow> = cells.iter().map(row).collect();
    let runs: Vec<&OutlineRow> = rows.iter().filter(|row| row.refused.is_none()).collect();
    let often = u64::from(plan.repetitions);
    let time: Nanos = runs.iter().filter_map(|row| row.time).sum();
    let bytes = runs.iter().filter_map(|row| row.bytes).sum::<Bytes>();
    Outline {
        schema: OUTLINE_SCHEMA.into(),
        name: plan.name.clone(),
        title: plan.title.clone(),
        paths: plan.paths.iter().map(path).collect(),
        repetitions: plan.repetitions,
        interleaved: plan.order == RunSequence::Interleaved,
        runs: runs.len() as u64 * often,
        time: time.saturating_mul(often),
        is_time_known: runs.iter().all(|row| row.time.is_some()),
        bytes: estimate::times(bytes, often),
        are_bytes_known: runs.iter().all(|row| row.bytes.is_some()),
        time_limit: plan.limits.time,
        bytes_limit: plan.limits.bytes,
        order: plan.steps().iter().map(|step| step.cell as u64 + 1).collect(),
        rows,
    }
}

fn path(path: &Path) -> OutlinePath {
    let (address, refused) = match &path.place {
        PathPlace::Here => match lookup(&path.to.host, path.to.port.unwrap_or(0), path.origin.family) {
            Ok(address) => (Some(address.ip().to_canonical().to_string()), None),
            Err(failure) => (None, Some(failure.message)),
        },
        PathPlace::Lab { .. } => (Some(path.to.host.clone()), None),
        PathPlace::Agent { .. } | PathPlace::Together(_) => (None, path.refused()),
    };
    OutlinePath {
        name: path.name.clone(),
        from: path.begin(),
        to: path.to.to_string(),
        address,
        bind: path.origin.bind.map(|bind| bind.to_string()),
        device: path.origin.device.clone(),
        refused,
    }
}
