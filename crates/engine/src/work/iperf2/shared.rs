//! State that the connections and flows of one server share.

use super::Config;
use super::source::Gathering;
use crate::error::{Result, refused};
use crate::host::interrupt::Interrupt;
use crate::session::budget::{Budget, Full, Held, client_of};
use crate::session::listener::Quota;
use crate::session::notes::Notes;
use linux::clock::mono_now;
use model::plan::Transport;
use std::net::IpAddr;
use std::sync::Arc;

/// A server at work.
pub(super) struct Server {
    pub(super) config: Config,
    pub(super) interrupt: Interrupt,
    /// Budgets of TCP connections, and of UDP flows. The source address of a UDP flow can be forged: the flows share no budget
    /// with the connections.
    pub(super) connections: Arc<Budget>,
    pub(super) flows: Arc<Budget>,
    /// Clients whose flows are still coming.
    pub(super) clients: Arc<Gathering>,
    pub(super) tcp_tests: Arc<Budget>,
    pub(super) udp_tests: Arc<Budget>,
    pub(super) notes: Arc<Notes>,
    /// Sessions that may still begin.
    pub(super) quota: Quota,
}

/// One of the tests that may run at the same time; given back on drop.
pub(super) struct TestPlace<'a> {
    server: &'a Server,
    pub(super) held: Held,
}

impl TestPlace<'_> {
    /// Those of UDP are counted by themselves, since their clients may not be there.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn take(server: &Server, source: IpAddr, transport: Transport) -> Result<TestPlace<'_>> {
        let tests = if transport == Transport::Udp { &server.udp_tests } else { &server.tcp_tests };
        let held = tests.admit(source, client_of(source, false), mono_now()).map_err(|full| match full {
            Full::Total => refused("turned away: as many tests run as this server allows (--max-tests)"),
            Full::Source => refused("turned away: one address may have a quarter of the tests (--max-tests)"),
        })?;
        Ok(TestPlace { server, held })
    }
}

impl Drop for TestPlace<'_> {
    fn drop(&mut self) {
        self.server.quota.less();
    }
}
