//! Frames/s that each method of sending delivers to the other end of a virtual link, the accuracy of the pace, and of a
//! router's rate; measured in turns on this machine.
//!
//! The cases are `senders`, `pacing` and, with `--all`, `router`. Needs root, two CPUs, an idle machine, and `iperf3`,
//! `sockperf` and `taskset` in `PATH`; missing tools are named and left out. Frames are counted where they arrive, never where
//! they are sent. The command line is in `common/options.rs`, the method and the figures in `docs/benchmarks.md`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own that prints its tables")]

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "what the other benchmarks use of it besides")]
mod common;
mod pacing;
mod router;
mod run;
mod senders;
mod sockets;
mod tools;

use anyhow::Context;
use common::lab::Lab;
use common::options::Options;
use common::program::{in_path, version};
use common::turns::{self, Bench, figure, shown_beyond};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = Options::parse(&args)? else { return Ok(()) };
    if options.tables {
        return turns::write_tables();
    }
    let lab = Lab::build().context("make two namespaces and a link between them (needs root)")?;
    let track = options.wants(router::NAME).then(router::Track::build).transpose();
    let track = track.context("make a router between two namespaces")?;
    let mut plans = vec![senders::plan(&lab, &options), pacing::plan(&lab, &options)];
    plans.extend(track.as_ref().map(|track| router::plan(track, &options)));
    let figures = vec![
        figure("mpps", "Mpps received", true),
        figure("error", "% error of the rate", false),
        figure("lost", "% lost", false),
        figure("late", "most late, us", false),
        shown_beyond("sent", "Mpps sent", 0.0),
        shown_beyond("void", "trials repeated", 0.0),
    ];
    let versions = ["iperf3", "sockperf"].map(|name| match in_path(name) {
        Some(path) => format!("{name}: {}", version(&path)),
        None => format!("{name}: not here, left out"),
    });
    let ours = format!("pathmeter: {}", version(env!("CARGO_BIN_EXE_pathmeter").as_ref()));
    let versions = [vec![ours], versions.to_vec()].concat();
    turns::play(Bench { name: "generator", figures, versions, plans }, &options)
}
