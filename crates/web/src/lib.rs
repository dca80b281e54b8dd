//! The page: runs looked at, compared and started in a browser, over HTTP.
//!
//! The server knows documents ([`report`]) and the store, and no engine: a test is started through a closure that it is
//! given ([`Backend::start`]). It is the only crate with an async runtime, on a thread of its own.
//!
//! Its guarantees to the operator: without a token it listens on the loopback alone; a page of another site can neither read
//! nor start anything (names in `Host`, `Origin`, a token against cross-site requests); a client that is slow, sends too much
//! or never stops is disconnected; a client with many connections keeps no other client out.

mod again;
mod api;
mod app;
mod assets;
mod backend;
mod blocks;
mod compress;
mod error;
mod failed;
mod guard;
mod live;
mod login;
mod places;
mod secret;
mod server;
mod tls;

pub use app::Limits;
pub use backend::{Backend, BegunTest, Kind, Refused, Sink, Stop, TestRequest, Update, Upload, Uploaded};
pub use error::WebError;
pub use login::Tokens;
pub use server::{Config, Server, Stopper};
pub use tls::Tls;
