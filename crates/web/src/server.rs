//! The listener: connections in number and time bounded, the runtime, and the end.

use crate::api::router;
use crate::app::{App, Limits};
use crate::backend::Backend;
use crate::guard::Peer;
use crate::live::Live;
use crate::login::Logins;
use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, watch};
use tower_service::Service;

/// How the page is served.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens; port 0: any that is free.
    pub listen: SocketAddr,
    /// What whoever looks must give; needed anywhere but on the loopback.
    pub token: Option<String>,
    /// Names that the server goes by, beside its addresses and `localhost`.
    pub names: Vec<String>,
    /// How much a client may ask for.
    pub limits: Limits,
}

/// Why the page is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// Others could reach it.
    #[error("{0} can be reached by other hosts, and no token is asked for")]
    Open(SocketAddr),
    /// The token can be guessed.
    #[error("the token has fewer than {SHORTEST} characters")]
    ShortToken,
    /// The address cannot be had.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The system refused a thread or randomness.
    #[error("serve the page: {0}")]
    System(#[from] io::Error),
}

impl WebError {
    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            WebError::Open(_) => {
                "give --token-file FILE, or listen on 127.0.0.1 and come by ssh -L 5280:127.0.0.1:5280 HOST"
            }
            WebError::ShortToken => "put a long random line into it: head -c 24 /dev/urandom | base64",
            WebError::Listen { .. } => "another program may listen there: give --listen 127.0.0.1:PORT",
            WebError::System(_) => "free some memory, threads or file descriptors, and start it again",
        }
    }
}

/// A server whose sockets are open.
pub struct Server {
    listener: TcpListener,
    app: App,
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
        let Config { listen, token, names, limits } = config;
        let loopback = listen.ip().to_canonical().is_loopback();
        match &token {
            None if !loopback => return Err(WebError::Open(listen)),
            Some(token) if token.len() < SHORTEST => return Err(WebError::ShortToken),
            _ => {}
        }
        let listener =
            TcpListener::bind(listen).map_err(|source| WebError::Listen { address: listen, source })?;
        listener.set_nonblocking(true)?;
        let (stop, _) = watch::channel(false);
        let app = App {
            backend: Arc::new(backend),
            live: Arc::new(Live::new(stop.subscribe())),
            logins: Arc::new(Logins::new(token)?),
            names: names.into(),
            limits,
            loopback,
        };
        Ok(Server { listener, app, stop })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What ends it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Answers until it is stopped.
    ///
    /// # Errors
    /// The system refuses threads.
    pub fn serve(self) -> Result<(), WebError> {
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
        let places = Arc::new(Semaphore::new(limits.connections));
        let mut stopped = self.stop.subscribe();
        loop {
            let place = tokio::select! {
                place = places.clone().acquire_owned() => place,
                _ = stopped.wait_for(|stopped| *stopped) => break,
            };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stopped.wait_for(|stopped| *stopped) => break,
            };
            let Ok((stream, peer)) = accepted else {
                // No file descriptor is free: others end meanwhile.
                tokio::time::sleep(BREATH).await;
                continue;
            };
            let (router, mut stopped) = (router.clone(), self.stop.subscribe());
            tokio::spawn(async move {
                tokio::select! {
                    () = answer(stream, peer, router, limits) => {}
                    _ = stopped.wait_for(|stopped| *stopped) => {}
                }
                drop(place);
            });
        }
        self.app.live.stop();
        Ok(())
    }
}

/// Answers the requests of a connection.
async fn answer(stream: TcpStream, peer: SocketAddr, router: Router, limits: Limits) {
    let socket = socket2::SockRef::from(&stream);
    // Both are refinements: without them a slow client is only slower.
    let _ = socket.set_tcp_user_timeout(Some(limits.stalled));
    let _ = socket.set_tcp_nodelay(true);
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        router.clone().call(request.map(Body::new))
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(LARGEST_HEAD);
    // A connection that breaks concerns nobody but its client.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

/// A token shorter than this could be guessed.
const SHORTEST: usize = 16;
const STORE_THREADS: usize = 4;
const LARGEST_HEAD: usize = 16 * 1024;
const BREATH: Duration = Duration::from_millis(50);
const LAST_WORDS: Duration = Duration::from_secs(10);
