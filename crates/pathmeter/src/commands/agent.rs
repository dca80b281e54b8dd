//! `pathmeter agent run`: this host's part in a mesh.

use super::exporter::Exporter;
use super::mesh::{dial, failed, join, options_of};
use super::notes::Notes;
use super::output::write;
use super::rights::{RunAs, confine, hand_over, next_user};
use super::targets::named;
use crate::exit::Exit;
use crate::signals;
use cli::files::token;
use cli::{AgentCommand, AgentRules, AgentRunArgs, Common};
use engine::error::{Failure, Result, fault};
use engine::host::interrupt::Interrupt;
use engine::server::{Config, Confined, Server};
use engine::session::connect::Security;
use engine::work::observer::Observer;
use fleet::agent::{Agent, AgentOptions, Instance, Start, Threads};
use fleet::broker::nats::Nats;
use fleet::clock::{Clock, SystemClock};
use fleet::job::AgentJob;
use fleet::name::run_name;
use fleet::setup::JoinFile;
use fleet::spool::Spool;
use mesh::allowed::Allowed;
use mesh::interfaces;
use mesh::inventory::{AgentReport, boot, inventory as inventory_of};
use mesh::metrics::of_agent;
use mesh::work::{FarEnds, carry_out};
use model::secret::without_passwords;
use std::io::Write;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use wire::native::Token;

/// Runs the command.
pub(crate) fn run(command: &AgentCommand, global: &Common) -> Result<Exit> {
    let args = match command {
        AgentCommand::Run(args) => args,
        AgentCommand::Show(args) => {
            return write(&[&allowed(&args.rules)], global);
        }
    };
    // Everything that needs the rights of the start comes first, and no thread before they are given up.
    let join = join(&args.nats)?;
    let name = args.name.clone().or_else(|| Some(join.as_ref()?.name.clone())).unwrap_or_default();
    let options = options_of(&args.nats, join.as_ref(), &name)?;
    let token = token_of(args, join.as_ref())?;
    let far = FarEnds {
        agents: Security { token: token.clone(), fingerprint: None },
        named: named(&args.targets)?,
        allowed: allowed(&args.rules),
    };
    let config = || Config { native: Some(args.port), token, ..Config::default() };
    let server = (!args.no_listen).then(|| Server::bind(config())).transpose()?;
    let metrics = args.metrics.map(Exporter::bind).transpose()?;
    let request =
        RunAs { user: args.user.as_deref(), no_capabilities: args.no_capabilities, ..RunAs::default() };
    hand_over(&args.spool, next_user(request)?).map_err(|error| {
        let what = format!("make the folder {}: {error}", args.spool.display());
        Failure::usage(what, "name one that this user may write with --spool DIR")
    })?;
    // From inside of it the spool can be used, regardless of the owner of the folders above.
    std::env::set_current_dir(&args.spool)?;
    let rights = confine(request)?;
    let interrupt = signals::interrupt()?;
    let nats = dial(&options)?;
    server.map_or(Ok(()), |server| serve(server, rights, interrupt.clone()))?;
    let shown = metrics.map(|exporter| exporter.serve(rights, &interrupt, log)).transpose()?;
    let spool = Spool::open(&Path::new(".").join(format!("{name}.jsonl"))).map_err(failed)?;
    spool.damage().iter().for_each(|damage| log(&format!("the spool: {damage}")));
    let server = without_passwords(&options.server);
    let (inventory, has_key) = (inventory(args, &server, &nats)?, options.seed.is_some());
    let instance = instance(&name, &inventory);
    let options = AgentOptions { instance, inventory, lease: args.lease, ..AgentOptions::named(&name) };
    let work = move |job: &AgentJob, start: &Start| carry_out(job, start, &far);
    let threads = Threads::new(Arc::new(work), Arc::new(SystemClock)).answering(interfaces::answer);
    let mut agent = Agent::new(options, &nats, &SystemClock, &threads, spool).map_err(failed)?;
    log(&format!("agent {name} of {server} (Ctrl-C ends it)"));
    if !has_key {
        log(KEYLESS);
    }
    let mut reported = None;
    while !interrupt.is_raised() {
        let due = agent.step().map_err(failed)?;
        let failure = agent.failure().map(str::to_owned);
        if failure != reported {
            let state = failure.as_deref().unwrap_or("it is at work again");
            log(&format!("{} {state}", SystemClock.wall()));
            reported = failure;
        }
        if let Some(shown) = &shown {
            shown.set(of_agent(&name, &agent.status(), nats.is_connected(), SystemClock.wall()));
        }
        agent.rest(due).map_err(failed)?;
    }
    agent.stop();
    Ok(Exit::Done)
}

