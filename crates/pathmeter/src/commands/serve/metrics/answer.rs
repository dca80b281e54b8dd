//! The address where a server's metrics are read: HTTP, one answer for each connection.

use super::Metrics;
use engine::error::{Context, Result};
use linux::clock::wall_now;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wire::http::{Method, Request, parse};

/// The open address. It answers until the program ends.
#[derive(Debug)]
pub(crate) struct Answering {
    listener: TcpListener,
    started: f64,
}

impl Answering {
    /// Opens it.
    ///
    /// # Errors
    /// The address is taken, or not one of this host.
    pub(crate) fn bind(address: SocketAddr) -> Result<Answering> {
        let listener =
            TcpListener::bind(address).with_context(|| format!("listen on {address} (--metrics)"))?;
        Ok(Answering { listener, started: wall_now().0 as f64 / 1e9 })
    }

    /// Where it is, for port 0.
    pub(crate) fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().context("read the address of --metrics")
    }

    /// Begins to answer, in threads of its own.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn start(self, metrics: Arc<Metrics>) -> Result<()> {
        let work = move || self.accept(&metrics);
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(work);
        thread.context("start the thread of --metrics").map(drop)
    }

    fn accept(&self, metrics: &Arc<Metrics>) {
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            let Ok((client, _)) = self.listener.accept() else {
                // Out of descriptors: those that are open will be closed; the error is not to be spun on.
                std::thread::sleep(PAUSE);
                continue;
            };
            if open.fetch_add(1, Ordering::AcqRel) >= MOST {
                open.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            let (metrics, place, started) = (metrics.clone(), open.clone(), self.started);
            let work = move || {
                // Whoever is gone or says nothing gets no answer.
                let _ = answer(&client, &metrics, started);
                place.fetch_sub(1, Ordering::AcqRel);
            };
            if std::thread::Builder::new().name("metrics".into()).stack_size(STACK).spawn(work).is_err() {
                open.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }
}

fn answer(mut client: &TcpStream, metrics: &Metrics, started: f64) -> std::io::Result<()> {
    client.set_write_timeout(Some(PATIENCE))?;
    let (status, body) = match read(client)? {
        Some(request) => match (request.path.as_str(), request.method) {
            ("/metrics", method @ (Method::Get | Method::Head)) => {
                let text = metrics.text(started);
                return write(client, "200 OK", &text, method == Method::Head);
            }
            ("/metrics", _) => ("405 Method Not Allowed", "only GET is answered\n"),
            _ => ("404 Not Found", "the metrics are at /metrics\n"),
        },
        None => ("400 Bad Request", "this is not an HTTP request\n"),
    };
    write(client, status, body, false)?;
    client.flush()
}

/// The head of a request; `None` of what is none, or has no end.
fn read(mut client: &TcpStream) -> std::io::Result<Option<Request>> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 1024]);
    let end = Instant::now() + PATIENCE;
    while bytes.len() < HEAD {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut piece)? {
            0 => return Ok(None),
            count => bytes.extend_from_slice(&piece[..count]),
        }
        match parse(&bytes) {
            Ok(Some((request, _))) => return Ok(Some(request)),
            Ok(None) => {}
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

fn write(mut client: &TcpStream, status: &str, body: &str, head_only: bool) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    if head_only { Ok(()) } else { client.write_all(body.as_bytes()) }
}

/// Connections at once; more are closed at once.
const MOST: usize = 16;
/// How long a client may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest head of a request that is read.
const HEAD: usize = 8 << 10;
const STACK: usize = 128 << 10;
const PAUSE: Duration = Duration::from_millis(100);
