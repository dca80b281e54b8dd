//! How long the answer about a path's packet sizes takes, and how many packets, next to tracepath and scamper, measured
//! in turns across a virtual link of MTU 1500 on this machine.
//!
//! Needs root, and `tracepath` (iputils) and `scamper` in `PATH`; their rows are left out without them. They look up
//! alone and at the path MTU alone; pathmeter's answer has both directions, fragments and TCP. The path is clean. The
//! command line is in `common/options.rs`, the method and the figures in `docs/benchmarks.md`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own that prints its table")]

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "what the other benchmarks use of it besides")]
mod common;

use anyhow::{Context, bail};
use common::lab::{FAR, Lab};
use common::machine::Watch;
use common::options::Options;
use common::process::Process;
use common::program::{in_path, version};
use common::turns::{self, Bench, Entrant, Measured, Plan, alone, figure, ratio};
use linux::cpu::Usage;
use linux::nic::Nic;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(options) = Options::parse(&args)? else { return Ok(()) };
    if options.tables {
        return turns::write_tables();
    }
    let lab = Lab::build().context("make two namespaces and a link between them (needs root)")?;
    let mut serve = Command::new(OURS);
    serve.arg("serve");
    let mut server = Process::start(serve, &lab.far)?;
    server.wait_for_port(5210)?;
    let (contenders, server) = (contenders(), &server);
    let goals = vec![
        alone("seconds", ANSWER, 2.0),
        alone("packets", ANSWER, 400.0),
        ratio("seconds", ANSWER, &["tracepath", "scamper trace -M"], 1.0),
    ];
    let entrants = contenders.iter().filter(|contender| !contender.is_slow || options.all);
    let entrants = entrants.map(|contender| Entrant {
        label: contender.label.into(),
        run: Box::new({
            let lab = &lab;
            move || contender.run(lab, server)
        }),
    });
    let plan = Plan { name: "mtu-veth".into(), essential: true, goals, entrants: entrants.collect() };
    let figures = vec![figure("seconds", "seconds", false), figure("packets", "packets", false)];
    let versions = contenders.iter().map(|contender| format!("{}: {}", contender.label, contender.version));
    turns::play(Bench { name: "mtu", figures, versions: versions.collect(), plans: vec![plan] }, &options)
}

/// A program with its command line.
struct Contender {
    label: &'static str,
    program: PathBuf,
    version: String,
    args: Vec<String>,
    /// Its time depends on what it waits for, and no goal needs it.
    is_slow: bool,
}

impl Contender {
    fn run(&self, lab: &Lab, server: &Process) -> anyhow::Result<Measured> {
        let before = packets(lab)?;
        let (watch, serving, own) = (Watch::start()?, server.cpu(), Usage::of_children());
        let mut command = Command::new(&self.program);
        lab.near.spawn_inside(&mut command)?;
        command.args(&self.args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let status = command.status().with_context(|| format!("start {}", self.program.display()))?;
        let time = began.elapsed();
        if !status.success() {
            bail!("ended with {status}");
        }
        let used = Usage::of_children().since(&own).cpu() + (server.cpu() - serving);
        let packets = packets(lab)? - before;
        let figures = vec![("seconds", time.as_secs_f64()), ("packets", packets as f64)];
        Ok(Measured { figures, foreign: watch.foreign(used)? })
    }
}

fn contenders() -> Vec<Contender> {
    let far = FAR.to_string();
    let ours = |label, argv: &[&str], is_slow| Contender {
        label,
        program: OURS.into(),
        version: version(OURS.as_ref()),
        args: ["mtu", &far].iter().chain(argv).map(ToString::to_string).collect(),
        is_slow,
    };
    let peer = |label, name: &str, about: &str, argv: &[&str]| {
        let program = in_path(name)?;
        let text = Command::new(&program).arg(about).output().ok()?;
        let text = String::from_utf8_lossy(&[text.stdout, text.stderr].concat()).trim().to_owned();
        let version = text.lines().next().unwrap_or("no version").to_owned();
        let args = argv.iter().map(ToString::to_string).collect();
        Some(Contender { label, version, program, args, is_slow: false })
    };
    let trace = format!("trace -M {far}");
    [
        Some(ours(ANSWER, &[], false)),
        Some(ours("pathmeter mtu, no pathmeter there", &["--protocol", "udp"], true)),
        peer("tracepath", "tracepath", "-V", &["-n", &far]),
        peer("scamper trace -M", "scamper", "-v", &["-I", &trace]),
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

const OURS: &str = env!("CARGO_BIN_EXE_pathmeter");
const ANSWER: &str = "pathmeter mtu";
