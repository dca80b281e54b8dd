//! The server of a mesh: its files, and a trial of it on this host.

use super::failed;
use crate::commands::output::deliver;
use crate::commands::progress::say;
use crate::exit::Exit;
use crate::signals;
use cli::{Common, MeshInitArgs, MeshRenewArgs, MeshUpArgs};
use engine::error::{Failure, Result};
use fleet::broker::nats::NATS_SERVER;
use fleet::setup::{MeshFolder, MeshSetup, Reloaded};
use std::path::absolute;
use std::process::Command;
use std::time::Duration;

pub(super) fn init(args: &MeshInitArgs, global: &Common) -> Result<Exit> {
    let setup = MeshSetup {
        agents: args.agent.clone(),
        listen: args.listen.clone(),
        websocket: args.websocket.clone(),
        names: args.server.clone(),
    };
    let folder = absolute(&args.dir)?;
    let files = setup.write(&folder).map_err(failed)?;
    let mut text = format!("server       nats-server -c {}\n", files.configuration.display());
    let join = |name: &str| folder.join("agents").join(format!("{name}.agent")).display().to_string();
    text += &format!("coordinator  pathmeter mesh run --join {}\n", join("coordinator"));
    for (name, _) in &files.agents {
        text += &to_copy(name, &join(name));
    }
    if files.authority.is_none() {
        text += "no TLS: name the server with --server HOST, unless every host is on one trusted network\n";
    }
    deliver(global, text.as_bytes())
}

/// How the file of an agent gets to its host.
pub(super) fn to_copy(name: &str, file: &str) -> String {
    format!("{name:<12} copy {file} to its host, then: pathmeter agent run --join {name}.agent\n")
}

/// A new certificate of the server, by the authority that agents have.
pub(super) fn renew(args: &MeshRenewArgs, global: &Common) -> Result<Exit> {
    let mut mesh = MeshFolder::open(&absolute(&args.dir)?).map_err(failed)?;
    let mut text = String::new();
    if mesh.shares_leases() {
        mesh.renew_rights().map_err(failed)?;
        text += "server.conf has the agents' own rights now\n";
    }
    match mesh.renew_certificate(&args.server).map_err(failed)? {
        Some(validity) => {
            let (names, until) = (validity.names.join(", "), validity.until);
            text += &format!("the certificate of {names} holds until {until}\n");
        }
        None if text.is_empty() || !args.server.is_empty() => {
            let what = format!(
                "the mesh of {} has no certificate: its server speaks without TLS",
                args.dir.display()
            );
            let advice = "set one up that has TLS: pathmeter mesh init NEW-DIR --server HOST";
            return Err(Failure::usage(what, advice).into());
        }
        None => {}
    }
    text += &reloaded(&mesh)?;
    deliver(global, text.as_bytes())
}

/// Has the server take its new files, and reports whether it does.
pub(super) fn reloaded(mesh: &MeshFolder) -> Result<String> {
    Ok(match mesh.reload().map_err(failed)? {
        Reloaded::Asked(process) => format!("server       nats-server {process} takes it now\n"),
        Reloaded::NotHere => {
            "server       none runs here from this folder: where it does, nats-server --signal reload, or \
             systemctl reload pathmeter-nats\n"
                .to_owned()
        }
    })
}

pub(super) fn up(args: &MeshUpArgs) -> Result<Exit> {
    let interrupt = signals::interrupt()?;
    // Without TLS there is none.
    if let Some(validity) = fleet::setup::validity(&args.dir).ok().filter(|validity| validity.ends_soon()) {
        let ends = if validity.has_ended() { "ended" } else { "ends" };
        let (until, dir) = (validity.until, args.dir.display());
        say(&format!("the server's certificate {ends} on {until}: pathmeter mesh renew {dir}"));
    }
    if MeshFolder::open(&args.dir).is_ok_and(|mesh| mesh.shares_leases()) {
        say(&format!(
            "server.conf is of an earlier version, by which any agent may free the leases of all: pathmeter mesh renew {}",
            args.dir.display()
        ));
    }
    let configuration = args.dir.join("server.conf");
    let spawned = Command::new(&args.nats_server).arg("-c").arg(&configuration).spawn();
    let mut server = spawned.map_err(|error| {
        let what = format!("start {}: {error}", args.nats_server.display());
        Failure::usage(
            what,
            format!("install nats-server {NATS_SERVER} or later, or name it with --nats-server FILE"),
        )
    })?;
    loop {
        if let Some(status) = server.try_wait()? {
            let what = format!("nats-server ended: {status}");
            return Err(Failure::usage(
                what,
                "its last lines say why; write the files with `pathmeter mesh init`",
            )
            .into());
        }
        if interrupt.is_raised() {
            // The server has received Ctrl-C, too, but not a signal to this process alone.
            server.kill()?;
            server.wait()?;
            return Ok(Exit::Done);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
