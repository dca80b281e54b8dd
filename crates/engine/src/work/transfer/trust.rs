//! Whom HTTPS trusts.

use crate::error::{Context, Failure, Result};
use crate::session::tls::{ByCertificate, provider};
use model::transfer::Trust;
use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// The client's side of TLS. `needed`: a URL asks for HTTPS from the start, so that a system without authorities is an
/// error; else only a redirect could lead there.
pub(super) fn config(trust: &Trust, needed: bool) -> Result<Arc<ClientConfig>> {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
    let mut config = match trust {
        Trust::System => builder.with_root_certificates(of_system(needed)?).with_no_client_auth(),
        Trust::File(path) => builder.with_root_certificates(of_file(Path::new(path))?).with_no_client_auth(),
        Trust::Everybody => {
            builder.dangerous().with_custom_certificate_verifier(ByCertificate::any()).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A connection must not be quicker because one came before it.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

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
