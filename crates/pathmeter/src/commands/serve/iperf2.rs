//! The iPerf2 server beside our own protocol.

use super::{Log, SessionLog, listen};
use crate::cli::ServeArgs;
use anyhow::Context;
use engine::error::sentence;
use engine::interrupt::Interrupt;
use engine::iperf2::{self, Config, Observer, Told, Watcher};
use engine::server::DEFAULT_TESTS;
use engine::server::{self, Observer as _};
use model::plan::{LocalOptions, ProtocolName};
use model::units::Nanos;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use wire::{Policy, ProtocolError};

/// Starts it, when it was asked for; it ends when the interrupt is raised.
pub(super) fn start(
    args: &ServeArgs,
    open: &Policy,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<JoinHandle<()>>> {
    let Some(port) = args.iperf2_port() else { return Ok(None) };
    let tcp = listen(args.bind, port)?;
    let udp = iperf2::listen_udp(args.bind, port)?;
    Log.note(&format!("listening on {} (TCP and UDP), iPerf2", tcp.local_addr()?));
    if args.token_file.is_some() {
        Log.note("the token does not protect the iPerf2 port: that protocol has no such thing");
    }
    if args.iperf2_udp_reverse {
        Log.note(
            "whoever forges an address can have UDP sent there by the iPerf2 port (--iperf2-udp-reverse): \
             limit it with --max-rate and --max-time, or by a firewall",
        );
    } else {
        Log.note(
            "iPerf2 clients get UDP sent to them (-R, --full-duplex, -d, -r) only from this host or with a TCP \
             connection beside (--iperf2-udp-reverse serves the others)",
        );
    }
    let config = Config {
        tcp: vec![tcp],
        udp: vec![udp],
        policy: open.clone(),
        max_tests: args.max_tests.unwrap_or(DEFAULT_TESTS),
        unverified: args.iperf2_udp_reverse,
        tests: args.one_off.then_some(1),
        time: None,
        key: None,
        local: LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() },
        observer: Arc::new(Sessions),
    };
    let interrupt = interrupt.clone();
    let serve = move || {
        if let Err(e) = iperf2::serve(config, &interrupt) {
            Log.note(&format!("the iPerf2 server ended: {}", sentence(&e)));
        }
        // With --one-off its test was the one.
        interrupt.raise();
    };
    let thread = std::thread::Builder::new().name("iperf2".into());
    thread.spawn(serve).context("start the iPerf2 server").map(Some)
}

/// Tells of each session in one line.
struct Sessions;

impl Observer for Sessions {
    fn session(&self, client: SocketAddr) -> Box<dyn Watcher> {
        Box::new(SessionLog {
            client,
            protocol: ProtocolName::Iperf2,
            events: Vec::new(),
            seen: None,
            framed: None,
        })
    }

    fn note(&self, text: &str) {
        Log.note(text);
    }
}

impl Watcher for SessionLog {
    fn told(&mut self, told: Told<'_>) {
        if let Told::Event(event) = told {
            server::Watcher::event(self, event);
        }
    }

    fn ended(&mut self, outcome: Result<(), &ProtocolError>) {
        server::Watcher::ended(self, outcome);
    }
}
