//! TLS as SockPerf speaks it on its data connections: one suite that both ends were given, and a certificate made at the
//! server's start, whose owner is not checked.

use crate::error::{Failure, Result, fault};
use crate::session::tls::{self, Identity};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig, ServerConnection,
    SignatureScheme, SupportedCipherSuite, SupportedProtocolVersion,
};
use std::sync::Arc;

/// A suite of OpenSSL's names that this program can speak.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    suite: SupportedCipherSuite,
    version: &'static SupportedProtocolVersion,
    /// The server's key is an RSA key.
    rsa: bool,
}

/// The settings of a client's or server's connections.
#[derive(Clone, Debug)]
pub struct ForeignTls(Side);

#[derive(Clone, Debug)]
enum Side {
    Client(Arc<ClientConfig>),
    Server(Arc<ServerConfig>),
}

impl Suite {
    /// The suite of this name.
    ///
    /// # Errors
    /// SockPerf has no such suite, or this program lacks its key exchange.
    pub fn named(name: &str) -> Result<Suite> {
        use rustls::crypto::aws_lc_rs::cipher_suite as suites;
        let (modern, old) = (&rustls::version::TLS13, &rustls::version::TLS12);
        let (suite, version, rsa) = match name {
            "TLS_AES_128_GCM_SHA256" => (suites::TLS13_AES_128_GCM_SHA256, modern, false),
            "TLS_AES_256_GCM_SHA384" => (suites::TLS13_AES_256_GCM_SHA384, modern, false),
            "ECDHE-ECDSA-AES128-GCM-SHA256" => (suites::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, old, false),
            "ECDHE-ECDSA-AES256-GCM-SHA384" => (suites::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, old, false),
            "ECDHE-RSA-AES128-GCM-SHA256" => (suites::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, old, true),
            "ECDHE-RSA-AES256-GCM-SHA384" => (suites::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, old, true),
            other => {
                let keys = if other.starts_with("DHE-") { "finite-field Diffie-Hellman" } else { "RSA" };
                let what = if OTHERS.contains(&other) {
                    format!("{other} exchanges keys by {keys}, which rustls does not implement")
                } else {
                    format!("{other} is not a suite of SockPerf's")
                };
                return Err(Failure::usage(what, ADVICE).into());
            }
        };
        Ok(Suite { suite, version, rsa })
    }

    fn provider(self) -> Arc<CryptoProvider> {
        let all = CryptoProvider::clone(&tls::provider());
        Arc::new(CryptoProvider { cipher_suites: vec![self.suite], ..all })
    }
}

impl ForeignTls {
    /// For a client: every server is believed.
    ///
    /// # Errors
    /// The library refuses the suite.
    pub fn client(suite: Suite) -> Result<ForeignTls> {
        let provider = suite.provider();
        let algorithms = provider.signature_verification_algorithms;
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[suite.version])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyServer(algorithms)))
            .with_no_client_auth();
        Ok(ForeignTls(Side::Client(Arc::new(config))))
    }

    /// For a server: with a certificate that is made now.
    ///
    /// # Errors
    /// The suite needs an RSA key, which this program does not make.
    pub fn server(suite: Suite) -> Result<ForeignTls> {
        if suite.rsa {
            let what = "a server has an ECDSA key, and this suite needs one of RSA";
            return Err(Failure::usage(what, ADVICE).into());
        }
        let Identity { key, certificate, .. } = Identity::make(NAME)?;
        let config = ServerConfig::builder_with_provider(suite.provider())
            .with_protocol_versions(&[suite.version])?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        Ok(ForeignTls(Side::Server(Arc::new(config))))
    }

    /// Begins one connection.
    pub(crate) fn connection(&self) -> Result<rustls::Connection> {
        match &self.0 {
            Side::Client(config) => {
                let name = ServerName::try_from(NAME).map_err(|error| fault(format!("a name: {error}")))?;
                Ok(ClientConnection::new(config.clone(), name)?.into())
            }
            Side::Server(config) => Ok(ServerConnection::new(config.clone())?.into()),
        }
    }
}

/// Believes every server that holds the key of its certificate, of whatever version that is: SockPerf's are of X.509
/// version 1.
#[derive(Debug)]
struct AnyServer(WebPkiSupportedAlgorithms);

impl AnyServer {
    fn verify(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let broken = || Error::General("the server's certificate cannot be read".into());
        let key = public_key(certificate).ok_or_else(broken)?;
        let schemes = self.0.mapping.iter().find(|(scheme, _)| *scheme == signed.scheme);
        let algorithms = schemes.map_or(&[][..], |(_, algorithms)| algorithms);
        let is_valid = algorithms
            .iter()
            .any(|algorithm| algorithm.verify_signature(key, message, signed.signature()).is_ok());
        if is_valid {
            return Ok(HandshakeSignatureValid::assertion());
        }
        Err(Error::General("the server does not hold the key of its certificate".into()))
    }
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// The bits of the public key in a certificate (RFC 5280 section 4.1), with an explicit version or without.
fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    let (_, whole, _) = element(certificate)?;
    let (_, mut fields, _) = element(whole)?;
    if fields.first() == Some(&EXPLICIT_VERSION) {
        fields = element(fields)?.2;
    }
    // Serial number, signature algorithm, issuer, validity, subject.
    for _ in 0..5 {
        fields = element(fields)?.2;
    }
    let (_, key_info, _) = element(fields)?;
    let (_, _, rest) = element(key_info)?;
    let (tag, bits, _) = element(rest)?;
    // No bits are unused in any of these keys.
    bits.strip_prefix(&[0]).filter(|_| tag == BIT_STRING)
}

/// Tag, content and what is behind the first element in DER form.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (content, behind) = rest.split_at_checked(length)?;
    Some((*tag, content, behind))
}

/// The suites that SockPerf takes beside those above; the first is its default.
const OTHERS: [&str; 4] =
    ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "DHE-RSA-AES128-GCM-SHA256", "DHE-RSA-AES256-GCM-SHA384"];
const ADVICE: &str = "give both ends --tls=TLS_AES_128_GCM_SHA256 (or another of TLS 1.3, or ECDHE-ECDSA-…)";
const NAME: &str = "localhost";
const EXPLICIT_VERSION: u8 = 0xa0;
const BIT_STRING: u8 = 0x03;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_known_or_refused_with_a_reason() {
        assert!(Suite::named("TLS_AES_256_GCM_SHA384").is_ok());
        for (name, why) in [
            ("AES128-GCM-SHA256", "keys by RSA"),
            ("DHE-RSA-AES256-GCM-SHA384", "finite-field"),
            ("NULL", "not a suite of SockPerf's"),
        ] {
            let error = Suite::named(name).expect_err("it is refused").to_string();
            assert!(error.contains(why), "{error}");
        }
        let rsa = Suite::named("ECDHE-RSA-AES128-GCM-SHA256").expect("a client has it");
        assert!(ForeignTls::client(rsa).is_ok() && ForeignTls::server(rsa).is_err());
    }

    #[test]
    fn the_key_of_a_certificate_is_found() {
        let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).expect("a certificate");
        let key = public_key(made.cert.der()).expect("a key");
        // A point of P-256, uncompressed.
        assert_eq!((key.len(), key[0]), (65, 4));
        assert_eq!(public_key(&made.cert.der()[..40]), None);
        assert_eq!(public_key(&[0x30, 0x84]), None);
    }
}
