//! Egress paths measured one after the other, kept in a file and compared in one table.

use crate::commands::output::{deliver, style};
use cli::Common;
use engine::error::{Context, Failure, Result};
use engine::run::run_id;
use insight::run_of_events;
use model::event::Event;
use model::latency::{EgressResult, HostNoise, LatencyResult};
use model::run::Run;
use report::format::{self, Live};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Shows all egress paths of a file of runs as one table.
pub(crate) fn show(file: &Path, global: &Common) -> Result<()> {
    let egress_paths = kept(file)?;
    if egress_paths.len() < 2 || global.format().live != Live::Rows {
        return Ok(());
    }
    let together = LatencyResult { egress_paths, floor: None, noise: HostNoise::default(), cpu_share: 0.0 };
    let together = run_of_events(&run_id()?, "latency", &[Event::Latency(Box::new(together))]);
    let text = format::text::result(&together, &style(global));
    if global.output.is_some() {
        // The run's own result is in the file of `-o`; the comparison is for a reader at the terminal.
        return Ok(());
    }
    deliver(global, text.as_bytes()).map(drop)
}

/// The egress paths of all runs in the file; of those with the same name the last.
fn kept(file: &Path) -> Result<Vec<EgressResult>> {
    let source = std::fs::File::open(file).with_context(|| format!("read {}", file.display()))?;
    let mut egress_paths: Vec<EgressResult> = Vec::new();
    for (number, line) in BufReader::new(source).lines().enumerate() {
        let named = || format!("read {}, line {}", file.display(), number + 1);
        let read = model::json::read(line.with_context(named)?.as_bytes()).and_then(Run::read);
        let run = read.map_err(|error| {
            let advice = "give --save another file, or take that line out of it";
            Failure::usage(format!("{}: it is not a result: {error}", named()), advice)
        })?;
        for egress in run.summary.egress_paths {
            match egress_paths.iter_mut().find(|other| other.label == egress.label) {
                Some(other) => *other = egress,
                None => egress_paths.push(egress),
            }
        }
    }
    Ok(egress_paths)
}
