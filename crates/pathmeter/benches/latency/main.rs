//! How long a round trip takes pathmeter next to SockPerf and to a plain loop of send and receive, measured in turns
//! over loopback and across a virtual link on this machine.
//!
//! Needs root, an idle machine of two CPUs, `taskset`, and `sockperf` in `PATH`; without the last its rows are left
//! out. Clients run on CPU 0 and servers on CPU 1, each only for the time of its own run. SockPerf measures whole
//! seconds, of which it leaves out the first 0.4, and sleeps 2 s before. The command line is in `common/options.rs`, the
//! method and the figures in `docs/benchmarks.md`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own that prints its table")]

mod cases;
#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "what the other benchmarks use of it besides")]
mod common;
mod plain;
mod run;
mod tools;

use anyhow::Context;
use common::lab::Lab;
use common::options::Options;
use common::turns::{self, Bench, Entrant, Plan, figure, shown_beyond};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == plain::NAME) {
        return plain::main(&args[1..]);
    }
    let Some(options) = Options::parse(&args)? else { return Ok(()) };
    if options.tables {
        return turns::write_tables();
    }
    let toolbox = tools::Toolbox::find()?;
    let versions = toolbox.describe();
    println!("{}\n", versions.join("\n"));
    let lab = Lab::build().context("make two namespaces and a link between them (needs root)")?;
    let cases = cases::all();
    let plan = |case| plan(case, &toolbox, &lab, &options);
    let figures = vec![
        figure("p50", "p50, us", false),
        figure("p99", "p99, us", false),
        figure("p999", "p99.9, us", false),
        figure("client_cpu", "client CPU, us", false),
        figure("server_cpu", "server CPU, us", false),
        figure("count", "round trips", true),
        shown_beyond("counted", "% longer by the tool than by the link", 1.0),
        shown_beyond("stolen", "% of a CPU stolen", 1.0),
        figure("client_mib", "client, MiB", false),
        figure("server_mib", "server, MiB", false),
    ];
    turns::play(
        Bench { name: "latency", figures, versions, plans: cases.iter().map(plan).collect() },
        &options,
    )
}

fn plan<'a>(
    case: &'a cases::Case,
    toolbox: &'a tools::Toolbox,
    lab: &'a Lab,
    options: &'a Options,
) -> Plan<'a> {
    let here = case.contenders.iter().filter(|contender| toolbox.has(contender.tool));
    let entrants = here.map(|contender| Entrant {
        label: contender.label.into(),
        run: Box::new(move || run::once(case, contender, toolbox, lab, options.time)),
    });
    Plan {
        name: case.name(),
        essential: case.essential,
        goals: case.goals.clone(),
        entrants: entrants.collect(),
    }
}
