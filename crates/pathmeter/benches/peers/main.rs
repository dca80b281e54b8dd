//! How fast pathmeter is next to iPerf3 and iPerf2, measured in turns across a virtual link on this machine.
//!
//! ```text
//! cargo bench --bench peers -- [FILTER] [--runs N] [--seconds N] [--patience SECONDS] [--json FILE]
//! ```
//! Needs root, an idle machine, and the peers in `PATH` (`iperf3`, `iperf`); a second, newer iPerf3 is taken from
//! `PATHMETER_BENCH_IPERF3_NEW=/path`. What is missing is said and left out. A run that others disturbed is repeated,
//! for as long as the patience (120 s for each) lasts. Figures: `docs/benchmarks.md`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own that prints its table")]

mod cases;
mod judge;
mod lab;
mod machine;
mod process;
mod relay;
mod run;
mod tools;

use anyhow::{Context, bail};
use run::Run;
use std::path::PathBuf;
use std::time::Duration;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if !args.iter().any(|a| a == "--bench") {
        println!("not measured: run with `cargo bench --bench peers`");
        return Ok(());
    }
    let options = Options::parse(&args)?;
    let toolbox = tools::Toolbox::find()?;
    println!("{}\n", toolbox.describe());
    let lab = lab::Lab::build().context("make two namespaces and a link between them (needs root)")?;
    let mut reports = Vec::new();
    for case in cases::all().into_iter().filter(|c| c.name.contains(&options.filter)) {
        let report = measure(&case, &toolbox, &lab, &options)?;
        println!("{}", judge::table(&report));
        reports.push(report);
        if let Some(path) = &options.json {
            std::fs::write(path, judge::json(&reports, &toolbox))
                .with_context(|| format!("write {}", path.display()))?;
        }
    }
    println!("{}", judge::goals(&reports));
    Ok(())
}

/// One case with every run of every contender.
struct Report {
    case: cases::Case,
    /// By contender, in the order of the case.
    runs: Vec<Vec<Run>>,
}

/// Runs all contenders of a case in turns: A B C A B C …
fn measure(
    case: &cases::Case,
    toolbox: &tools::Toolbox,
    lab: &lab::Lab,
    options: &Options,
) -> anyhow::Result<Report> {
    let contenders: Vec<_> = case.contenders.iter().filter(|c| toolbox.has(c.tool)).copied().collect();
    let case = cases::Case { contenders, ..case.clone() };
    let mut runs = vec![Vec::new(); case.contenders.len()];
    for turn in 0..options.runs {
        for (contender, runs) in case.contenders.iter().zip(&mut runs) {
            match run::undisturbed(&case, contender, toolbox, lab, options) {
                Ok(run) => {
                    eprintln!("{} {} {}: {}", case.name, turn + 1, contender.label, run.in_words(&case));
                    runs.push(run);
                }
                Err(error) => eprintln!("{} {} {}: {error:#}", case.name, turn + 1, contender.label),
            }
        }
    }
    Ok(Report { case, runs })
}

/// What was asked on the command line.
struct Options {
    filter: String,
    runs: usize,
    seconds: u32,
    patience: Duration,
    json: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> anyhow::Result<Options> {
        let mut options = Options {
            filter: String::new(),
            runs: 5,
            seconds: 3,
            patience: Duration::from_secs(120),
            json: None,
        };
        let mut args = args.iter().filter(|a| *a != "--bench");
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--runs" => options.runs = value()?.parse().context("--runs takes a number")?,
                "--seconds" => options.seconds = value()?.parse().context("--seconds takes a number")?,
                "--patience" => {
                    let seconds = value()?.parse().context("--patience takes a number of seconds")?;
                    options.patience = Duration::from_secs(seconds);
                }
                "--json" => options.json = Some(value()?.into()),
                other if other.starts_with('-') => {
                    bail!("{other}: no such option; see benches/peers/main.rs")
                }
                filter => options.filter = filter.to_owned(),
            }
        }
        Ok(options)
    }
}
