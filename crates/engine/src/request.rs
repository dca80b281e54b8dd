//! A request, and the plan it makes: every default filled, every name resolved, and impossible requests refused before anything
//! is sent. Refusals name options as the command line does (`--mss 87 is out of range`).

mod check;
#[cfg(feature = "device")]
mod device;
mod far;
mod frames;
mod here;
mod hops;
mod latency;
mod measure;
mod path;
pub mod preflight;
mod throughput;
mod transfer;

pub use self::frames::Frames;
#[cfg(feature = "device")]
pub use device::{Device, GoalName, Search, Standard, Traffic};
pub use far::{FarEnd, Origin};
pub use here::Host;
pub use hops::Hops;
pub use latency::{Latency, LatencyLoad, LatencyWait, Via};
pub use measure::Measure;
pub use path::{Path, Service as UdpService};
pub use throughput::Throughput;
pub use transfer::{Body, BucketPlace, S3, Transfer};

pub use model::plan::ENDLESS;

use crate::error::Result;
use crate::run::Plan;

/// A requested measurement. Every option has a default.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub enum Request {
    /// How much a path carries, in one session or in several at once.
    Throughput(Box<Throughput>),
    /// The main job: round trips, packet sizes, TCP and UDP in each direction.
    Measure(Box<Measure>),
    /// How much it carries in frames of each size.
    Frames(Box<Frames>),
    /// How long it takes there and back.
    Latency(Box<Latency>),
    /// Which packet sizes cross.
    Path(Box<Path>),
    /// Which routers packets cross.
    Hops(Box<Hops>),
    /// How long files take.
    Transfer(Box<Transfer>),
    /// Tests of a device between two ports.
    #[cfg(feature = "device")]
    Device(Box<Device>),
}

impl Request {
    /// The main job, toward a host that runs `pathmeter serve`: a name or an address, with a port or without.
    pub fn measure(host: &str) -> Request {
        Request::Measure(Box::new(Measure::to(FarEnd::named(host))))
    }

    /// TCP to a host for ten seconds.
    pub fn throughput(host: &str) -> Request {
        Request::Throughput(Box::new(Throughput::to(FarEnd::named(host))))
    }

    /// UDP round trips to a host for five seconds.
    pub fn latency(host: &str) -> Request {
        Request::Latency(Box::new(Latency::to(FarEnd::named(host))))
    }

    /// Which packet sizes cross, in both directions where the host runs `pathmeter serve`.
    pub fn path(host: &str) -> Request {
        Request::Path(Box::new(Path::to(FarEnd::named(host))))
    }
}

/// Makes the plan of a request on this host. Nothing is sent but questions to the resolver.
///
/// # Errors
/// `Kind::Usage` for what excludes each other, exceeds what can be, or what this host refuses; `Kind::Unreachable` for a host
/// without a usable address.
pub fn resolve(request: &Request, host: &Host) -> Result<Plan> {
    match request {
        Request::Throughput(asked) => throughput::resolve(asked, host),
        Request::Measure(asked) => measure::resolve(asked, host),
        Request::Frames(asked) => frames::resolve(asked, host),
        Request::Latency(asked) => latency::resolve(asked, host),
        Request::Path(asked) => path::resolve(asked, host),
        Request::Hops(asked) => hops::resolve(asked, host),
        Request::Transfer(asked) => transfer::resolve(asked, host),
        #[cfg(feature = "device")]
        Request::Device(asked) => device::resolve(asked),
    }
}

#[cfg(test)]
mod tests;
