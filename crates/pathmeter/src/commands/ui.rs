//! `pathmeter ui`: the page over the store, and what it needs of the rest of the program.

mod start;

use super::store::open;
use crate::exit::Exit;
use crate::signals;
use cli::{Common, StoreArgs, UiArgs};
use engine::error::{Error, Failure, Kind, Result};
use insight::run_of_events;
use std::io::Write;
use std::path::Path;
use store::Store;
use web::{Backend, Config, Limits, Server, WebError};

/// Runs the command.
pub(crate) fn run(args: &UiArgs, _global: &Common) -> Result<Exit> {
    let token = args.token_file.as_deref().map(token).transpose()?;
    let config = Config { listen: args.listen, token, names: args.name.clone(), limits: Limits::default() };
    let server = Server::bind(config, backend(&args.store)?).map_err(failed)?;
    let (address, stopper) = (server.address()?, server.stopper());
    signals::on_first(move || stopper.stop())?;
    let _ = writeln!(std::io::stderr(), "the page is at http://{address}/ (Ctrl-C ends it)");
    server.serve().map_err(failed)?;
    Ok(Exit::Done)
}

/// What the page is given. A store that cannot be used is refused now, and not in the browser.
fn backend(args: &StoreArgs) -> Result<Backend> {
    let location = open(args)?.location().clone();
    let args = args.clone();
    Ok(Backend {
        version: concat!("pathmeter ", env!("CARGO_PKG_VERSION")).into(),
        open: Box::new(move || Store::open(&location)),
        start: Box::new(move |asked, sink| start::start(asked, sink, &args)),
        topologies: Box::new(topologies),
        unended: |entry, events| run_of_events(&entry.id, &entry.kind, events),
    })
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
