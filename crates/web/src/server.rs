//! The listener: connections in number and time bounded, the runtime, and the end.

use crate::api::router;
use crate::app::{App, Limits};
use crate::backend::Backend;
use crate::error::{SHORTEST, WebError};
use crate::guard::Peer;
use crate::live::Live;
use crate::login::{Logins, Tokens};
use crate::places::{ConnectionSlot, Full, Places};
use crate::tls::{Begun, Tls};
use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use linux::privilege::drop::Confined;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tower_service::Service;

/// How the page is served.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens; port 0: any that is free.
    pub listen: SocketAddr,
    /// The tokens of which users must give one; needed anywhere but on the loopback.
    pub tokens: Tokens,
    /// Names that the server goes by, beside its addresses and `localhost`.
    pub names: Vec<String>,
    /// Proxies before it, whose `X-Forwarded-For` names the client.
    pub proxies: Vec<IpAddr>,
    /// Its certificate; absent: it speaks plain HTTP.
    pub tls: Option<Tls>,
    /// How much a client may ask for.
    pub limits: Limits,
}

/// A server whose sockets are open.
pub struct Server {
    listener: TcpListener,
    app: App,
    tls: Option<Tls>,
    stop: watch::Sender<bool>,
}

/// Ends a server, from any thread.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// Ends it: the running test is stopped and kept, and connections are closed.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Opens the socket.
    ///
    /// # Errors
    /// The address is not the loopback's and there is no token; or it cannot be had.
    pub fn bind(config: Config, backend: Backend) -> Result<Server, WebError> {
        let Config { listen, tokens, names, proxies, tls, limits } = config;
        let loopback = listen.ip().to_canonical().is_loopback();
        if !loopback && tokens.all().next().is_none() {
            return Err(WebError::Open(listen));
        }
        if tokens.all().any(|token| token.len() < SHORTEST) {
            return Err(WebError::ShortToken);
        }
        let listener =
            TcpListener::bind(listen).map_err(|source| WebError::Listen { address: listen, source })?;
        listener.set_nonblocking(true)?;
        let (stop, _) = watch::channel(false);
        let live = Live::new(stop.subscribe())?;
        let app = App {
            cookie: format!("pathmeter_{:.8}", live.server()).into(),
            backend: Arc::new(backend),
            live: Arc::new(live),
            logins: Arc::new(Logins::new(tokens)?),
            names: names.into(),
            proxies: proxies.iter().map(IpAddr::to_canonical).collect(),
            limits,
            loopback,
            encrypts: tls.is_some(),
        };
        Ok(Server { listener, app, tls, stop })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// A handle that stops the server.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Answers until it is stopped. `_rights`: this process has decided what it keeps of them.
    ///
    /// # Errors
    /// The system refuses threads.
    pub fn serve(self, _rights: Confined) -> Result<(), WebError> {
        // One thread for sockets, few for the store: what is measured meanwhile needs the CPUs.
        let runtime =
            Builder::new_current_thread().enable_all().max_blocking_threads(STORE_THREADS).build()?;
        let live = self.app.live.clone();
        runtime.block_on(self.accept())?;
        // A run that was stopped has its result in the store before the program ends.
        runtime.block_on(async { tokio::time::timeout(LAST_WORDS, live.ended()).await.ok() });
        runtime.shutdown_timeout(Duration::from_secs(1));
        Ok(())
    }

    async fn accept(self) -> io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let (router, limits) = (router(self.app.clone()), self.app.limits);
        let places = Places::new(limits.connections, self.app.logins.is_needed(), self.app.proxies.to_vec());
        let mut stopped = self.stop.subscribe();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stopped.wait_for(|stopped| *stopped) => break,
            };
            let Ok((stream, peer)) = accepted else {
                // No file descriptor is free: others end meanwhile.
                tokio::time::sleep(BREATH).await;
                continue;
            };
            // A client that is quiet for a second leaves: others wait that long to be accepted.
            let place = loop {
                match places.enter(peer.ip(), Instant::now()) {
                    Err(Full::Total) if !*stopped.borrow() => tokio::time::sleep(BREATH).await,
                    entered => break entered,
                }
            };
            let Ok(place) = place else {
                // A new connection has room for some words.
                let _ = stream.try_write(BUSY);
                continue;
            };
            let (router, tls, mut stopped) = (router.clone(), self.tls.clone(), self.stop.subscribe());
            tokio::spawn(async move {
                let left = place.clone();
                tokio::select! {
                    () = begin(stream, tls, (peer, place), router, limits) => {}
                    () = left.left() => {}
                    _ = stopped.wait_for(|stopped| *stopped) => {}
                }
            });
        }
        self.app.live.stop();
        Ok(())
    }
}

/// Begins a connection, and answers its requests.
async fn begin(
    stream: TcpStream,
    tls: Option<Tls>,
    (address, place): (SocketAddr, ConnectionSlot),
    router: Router,
    limits: Limits,
) {
    let socket = socket2::SockRef::from(&stream);
    let last = Last(socket.try_clone().ok());
    // Both are refinements: without them a slow client is only slower.
    let _ = socket.set_tcp_user_timeout(Some(limits.stalled));
    let _ = socket.set_tcp_nodelay(true);
    let peer = |is_encrypted| (Peer { address, is_encrypted }, place);
    match tls {
        None => answer(stream, peer(false), router, limits).await,
        // A client that is slow in the handshake is one that is slow in the head of its request.
        Some(tls) => match tokio::time::timeout(limits.head, tls.begin(stream)).await {
            Ok(Ok(Begun::Encrypted(stream))) => answer(*stream, peer(true), router, limits).await,
            Ok(Ok(Begun::Plain(stream))) => answer(stream, peer(false), router, limits).await,
            Ok(Err(_)) | Err(_) => {}
        },
    }
    last.read_out().await;
}

/// Answers the requests of a connection.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    (peer, place): (Peer, ConnectionSlot),
    router: Router,
    limits: Limits,
) {
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        place.touch(Instant::now());
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(place.clone());
        router.clone().call(request.map(Body::new))
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(LARGEST_HEAD);
    // A connection that breaks concerns only its client.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

/// The socket of a connection until its end. Data that a client does not read would stay in the kernel's memory, and in no
/// budget: it is dropped with the connection, whatever ends it.
struct Last(Option<socket2::Socket>);

impl Last {
    /// Waits while the client reads what is left.
    async fn read_out(&self) {
        let (mut left, mut since) = (u64::MAX, Instant::now());
        while since.elapsed() < UNREAD {
            let now = self.left();
            if now == 0 {
                return;
            }
            if now < left {
                (left, since) = (now, Instant::now());
            }
            tokio::time::sleep(BREATH).await;
        }
    }

    /// Bytes that the client has not acknowledged.
    fn left(&self) -> u64 {
        self.0
            .as_ref()
            .and_then(|socket| linux::options::unacknowledged(socket).ok())
            .map_or(0, |left| left.0)
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        if let Some(socket) = self.0.as_ref().filter(|_| self.left() > 0) {
            let _ = socket.set_linger(Some(Duration::ZERO));
        }
    }
}

const STORE_THREADS: usize = 4;
const LARGEST_HEAD: usize = 16 * 1024;
/// A client that reads nothing for so long reads no more.
const UNREAD: Duration = Duration::from_secs(2);
/// The answer to a client for which there is no place.
const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const BREATH: Duration = Duration::from_millis(50);
const LAST_WORDS: Duration = Duration::from_secs(10);
