//! `pathmeter demo`: a path with a fault, made on this machine, measured and explained.

use super::demo_lab::{DemoLab, gain_privileges};
use super::measure::{Job, Measured};
use super::serve::listen;
use crate::cli::{Common, DemoArgs};
use crate::engine::capture::CaptureOptions;
use crate::engine::client::Security;
use crate::engine::interrupt::Interrupt;
use crate::engine::server::{self, Config, Observer, Watcher};
use crate::exit::Exit;
use anyhow::Context;
use model::event::Event;
use model::plan::{LocalOptions, ProtocolName, Target};
use model::units::Nanos;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use wire::{Policy, ProtocolError};

/// Runs the command.
pub(crate) fn run(args: &DemoArgs, global: &Common) -> anyhow::Result<Exit> {
    // Before any thread starts: an ordinary user's process moves into a user namespace here.
    gain_privileges()?;
    let mut lab = DemoLab::build().context("build the demo's network")?;
    say(INTRODUCTION);
    lab.notes().iter().for_each(|note| say(&format!("note: {note}")));
    let interrupt = Interrupt::on_signals()?;
    let measured = std::thread::scope(|scope| {
        let stop = Interrupt::default();
        let listener = lab.server().run(|| listen(None, wire::native::PORT))??;
        let (lab, ended) = (&lab, stop.clone());
        let server = scope.spawn(move || lab.server().run(|| server::run(config(listener), &ended)));
        let run = lab.client().run(|| measure(lab, args.quick, &interrupt));
        stop.raise();
        server.join().map_err(|_| anyhow::anyhow!("the demo's server failed"))???;
        run?
    })?;
    if let Some(dropped) = lab.dropped_fragments()? {
        say(&format!("\nThe router's own count: {} IPv4 fragments dropped.\n", dropped.ipv4));
    }
    measured.conclude(&[], global)
}

fn measure(lab: &DemoLab, quick: bool, interrupt: &Interrupt) -> anyhow::Result<Measured> {
    let address = SocketAddr::new(lab.server_ipv4(), wire::native::PORT);
    let job = Job {
        target: Target { host: address.ip().to_string(), address },
        local: LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() },
        security: Security::default(),
        quick,
        capture: CaptureOptions::default(),
    };
    job.measure(interrupt, &mut |line| say(line))
}

fn config(listener: std::net::TcpListener) -> Config {
    Config {
        native: vec![listener],
        iperf3: Vec::new(),
        token: None,
        tls: None,
        policy: Policy::default(),
        max_tests: 8,
        tests: None,
        local: LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() },
        verifier: None,
        observer: Arc::new(Silent),
    }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The demo's server has nothing to say that the client does not.
struct Silent;

impl Observer for Silent {
    fn session(&self, _client: SocketAddr, _protocol: ProtocolName) -> Box<dyn Watcher> {
        Box::new(Silent)
    }

    fn note(&self, text: &str) {
        say(&format!("server: {text}"));
    }
}

impl Watcher for Silent {
    fn event(&mut self, _event: &Event) {}

    fn ended(&mut self, _outcome: Result<(), &ProtocolError>) {}
}

const INTRODUCTION: &str = "\
Two hosts and a router between them, made on this machine (network namespaces):

  client 192.0.2.2 ──── router ──── 198.51.100.2 server
                          └─ drops IP fragments, as some clouds and firewalls do

Measuring from the client: `pathmeter measure 198.51.100.2`
";
