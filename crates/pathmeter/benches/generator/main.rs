//! How many frames a second each way of sending brings to the other end of a virtual link, how exact the pace is, and how
//! well a router's rate is found again; measured in turns on this machine.
//!
//! ```text
//! cargo bench --bench generator -- [FILTER] [--runs N] [--seconds N] [--patience SECONDS] [--json FILE]
//! ```
//! The filter takes `senders`, `pacing`, `router`, or a part of these. Needs root, two CPUs, an idle machine, and `iperf3`,
//! `sockperf` and `taskset` in `PATH`; what is missing is said and left out. Frames are counted where they arrive, never where
//! they are sent. A run that others disturbed is repeated, for as long as the patience (120 s for each) lasts. Figures:
//! `docs/benchmarks-generator.md`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own that prints its tables")]

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "what the other benchmarks use of it besides")]
mod common;
mod pacing;
mod report;
mod router;
mod run;
mod senders;
mod sockets;
mod tools;

use anyhow::Context;
use common::lab::Lab;
use common::options::Options;
use std::time::Duration;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if !args.iter().any(|a| a == "--bench") {
        println!("not measured: run with `cargo bench --bench generator`");
        return Ok(());
    }
    let options = defaults().parse(&args)?;
    let lab = Lab::build().context("make two namespaces and a link between them (needs root)")?;
    let mut document = report::Document::default();
    let wanted = |name: &str| name.contains(&options.filter);
    if wanted("senders") {
        document.senders = senders::measure(&lab, &options);
        println!("{}", report::senders(&document.senders));
    }
    if wanted("pacing") {
        document.pacing = pacing::measure(&lab, &options);
        println!("{}", report::pacing(&document.pacing));
    }
    if wanted("router") {
        document.router = Some(router::measure(&options)?);
        println!("{}", document.router.as_ref().map(report::router).unwrap_or_default());
    }
    if let Some(path) = &options.json {
        std::fs::write(path, serde_json::to_vec_pretty(&document)?)
            .with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

fn defaults() -> Options {
    Options {
        filter: String::new(),
        runs: 5,
        time: Duration::from_secs(2),
        patience: Duration::from_secs(120),
        json: None,
    }
}
