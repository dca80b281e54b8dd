//! `-s`: serves many clients at once, and prints what iPerf3 prints for one after the other.

use super::client::{report_error, unix_seconds, warn};
use super::console::Console;
use super::out::Out;
use super::pidfile::PidFile;
use super::printer::system_info;
use super::session::Sessions;
use super::{messages, no_such_cpu};
use crate::iperf3::output::{Iperf3Options, server_banner};
use crate::iperf3::{CommandLine, Json};
use crate::{DONE, Process, daemon};
use engine::host::interrupt::Interrupt;
use engine::server::dialogues::{self, Config};
use linux::clock::mono_now;
use linux::socket::{TcpOptions, has_mptcp, tcp_listen};
use model::plan::LocalOptions;
use std::ffi::OsString;
use std::fmt::Display;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Serves until it is stopped. `words`: the command line, to start in the background.
pub(super) fn run(line: &CommandLine, args: &[OsString], process: Process) -> u8 {
    let served = match (line.server.daemon, daemon::is_detached()) {
        (true, false) => {
            prepare(line).map(drop).and_then(|()| daemon::start("iperf3", args).map_err(no_daemon))
        }
        (true, true) => {
            linux::screen::leave_terminal().map_err(no_daemon).and_then(|()| serve(line, process))
        }
        (false, _) => serve(line, process),
    };
    match served {
        Ok(()) => DONE,
        Err(sentence) => report_error(&sentence),
    }
}

fn no_daemon(error: impl Display) -> String {
    format!("error - unable to become a daemon: {error}")
}

/// All that can be refused before the first client comes.
fn prepare(line: &CommandLine) -> Result<(Out, TcpListener, Option<Verifier>), String> {
    line.warnings.iter().for_each(|warning| warn(warning));
    let out = Out::open(&line.both).map_err(|e| format!("error - {e}"))?;
    no_such_cpu(line).map_or(Ok(()), |refusal| Err(format!("error - {refusal}")))?;
    let verifier = verifier(line)?;
    Ok((out, listen(line)?, verifier))
}

fn serve(line: &CommandLine, process: Process) -> Result<(), String> {
    let (out, listener, verifier) = prepare(line)?;
    let _pidfile = PidFile::write(line.both.pidfile.as_deref())?;
    let rights = (process.confine)().map_err(|e| format!("error - {e:#}"))?;
    let interrupt = (process.interrupt)().map_err(|e| format!("error - unable to catch signals: {e:#}"))?;
    let sessions = sessions(line, out);
    let idle = watch_idleness(line, &sessions, &interrupt)?;
    let config = config(line, listener, sessions.clone(), verifier);
    let outcome = dialogues::run(config, rights, &interrupt);
    if interrupt.is_raised() && !idle.load(Ordering::Acquire) {
        sessions.console().out.error(messages::SERVER_ENDED);
    }
    outcome.map_err(|e| format!("error - {e:#}"))?;
    let failure = sessions.console().out.failure();
    failure.map_or(Ok(()), Err)
}

fn sessions(line: &CommandLine, out: Out) -> Sessions {
    let options = Iperf3Options { system_info: system_info(), ..line.output_options() };
    let (banner_options, port) = (options.clone(), line.both.port);
    let text = line.both.json == Json::Off;
    let banner = move |test| if text { server_banner(&banner_options, port, test) } else { String::new() };
    Sessions::new(Console::new(out, Box::new(banner)), line.both.json, line.both.debug.is_some(), options)
}

fn config(
    line: &CommandLine,
    listener: TcpListener,
    sessions: Sessions,
    verifier: Option<Verifier>,
) -> Config {
    let reported = sessions.clone();
    let check = move |gate: &Verifier, token: &str| {
        let admitted = gate.admit(token, unix_seconds());
        let sentence = match &admitted {
            Ok(user) => format!("Authentication succeeded for user '{user}'"),
            Err(error) => format!("Authentication failed: {error}"),
        };
        reported.console().out.error(&sentence);
        admitted.is_ok()
    };
    Config {
        iperf3: vec![listener],
        policy: line.policy(),
        open_policy: line.policy(),
        max_tests: if line.server.one_off { 1 } else { MAX_TESTS },
        tests: line.server.one_off.then_some(1),
        // A server takes `--cport` without effect.
        local: LocalOptions { client_port: None, ..line.both.local.clone() },
        verifier: verifier
            .map(|gate| -> Arc<dyn Fn(&str) -> bool + Send + Sync> { Arc::new(move |t| check(&gate, t)) }),
        ..Config::new(Vec::new(), Arc::new(sessions))
    }
}

fn verifier(line: &CommandLine) -> Result<Option<Verifier>, String> {
    line.gate().map_err(|error| format!("error - {error}"))
}

fn listen(line: &CommandLine) -> Result<TcpListener, String> {
    let reported = |error: String| format!("error - unable to start listener for connections: {error}");
    let address = line.listen_address().map_err(|e| reported(e.message))?;
    let options = TcpOptions {
        device: line.both.local.device.clone(),
        v6_only: line.both.ipv6 && line.both.bind.is_none(),
        mptcp: has_mptcp(),
        ..TcpOptions::default()
    };
    tcp_listen(address, &options, BACKLOG).map_err(|e| reported(e.to_string()))
}

/// `--idle-timeout` with `-1`: ends when no client has come for so long. (Without `-1` iPerf3 starts anew, which frees it from
/// clients that hang; no client can make this server hang.) The flag is set when it has ended so.
fn watch_idleness(
    line: &CommandLine,
    sessions: &Sessions,
    interrupt: &Interrupt,
) -> Result<Arc<AtomicBool>, String> {
    let idle = Arc::new(AtomicBool::new(false));
    let Some(timeout) = line.server.idle_timeout.filter(|_| line.server.one_off) else { return Ok(idle) };
    let (sessions, interrupt, flag) = (sessions.clone(), interrupt.clone(), idle.clone());
    let wait = move || {
        let deadline = mono_now() + timeout;
        linux::clock::sleep_until(deadline);
        if sessions.running() == 0 {
            flag.store(true, Ordering::Release);
            interrupt.raise();
        }
    };
    let thread = std::thread::Builder::new().name("idle".into()).spawn(wait);
    thread.map_err(|e| format!("error - unable to start a thread: {e}")).map(|_| idle)
}

type Verifier = crate::iperf3::auth::Gate;

const BACKLOG: u16 = 512;
/// Tests at the same time; iPerf3 takes one.
const MAX_TESTS: u32 = 256;
