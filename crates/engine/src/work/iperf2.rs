//! iPerf2's tests: what drives the machines of [`wire::iperf2`].
//!
//! Each connection and each UDP flow is a test by itself on the wire. Those of one client (`-P`, `-d`) are one session
//! here: their figures are one set of events, as those of any other protocol. With [`Back::Tradeoff`] the return path is
//! a session of its own, with events of its own, from `Event::Connected` to `Event::Finished`.

mod active_flow;
mod back;
mod bounce;
mod client;
mod details;
mod opening;
mod server;
mod shared;
mod source;
mod steps;
mod udp_listener;
mod worker;

use crate::error::Result;
use crate::work::echo::server::wall_clock as clock;
use crate::work::observer::Observer;
use crate::work::throughput::threads::UNLIMITED;
pub use crate::work::throughput::timed::Timing;
pub use client::client;
use linux::socket::{UdpOptions, udp_bind};
use model::plan::{LocalOptions, TestSpec};
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};
pub(crate) use server::open;
pub use server::serve;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use wire::iperf2::Shape;
use wire::{FlowHello, FlowPlan, Policy};

/// Requests of a client beside the test.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// How [`Directions::Both`](model::plan::Directions::Both) is done.
    pub back: Back,
    /// The port at which this end waits for the server (`-L`); absent: the server's own.
    pub back_port: Option<u16>,
    /// One-way delays between the two wall clocks (`--trip-times`).
    pub trip_times: bool,
    /// Frames (`--isochronous`) or bursts (`--burst-period`).
    pub shape: Shape,
    /// Sending begins at this time of day (`--txstart-time`).
    pub starts: Option<WallTime>,
    /// Datagrams or writes a second of each stream (`-b 1000pps`); beside it no bit rate is used.
    pub packet_rate: Option<u64>,
    /// UDP: no FIN is answered (`--no-udp-fin`).
    pub no_fin: bool,
    /// TCP: the server's acknowledgement is requested whatever the test (`-X`).
    pub peer_detect: bool,
    /// No header: for servers older than 2.0.10 and those that reject it (`-C`).
    pub compatible: bool,
    /// The server's key (`--permit-key`), 4 characters or more.
    pub key: Option<Vec<u8>>,
    /// A number in the server's report (`--sync-transfer-id`).
    pub(crate) transfer_id: Option<u16>,
    /// TCP: no more than this lies unsent in the kernel (`--tcp-write-prefetch`).
    pub unsent_limit: Option<Bytes>,
    /// Timed quantities beside those of every test.
    pub timing: Timing,
    /// The kernel's pacing rate grows by this rate in every such time (`--fq-rate-step`).
    pub rate_step: Option<(BitRate, Nanos)>,
    /// Hops that datagrams to a multicast group go (`-T`); absent: one, they stay on the link.
    pub multicast_hops: Option<u8>,
    /// Times a connection that fails is tried again (`--connect-retries`).
    pub connect_retries: u32,
    /// A connection is tried again for this time, however often (`--connect-retry-time`).
    pub retry_time: Nanos,
    /// Time between two tries (`--connect-retry-timer`); absent: a second.
    pub retry_pause: Option<Nanos>,
    /// TCP: connections are opened and closed, nothing is sent (`--connect-only`): only
    /// [`Fact::Connect`](crate::work::observer::Fact::Connect) is reported.
    pub connect_only: bool,
}

/// How both directions are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Back {
    /// Both at once on the client's connection (`--full-duplex`).
    #[default]
    FullDuplex,
    /// Both at once, the return path on a connection that the server opens (`-d`).
    Dual,
    /// One after the other, the return path on a connection that the server opens (`-r`).
    Tradeoff,
}

/// Settings of a server.
pub struct Config {
    /// TCP sockets; empty: none (`-s -u`).
    pub tcp: Vec<TcpListener>,
    /// UDP sockets; empty: none.
    pub udp: Vec<UdpSocket>,
    /// The tests that clients may request.
    pub policy: Policy,
    /// Tests at the same time, over TCP and over UDP each.
    pub max_tests: u32,
    /// Data is sent over UDP to every client that requests it. Nothing in the protocol proves that a request came from the
    /// address in it: without this only addresses of this host, and those that have a TCP connection to it, are sent data.
    pub unverified: bool,
    /// Longest wait for what a connection begins with, up to ten seconds (`--test-exchange-timeout`).
    pub timeout: Option<Nanos>,
    /// End after this many sessions that ran (`-P` of a server, `-1`).
    pub tests: Option<u32>,
    /// End after this time (`-t` of a server).
    pub time: Option<Nanos>,
    /// Clients must know it (`--permit-key`).
    pub key: Option<Vec<u8>>,
    /// Report interval of this end, and its other choices.
    pub local: LocalOptions,
    /// Timed quantities of received data, beside those of every test.
    pub timing: Timing,
    /// Watches sessions.
    pub observer: Arc<dyn Observer>,
}

/// A UDP socket for [`Config::udp`], on every address when none is given.
///
/// # Errors
/// The port is taken, or the address is not this host's.
pub fn listen_udp(bind: Option<IpAddr>, port: u16) -> Result<UdpSocket> {
    let address = SocketAddr::new(bind.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), port);
    // A port that is shared can be taken twice: whether another program has it shows only without sharing.
    drop(udp_bind(address, &UdpOptions::default())?);
    Ok(udp_bind(address, &UdpOptions { reuse_address: true, ..UdpOptions::default() })?)
}

/// The plan of flows that no dialogue precedes: each begins with its own data.
fn flow_plan(test: &TestSpec) -> FlowPlan {
    FlowPlan { test: test.clone(), hello: FlowHello::Iperf2, senders_wait_for_stop: true }
}
