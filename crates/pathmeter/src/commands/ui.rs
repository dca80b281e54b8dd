//! `pathmeter ui`: the page over the store, and what it needs of the rest of the program.

mod start;
mod upload;

use super::rights::{RunAs, confine, hand_over_store, next_user, owner};
use super::store::location;
use crate::exit::Exit;
use crate::signals;
use cli::{Common, StoreArgs, UiArgs};
use engine::error::{Context, Error, Failure, Kind, Result};
use insight::run_of_events;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use store::{Location, Store};
use web::{Backend, Config, Limits, Server, Tls, Tokens, WebError};

/// Runs the command.
pub(crate) fn run(args: &UiArgs, _global: &Common) -> Result<Exit> {
    let given = |file: &Option<PathBuf>| file.as_deref().map_or_else(|| Ok(Vec::new()), tokens);
    let tokens = Tokens { full: given(&args.token_file)?, read: given(&args.read_token_file)? };
    let is_encrypted = args.tls_cert.is_some();
    let config = Config {
        listen: args.listen,
        tokens,
        names: args.name.clone(),
        proxies: args.proxy.clone(),
        tls: tls(args)?,
        limits: Limits::default(),
    };
    let location = location(&args.store)?;
    // Their tokens are read before the page gives up rights.
    let targets = start::named(&args.targets);
    let server = Server::bind(config, backend(&args.store, location.clone(), targets)).map_err(failed)?;
    let (address, stopper) = (server.address()?, server.stopper());
    let usual = match &location {
        Location::File(file) => owner(file),
        Location::Server(_) => None,
    };
    let request = RunAs { user: args.user.as_deref(), no_capabilities: args.no_capabilities, usual };
    // Open as long as the page is there, it keeps the files beside it.
    let _open = match (&location, next_user(request)?) {
        (Location::File(file), Some(user)) => {
            let store = Store::open(&location).map_err(super::store::failed)?;
            hand_over_store(file, user);
            Some(store)
        }
        _ => None,
    };
    let rights = confine(request)?;
    usable(&location)?;
    signals::on_first(move || stopper.stop())?;
    let _ = writeln!(std::io::stderr(), "{} (Ctrl-C ends it)", place(address, is_encrypted, &args.name));
    server.serve(rights).map_err(failed)?;
    Ok(Exit::Done)
}

/// Where a browser finds it. No browser gets to the address that stands for all of them, and a certificate is for a name.
fn place(address: SocketAddr, is_encrypted: bool, names: &[String]) -> String {
    let port = address.port();
    let scheme = if is_encrypted { "https" } else { "http" };
    let name = names.first().filter(|_| is_encrypted || address.ip().is_unspecified());
    let host = match name {
        Some(name) => format!("{name}:{port}"),
        None if !address.ip().is_unspecified() => address.to_string(),
        None if address.is_ipv4() => format!("127.0.0.1:{port}"),
        None => format!("[::1]:{port}"),
    };
    let more = if address.ip().is_unspecified() { " and at every address of this host" } else { "" };
    format!("the page is at {scheme}://{host}/{more}")
}

/// The certificate of the page, read before root's rights are given up.
fn tls(args: &UiArgs) -> Result<Option<Tls>> {
    let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) else { return Ok(None) };
    let chain = std::fs::read(certificate).with_context(|| format!("read {}", certificate.display()))?;
    let key = engine::session::secret::read(key)?;
    Tls::from_pem(&chain, &key).map(Some).map_err(failed)
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
fn backend(args: &StoreArgs, location: Location, targets: Vec<start::NamedFarEnd>) -> Backend {
    let (args, kept) = (args.clone(), args.clone());
    Backend {
        targets: targets.iter().map(|target| target.name.clone()).collect(),
        import: Box::new(move |upload| upload::keep(upload, &kept)),
        version: concat!("pathmeter ", env!("CARGO_PKG_VERSION")).into(),
        open: Box::new(move || Store::reopen(&location)),
        start: Box::new(move |asked, sink| start::start(asked, sink, &args, &targets)),
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

/// The tokens of a file, one a line.
fn tokens(file: &Path) -> Result<Vec<String>> {
    let refused = |why: &str| {
        let what = format!("the token file {} {why}", file.display());
        Failure::usage(what, "put a long random line into it: head -c 24 /dev/urandom | base64")
    };
    let bytes = engine::session::secret::read(file)?;
    let text = String::from_utf8(bytes).map_err(|_| refused("is not text"))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let tokens: Vec<String> = lines.map(Into::into).collect();
    if tokens.is_empty() { Err(refused("has no token").into()) } else { Ok(tokens) }
}

fn failed(error: WebError) -> Error {
    let kind = if matches!(error, WebError::System(_)) { Kind::Fault } else { Kind::Usage };
    Failure { kind, advice: Some(error.advice().into()), message: error.to_string() }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_is_printed_can_be_opened() {
        let written = |address: &str, is_encrypted, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            place(address.parse().unwrap(), is_encrypted, &names)
        };
        let printed = |address: &str, names: &[&str]| written(address, false, names);
        assert_eq!(written("192.0.2.1:81", true, &["far.example"]), "the page is at https://far.example:81/");
        assert_eq!(written("192.0.2.1:81", true, &[]), "the page is at https://192.0.2.1:81/");
        assert_eq!(printed("127.0.0.1:5280", &[]), "the page is at http://127.0.0.1:5280/");
        assert!(printed("0.0.0.0:81", &[]).starts_with("the page is at http://127.0.0.1:81/ and"));
        assert!(printed("[::]:81", &[]).starts_with("the page is at http://[::1]:81/ and"));
        assert!(
            printed("0.0.0.0:81", &["far.example"]).starts_with("the page is at http://far.example:81/ and")
        );
    }
}
