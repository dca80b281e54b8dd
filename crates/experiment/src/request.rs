//! A request of the engine, given its path.

use engine::error::{Failure, Kind, sentence};
use engine::host::host_port::HostPort;
use engine::request::{FarEnd, Host, Origin, Request, resolve};
use model::hops::HopProtocol;
use model::latency::WaitMode;
use model::units::BitRate;
use std::net::{IpAddr, Ipv4Addr};

/// Where a request goes, and how.
pub(crate) struct Toward<'a> {
    /// Name of the path in results.
    pub(crate) name: &'a str,
    /// The far end.
    pub(crate) to: &'a HostPort,
    /// Address family, local address, interface and connection timeout.
    pub(crate) origin: &'a Origin,
    /// Speed of the link, where that is given.
    pub(crate) link: Option<BitRate>,
}

impl Toward<'_> {
    /// The request toward this far end.
    pub(crate) fn fill(&self, mut request: Request) -> Request {
        let far = |port: Option<u16>| FarEnd { host: self.to.clone(), port, origin: self.origin.clone() };
        match &mut request {
            Request::Throughput(asked) => (asked.far, asked.link) = (far(asked.far.port), self.link),
            Request::Measure(asked) => (asked.far, asked.link) = (far(asked.far.port), self.link),
            Request::Frames(asked) => (asked.far, asked.link) = (far(asked.far.port), self.link),
            Request::Path(asked) => (asked.far, asked.link) = (far(asked.far.port), self.link),
            Request::Hops(asked) => {
                asked.far = far(asked.far.port);
                // The path's port is that of a pathmeter: it takes the probes, where a closed port answers.
                if let (HopProtocol::Udp, Some(port)) = (asked.protocol, self.to.port) {
                    asked.far.host.port = None;
                    asked.back_port = Some(port);
                }
            }
            Request::Latency(asked) => {
                asked.hosts = vec![self.to.clone()];
                asked.origin = self.origin.clone();
                asked.labels = vec![self.name.to_owned()];
            }
            Request::Transfer(asked) => {
                asked.urls.iter_mut().for_each(|url| *url = url.replace(HOST, &in_url(self.to)));
                asked.origin = self.origin.clone();
                asked.labels = vec![self.name.to_owned()];
            }
            _ => {}
        }
        request
    }
}

/// The reason why the engine would refuse it on any path. The check uses this host as the far end, and sends nothing.
pub(crate) fn refused(request: &Request) -> Option<Failure> {
    let (here, origin) = (HostPort { host: "this-host.example".into(), port: None }, Origin::default());
    let mut request = Toward { name: "any", to: &here, origin: &origin, link: None }.fill(request.clone());
    // Which interface an MTU is set on is known on the path alone.
    if let Request::Transfer(asked) = &mut request {
        asked.mtus.clear();
        asked.urls.iter_mut().for_each(|url| *url = url.replace(&here.host, "127.0.0.1"));
    }
    let host = Host::here()
        .with_addresses(&here.host, &[IpAddr::V4(Ipv4Addr::LOCALHOST)])
        .with_path_mtu(LARGEST)
        .with_wait(WaitMode::Block, "nothing is sent");
    let error = resolve(&request, &host).err().filter(|error| error.kind() == Kind::Usage)?;
    let advice = error.advice().map(str::to_owned);
    Some(Failure { kind: Kind::Usage, message: sentence(&error), advice })
}

/// The host in the form of a URL: an IPv6 address in brackets.
fn in_url(host: &HostPort) -> String {
    match host.host.parse::<std::net::Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host.host.clone(),
    }
}

/// Placeholder for the far end of the path.
const HOST: &str = "{host}";
const LARGEST: u32 = 65_535;
