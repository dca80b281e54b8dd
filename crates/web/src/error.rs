//! Why the page is not served, and what to do.

use std::io;
use std::net::SocketAddr;

/// Why the page is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebError {
    /// Others could reach it.
    #[error("{0} can be reached by other hosts, and no token is asked for")]
    Open(SocketAddr),
    /// The token can be guessed.
    #[error("a token has fewer than {SHORTEST} characters")]
    ShortToken,
    /// There is no usable certificate with its key.
    #[error("{0}")]
    Certificate(String),
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
    /// Advice on this error.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            WebError::Open(_) => {
                "give --token-file FILE, or listen on 127.0.0.1 and come by ssh -L 5280:127.0.0.1:5280 HOST"
            }
            WebError::ShortToken => "put a long random line into it: head -c 24 /dev/urandom | base64",
            WebError::Certificate(_) => {
                "give --tls-cert a certificate in PEM form with its issuers behind it, and --tls-key its key without a password"
            }
            WebError::Listen { .. } => "another program may listen there: give --listen 127.0.0.1:PORT",
            WebError::System(_) => "free some memory, threads or file descriptors, and start it again",
        }
    }
}

/// A token shorter than this could be guessed.
pub(crate) const SHORTEST: usize = 16;
