//! The HTTP endpoint beside our own protocol.

use super::{Log, listen};
use crate::cli::ServeArgs;
use engine::http_server::{HttpServer, Limits};
use engine::server::DEFAULT_TESTS;
use engine::server::Observer;
use std::sync::Arc;
use wire::Policy;

/// Starts it, when it was asked for.
pub(super) fn start(args: &ServeArgs, open: &Policy) -> anyhow::Result<Option<HttpServer>> {
    let Some(port) = args.http_port() else { return Ok(None) };
    let listener = listen(args.bind, port)?;
    Log.note(&format!("listening on {} (TCP), HTTP: GET /bytes/10M, PUT /", listener.local_addr()?));
    if args.token_file.is_some() {
        Log.note("the token does not protect the HTTP port: everyone may transfer there");
    }
    let transfers = args.max_tests.unwrap_or(DEFAULT_TESTS);
    let limits = Limits { rate: open.max_rate, time: open.max_time, transfers };
    HttpServer::start(listener, limits, Arc::new(|text| Log.note(text))).map(Some)
}
