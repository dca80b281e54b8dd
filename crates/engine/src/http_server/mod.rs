//! An HTTP/1.1 endpoint to transfer against: bytes of any number down, and a sink for what goes up.
//!
//! One thread for each connection, like the other servers here. What a stranger can hold is bounded: the size and time of
//! a request's head, the time without a byte, connections of one address and of all, transfers at the same time.

mod answer;
mod body;
mod connection;

use super::budget::{self, Budget, Limits as BudgetLimits, client_of};
use super::notes::{NoteLimit, with_left_out};
use crate::error::{Context, Result};
pub(crate) use body::Content;
use connection::Connection;
use linux::clock::mono_now;
use linux::poll::{Interest, wait};
use linux::sockaddr::plain;
use model::units::{BitRate, Nanos};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// What each transfer may take.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Highest rate of one transfer.
    pub rate: Option<BitRate>,
    /// Longest transfer; its connection is closed then.
    pub time: Option<Nanos>,
    /// Most transfers at the same time; others are told to come back.
    pub transfers: u32,
}

/// Told what is worth knowing: who transferred what, who was turned away.
pub(crate) type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// The server at work in threads of its own, until dropped.
pub struct HttpServer {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What all connections share.
struct House {
    limits: Limits,
    /// Transfers now.
    transfers: Arc<Budget>,
    notes: NoteLimit,
    stop: Arc<AtomicBool>,
    note: Note,
    content: body::Content,
}

impl HttpServer {
    /// Answers on this listener.
    pub fn start(listener: TcpListener, limits: Limits, note: Note) -> Result<HttpServer> {
        let stop = Arc::<AtomicBool>::default();
        let transfers = Budget::new(BudgetLimits::quarters(limits.transfers, false));
        let (notes, content) = (NoteLimit::default(), body::Content::new());
        let house = Arc::new(House { limits, transfers, notes, stop: stop.clone(), note, content });
        let work = move || {
            if let Err(e) = accept(&listener, &house) {
                (house.note)(&format!("the HTTP server ended: {e}"));
            }
        };
        let thread = std::thread::Builder::new().name("http".into()).stack_size(STACK).spawn(work);
        Ok(HttpServer { stop, thread: Some(thread.context("start the HTTP server")?) })
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl House {
    /// A line on a client, unless there have been many.
    fn note_of(&self, peer: SocketAddr, text: &str) {
        if let Some(left_out) = self.notes.pass(peer.ip(), mono_now()) {
            (self.note)(&with_left_out(&format!("{peer}{text}"), left_out));
        }
    }

    /// A place among the transfers: at most a quarter of them for one address.
    fn slot(&self, client: IpAddr) -> Option<budget::Held> {
        self.transfers.take(client, 1, client_of(client, false)).ok()
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

fn accept(listener: &TcpListener, house: &Arc<House>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let connections = Budget::new(budget::CONNECTIONS);
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while !house.stopped() {
        wait(&mut [Interest::readable(listener)], Some(mono_now() + STOP_STEP))?;
        threads.retain(|thread| !thread.is_finished());
        let (socket, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(e) if e.kind() == ErrorKind::WouldBlock => continue,
            Err(e) => {
                (house.note)(&format!("accept: {e}"));
                std::thread::sleep(STOP_STEP.to_duration());
                continue;
            }
        };
        let peer = plain(peer);
        // Never trusted: all connections of one address count, also those that have said something.
        let held = match budget::enter(&connections, peer.ip()) {
            Ok(held) => held,
            Err(full) => {
                house.note_of(peer, &format!(": {full}"));
                continue;
            }
        };
        let own = house.clone();
        let serve = move || Connection::new(socket, peer, own, held).serve();
        match std::thread::Builder::new().name("http".into()).stack_size(STACK).spawn(serve) {
            Ok(thread) => threads.push(thread),
            Err(e) => house.note_of(peer, &format!(": no thread for it, closed: {e}")),
        }
    }
    threads.into_iter().for_each(|thread| drop(thread.join()));
    Ok(())
}

/// How long nothing may be looked at before it is asked whether the server stops.
const STOP_STEP: Nanos = Nanos(100_000_000);
const STACK: usize = 256 << 10;
