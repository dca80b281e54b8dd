//! Round trips: the request, and the plan.

mod check;

use super::Host;
use super::far::{FarEnd, Origin};
use crate::error::{Failure, Result};
use crate::host::host_port::HostPort;
use crate::request::preflight;
use crate::run::{LatencyWork, Plan};
use crate::session::protocol::{Name, Protocol};
use crate::work::latency::choose;
use model::explain::DEFAULT_BUDGET;
use model::framing::LARGEST_UDP_PAYLOAD;
use model::latency::{EgressPath, LatencyMode, LatencyPlan, LatencyProtocol, Load, SocketSetup, WaitMode};
use model::plan::{Directions, End, Target, Transport};
use model::playback::Item;
use model::units::{Nanos, PacketRate};
use std::net::IpAddr;
use std::path::PathBuf;
use wire::stamp::{self, Key};
use wire::{iperf2, sockperf, twamp};

/// Round trips to hosts, over one way or several.
#[derive(Clone, Debug)]
pub struct Latency {
    /// The far ends, measured in turn.
    pub hosts: Vec<HostPort>,
    /// Their port; absent: the protocol's.
    pub port: Option<u16>,
    /// Where packets leave, unless `via` defines it.
    pub origin: Origin,
    /// Several egress paths, each measured to each host.
    pub via: Vec<Via>,
    /// A name for each host; none: as given.
    pub labels: Vec<String>,
    /// The wire protocol.
    pub protocol: LatencyProtocol,
    /// The mode: when messages are sent.
    pub mode: LatencyMode,
    /// TCP or UDP.
    pub transport: Transport,
    /// Bytes of a message; absent: the protocol's own.
    pub size: Option<u32>,
    /// How long; absent: five seconds. In a run beside a load, the length of each phase.
    pub time: Option<Nanos>,
    /// The number of messages, in place of a time.
    pub count: Option<u64>,
    /// Messages per second; absent: as fast as the mode allows.
    pub rate: Option<PacketRate>,
    /// Every so many messages one asks for a reply.
    pub reply_every: u32,
    /// The messages of a playback; with them the mode is playback.
    pub playback: Vec<Item>,
    /// Leading time not counted; absent: until the round trips are steady.
    pub warm_up: Option<Nanos>,
    /// After this a message counts as lost, until its reply comes; absent: by the longest round trip so far.
    pub timeout: Option<Nanos>,
    /// Time between reports; zero: only at the end.
    pub interval: Nanos,
    /// The file in which every round trip is a line.
    pub raw: Option<PathBuf>,
    /// Key of STAMP's authenticated mode.
    pub key: Option<Key>,
    /// A load of TCP beside the round trips.
    pub load: Option<LatencyLoad>,
    /// How this end waits for replies.
    pub wait: LatencyWait,
    /// CPU of the measuring thread.
    pub cpu: Option<u32>,
    /// The kernel polls the NIC so long before it sleeps.
    pub busy_poll: Option<Nanos>,
    /// The TOS or traffic-class byte.
    pub tos: u8,
    /// Hops a multicast request may go.
    pub multicast_ttl: Option<u8>,
    /// Take packet times of the kernel and NIC too.
    pub wire_times: bool,
    /// The session is encrypted or needs a token, which only our own protocol has.
    pub secured: bool,
    /// How long the reasons of an unexpected result may be looked for, in each direction; zero: not at all.
    pub explain: Nanos,
    /// Hosts between the ends that are observed beside the load, each with a `pathmeter serve`.
    pub observe: Vec<HostPort>,
}

/// TCP beside the round trips: up, down and both directions in turn.
#[derive(Clone, Debug)]
pub struct LatencyLoad {
    /// Streams in each direction.
    pub streams: u32,
    /// Their congestion control.
    pub congestion: Option<String>,
}

/// An egress path of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Via {
    /// Its name in the result.
    pub label: String,
    /// Local address to send from.
    pub bind: Option<IpAddr>,
    /// Network interface to send through.
    pub device: Option<String>,
}

/// How to wait for replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LatencyWait {
    /// Spin where a CPU is to spare, else sleep.
    #[default]
    Auto,
    /// Wait in this mode, and in no other.
    As(WaitMode),
}

impl Latency {
    /// UDP ping-pong with this host for five seconds.
    #[must_use]
    pub fn to(far: FarEnd) -> Latency {
        Latency {
            hosts: vec![far.host],
            port: far.port,
            origin: far.origin,
            via: Vec::new(),
            labels: Vec::new(),
            protocol: LatencyProtocol::Native,
            mode: LatencyMode::PingPong,
            transport: Transport::Udp,
            size: None,
            time: None,
            count: None,
            rate: None,
            reply_every: 1,
            playback: Vec::new(),
            warm_up: None,
            timeout: None,
            interval: Nanos::from_secs(1),
            raw: None,
            key: None,
            load: None,
            wait: LatencyWait::Auto,
            cpu: None,
            busy_poll: None,
            tos: 0,
            multicast_ttl: None,
            wire_times: true,
            secured: false,
            explain: DEFAULT_BUDGET,
            observe: Vec::new(),
        }
    }

