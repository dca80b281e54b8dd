//! Converts a checked command line to the engine's plan, the protocol's parameters and the options of the output.

use super::CommandLine;
use super::auth::{AuthError, Credentials, Gate, Padding};
use crate::iperf3::output::{Iperf3File, Iperf3Options, Iperf3Role, VERSION};
use engine::error::Failure;
use engine::host::address::{Family, lookup};
use model::plan::{LocalOptions, Plan, ProtocolName, Target};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use wire::Policy;
use wire::iperf3::Extras;

impl CommandLine {
    /// The plan of a client.
    ///
    /// # Errors
    /// When the host or the address to bind to does not resolve.
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let host = self.client.host.clone().unwrap_or_default();
        let bind = self.bind_address()?;
        let family = Family::chosen(self.both.ipv4, self.both.ipv6, bind);
        let address = lookup(&host, self.both.port, family)?;
        let title = self.client.extras.title.clone();
        let local = LocalOptions { bind, title, ..self.both.local.clone() };
        let target = Target { host, address };
        Ok(Plan { target, protocol: ProtocolName::Iperf3, test: self.client.test.clone(), local })
    }

    /// A client's parameters beside the test.
    pub(crate) fn extras(&self, auth_token: Option<String>) -> Extras {
        let client_version = VERSION.strip_prefix("iperf ").map(str::to_owned);
        Extras { auth_token, client_version, ..self.client.extras.clone() }
    }

    /// The options that change the output's text and JSON.
    pub(crate) fn output_options(&self) -> Iperf3Options {
        let role = if self.client.host.is_some() { Iperf3Role::Client } else { Iperf3Role::Server };
        let file = |path: &Path| Iperf3File { name: path.display().to_string(), size: file_size(path) };
        Iperf3Options {
            role,
            title: self.client.extras.title.clone(),
            extra_data: self.client.extras.extra_data.clone(),
            verbose: self.both.verbose,
            unit: self.both.unit,
            default_length: self.client.test.length.is_none(),
            file: self.both.local.file.as_deref().map(file),
            ..Iperf3Options::default()
        }
    }

    /// The token a client shows, encrypted for the server; `None` when no user was named.
    ///
    /// # Errors
    /// When the key cannot be read or is too small for name and password.
    pub(crate) fn auth_token(&self, password: &str, unix_seconds: i64) -> Result<Option<String>, AuthError> {
        let (Some(username), Some(key)) = (&self.client.username, &self.client.public_key) else {
            return Ok(None);
        };
        let credentials = Credentials { username: username.clone(), password: password.to_owned() };
        credentials.token(key, Padding::for_pkcs1(self.client.pkcs1), unix_seconds).map(Some)
    }

    /// The address a server listens on: of one family after `-4`, else of both.
    ///
    /// # Errors
    /// When the address to bind to does not resolve.
    pub(crate) fn listen_address(&self) -> Result<SocketAddr, Failure> {
        let any = if self.both.ipv4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        Ok(SocketAddr::new(self.bind_address()?.unwrap_or(any), self.both.port))
    }

    /// The limits of a server.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            max_time: self.server.max_duration,
            max_rate: self.server.bitrate_limit.map(|(rate, _)| rate),
            ..Policy::default()
        }
    }

    /// The users that a server admits; `None` for everyone.
    ///
    /// # Errors
    /// The key or the users' file cannot be read.
    pub(crate) fn gate(&self) -> Result<Option<Gate>, AuthError> {
        match (&self.server.private_key, &self.server.users) {
            (Some(key), Some(users)) => {
                Gate::open(key, users, self.server.skew, Padding::for_pkcs1(self.server.pkcs1)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The local address of `-B`, a name or an address.
    fn bind_address(&self) -> Result<Option<IpAddr>, Failure> {
        let Some(bind) = &self.both.bind else { return Ok(None) };
        let family = Family::chosen(self.both.ipv4, self.both.ipv6, None);
        lookup(bind, self.both.port, family).map(|address| Some(address.ip()))
    }
}

/// Bytes of a file; `None`: it is not there, or has no size of its own.
pub(super) fn file_size(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len())
}
