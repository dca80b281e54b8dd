//! A server for the other examples: `serve [PORT]`, until it is killed.

use pathmeter_engine::interrupt::Interrupt;
use pathmeter_engine::model::event::Event;
use pathmeter_engine::model::plan::ProtocolName;
use pathmeter_engine::server::{self, Config, Observer, Watcher};
use pathmeter_engine::wire::{self, ProtocolError};
use std::io::Write;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
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
    fn event(&mut self, _event: &Event) {}

    fn ended(&mut self, outcome: Result<(), &ProtocolError>) {
        writeln!(std::io::stderr(), "{}: {outcome:?}", self.0).ok();
    }
}

fn main() -> anyhow::Result<()> {
    let port = std::env::args().nth(1).map_or(Ok(wire::native::PORT), |port| port.parse())?;
    let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))?;
    server::run(Config::new(vec![listener], Arc::new(Printer)), &Interrupt::default())
}
