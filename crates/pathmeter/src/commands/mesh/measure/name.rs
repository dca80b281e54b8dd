//! The name of a run of a mesh, which no other run ever has, and what is measured of it again.

use super::failed;
use cli::{AgainArg, MeshRunArgs};
use engine::error::{Failure, Result};
use fleet::FleetError;
use fleet::broker::{Broker, Bucket, Expected};
use fleet::clock::{Clock, SystemClock};
use fleet::coordinator::Again;
use fleet::name::run_name;
use fleet::results::{ResultFile, Results};
use model::time::WallTime;
use serde::{Deserialize, Serialize};
use std::path::absolute;

/// The results file that has a name given with `--name`.
#[derive(Serialize, Deserialize)]
struct Claimed {
    /// The id of the results' file.
    id: String,
    /// The file, and its host.
    file: String,
    host: String,
    at: WallTime,
}

/// The present results of the file; empty where it is not there yet.
pub(super) fn known(args: &MeshRunArgs) -> Result<Results> {
    match Results::read(&args.results) {
        Ok(results) => Ok(results),
        Err(FleetError::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Results::default())
        }
        Err(error) => Err(failed(error)),
    }
}

/// Its name for people.
pub(super) fn shown(args: &MeshRunArgs) -> String {
    args.name.clone().unwrap_or_else(|| args.results.display().to_string())
}

/// The name that runs are made of. A default name is that of its file alone. A file of an earlier version has no id, and keeps the
/// name that it had.
pub(super) fn unique(args: &MeshRunArgs, id: &str) -> String {
    match (&args.name, id.get(..8)) {
        (Some(name), _) => name.clone(),
        (None, Some(id)) => format!("{}#{id}", args.results.display()),
        (None, None) => args.results.display().to_string(),
    }
}

/// The name, which is this file's from now on. With `--again` a name of another file's is measured anew.
pub(super) fn claim(args: &MeshRunArgs, broker: &dyn Broker, file: &ResultFile) -> Result<String> {
    let name = unique(args, file.id());
    if args.name.is_none() {
        return Ok(name);
    }
    let path = absolute(&args.results)?.display().to_string();
    let id = if file.id().is_empty() { path.clone() } else { file.id().to_owned() };
    let key = format!("name.{}", run_name(&[&name]));
    let own = Claimed { id: id.clone(), file: path, host: host(), at: SystemClock.wall() };
    let text = serde_json::to_vec(&own).unwrap_or_default();
    match broker.put(Bucket::Plans, &key, &text, Expected::Absent, None) {
        Ok(_) => return Ok(name),
        Err(FleetError::Conflict(_)) => {}
        Err(error) => return Err(failed(error)),
    }
    let entry = broker.get(Bucket::Plans, &key).map_err(failed)?;
    let Some(other) = entry.and_then(|entry| serde_json::from_slice::<Claimed>(&entry.value).ok()) else {
        return Ok(name);
    };
    match (other.id == id, &args.again) {
        (true, _) => Ok(name),
        (false, Some(_)) => Ok(format!("{name}#{}", id.get(..8).unwrap_or(&id))),
        (false, None) => {
            let what = format!(
                "the mesh `{name}` was measured before as {} on {}, at {}",
                other.file, other.host, other.at
            );
            let advice = "choose another --name; or measure it anew into this file with --again; or go on with that file: --results";
            Err(Failure::usage(what, advice).into())
        }
    }
}

fn host() -> String {
    engine::host::describe(None).name
}

/// The runs to measure again beside the missed ones.
pub(super) fn again(args: &MeshRunArgs) -> Again {
    match args.again.as_deref() {
        None => Again::default(),
        Some([]) => Again { failed: true, void: true },
        Some(states) => {
            Again { failed: states.contains(&AgainArg::Failed), void: states.contains(&AgainArg::Void) }
        }
    }
}
