//! An HTTP/1.1 endpoint to transfer against: downloads of any number of bytes, and a sink for uploads.
//!
//! One thread for each connection, like the other servers here. The resources of an unauthenticated client are bounded: the
//! size and time of a request's head, the time without a byte, connections of one address and of all, transfers at the same
//! time.

mod answer;
mod body;
mod connection;
#[cfg(test)]
mod tests;

use crate::error::{Result, refused};
use crate::session::budget::{self, Budget, Limits as BudgetLimits, client_of};
use crate::session::listener::{Accepted, Service};
use crate::session::notes::Notes;
use answer::Answer;
pub(crate) use body::Content;
use connection::Connection;
use linux::sockaddr::plain;
use model::units::{BitRate, Nanos};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Limits of each transfer.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Highest rate of one transfer.
    pub rate: Option<BitRate>,
    /// Longest transfer; its connection is closed then.
    pub time: Option<Nanos>,
    /// Most transfers at the same time; others are refused with the time of a retry.
    pub transfers: u32,
}

/// A text that is read at an address of its own and changes all the time: metrics in Prometheus' text format.
#[derive(Clone)]
pub struct Page {
    /// Where it is read.
    pub address: SocketAddr,
    /// Its path, with the `/`.
    pub path: &'static str,
    /// Makes it.
    pub text: Arc<dyn Fn() -> String + Send + Sync>,
}

/// The server, which all connections share.
pub(crate) struct HttpService {
    limits: Limits,
    /// How slow a transfer may be.
    pace: body::Pace,
    /// All that is there, in place of bytes and a sink.
    page: Option<Page>,
    connections: Arc<Budget>,
    /// Transfers now.
    transfers: Arc<Budget>,
    notes: Arc<Notes>,
    stop: Arc<AtomicBool>,
    content: body::Content,
}

impl HttpService {
    /// Transfers end when `stop` is raised.
    pub(crate) fn new(limits: Limits, notes: Arc<Notes>, stop: Arc<AtomicBool>) -> Arc<HttpService> {
        let connections = Budget::new(budget::connections());
        let transfers = Budget::new(BudgetLimits::quarters(limits.transfers, false));
        let (pace, content) = (body::Pace::default(), body::Content::new());
        Arc::new(HttpService { limits, pace, page: None, connections, transfers, notes, stop, content })
    }

    /// The page and nothing else.
    pub(crate) fn of_page(page: Page, notes: Arc<Notes>, stop: Arc<AtomicBool>) -> Arc<HttpService> {
        let limits = Limits { transfers: READERS, ..Limits::default() };
        let mut service = HttpService::new(limits, notes, stop);
        if let Some(service) = Arc::get_mut(&mut service) {
            service.page = Some(page);
        }
        service
    }

    /// A place among the transfers: at most a quarter of them for one address.
    fn slot(&self, client: IpAddr) -> Option<budget::Held> {
        self.transfers.take(client, 1, client_of(client, false)).ok()
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

impl Service for HttpService {
    fn connections(&self) -> &Arc<Budget> {
        &self.connections
    }

    fn refusal(&self, why: &str) -> Vec<u8> {
        Answer::text(503, format!("{why}\n")).with("Retry-After", "5").into_bytes(false, false)
    }

    /// Never trusted: all connections of one address count, also those that have sent something.
    fn serve(&self, accepted: Accepted) -> Result<()> {
        let Accepted { socket, peer, held, .. } = accepted;
        let gone = |e: &io::Error| matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
        match Connection::new(socket, plain(peer), self, held).requests() {
            Err(e) if !gone(&e) => Err(refused(format!("http: {e}; closed"))),
            _ => Ok(()),
        }
    }
}

/// Most readers of a page at the same time; a quarter of them from one address.
const READERS: u32 = 64;
/// Longest time before a silent connection checks whether the server stops.
const STOP_STEP: Nanos = Nanos::from_millis(100);
