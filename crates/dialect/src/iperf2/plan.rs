//! Converts a checked command line to the engine's plan and the options of the output.

use super::check::TCP_LENGTH;
use super::options::CONNECT_TIMEOUT;
use super::{Client, CommandLine};
use crate::iperf2::output::{Iperf2Options, Iperf2Role, Iperf2Settings, Pace, Zone};
use engine::error::Failure;
use engine::host::address::{Family, lookup};
use engine::work::iperf2::Timing;
use model::plan::{Directions, End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::units::{Bytes, Nanos};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

impl CommandLine {
    /// The plan of a client.
    ///
    /// # Errors
    /// When the host or the address to bind to does not resolve.
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        let host = self.client.host.clone().unwrap_or_default();
        let bind = self.bind_address()?;
        let address = lookup(&host, self.both.port, Family::chosen(self.both.ipv4, self.both.ipv6, bind))?;
        let one_way = self.client.test.directions == Directions::Up;
        if address.ip().is_multicast() && (self.client.test.transport == Transport::Tcp || !one_way) {
            let advice = "give -u, and none of -R, -d, -r and --full-duplex";
            return Err(Failure::usage(
                format!("{host} is a multicast group, which takes UDP one way"),
                advice,
            ));
        }
        let local = LocalOptions {
            bind,
            client_port: self.both.bind_port,
            connect_timeout: Some(CONNECT_TIMEOUT),
            file: self.client.file.clone(),
            ..self.local()
        };
        let target = Target { host, address };
        Ok(Plan { target, protocol: ProtocolName::Iperf2, test: self.client.test.clone(), local })
    }

    /// The command line of the TCP streams beside the test.
    pub(crate) fn working_load(&self) -> Option<CommandLine> {
        let (directions, streams) = self.client.load?;
        let test = TestSpec {
            directions,
            streams,
            end: match self.client.test.end {
                End::Bytes(_) | End::Blocks(_) => End::Time(DEFAULT_TIME),
                time @ End::Time(_) => time,
            },
            congestion: self.client.load_congestion.clone(),
            ..TestSpec::new(Transport::Tcp)
        };
        let client = Client { host: self.client.host.clone(), test, ..Client::default() };
        Some(CommandLine { both: self.both.clone(), client, ..CommandLine::default() })
    }

    /// Choices of this end.
    pub(crate) fn local(&self) -> LocalOptions {
        LocalOptions {
            interval: self.both.interval.unwrap_or(Nanos::ZERO),
            device: self.both.device.clone(),
            ..LocalOptions::default()
        }
    }

    /// The address a server listens on: IPv4, as iPerf2's, without `-V`.
    ///
    /// # Errors
    /// When the address to bind to does not resolve.
    pub(crate) fn listen_address(&self) -> Result<SocketAddr, Failure> {
        let any = if self.both.ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        Ok(SocketAddr::new(self.bind_address()?.unwrap_or(any), self.both.port))
    }

    /// The options that change the output.
    pub(crate) fn output_options(&self, role: Iperf2Role, zone: Zone) -> Iperf2Options {
        Iperf2Options { role, zone, ..self.both.shown.clone() }
    }

    /// The block printed first. `window`: of a socket without `-w`.
    pub(crate) fn settings(&self, window: Bytes) -> Iperf2Settings {
        let test = &self.client.test;
        let usual = if self.client.bounceback.is_some() { BOUNCE_LENGTH } else { TCP_LENGTH };
        let length = test.length.unwrap_or(usual);
        let nodelay = test.nodelay || self.client.bounceback.is_some();
        Iperf2Settings {
            test: TestSpec { nodelay, ..test.clone() },
            host: self.client.host.clone().unwrap_or_default(),
            port: self.both.port,
            last_port: self.both.last_port,
            pid: std::process::id(),
            length,
            window,
            bind: self.both.bind.clone(),
            pace: self.pace(length),
            timed: Timing {
                delays: self.both.histograms.map(|asked| asked.shape()),
                jitter: self.server.jitter,
                ..self.client.extras.timing
            },
        }
    }

    fn pace(&self, length: u32) -> Pace {
        let client = &self.client;
        if let Some(bounceback) = client.bounceback {
            return Pace::Bounce(bounceback);
        }
        if let Some((rate, mean, deviation)) = client.frames {
            return Pace::Frames(rate, mean, deviation, client.gap.unwrap_or(0.0));
        }
        if let Some(period) = client.burst_period {
            return Pace::Bursts(client.burst_size.unwrap_or(1 << 20), period);
        }
        if client.test.transport == Transport::Tcp {
            return Pace::None;
        }
        let bits = f64::from(length) * 8.0;
        let bit_rate = client.test.bitrate.map(|rate| bits / rate.0 as f64);
        let packet_rate = client.extras.packet_rate.map(|rate| 1.0 / rate as f64);
        Pace::Gap(packet_rate.or(bit_rate).unwrap_or(0.0) * 1e6)
    }

    /// The local address of `-B`, a name or an address.
    fn bind_address(&self) -> Result<Option<IpAddr>, Failure> {
        let Some(bind) = &self.both.bind else { return Ok(None) };
        let family = Family::chosen(self.both.ipv4, self.both.ipv6, None);
        lookup(bind, self.both.port, family).map(|address| Some(address.ip()))
    }
}

/// Length of a load beside a test of an amount.
const DEFAULT_TIME: Nanos = Nanos::from_secs(10);
/// iPerf2's default length of a request of `--bounceback`.
const BOUNCE_LENGTH: u32 = 100;
