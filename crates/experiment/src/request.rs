//! A request of the engine, given its path.

use crate::plan::Path;
use engine::error::{Failure, Kind, sentence};
use engine::host::address::Family;
use engine::host::host_port::HostPort;
use engine::request::{FarEnd, Host, Origin, Request, resolve};
use model::latency::WaitMode;
use std::net::{IpAddr, Ipv4Addr};

/// The request toward the far end of a path.
pub(crate) fn toward(mut request: Request, path: &Path) -> Request {
    let far = |port: Option<u16>| FarEnd { host: path.to.clone(), port, origin: path.origin.clone() };
    match &mut request {
        Request::Throughput(asked) => (asked.far, asked.link) = (far(asked.far.port), path.link),
        Request::Measure(asked) => (asked.far, asked.link) = (far(asked.far.port), path.link),
        Request::Frames(asked) => (asked.far, asked.link) = (far(asked.far.port), path.link),
        Request::Path(asked) => (asked.far, asked.link) = (far(asked.far.port), path.link),
        Request::Hops(asked) => asked.far = far(asked.far.port),
        Request::Latency(asked) => {
            asked.hosts = vec![path.to.clone()];
            asked.origin = path.origin.clone();
            asked.labels = vec![path.name.clone()];
        }
        Request::Transfer(asked) => {
            asked.urls.iter_mut().for_each(|url| *url = url.replace(HOST, &in_url(&path.to)));
            asked.origin = path.origin.clone();
            asked.labels = vec![path.name.clone()];
        }
        _ => {}
    }
    request
}

/// Why the engine would refuse it on any path. It is asked with this host as the far end, and sends nothing.
pub(crate) fn refused(request: &Request) -> Option<Failure> {
    let here = HostPort { host: "this-host.example".into(), port: None };
    let path = Path {
        name: "any".into(),
        place: crate::plan::Place::Here,
        to: here.clone(),
        origin: Origin { family: Family::Any, ..Origin::default() },
        link: None,
        sites: None,
    };
    let mut request = toward(request.clone(), &path);
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

/// As a URL has it: an IPv6 address in brackets.
fn in_url(host: &HostPort) -> String {
    match host.host.parse::<std::net::Ipv6Addr>() {
        Ok(address) => format!("[{address}]"),
        Err(_) => host.host.clone(),
    }
}

/// What stands for the far end of the path.
pub(crate) const HOST: &str = "{host}";
const LARGEST: u32 = 65_535;
