//! A server for the other examples: `serve [PORT]`, until it is killed.

use pathmeter_engine::model::plan::ProtocolName;
use pathmeter_engine::server::{Config, Confined};
use pathmeter_engine::wire::{self, ProtocolError};
use pathmeter_engine::{Interrupt, Observer, Server, SessionEvent, Watcher};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

/// Prints who came and how it went.
struct Printer;

/// One session of a client.
struct Session(SocketAddr);

impl Observer for Printer {
    fn session(&self, client: SocketAddr, _protocol: ProtocolName) -> Box<dyn Watcher> {
        Box::new(Session(client))
    }

    fn note(&self, text: &str) {
        writeln!(std::io::stderr(), "{text}").ok();
    }
}

impl Watcher for Session {
    fn event(&mut self, _event: SessionEvent<'_>) {}

    fn ended(&mut self, outcome: Result<(), &ProtocolError>) {
        writeln!(std::io::stderr(), "{}: {outcome:?}", self.0).ok();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).map_or(Ok(wire::native::PORT), |port| port.parse())?;
    let server = Server::bind(Config { native: Some(port), ..Config::default() })?;
    let observer: Arc<dyn Observer> = Arc::new(Printer);
    // Root's rights, where it has them, are dropped before clients are served.
    let rights = Confined::enter(None, &[])?;
    Ok(server.serve(rights, &Interrupt::default(), &observer)?)
}
