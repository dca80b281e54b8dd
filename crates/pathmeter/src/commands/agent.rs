//! `pathmeter agent run`: this host's part in a mesh.

use super::mesh::{connect, failed};
use crate::exit::Exit;
use crate::signals;
use cli::files::token;
use cli::{AgentArgs, AgentCommand, AgentRunArgs, Common};
use engine::error::{Failure, Result};
use engine::host::interrupt::Interrupt;
use engine::server::{Config, Server};
use engine::session::connect::Security;
use engine::work::observer::{Observer, Silent, Watcher};
use fleet::agent::{Agent, AgentOptions, Permit, Threads};
use fleet::clock::{Clock, SystemClock};
use fleet::job::AgentJob;
use fleet::spool::Spool;
use mesh::job::{JobResult, MeshJob};
use model::plan::ProtocolName;
use std::io::Write;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
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
    let options = AgentOptions { inventory: inventory(args)?, ..AgentOptions::named(&args.name) };
    let security = Security { token, fingerprint: None };
    let work = move |job: &AgentJob, permit: &Arc<Permit>| carry_out(job, permit, &security);
    let threads = Threads::new(Arc::new(work), Arc::new(SystemClock));
    let mut agent = Agent::new(options, &nats, &SystemClock, &threads, spool).map_err(failed)?;
    let _ = writeln!(std::io::stderr(), "agent {} of {} (Ctrl-C ends it)", args.name, args.nats.coordinator);
    let mut told = None;
    while !interrupt.is_raised() {
        let due = agent.step().map_err(failed)?;
        let failure = agent.failure().map(str::to_owned);
        if failure != told {
            let state = failure.as_deref().unwrap_or("the coordinator's server answers again");
            let _ = writeln!(std::io::stderr(), "{} {state}", SystemClock.wall());
            told = failure;
        }
        agent.rest(due).map_err(failed)?;
    }
    agent.stop();
    Ok(Exit::Done)
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

fn inventory(args: &AgentRunArgs) -> Result<serde_json::Value> {
    let address = match &args.address {
        Some(address) => address.clone(),
        None => own_address(&args.nats.coordinator)?,
    };
    Ok(serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "address": address,
        "port": args.port,
        "listens": !args.no_listen,
    }))
}

/// The address from which the coordinator's server is reached. Nothing is sent.
fn own_address(coordinator: &str) -> Result<String> {
    let first = coordinator.split(',').next().unwrap_or_default();
    let host = first.rsplit_once("//").map_or(first, |(_, host)| host).trim_end_matches('/');
    let found = ["0.0.0.0:0", "[::]:0"].into_iter().find_map(|any| {
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(host).or_else(|_| socket.connect((host, 4222))).ok()?;
        Some(socket.local_addr().ok()?.ip().to_string())
    });
    found.ok_or_else(|| {
        let what = format!("no address of this host leads to {host}");
        Failure::usage(what, "name the address at which other agents reach this host with --address HOST")
            .into()
    })
}

/// Measures what a job asks for; it is stopped when its permit ends.
fn carry_out(
    job: &AgentJob,
    permit: &Arc<Permit>,
    security: &Security,
) -> std::result::Result<String, String> {
    let asked: MeshJob = serde_json::from_str(&job.body)
        .map_err(|error| format!("this version does not know the job: {error}"))?;
    let (interrupt, is_over) = (Interrupt::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                if !permit.is_valid(SystemClock.mono()) {
                    return interrupt.raise();
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let ended = asked.carry_out(interrupt.clone(), security.clone());
        is_over.store(true, Ordering::SeqCst);
        let run = ended.map_err(|error| format!("{error:#}"))?;
        serde_json::to_string(&JobResult { job: asked, run }).map_err(|error| error.to_string())
    })
}