    /// Messages at a fixed rate beside a load, whatever the queues do to the ones before.
    fn mode(&self) -> LatencyMode {
        match self.mode {
            _ if !self.playback.is_empty() => LatencyMode::Playback,
            LatencyMode::PingPong if self.load.is_some() => LatencyMode::UnderLoad,
            mode => mode,
        }
    }

    /// iPerf2's round trips know no other than TCP.
    fn transport(&self) -> Transport {
        if self.protocol == LatencyProtocol::Iperf2 { Transport::Tcp } else { self.transport }
    }

    fn time(&self) -> Nanos {
        self.time.unwrap_or(DEFAULT_TIME)
    }
}

pub(super) fn resolve(asked: &Latency, host: &Host) -> Result<Plan> {
    let plan = plan(asked, host)?;
    preflight::latency(&plan)?;
    let observe = match asked.hosts.first() {
        Some(far) => {
            let far = FarEnd { host: far.clone(), port: asked.port, origin: asked.origin.clone() };
            far.others(&asked.observe, host)?
        }
        None => Vec::new(),
    };
    Ok(Plan::Latency(Box::new(LatencyWork {
        plan,
        key: asked.key.clone(),
        playback: asked.playback.clone(),
        raw: asked.raw.clone(),
        observe,
    })))
}

fn plan(asked: &Latency, host: &Host) -> Result<LatencyPlan, Failure> {
    let (mode, loaded) = (asked.mode(), asked.load.is_some());
    check::check(asked, mode)?;
    let (wait, wait_reason) = match asked.wait {
        LatencyWait::Auto => host.wait(loaded),
        LatencyWait::As(mode) => (mode, choose::reason(mode).into()),
    };
    Ok(LatencyPlan {
        egress_paths: egress_paths(asked, host)?,
        protocol: asked.protocol,
        mode,
        transport: asked.transport(),
        size: size(asked)?,
        sizes: None,
        burst: 1,
        compare: false,
        rate: rate(asked, mode)?,
        reply_every: asked.reply_every,
        end: end(asked),
        warm_up: asked.warm_up,
        timeout: asked.timeout,
        interval: asked.interval,
        wait,
        wait_reason,
        tos: asked.tos,
        busy_poll: asked.busy_poll,
        socket: SocketSetup::default(),
        cpu: asked.cpu,
        wire_times: asked.wire_times,
        multicast_ttl: asked.multicast_ttl,
        connect_timeout: asked.origin.connect_timeout,
        load: asked.load.as_ref().map(|load| Load {
            phases: vec![Directions::Up, Directions::Down, Directions::Both],
            time: asked.time(),
            streams: load.streams,
            congestion: load.congestion.clone(),
        }),
        explain: asked.explain,
    })
}

fn end(asked: &Latency) -> End {
    match asked.count {
        Some(count) => End::Blocks(count),
        // A playback ends with its last message, unless the request has another end.
        None if !asked.playback.is_empty() && asked.time.is_none() => {
            End::Blocks(asked.playback.len() as u64)
        }
        // Beside a load, the idle phase.
        None if asked.load.is_some() => End::Time(asked.time().min(DEFAULT_TIME)),
        None => End::Time(asked.time()),
    }
}

fn rate(asked: &Latency, mode: LatencyMode) -> Result<Option<PacketRate>, Failure> {
    match (asked.rate, mode) {
        (Some(PacketRate(0)), _) => {
            Err(Failure::usage("--rate 0 sends nothing", "leave it out to send as fast as the mode goes"))
        }
        (Some(rate), _) if rate > FASTEST => Err(Failure::usage(
            format!("--rate {rate} is more than one thread can send"),
            format!("ask for at most {FASTEST}"),
        )),
        (None, LatencyMode::UnderLoad) if asked.load.is_some() => Ok(Some(LOADED_RATE)),
        (None, LatencyMode::UnderLoad) => Ok(Some(UNDER_LOAD_RATE)),
        (rate, _) => Ok(rate),
    }
}

