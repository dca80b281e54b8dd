//! A connection: who we are, whom we trust, and what the server must be.

use super::Nats;
use super::failure::chain;
use crate::error::{FleetError, Result};
use async_nats::rustls::pki_types::CertificateDer;
use async_nats::rustls::pki_types::pem::PemObject;
use async_nats::rustls::{ClientConfig, RootCertStore};
use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions, Event, ServerError, jetstream};
use model::secret::without_passwords;
use model::units::Nanos;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::broadcast;

/// The thread that moves the bytes of all connections made on it.
#[derive(Debug)]
pub struct Reactor {
    runtime: Runtime,
}

impl Reactor {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start() -> Result<Arc<Reactor>> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("nats").enable_all().build();
        let runtime = runtime.map_err(|error| FleetError::Unreachable {
            server: "(this host)".to_owned(),
            why: format!("start a thread: {error}"),
        })?;
        Ok(Arc::new(Reactor { runtime }))
    }

    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

/// How to connect.
#[derive(Clone, Debug, Default)]
pub struct NatsOptions {
    /// `nats://HOST:4222` or `tls://HOST:4222`; several, parted by commas, are servers of one cluster.
    pub server: String,
    /// Name of this end in the server's list of connections. With a key, its answers come to `_INBOX_NAME.…`, which is all that
    /// an agent may listen on beside its commands.
    pub name: String,
    /// The seed of an NKey.
    pub seed: Option<String>,
    /// Certificates of the authority that signed the server's, PEM; otherwise those of the system.
    pub authority: Option<Authority>,
    /// How long a call may take; zero: 3 s.
    pub timeout: Nanos,
}

/// Certificates of an authority, read once: a process that gives up its rights may not read the file again.
#[derive(Clone, Debug)]
pub struct Authority(RootCertStore);

impl Authority {
    /// Reads a file of certificates, PEM.
    ///
    /// # Errors
    /// The file cannot be read, or holds none.
    pub fn read(file: &Path) -> Result<Authority> {
        let text = std::fs::read(file).map_err(FleetError::file("read the certificates", file))?;
        Authority::parse(file, &text)
    }

    /// The certificates in the bytes of this file, PEM.
    ///
    /// # Errors
    /// They hold none.
    pub fn parse(file: &Path, text: &[u8]) -> Result<Authority> {
        let unusable = |why: String| FleetError::unusable("certificate of an authority", file, why);
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(text) {
            let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
            roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
        }
        match roots.is_empty() {
            true => Err(unusable("no line of it begins a certificate in PEM".to_owned())),
            false => Ok(Authority(roots)),
        }
    }

    fn config(&self) -> ClientConfig {
        ClientConfig::builder().with_root_certificates(self.0.clone()).with_no_client_auth()
    }
}

impl Nats {
    /// Connects, and looks at the server's version.
    ///
    /// # Errors
    /// [`FleetError::Unreachable`], [`FleetError::Certificate`], [`FleetError::NoKey`], [`FleetError::KeyRefused`],
    /// [`FleetError::TooOld`].
    pub fn connect(reactor: &Arc<Reactor>, options: &NatsOptions) -> Result<Nats> {
        let timeout =
            if options.timeout == Nanos::ZERO { TIMEOUT } else { Duration::from_nanos(options.timeout.0) };
        let refusals = Refusals::new(&options.name);
        let servers = addresses(&options.server)?;
        let connected = reactor.wait(with(options, timeout, &refusals).connect(servers));
        let client = connected.map_err(|error| not_connected(&error, options))?;
        let context = jetstream::context::ContextBuilder::new().timeout(timeout).ack_timeout(timeout);
        let nats = Nats {
            reactor: Arc::clone(reactor),
            context: reactor.wait(async { context.build(client.clone()) }),
            client,
            refusals,
            server: without_passwords(&options.server),
            timeout,
            lifetimes: Arc::default(),
            replicas: Arc::new(1.into()),
        };
        nats.check_version().map(|()| nats)
    }

