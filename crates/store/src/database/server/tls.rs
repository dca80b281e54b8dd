//! TLS to a server, configured by libpq's parameters: `sslmode` and `sslrootcert` of the URL.

use crate::{Location, Result, StoreError};
use postgres::config::SslMode;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::path::PathBuf;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;
use url::form_urlencoded;

/// Encryption of a connection, and authentication of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tls {
    /// Whether the connection is encrypted at all.
    pub(super) mode: SslMode,
    trust: Trust,
    /// Certificates of authorities; absent: those of this system.
    roots: Option<PathBuf>,
}

/// Requirements for the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// None: safe against eavesdroppers, not against a man in the middle.
    Any,
    /// A trusted authority signed it.
    Signed,
    /// A trusted authority signed it, and it names this host.
    Named,
}

/// The URL without the parameters that only libpq understands, and their meaning.
///
/// # Errors
/// The `sslmode` is unknown.
pub(super) fn of_url(url: &str) -> Result<(String, Tls)> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut word, mut roots) = (String::from("prefer"), None);
    let mut rest = form_urlencoded::Serializer::new(String::new());
    for (key, value) in form_urlencoded::parse(query.as_bytes()) {
        match key.as_ref() {
            "sslmode" => word = value.into_owned(),
            "sslrootcert" => roots = Some(value.into_owned()),
            _ => drop(rest.append_pair(&key, &value)),
        }
    }
    // Like libpq, `require` with a root certificate checks the certificate, too.
    let required = if roots.is_some() { Trust::Signed } else { Trust::Any };
    let (mode, trust) = match word.as_str() {
        "disable" => (SslMode::Disable, Trust::Any),
        "prefer" => (SslMode::Prefer, Trust::Any),
        "require" => (SslMode::Require, required),
        "verify-ca" => (SslMode::Require, Trust::Signed),
        "verify-full" => (SslMode::Require, Trust::Named),
        _ => {
            let why =
                format!("sslmode={word} is not one of disable, prefer, require, verify-ca and verify-full");
            return Err(StoreError::Unopened { store: Location::from(url), why });
        }
    };
    let rest = rest.finish();
    // A space is %20 in such URLs: a plus stands for itself.
    let rest = if rest.is_empty() { String::new() } else { format!("?{}", rest.replace('+', "%20")) };
    let roots = roots.filter(|roots| roots != "system").map(PathBuf::from);
    Ok((format!("{base}{rest}"), Tls { mode, trust, roots }))
}

impl Tls {
    /// The connector for encrypted connections.
    ///
    /// # Errors
    /// The file of root certificates cannot be read, or holds none.
    pub(super) fn connector(&self, store: &Location) -> Result<MakeRustlsConnect> {
        let unopened = |why: String| StoreError::Unopened { store: store.clone(), why };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let inner = match self.trust {
            Trust::Any => None,
            Trust::Signed | Trust::Named => {
                let roots = Arc::new(self.authorities().map_err(unopened)?);
                let built = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
                Some(built.map_err(|error| unopened(error.to_string()))?)
            }
        };
        let verifier = Arc::new(Verifier { trust: self.trust, inner, provider: provider.clone() });
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unopened(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }

    fn authorities(&self) -> std::result::Result<RootCertStore, String> {
        let mut store = RootCertStore::empty();
        let Some(file) = &self.roots else {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            return Ok(store);
        };
        let named = |why: String| format!("sslrootcert {}: {why}", file.display());
        let read = CertificateDer::pem_file_iter(file).map_err(|error| named(error.to_string()))?;
        for certificate in read {
            let certificate = certificate.map_err(|error| named(error.to_string()))?;
            store.add(certificate).map_err(|error| named(error.to_string()))?;
        }
        if store.is_empty() { Err(named("it holds no certificate".into())) } else { Ok(store) }
    }
}

/// Checks certificates as far as required. The server must prove possession of the certificate's key in any case.
#[derive(Debug)]
struct Verifier {
    trust: Trust,
    /// Absent: every certificate is accepted.
    inner: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // The name is checked last: all else was right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.trust == Trust::Signed => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libpq_calls_it_is_taken_out_of_the_url() {
        let tls_of = |query: &str| of_url(&format!("postgres://a@b/c{query}")).unwrap();
        let (url, tls) = tls_of("");
        assert_eq!((url.as_str(), tls.mode, tls.trust), ("postgres://a@b/c", SslMode::Prefer, Trust::Any));
        let (url, tls) = tls_of("?sslmode=verify-full&options=-c%20x%3D1&sslrootcert=/a%20b.pem");
        assert_eq!(url, "postgres://a@b/c?options=-c%20x%3D1");
        assert_eq!(
            (tls.mode, tls.trust, tls.roots),
            (SslMode::Require, Trust::Named, Some("/a b.pem".into()))
        );
        assert_eq!(tls_of("?sslmode=require").1.trust, Trust::Any);
        assert_eq!(tls_of("?sslmode=require&sslrootcert=x").1.trust, Trust::Signed);
        assert_eq!(tls_of("?sslmode=verify-ca&sslrootcert=system").1.roots, None);
        assert!(of_url("postgres://a@b/c?sslmode=maybe").unwrap_err().to_string().contains("verify-full"));
    }
}
