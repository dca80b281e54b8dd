//! How fast pathmeter is next to iPerf3 and iPerf2, measured in turns across a virtual link on this machine.
//!
//! Needs root, an idle machine, and the peers in `PATH` (`iperf3`, `iperf`); a newer iPerf3 is taken from
//! `PATHMETER_BENCH_IPERF3_NEW=/path`, and from `PATHMETER_BENCH_IPERF3_SHORT=/path` the same made with a `GSO_BF_MAX_SIZE` of
//! 8192, without which it cannot send datagrams of 64 bytes by GSO. Missing peers are left out, and named. The command line is
//! in `common/options.rs`, the method and the figures in `docs/benchmarks.md`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own that prints its table")]

mod cases;
#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "what the other benchmarks use of it besides")]
mod common;
mod relay;
mod run;
mod tools;

use anyhow::Context;
use common::lab::Lab;
use common::options::Options;
use common::turns::{self, Bench, Entrant, Plan, figure, shown_beyond};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
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
        figure("goodput", "Gbit/s", true),
        figure("gap", "us gap error", false),
        figure("cpu", "ms CPU per GB", false),
        figure("loss", "% lost", false),
        shown_beyond("counted", "% more by the tool than by the link", 1.0),
        shown_beyond("waited", "ms/s ready without a CPU", 1.0),
        shown_beyond("preempted", "times/s taken off a CPU", 10.0),
        shown_beyond("stolen", "% of a CPU stolen", 1.0),
        figure("client_mib", "client, MiB", false),
        figure("server_mib", "server, MiB", false),
    ];
    turns::play(Bench { name: "peers", figures, versions, plans: cases.iter().map(plan).collect() }, &options)
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
        name: case.name.into(),
        essential: case.essential,
        goals: case.goals.clone(),
        entrants: entrants.collect(),
    }
}