/// Bytes of a message: of a playback the largest.
fn size(asked: &Latency) -> Result<u32, Failure> {
    if let Some(largest) = asked.playback.iter().map(|item| item.size).max() {
        return Ok(largest);
    }
    let (protocol, transport) = (asked.protocol, asked.transport());
    let base = if asked.key.is_some() { stamp::Mode::Authenticated } else { stamp::Mode::Open };
    let default = match protocol {
        LatencyProtocol::Stamp | LatencyProtocol::Twamp => base.base_len() as u32,
        LatencyProtocol::Iperf2 => iperf2::DEFAULT_BOUNCE as u32,
        LatencyProtocol::Native | LatencyProtocol::Sockperf => DEFAULT_SIZE,
    };
    let size = asked.size.unwrap_or(default);
    let most = if transport == Transport::Udp { LARGEST_UDP_PAYLOAD as usize } else { sockperf::MAX_TCP_LEN };
    let least = match protocol {
        LatencyProtocol::Iperf2 => iperf2::MIN_BOUNCE,
        LatencyProtocol::Twamp => twamp::MIN_LEN,
        _ => sockperf::HEADER_LEN,
    };
    if !(least..=most).contains(&(size as usize)) {
        return Err(Failure::usage(
            format!("messages of {size} bytes cannot be sent over {transport} with --protocol {protocol}"),
            format!("give --size from {least} to {most}"),
        ));
    }
    if protocol == LatencyProtocol::Stamp {
        stamp::Sender::check_size(base, size as usize)
            .map_err(|e| Failure::usage(e.to_string(), "give one of these with --size"))?;
    }
    Ok(size)
}

/// Each host, over each path out.
fn egress_paths(asked: &Latency, host: &Host) -> Result<Vec<EgressPath>, Failure> {
    let labels = &asked.labels;
    if !labels.is_empty() && labels.len() != asked.hosts.len() {
        return Err(Failure::usage(
            format!("{} labels for {} hosts", labels.len(), asked.hosts.len()),
            "give one --label for each host",
        ));
    }
    let outs: Vec<Option<&Via>> =
        if asked.via.is_empty() { vec![None] } else { asked.via.iter().map(Some).collect() };
    let mut egress_paths = Vec::new();
    for (index, far) in asked.hosts.iter().enumerate() {
        for via in &outs {
            let origin = match via {
                Some(via) => Origin { bind: via.bind, device: via.device.clone(), ..asked.origin.clone() },
                None => asked.origin.clone(),
            };
            let label = match (labels.get(index), via) {
                (Some(label), None) => label.clone(),
                (Some(label), Some(via)) => format!("{label} via {}", via.label),
                (None, Some(via)) if asked.hosts.len() == 1 => via.label.clone(),
                (None, Some(via)) => format!("{} via {}", far.host, via.label),
                (None, None) => far.host.clone(),
            };
            let (bind, device) = (origin.bind, origin.device.clone());
            let target = target(asked, far, origin, host)?;
            egress_paths.push(EgressPath { label, target, bind, port: None, device });
        }
    }
    Ok(egress_paths)
}

fn target(asked: &Latency, far: &HostPort, origin: Origin, host: &Host) -> Result<Target, Failure> {
    let default = Protocol::named(match asked.protocol {
        LatencyProtocol::Native => Name::Native,
        LatencyProtocol::Sockperf => Name::Sockperf,
        LatencyProtocol::Stamp => Name::Stamp,
        LatencyProtocol::Twamp => Name::Twamp,
        LatencyProtocol::Iperf2 => Name::Iperf2,
    })
    .port();
    let far = FarEnd { host: far.clone(), port: asked.port, origin };
    far.check()?;
    let target = far.target(default, host)?;
    let address = target.address.ip();
    let connected = asked.protocol != LatencyProtocol::Sockperf || asked.transport() == Transport::Tcp;
    if address.is_multicast() && connected {
        return Err(Failure::usage(
            format!("{address} is a multicast group, which has no connections and no sessions"),
            "use --protocol sockperf over UDP, with `sockperf sr -i GROUP` or `pathmeter serve --sockperf \
             --group GROUP` in the group",
        ));
    }
    Ok(target)
}

impl Via {
    /// From a local address or the name of an interface, with a label before `=` or without.
    ///
    /// # Errors
    /// `Kind::Usage` where either is empty.
    pub fn named(text: &str) -> Result<Via, Failure> {
        let (label, place) = text.split_once('=').unwrap_or((text, text));
        if label.is_empty() || place.is_empty() {
            return Err(Failure::usage(
                format!("--via {text} names nothing"),
                "give a local address or an interface, with a label as --via vpn=10.8.0.2",
            ));
        }
        let bind: Option<IpAddr> = place.parse().ok();
        let device = bind.is_none().then(|| place.to_owned());
        Ok(Via { label: label.to_owned(), bind, device })
    }
}

const DEFAULT_TIME: Nanos = Nanos::from_secs(5);
const DEFAULT_SIZE: u32 = 64;
const UNDER_LOAD_RATE: PacketRate = PacketRate(10_000);
/// Beside a load: often enough to see queues come and go, and nothing to the load.
const LOADED_RATE: PacketRate = PacketRate(100);
const FASTEST: PacketRate = PacketRate(10_000_000);
