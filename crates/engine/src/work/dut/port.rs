//! A port of the tester: an interface of this host or of another one, out of which frames are sent and on which they are
//! counted.

use crate::error::Result;
use frames::{Arrived, Burst, FrameSpec, Sent, Watch};
use model::dut::{PortFacts, SinkKind, SourceKind};
use model::time::MonoTime;
use std::net::{IpAddr, Ipv6Addr};

/// A port of the tester.
pub(crate) trait Port: Send {
    /// Facts of the port.
    fn facts(&self) -> PortFacts;

    /// Its Ethernet address.
    fn mac(&self) -> [u8; 6];

    /// Its addresses, IPv4 and IPv6, none that are link-local.
    fn addresses(&self) -> Vec<IpAddr>;

    /// The Ethernet address to which it sends what is for this IP address: of the next hop, or of the far port where nothing
    /// routes between.
    ///
    /// # Errors
    /// `Kind::Unreachable` with the reason: no route, no neighbour answers.
    fn next_hop(&mut self, to: IpAddr) -> Result<[u8; 6]>;

    /// Its sources, the fastest first: not tried yet.
    fn sources(&self) -> Vec<SourceKind>;

    /// Its sinks, the fastest first: not tried yet.
    fn sinks(&self) -> Vec<SinkKind>;

    /// Begins to count the frames of `spec` with numbers below `frames`, and forgets what it counted before.
    ///
    /// # Errors
    /// The kernel refuses this kind here.
    fn count(&mut self, kind: SinkKind, spec: &FrameSpec, frames: u64, watch: Watch) -> Result<()>;

    /// How many frames have come so far, each counted once; absent where asking for it would disturb or nothing is counted.
    fn arrived(&self) -> Option<u64> {
        None
    }

    /// Ends the counting and returns the count. To be called when frames in flight have had time to arrive.
    ///
    /// # Errors
    /// Nothing is being counted; the count is not to be trusted.
    fn counted(&mut self) -> Result<Counted>;

    /// Begins to send; returns at once.
    ///
    /// # Errors
    /// The kernel refuses this kind here; something is being sent already.
    fn send(&mut self, kind: SourceKind, spec: &FrameSpec, burst: &Burst) -> Result<()>;

    /// Waits until all is sent.
    ///
    /// # Errors
    /// Nothing is being sent; the sending failed.
    fn sent(&mut self) -> Result<Sent>;

    /// Whether its clock is that of this process, so that delays between two such ports are true.
    fn is_here(&self) -> bool;
}

/// The frames of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    /// The frames as they are sent.
    pub(crate) sent: FrameSpec,
    /// The header of the tunnel that the device puts them into, or leaves them in; absent: they come without.
    pub(crate) arrives_in: Option<(Ipv6Addr, Ipv6Addr)>,
}

impl Traffic {
    /// The frames as they arrive.
    pub(crate) fn arriving(&self) -> FrameSpec {
        FrameSpec { outer: self.arrives_in, ..self.sent.clone() }
    }
}

/// The frames that arrived at a port.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// All of it.
    pub(crate) arrived: Arrived,
    /// The highest expected number that did not arrive.
    pub(crate) last_missing: Option<u64>,
    /// When the counting ended, this host's clock.
    pub(crate) at: MonoTime,
}