/// The rules for jobs: those of the configuration, and the defaults where it has none.
fn allowed(rules: &AgentRules) -> Allowed {
    let usual = Allowed::default();
    Allowed {
        schema: usual.schema,
        tests: rules.tests.clone().unwrap_or(usual.tests),
        hosts: rules.hosts.clone().unwrap_or(usual.hosts),
        max_time: rules.max_time.unwrap_or(usual.max_time),
        max_rate: rules.max_rate.or(usual.max_rate),
        max_bytes: rules.max_bytes.unwrap_or(usual.max_bytes),
        max_streams: rules.max_streams.unwrap_or(usual.max_streams),
    }
}

/// The identity of this agent beside another of the same name: the folder that it has open on this host, which only one process
/// can. An agent that is restarted after it was killed therefore goes on at once, and one of another host waits until the first
/// is gone.
fn instance(name: &str, inventory: &serde_json::Value) -> Instance {
    let boot = boot().unwrap_or_default();
    let folder = std::fs::metadata(".").map(|found| (found.dev(), found.ino())).unwrap_or_default();
    let id = run_name(&[&boot, &folder.0.to_string(), &folder.1.to_string(), name]);
    Instance { id, host: inventory["host"]["name"].as_str().unwrap_or_default().to_owned() }
}

/// The token by which agents know each other.
fn token_of(args: &AgentRunArgs, join: Option<&JoinFile>) -> Result<Option<Token>> {
    match (&args.token_file, join.map(|join| join.token.as_str()).filter(|text| !text.is_empty())) {
        (Some(file), _) => token(file).map(Some),
        (None, Some(text)) => {
            let short = || {
                Failure::usage("the token of --join is too short", "write the file anew: mesh agent renew")
            };
            Ok(Some(Token::new(text.as_bytes()).ok_or_else(short)?))
        }
        (None, None) => Ok(None),
    }
}

/// Serves the tests of other agents, which report the results: which clients were turned away is printed on standard error.
fn serve(server: Server, rights: Confined, interrupt: Interrupt) -> Result<()> {
    let serving = move || {
        let notes = Notes(|text: &str| log(&format!("{} {text}", SystemClock.wall())));
        if let Err(error) = server.serve(rights, &interrupt, &(Arc::new(notes) as Arc<dyn Observer>)) {
            log(&format!("error: serve other agents: {error:#}"));
            interrupt.raise();
        }
    };
    std::thread::Builder::new().name("serve".into()).spawn(serving)?;
    Ok(())
}

/// A line on standard error. Other agents, the server and clients may have words in it.
fn log(line: &str) {
    // A line break would begin a line of theirs.
    let _ = writeln!(std::io::stderr(), "{}", report::harmless::text(line).replace('\n', " "));
}

/// The report that the agent publishes about itself.
fn inventory(args: &AgentRunArgs, server: &str, nats: &Nats) -> Result<serde_json::Value> {
    let ends = ends(server);
    let address = match (args.address.first(), ends) {
        (Some(address), _) => address.clone(),
        (None, Some((own, _))) => own.to_string(),
        (None, None) => {
            let what = format!("no address of this host leads to {server}");
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
fn ends(shown: &str) -> Option<(IpAddr, IpAddr)> {
    let first = shown.split(',').next().unwrap_or_default();
    let host = first.rsplit_once("//").map_or(first, |(_, host)| host).trim_end_matches('/');
    ["0.0.0.0:0", "[::]:0"].into_iter().find_map(|any| {
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(host).or_else(|_| socket.connect((host, 4222))).ok()?;
        Some((socket.local_addr().ok()?.ip(), socket.peer_addr().ok()?.ip()))
    })
}

/// The warning without a key: the server identifies this agent by nothing but its own name.
const KEYLESS: &str = "no key is given: every client that reaches the NATS server may hand out jobs and report as this agent \
                       (`pathmeter mesh init` makes keys: --key keys/NAME.seed)";
