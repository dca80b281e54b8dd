//! TLS 1.3 for control connections: a certificate made at start, known to clients by its fingerprint.

use crate::error::{Context, Failure, Result, fault};
use crate::session::secret;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection,
    SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;

/// SHA-256 of a certificate in DER form.
pub(crate) type Fingerprint = [u8; 32];

/// The server's side: a fresh self-signed certificate.
#[derive(Clone, Debug)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
    fingerprint: Fingerprint,
}

impl ServerTls {
    /// Makes a key and a certificate; they live as long as this process.
    pub fn new() -> Result<ServerTls> {
        ServerTls::with(Identity::make(NAME)?)
    }

    /// The key and the certificate in this file, which is made when it is not there: clients that know the fingerprint go on
    /// knowing this server when it starts again.
    ///
    /// # Errors
    /// The file cannot be read or made, others than its owner may read it, or it holds something else.
    pub fn kept_in(file: &Path) -> Result<ServerTls> {
        match secret::read(file) {
            Ok(pem) => {
                ServerTls::with(Identity::read(&pem).with_context(|| format!("read {}", file.display()))?)
            }
            Err(e) if secret::is_missing(&e) => {
                let made = Identity::make(NAME)?;
                secret::write_new(file, made.pem.as_bytes())?;
                ServerTls::with(made)
            }
            Err(e) => Err(e),
        }
    }

    fn with(identity: Identity) -> Result<ServerTls> {
        let Identity { key, certificate, .. } = identity;
        let fingerprint = fingerprint(&certificate);
        let config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        Ok(ServerTls { config: Arc::new(config), fingerprint })
    }

    /// The fingerprint that clients expect.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Begins one connection.
    pub(crate) fn accept(&self) -> Result<rustls::Connection> {
        Ok(ServerConnection::new(self.config.clone())?.into())
    }
}

/// The identity of a server.
pub(super) struct Identity {
    pub(super) key: PrivateKeyDer<'static>,
    pub(super) certificate: CertificateDer<'static>,
    /// Both, as they are kept.
    pem: String,
}

impl Identity {
    /// Makes a key, and a certificate for this name.
    pub(super) fn make(name: &str) -> Result<Identity> {
        let made = rcgen::generate_simple_self_signed([name.to_owned()])
            .map_err(|error| fault(format!("make a certificate: {error}")))?;
        Ok(Identity {
            certificate: made.cert.der().clone(),
            key: PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(fault)?,
            pem: made.signing_key.serialize_pem() + &made.cert.pem(),
        })
    }

    fn read(pem: &[u8]) -> Result<Identity> {
        let refused = |error| {
            let message = format!("it is not a key with its certificate in PEM form: {error}");
            Failure::usage(message, "name a file that is not there: a new one is made")
        };
        let key = PrivateKeyDer::from_pem_slice(pem).map_err(refused)?;
        let certificate = CertificateDer::from_pem_slice(pem).map_err(refused)?;
        Ok(Identity { key, certificate, pem: String::new() })
    }
}

/// Begins a client's connection to a server with this certificate.
pub(crate) fn connect(expected: Fingerprint) -> Result<rustls::Connection> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(ByCertificate::pinned(expected))
        .with_no_client_auth();
    let name =
        ServerName::try_from(NAME).map_err(|error| fault(format!("the server's name in TLS: {error}")))?;
    Ok(ClientConnection::new(Arc::new(config), name)?.into())
}

/// The only reply of a server to a client that begins with TLS and is turned away: an alert before the handshake, which costs
/// no computation (RFC 8446 section 6).
pub(crate) const TURNED_AWAY: [u8; 7] = [ALERT, 3, 3, 0, 2, FATAL, ACCESS_DENIED];
const ALERT: u8 = 21;
const FATAL: u8 = 2;
const ACCESS_DENIED: u8 = 49;

/// A value that only the two ends of one TLS connection share: binds the token's proof to the connection.
pub(crate) fn binding(tls: &rustls::Connection) -> Result<[u8; 32]> {
    let exported = match tls {
        rustls::Connection::Client(c) => c.export_keying_material([0; 32], EXPORTER_LABEL, None),
        rustls::Connection::Server(c) => c.export_keying_material([0; 32], EXPORTER_LABEL, None),
    };
    exported.context("export a value from TLS")
}

/// Hexadecimal, as users see and type it.
pub fn hex(fingerprint: &Fingerprint) -> String {
    fingerprint.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    let digest = ::aws_lc_rs::digest::digest(&::aws_lc_rs::digest::SHA256, certificate);
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.as_ref());
    bytes
}

/// The cryptography of all TLS in this program.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// Judges a server by its certificate alone, without regard to its signer.
#[derive(Debug)]
pub(crate) struct ByCertificate {
    /// The only one accepted; `None`: every one.
    expected: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl ByCertificate {
    /// Accepts exactly this certificate.
    fn pinned(expected: Fingerprint) -> Arc<ByCertificate> {
        Arc::new(ByCertificate { expected: Some(expected), provider: provider() })
    }

    /// Accepts every certificate.
    pub(crate) fn any() -> Arc<ByCertificate> {
        Arc::new(ByCertificate { expected: None, provider: provider() })
    }
}

impl ServerCertVerifier for ByCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let presented = fingerprint(end_entity);
        if self.expected.is_none_or(|expected| presented == expected) {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::General(format!("its certificate's fingerprint is {}", hex(&presented))))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

const NAME: &str = "pathmeter.invalid";
const EXPORTER_LABEL: &[u8] = b"EXPORTER-pathmeter-token";
