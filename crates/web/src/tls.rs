//! TLS of the page: its certificate, and the begin of each connection.

use crate::error::WebError;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{Error, ServerConfig};
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A certificate with its key: the page speaks TLS.
#[derive(Clone, Debug)]
pub struct Tls(Arc<ServerConfig>);

/// A connection whose client has sent something.
pub(crate) enum Begun {
    /// The handshake is done.
    Encrypted(Box<TlsStream<TcpStream>>),
    /// The client speaks no TLS: nothing is read yet.
    Plain(TcpStream),
}

impl Tls {
    /// `chain`: the server's certificate, and behind it those of its issuers; `key`: its key. Both are PEM, and may be one file.
    ///
    /// # Errors
    /// There is no certificate or no key that can be read, or they do not belong together.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Tls, WebError> {
        let refused = |what: &str, why: &dyn Display| WebError::Certificate(format!("{what}: {why}"));
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<_, _>>()
            .map_err(|error| refused("the certificate cannot be read", &error))?;
        if chain.is_empty() {
            return Err(WebError::Certificate("the file of the certificate has none in PEM form".into()));
        }
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|error| refused("the key cannot be read", &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                WebError::Certificate("the certificate and the key do not belong together".into())
            }
            error => refused("the certificate cannot be used", &error),
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls(Arc::new(config)))
    }

    /// Waits for the first byte of a client, and for the handshake where that is TLS (RFC 8446 section 5.1).
    pub(crate) async fn begin(self, stream: TcpStream) -> io::Result<Begun> {
        let mut first = [0];
        match stream.peek(&mut first).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ if first[0] == HANDSHAKE => {
                let accepted = TlsAcceptor::from(self.0).accept(stream).await?;
                Ok(Begun::Encrypted(Box::new(accepted)))
            }
            _ => Ok(Begun::Plain(stream)),
        }
    }
}

/// The type of a record with a part of the handshake.
const HANDSHAKE: u8 = 22;
