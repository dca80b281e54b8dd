//! Ways measured one after the other, kept in a file and compared in one table.

use crate::cli::Common;
use crate::commands::output::{Screen, deliver};
use engine::error::{Context, Failure, Result};
use engine::run::run_id;
use insight::run_of_events;
use model::event::Event;
use model::latency::{HostNoise, LatencyResult, WayResult};
use model::run::Run;
use report::format::{self, Live};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

/// Adds a run to the file, a line of JSON, and shows all ways in it as one table.
pub(crate) fn save_and_show(run: &Run, file: &Path, global: &Common) -> Result<()> {
    let named = || format!("keep the result in {}", file.display());
    let mut out = OpenOptions::new().create(true).append(true).open(file).with_context(named)?;
    let mut line = serde_json::to_vec(run).map_err(std::io::Error::from)?;
    line.push(b'\n');
    out.write_all(&line).with_context(named)?;
    let ways = kept(file)?;
    if ways.len() < 2 || global.format().live != Live::Rows {
        return Ok(());
    }
    let together = LatencyResult { ways, floor: None, noise: HostNoise::default(), cpu_share: 0.0 };
    let together = run_of_events(&run_id()?, "latency", &[Event::Latency(Box::new(together))]);
    let text = format::text::result(&together, &Screen::of(global).style());
    if global.output.is_some() {
        // The run's own result is in the file of `-o`; the comparison is for whoever reads along.
        return Ok(());
    }
    deliver(global, text.as_bytes())
}

/// The ways of all runs in the file; of those with the same name the last.
fn kept(file: &Path) -> Result<Vec<WayResult>> {
    let source = std::fs::File::open(file).with_context(|| format!("read {}", file.display()))?;
    let mut ways: Vec<WayResult> = Vec::new();
    for (number, line) in BufReader::new(source).lines().enumerate() {
        let named = || format!("read {}, line {}", file.display(), number + 1);
        let run: Run = serde_json::from_str(&line.with_context(named)?).map_err(|error| {
            let advice = "give --save another file, or take that line out of it";
            Failure::usage(format!("{}: it is no result: {error}", named()), advice)
        })?;
        for way in run.summary.ways {
            match ways.iter_mut().find(|other| other.label == way.label) {
                Some(other) => *other = way,
                None => ways.push(way),
            }
        }
    }
    Ok(ways)
}
