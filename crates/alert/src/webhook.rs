//! A webhook: each alert as a POST of JSON.

use crate::Alert;
use crate::undelivered::Undelivered;
use rustls::crypto::aws_lc_rs;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// An address that takes alerts by HTTP.
#[derive(Clone, Debug)]
pub struct Webhook {
    url: String,
}

impl Webhook {
    /// The address, `http://` or `https://`.
    ///
    /// # Errors
    /// The text is not such an address.
    pub fn at(url: &str) -> Result<Webhook, String> {
        let uri: ureq::http::Uri = url.parse().map_err(|error| format!("{url}: {error}"))?;
        match (uri.scheme_str(), uri.host()) {
            (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(Webhook { url: url.to_owned() }),
            _ => Err(format!("{url}: not an address of HTTP, such as https://hooks.example/path")),
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The address without user, password, path and query, any of which may hold a secret.
    pub(crate) fn shown(&self) -> String {
        let uri = self.url.parse::<ureq::http::Uri>().unwrap_or_default();
        format!("{}://{}", uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default())
    }

    pub(crate) fn deliver(&self, alert: &Alert, limit: Duration) -> Result<(), Undelivered> {
        let body = serde_json::to_vec(alert).map_err(|error| Undelivered::for_good(error.to_string()))?;
        let sent = agent(limit).post(&self.url).header("Content-Type", "application/json").send(&body);
        match sent {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) => {
                let why = format!("it answered {}", response.status());
                let may_change =
                    response.status().is_server_error() || [408, 429].contains(&response.status().as_u16());
                Err(if may_change { Undelivered::for_now(why) } else { Undelivered::for_good(why) })
            }
            Err(error) => Err(Undelivered::for_now(error.to_string())),
        }
    }
}

/// Certificates are checked against the system's authorities.
fn agent(limit: Duration) -> Agent {
    let certificates = rustls_native_certs::load_native_certs().certs;
    let certificates: Vec<Certificate<'static>> =
        certificates.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&certificates))
        .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
        .build();
    let config = Agent::config_builder()
        .timeout_global(Some(limit))
        .http_status_as_error(false)
        .max_redirects(0)
        .tls_config(tls)
        .user_agent("pathmeter")
        .build();
    config.into()
}
