//! How long the answer about a path's packet sizes takes, and how many packets, next to tracepath and scamper, measured
//! in turns across a virtual link of MTU 1500 on this machine.
//!
//! ```text
//! cargo bench --bench mtu -- [FILTER] [--runs N] [--json FILE]
//! ```
//! Needs root, and `tracepath` (iputils) and `scamper` in `PATH`; their rows are left out without them. They look up
//! alone and at the path MTU alone; pathmeter's answer has both directions, fragments and TCP. The path is clean.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own that prints its table")]

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "what the other benchmarks use of it besides")]
mod common;

use anyhow::{Context, bail};
use common::lab::{FAR, Lab};
use common::options::Options;
use common::process::Process;
use common::program::{in_path, version};
use common::table::{extremes, markdown, middle_of, ratio, row, value};
use linux::nic::Nic;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if !args.iter().any(|a| a == "--bench") {
        println!("not measured: run with `cargo bench --bench mtu`");
        return Ok(());
    }
    let options = Options {
        filter: String::new(),
        runs: 10,
        time: Duration::ZERO,
        patience: Duration::ZERO,
        json: None,
    }
    .parse(&args)?;
    let lab = Lab::build().context("make two namespaces and a link between them (needs root)")?;
    let contenders: Vec<Contender> =
        contenders().into_iter().filter(|c| c.label.contains(&options.filter)).collect();
    let mut serve = Command::new(OURS);
    serve.arg("serve");
    let mut server = Process::start(serve, &lab.far)?;
    server.wait_for_port(5210)?;
    let mut runs = vec![Vec::new(); contenders.len()];
    for turn in 0..options.runs {
        for (contender, runs) in contenders.iter().zip(&mut runs) {
            match contender.run(&lab) {
                Ok(run) => runs.push(run),
                Err(error) => eprintln!("{} {}: {error:#}", turn + 1, contender.label),
            }
        }
    }
    println!("{}", table(&contenders, &runs));
    if let Some(path) = &options.json {
        let rows: Vec<_> = contenders
            .iter()
            .zip(&runs)
            .map(|(contender, runs)| {
                let each = runs.iter().map(|run| (run.time.as_secs_f64(), run.packets));
                serde_json::json!({ "contender": contender.label, "seconds_packets": each.collect::<Vec<_>>() })
            })
            .collect();
        std::fs::write(path, serde_json::to_vec_pretty(&rows)?)
            .with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

/// A program with its command line.
struct Contender {
    label: &'static str,
    program: PathBuf,
    version: String,
    args: Vec<String>,
}

/// One run.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// From the start of the program to its end.
    time: Duration,
    /// Packets on the link meanwhile, both ways.
    packets: u64,
}

impl Contender {
    fn run(&self, lab: &Lab) -> anyhow::Result<Run> {
        let before = packets(lab)?;
        let mut command = Command::new(&self.program);
        lab.near.spawn_inside(&mut command)?;
        command.args(&self.args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let status = command.status().with_context(|| format!("start {}", self.program.display()))?;
        let time = began.elapsed();
        if !status.success() {
            bail!("ended with {status}");
        }
        Ok(Run { time, packets: packets(lab)? - before })
    }
}

fn contenders() -> Vec<Contender> {
    let far = FAR.to_string();
    let ours = |label, words: &[&str]| Contender {
        label,
        program: OURS.into(),
        version: version(OURS.as_ref()),
        args: ["mtu", &far].iter().chain(words).map(ToString::to_string).collect(),
    };
    let peer = |label, name: &str, words: &[&str]| {
        let program = in_path(name)?;
        let args = words.iter().map(ToString::to_string).collect();
        Some(Contender { label, version: name.into(), program, args })
    };
    let trace = format!("trace -M {far}");
    [
        Some(ours("pathmeter mtu", &[])),
        Some(ours("pathmeter mtu, no pathmeter there", &["--protocol", "udp"])),
        peer("tracepath", "tracepath", &["-n", &far]),
        peer("scamper trace -M", "scamper", &["-I", &trace]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Packets that the near end of the link has sent and received.
fn packets(lab: &Lab) -> anyhow::Result<u64> {
    let counters = lab.near.run(|| Nic::toward(FAR).map(|nic| nic.link.statistics))??;
    Ok(counters.rx_packets + counters.tx_packets)
}

fn table(contenders: &[Contender], runs: &[Vec<Run>]) -> String {
    let mut rows = vec![row(["contender", "runs", "seconds", "least to most", "ours / it", "packets"])];
    let seconds = |runs: &[Run]| middle_of(runs.iter().map(|run| run.time.as_secs_f64()));
    let ours = runs.first().and_then(|runs| seconds(runs));
    for (contender, runs) in contenders.iter().zip(runs) {
        let Some(middle) = seconds(runs) else { continue };
        let (least, most) = extremes(runs.iter().map(|run| run.time.as_secs_f64()));
        let packets = middle_of(runs.iter().map(|run| run.packets as f64)).unwrap_or_default();
        rows.push([
            format!("{} ({})", contender.label, contender.version),
            runs.len().to_string(),
            value(middle),
            format!("{} to {}", value(least), value(most)),
            ours.map_or(String::new(), |ours| ratio(ours / middle)),
            format!("{packets:.0}"),
        ]);
    }
    markdown(rows)
}

const OURS: &str = env!("CARGO_BIN_EXE_pathmeter");
