//! The runs of a mesh in a store.

use crate::commands::store::{failed, open, to_read};
use cli::{MeshRunArgs, StoreArgs};
use engine::error::{Failure, Result};
use fleet::coordinator::Sink;
use fleet::results::ResultFile;
use mesh::keep::KeptResults;
use model::mesh::MeshReport;
use report::mesh::report_of_entries;
use store::Filter;

/// Where the results of a run of the mesh go: into their file, and with `--save` into the store, too.
pub(super) fn sink(args: &MeshRunArgs, file: ResultFile) -> Result<Box<dyn Sink>> {
    if !args.save {
        return Ok(Box::new(file));
    }
    Ok(Box::new(KeptResults::new(file, open(&args.store)?, &args.label)))
}

/// The matrix of the latest kept run of each path.
pub(super) fn report(label: &str, args: &StoreArgs) -> Result<MeshReport> {
    let filter = Filter { label: Some(label.to_owned()), limit: Some(LOOKED_AT), ..Filter::default() };
    let report = report_of_entries(label, &to_read(args)?.list(&filter).map_err(failed)?);
    if report.cells.is_empty() {
        let what = format!("no run of a mesh is kept with the label {label}");
        return Err(Failure::usage(what, "keep them with `pathmeter mesh run --save`").into());
    }
    Ok(report)
}

/// Runs that are looked at, the latest: a path without any among them has no cell.
const LOOKED_AT: u64 = 50_000;
