//! How an agent or a coordinator stands, where Prometheus may read it: the latest text that its loop made.

use super::notes::Notes;
use engine::error::Result;
use engine::host::interrupt::Interrupt;
use engine::server::{Confined, Page, PageServer};
use engine::work::observer::Observer;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// A page of metrics whose socket is open.
pub(super) struct Exporter {
    server: PageServer,
    shown: Shown,
}

/// The text that is read next.
#[derive(Clone, Default)]
pub(super) struct Shown(Arc<Mutex<String>>);

impl Shown {
    pub(super) fn set(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Exporter {
    /// Opens its socket.
    ///
    /// # Errors
    /// The address is taken or may not be used.
    pub(super) fn bind(address: SocketAddr) -> Result<Exporter> {
        let shown = Shown::default();
        let read = shown.clone();
        let page = Page { address, path: "/metrics", text: Arc::new(move || read.text()) };
        Ok(Exporter { server: PageServer::bind(page)?, shown })
    }

    /// Answers in a thread of its own until it is stopped. `log`: what is printed of it.
    ///
    /// # Errors
    /// No thread can be had.
    pub(super) fn serve(self, rights: Confined, stop: &Interrupt, log: fn(&str)) -> Result<Shown> {
        log(&format!("metrics at http://{}/metrics", self.server.address()?));
        let (stop, server) = (stop.clone(), self.server);
        let serving = move || {
            let observer = Arc::new(Notes(log)) as Arc<dyn Observer>;
            if let Err(error) = server.serve(rights, &stop, &observer) {
                log(&format!("error: show metrics: {error:#}"));
            }
        };
        std::thread::Builder::new().name("metrics".into()).spawn(serving)?;
        Ok(self.shown)
    }
}
