//! How long a round trip takes pathmeter next to SockPerf and to a plain loop of send and receive, measured in turns
//! over loopback and across a virtual link on this machine.
//!
//! ```text
//! cargo bench --bench latency -- [FILTER] [--runs N] [--seconds N] [--patience SECONDS] [--json FILE]
//! ```
//! Needs root, an idle machine of two CPUs, `taskset`, and `sockperf` in `PATH`; without the last its rows are left
//! out. Clients run on CPU 0 and servers on CPU 1, each only for the time of its own run. A filter is part of a case's
//! name (`udp-64-veth`, `memory`). SockPerf measures whole seconds, of which it leaves out the first 0.4, and sleeps 2 s
//! before. All with the defaults takes some 8 minutes.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own that prints its table")]

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod judge;
mod memory;
mod plain;
mod run;
mod tools;

use anyhow::Context;
use common::lab::Lab;
use common::options::Options;
use run::Run;
use std::time::Duration;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == plain::NAME) {
        return plain::main(&args[1..]);
    }
    if !args.iter().any(|a| a == "--bench") {
        println!("not measured: run with `cargo bench --bench latency`");
        return Ok(());
    }
    let options = defaults().parse(&args)?;
    let toolbox = tools::Toolbox::find()?;
    println!("{}\n", toolbox.describe());
    let lab = Lab::build().context("make two namespaces and a link between them (needs root)")?;
    let mut reports = Vec::new();
    for case in cases::all().into_iter().filter(|c| c.name().contains(&options.filter)) {
        let report = measure(&case, &toolbox, &lab, &options);
        println!("{}", judge::table(&report));
        reports.push(report);
        if let Some(path) = &options.json {
            std::fs::write(path, judge::json(&reports, &toolbox))
                .with_context(|| format!("write {}", path.display()))?;
        }
    }
    if !reports.is_empty() {
        println!("{}", judge::goals(&reports));
    }
    if memory::NAME.contains(&options.filter) {
        println!("{}", memory::table(&toolbox, &lab, &options)?);
    }
    Ok(())
}

/// One case with every run of every contender.
struct Report {
    case: cases::Case,
    /// By contender, in the order of the case.
    runs: Vec<Vec<Run>>,
}

/// Runs all contenders of a case in turns: A B C A B C …
fn measure(case: &cases::Case, toolbox: &tools::Toolbox, lab: &Lab, options: &Options) -> Report {
    let contenders: Vec<_> = case.contenders.iter().filter(|c| toolbox.has(c.tool)).copied().collect();
    let case = cases::Case { contenders, ..case.clone() };
    let mut runs = vec![Vec::new(); case.contenders.len()];
    for turn in 0..options.runs {
        for (contender, runs) in case.contenders.iter().zip(&mut runs) {
            match run::undisturbed(&case, contender, toolbox, lab, options, turn) {
                Ok(run) => {
                    eprintln!("{} {} {}: {}", case.name(), turn + 1, contender.label, run.in_words());
                    runs.push(run);
                }
                Err(error) => eprintln!("{} {} {}: {error:#}", case.name(), turn + 1, contender.label),
            }
        }
    }
    Report { case, runs }
}

fn defaults() -> Options {
    Options {
        filter: String::new(),
        runs: 3,
        time: Duration::from_secs(1),
        patience: Duration::ZERO,
        json: None,
    }
}
