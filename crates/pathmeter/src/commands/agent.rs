//! `pathmeter agent run`: this host's part in a mesh.

use super::mesh::{connect, failed};
use super::targets::named;
use crate::exit::Exit;
use crate::signals;
use cli::files::token;
use cli::{AgentArgs, AgentCommand, AgentRunArgs, Common};
use engine::error::{Failure, Result, fault};
use engine::host::interrupt::Interrupt;
use engine::server::{Config, Server};
use engine::session::connect::Security;
use engine::work::observer::{Observer, Silent, Watcher};
use fleet::agent::{Agent, AgentOptions, Instance, Start, Threads};
use fleet::broker::nats::Nats;
use fleet::clock::{Clock, SystemClock};
use fleet::job::{AgentJob, run_name};
use fleet::spool::Spool;
use mesh::interfaces;
use mesh::inventory::{AgentReport, boot, inventory as inventory_of};
use mesh::work::{FarEnds, carry_out};
use model::plan::ProtocolName;
use std::io::Write;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use wire::native::Token;

/// Runs the command.
pub(crate) fn run(args: &AgentArgs, _global: &Common) -> Result<Exit> {
    let AgentCommand::Run(args) = &args.command;
    let interrupt = signals::interrupt()?;
    let nats = connect(&args.nats, &args.name)?;
    let token = args.token_file.as_deref().map(token).transpose()?;
    if !args.no_listen {
        serve(args.port, token.clone(), interrupt.clone())?;
    }
    std::fs::create_dir_all(&args.spool).map_err(|error| {
        let what = format!("make the folder {}: {error}", args.spool.display());
        Failure::usage(what, "name one that this user may write with --spool DIR")
    })?;
    let spool = Spool::open(&args.spool.join(format!("{}.jsonl", args.name))).map_err(failed)?;
    let inventory = inventory(args, &nats)?;
    let instance = instance(args, &inventory);
    let options = AgentOptions { instance, inventory, lease: args.lease, ..AgentOptions::named(&args.name) };
    let agents = Security { token, fingerprint: None };
    let far = FarEnds { agents, named: named(&args.targets)? };
    let work = move |job: &AgentJob, start: &Start| carry_out(job, start, &far);
    let threads = Threads::new(Arc::new(work), Arc::new(SystemClock)).answering(interfaces::answer);
    let mut agent = Agent::new(options, &nats, &SystemClock, &threads, spool).map_err(failed)?;
    let _ = writeln!(std::io::stderr(), "agent {} of {} (Ctrl-C ends it)", args.name, args.nats.coordinator);
    let mut reported = None;
    while !interrupt.is_raised() {
        let due = agent.step().map_err(failed)?;
        let failure = agent.failure().map(str::to_owned);
        if failure != reported {
            let state = failure.as_deref().unwrap_or("it is at work again");
            let _ = writeln!(std::io::stderr(), "{} {state}", SystemClock.wall());
            reported = failure;
        }
        agent.rest(due).map_err(failed)?;
    }
    agent.stop();
    Ok(Exit::Done)
}

/// Who this is beside another agent of the same name: whoever has this folder open on this host, which only one process can. So one
/// that is started again after it was killed goes on at once, and one of another host waits until the first is gone.
fn instance(args: &AgentRunArgs, inventory: &serde_json::Value) -> Instance {
    let boot = boot().unwrap_or_default();
    let folder = std::fs::metadata(&args.spool).map(|found| (found.dev(), found.ino())).unwrap_or_default();
    let id = run_name(&[&boot, &folder.0.to_string(), &folder.1.to_string(), &args.name]);
    Instance { id, host: inventory["host"]["name"].as_str().unwrap_or_default().to_owned() }
}

/// Serves the tests of other agents.
fn serve(port: u16, token: Option<Token>, interrupt: Interrupt) -> Result<()> {
    let server = Server::bind(Config { native: port, token, ..Config::default() })?;
    let serving = move || {
        if let Err(error) = server.serve(&interrupt, &(Arc::new(Notes) as Arc<dyn Observer>)) {
            let _ = writeln!(std::io::stderr(), "error: serve other agents: {error:#}");
            interrupt.raise();
        }
    };
    std::thread::Builder::new().name("serve".into()).spawn(serving)?;
    Ok(())
}

/// What serving reports: who was turned away, on standard error. The results are those of the agents that asked.
struct Notes;

impl Observer for Notes {
    fn session(&self, _: SocketAddr, _: ProtocolName) -> Box<dyn Watcher> {
        Box::new(Silent)
    }

    fn note(&self, text: &str) {
        let _ = writeln!(std::io::stderr(), "{} {}", SystemClock.wall(), report::harmless::text(text));
    }
}

/// What it reports of itself.
fn inventory(args: &AgentRunArgs, nats: &Nats) -> Result<serde_json::Value> {
    let ends = ends(&args.nats.coordinator);
    let address = match (args.address.first(), ends) {
        (Some(address), _) => address.clone(),
        (None, Some((own, _))) => own.to_string(),
        (None, None) => {
            let what = format!("no address of this host leads to {}", args.nats.coordinator);
            let advice = "name the address at which other agents reach this host with --address HOST";
            return Err(Failure::usage(what, advice).into());
        }
    };
    let (own, server) = ends.unzip();
    let report = AgentReport {
        address,
        more_addresses: args.address.iter().skip(1).cloned().collect(),
        port: args.port,
        listens: !args.no_listen,
        ..inventory_of(own, server, nats.seen_as())
    };
    serde_json::to_value(report).map_err(|error| fault(error.to_string()))
}

/// The address from which the coordinator's server is reached, and the server's. Nothing is sent.
fn ends(coordinator: &str) -> Option<(IpAddr, IpAddr)> {
    let first = coordinator.split(',').next().unwrap_or_default();
    let host = first.rsplit_once("//").map_or(first, |(_, host)| host).trim_end_matches('/');
    ["0.0.0.0:0", "[::]:0"].into_iter().find_map(|any| {
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(host).or_else(|_| socket.connect((host, 4222))).ok()?;
        Some((socket.local_addr().ok()?.ip(), socket.peer_addr().ok()?.ip()))
    })
}
