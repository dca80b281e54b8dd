//! Whom HTTPS trusts.

use super::wire::Hello;
use crate::error::{Context, Failure, Result};
use crate::session::tls::{ByCertificate, provider};
use model::transfer::Trust;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::kx_group::X25519MLKEM768;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, NamedGroup, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// The client's side of TLS. `needed`: a URL asks for HTTPS from the start, so that a system without authorities is an
/// error; else only a redirect could lead there.
pub(super) fn config(trust: &Trust, needed: bool) -> Result<Hello> {
    let roots = match trust {
        Trust::System => Some(of_system(needed)?),
        Trust::File(path) => Some(of_file(Path::new(path))?),
        Trust::Everybody => None,
    };
    let classical = provider();
    let large = client(large_hello(&classical).into(), roots.clone(), &[HTTP, &PADDING])?;
    Ok(Hello::new([large, client(classical, roots, &[HTTP])?]))
}

/// `roots`: the authorities that are trusted; `None`: everybody is.
fn client(
    provider: Arc<CryptoProvider>,
    roots: Option<RootCertStore>,
    protocols: &[&[u8]],
) -> Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = match roots {
        Some(roots) => builder.with_root_certificates(roots).with_no_client_auth(),
        None => {
            builder.dangerous().with_custom_certificate_verifier(ByCertificate::any()).with_no_client_auth()
        }
    };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    // A connection must not be quicker because one came before it.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// With a post-quantum key of 1,216 bytes in the Client Hello, as browsers send it, beside the classical one.
fn large_hello(provider: &CryptoProvider) -> CryptoProvider {
    let mut large = provider.clone();
    large.kx_groups.retain(|group| group.name() != NamedGroup::X25519MLKEM768);
    large.kx_groups.insert(0, X25519MLKEM768);
    large
}

/// The protocol within TLS (RFC 9110).
const HTTP: &[u8] = b"http/1.1";
/// A protocol that no server has, so that the Client Hello is as large as those of browsers: some 1,700 bytes (RFC 8701 does so, too).
const PADDING: [u8; 220] = [b'-'; 220];

fn of_system(needed: bool) -> Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() && needed {
        let why = found.errors.first().map(|e| format!(": {e}")).unwrap_or_default();
        return Err(Failure::usage(
            format!("this system has no certificate authorities{why}"),
            "install them (`apt-get install ca-certificates`), or name a file of them with --cacert FILE",
        )
        .into());
    }
    Ok(roots)
}

fn of_file(path: &Path) -> Result<RootCertStore> {
    let pem = std::fs::read(path).with_context(|| format!("read the certificates in {}", path.display()))?;
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_slice_iter(&pem).flatten();
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() {
        return Err(Failure::usage(
            format!("{} has no certificate", path.display()),
            "--cacert takes a PEM file: lines between BEGIN CERTIFICATE and END CERTIFICATE",
        )
        .into());
    }
    Ok(roots)
}
