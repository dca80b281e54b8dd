//! State that all requests share.

use crate::backend::Backend;
use crate::live::Live;
use crate::login::Logins;
use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// State that all requests share.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) backend: Arc<Backend>,
    pub(crate) live: Arc<Live>,
    pub(crate) logins: Arc<Logins>,
    pub(crate) names: Arc<[String]>,
    /// The proxies whose `X-Forwarded-For` is believed.
    pub(crate) proxies: Arc<[IpAddr]>,
    pub(crate) limits: Limits,
    /// The server listens on the loopback alone.
    pub(crate) loopback: bool,
    /// The server speaks TLS.
    pub(crate) encrypts: bool,
    /// The name of the cookie with the session: that of no other server, as browsers have one jar for all ports of a host.
    pub(crate) cookie: Arc<str>,
}

impl App {
    /// The name of the session in the cookies.
    pub(crate) fn session_of<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies
            .flat_map(|value| value.split(';'))
            .find_map(|cookie| cookie.trim().strip_prefix(&*self.cookie)?.strip_prefix('='))
    }
}

/// Bounds of connections and requests.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once: a quarter for one source, and with a token a quarter for those who are logged in.
    pub connections: usize,
    /// From the begin of a connection, or the last request on it, to the end of the next request's head.
    pub head: Duration,
    /// For the body of a request.
    pub body: Duration,
    /// Until an answer begins.
    pub answer: Duration,
    /// For a client that takes nothing of what is sent.
    pub stalled: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let seconds = Duration::from_secs;
        Limits {
            connections: 128,
            head: seconds(15),
            body: seconds(10),
            answer: seconds(30),
            stalled: seconds(30),
        }
    }
}
