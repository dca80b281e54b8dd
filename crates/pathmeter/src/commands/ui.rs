//! `pathmeter ui`: the page over the store, and what it needs of the rest of the program.

mod start;

use super::rights::{Asked, confine, hand_over_store, next_user, owner};
use super::store::location;
use crate::exit::Exit;
use crate::signals;
use cli::{Common, StoreArgs, UiArgs};
use engine::error::{Error, Failure, Kind, Result};
use insight::run_of_events;
use std::io::Write;
use std::path::Path;
use store::{Location, Store};
use web::{Backend, Config, Limits, Server, WebError};

/// Runs the command.
pub(crate) fn run(args: &UiArgs, _global: &Common) -> Result<Exit> {
    let token = args.token_file.as_deref().map(token).transpose()?;
    let config = Config {
        listen: args.listen,
        token,
        names: args.name.clone(),
        proxies: args.proxy.clone(),
        limits: Limits::default(),
    };
    let location = location(&args.store)?;
    let server = Server::bind(config, backend(&args.store, location.clone())).map_err(failed)?;
    let (address, stopper) = (server.address()?, server.stopper());
    let usual = match &location {
        Location::File(file) => owner(file),
        Location::Server(_) => None,
    };
    let asked = Asked { user: args.user.as_deref(), no_capabilities: args.no_capabilities, usual };
    // Open as long as the page is there, it keeps the files beside it.
    let _open = match (&location, next_user(asked)?) {
        (Location::File(file), Some(user)) => {
            let store = Store::open(&location).map_err(super::store::failed)?;
            hand_over_store(file, user);
            Some(store)
        }
        _ => None,
    };
    let rights = confine(asked)?;
    usable(&location)?;
    signals::on_first(move || stopper.stop())?;
    let _ = writeln!(std::io::stderr(), "the page is at http://{address}/ (Ctrl-C ends it)");
    server.serve(rights).map_err(failed)?;
    Ok(Exit::Done)
}

/// A store that cannot be used is refused now, and not in the browser: by the user as whom the page goes on.
fn usable(location: &Location) -> Result<()> {
    let opened = Store::open(location).map(drop);
    opened.map_err(|error| {
        let what = format!("user {} cannot use the store: {error}", linux::privilege::user_id());
        let advice = "give the store and its folder to a user of this host (chown) and name that one with --user USER, or keep \
                      root's rights with --user root";
        match (linux::privilege::is_root(), error.is_unreachable()) {
            (false, false) => Failure::usage(what, advice).into(),
            _ => super::store::failed(error),
        }
    })
}

/// Everything that the page is given.
fn backend(args: &StoreArgs, location: Location) -> Backend {
    let args = args.clone();
    Backend {
        version: concat!("pathmeter ", env!("CARGO_PKG_VERSION")).into(),
        open: Box::new(move || Store::open(&location)),
        start: Box::new(move |asked, sink| start::start(asked, sink, &args)),
        topologies: Box::new(topologies),
        unended: |entry, events| run_of_events(&entry.id, &entry.kind, events),
    }
}

#[cfg(feature = "lab")]
fn topologies() -> Vec<serde_json::Value> {
    lab_run::catalogue::shipped()
}

#[cfg(not(feature = "lab"))]
fn topologies() -> Vec<serde_json::Value> {
    Vec::new()
}

fn token(file: &Path) -> Result<String> {
    let bytes = engine::session::secret::read(file)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let what = format!("the token file {} is no text", file.display());
        Failure::usage(what, "put a long random line into it: head -c 24 /dev/urandom | base64")
    })?;
    Ok(text.trim().to_owned())
}

fn failed(error: WebError) -> Error {
    let kind = if matches!(error, WebError::System(_)) { Kind::Fault } else { Kind::Usage };
    Failure { kind, advice: Some(error.advice().into()), message: error.to_string() }.into()
}