    /// A field that an older server does not know it ignores in silence: so it is the version that counts.
    fn check_version(&self) -> Result<()> {
        if self.client.is_server_compatible(2, 11, 0) {
            return Ok(());
        }
        Err(FleetError::TooOld {
            server: self.server.clone(),
            found: self.server_version(),
            needed: NATS_SERVER,
        })
    }
}

/// Why there is no connection.
fn not_connected(error: &ConnectError, options: &NatsOptions) -> FleetError {
    let (server, why) = (without_passwords(&options.server), without_passwords(&chain(error)));
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => match options.seed {
            None => FleetError::NoKey(server),
            Some(_) => FleetError::KeyRefused { server, why },
        },
        // An error of TLS comes as one of input and output.
        _ => match why.split_once(BAD_CERTIFICATE) {
            Some((_, why)) => FleetError::Certificate { server, why: why.to_owned() },
            None => FleetError::Unreachable { server, why },
        },
    }
}

fn addresses(text: &str) -> Result<Vec<async_nats::ServerAddr>> {
    let parse = |server: &str| {
        server.trim().parse().map_err(|error: std::io::Error| (without_passwords(server), error))
    };
    text.split(',').map(parse).collect::<std::result::Result<_, _>>().map_err(|(server, error)| {
        FleetError::Unreachable { server, why: format!("not a NATS URL ({error}); write nats://HOST:4222") }
    })
}

fn with(options: &NatsOptions, timeout: Duration, refusals: &Refusals) -> ConnectOptions {
    let refusals = refusals.clone();
    let mut with = ConnectOptions::new()
        .name(&options.name)
        .connection_timeout(timeout)
        .request_timeout(Some(timeout))
        .reconnect_delay_callback(|attempts| Duration::from_millis((attempts as u64 * 100).min(2000)))
        .event_callback(move |event| {
            if let Event::ServerError(ServerError::Other(text)) = &event {
                refusals.heard(text);
            }
            std::future::ready(())
        });
    if let Some(seed) = &options.seed {
        with = with.nkey(seed.clone()).custom_inbox_prefix(format!("{INBOX}{}", options.name));
    }
    if let Some(authority) = &options.authority {
        with = with.tls_client_config(authority.config()).require_tls(true);
    }
    with
}

/// The permissions that the server reports as missing for this key.
#[derive(Clone, Debug)]
pub(super) struct Refusals {
    subjects: broadcast::Sender<String>,
    /// Subjects on which answers to this end come begin so.
    own: String,
}

impl Refusals {
    fn new(name: &str) -> Refusals {
        Refusals { subjects: broadcast::channel(64).0, own: format!("{INBOX}{name}.") }
    }

    /// The server's words: `Permissions Violation for Publish to "pm.lease.on.x"`.
    fn heard(&self, text: &str) {
        let subject =
            text.split('"').nth(1).filter(|_| text.to_lowercase().contains("permissions violation"));
        if let Some(subject) = subject {
            // There may be no waiting call.
            let _ = self.subjects.send(subject.to_owned());
        }
    }

    pub(super) fn listen(&self) -> Refused {
        Refused { subjects: self.subjects.subscribe(), own: self.own.clone() }
    }
}

/// Refusals from now on.
pub(super) struct Refused {
    subjects: broadcast::Receiver<String>,
    own: String,
}

impl Refused {
    /// Returns when one of these subjects is refused, or the one on which answers to this end come, and never otherwise.
    pub(super) async fn among(&mut self, subjects: &[String]) -> String {
        loop {
            match self.subjects.recv().await {
                Ok(subject) if subjects.contains(&subject) || subject.starts_with(&self.own) => {
                    return subject;
                }
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

/// The oldest nats-server that serves a mesh, in every message.
pub const NATS_SERVER: &str = "2.11";
/// Answers come on subjects that begin so; whose they are follows.
const INBOX: &str = "_INBOX_";
/// The start of rustls' message about a certificate that it refuses.
const BAD_CERTIFICATE: &str = "invalid peer certificate: ";
const TIMEOUT: Duration = Duration::from_secs(3);
