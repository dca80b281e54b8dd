//! The rate that a router forwards without loss, found again and again, and what a router on the generator's CPU shows.

use super::common::options::Options;
use super::common::turns::{Entrant, Measured, Plan};
use super::run::{Link, RECEIVER, Run, TAG, cpu_of, settled, watched};
use anyhow::Context;
use frames::napi::NapiThreads;
use frames::{Burst, FrameSpec, open_source};
use linux::namespace::Namespace;
use linux::netlink::Network;
use linux::nic::{Offload, set_offload};
use model::dut::SourceKind;
use model::search::{Goal, Limits, Load, Mlr, MlrConfig, Search, Trial, TrialResult};
use model::units::{Bytes, Nanos};
use std::net::IpAddr;

/// Two floods, and searches for the rate without loss.
pub(crate) fn plan<'a>(track: &'a Track, options: &'a Options) -> Plan<'a> {
    let time = Nanos(options.time.as_nanos() as u64);
    let flood = |label: &str, own| Entrant {
        label: label.into(),
        run: Box::new(move || {
            let (run, foreign) = watched(|| track.flood(own, time))?;
            Ok(Measured { figures: run.into(), foreign })
        }),
    };
    let search = Entrant {
        label: "pathmeter, rate without loss, router on its own CPU".into(),
        run: Box::new(move || {
            let ((rate, void), foreign) = watched(|| track.search(time))?;
            Ok(Measured { figures: vec![("mpps", rate / 1e6), ("void", f64::from(void))], foreign })
        }),
    };
    let entrants = vec![
        search,
        flood("flood, router on the generator's CPU", false),
        flood("flood, router on its own CPU", true),
    ];
    Plan { name: NAME.into(), essential: false, goals: Vec::new(), entrants }
}

/// A host that sends, a router, a host that counts.
pub(crate) struct Track {
    sender: Namespace,
    router: Namespace,
    receiver: Namespace,
    spec: FrameSpec,
}

impl Track {
    pub(crate) fn build() -> anyhow::Result<Track> {
        let (sender, router, receiver) = (Namespace::new()?, Namespace::new()?, Namespace::new()?);
        let mut between = router.run(Network::open)??;
        let mut macs = Vec::new();
        for (port, host) in [("near", &sender), ("far", &receiver)] {
            between.add_veth(port, END, host)?;
            between.set_up(port)?;
            let mut network = host.run(Network::open)??;
            network.set_up(END)?;
            macs.push(network.link(END)?.mac.context("a veth has an address")?);
        }
        // Else its driver has no place for frames that are no socket buffers.
        router.run(|| set_offload("near", Offload::Gro, true))??;
        router.set_sysctl("net/ipv4/ip_forward", "1")?;
        between.add_address("near", address(0, 254), 24)?;
        between.add_address("far", address(1, 254), 24)?;
        between.add_neighbour("far", address(1, 1), macs[1])?;
        let spec = FrameSpec {
            source_mac: macs[0],
            destination_mac: between.link("near")?.mac.context("a veth has an address")?,
            source: address(0, 1),
            destination: address(1, 1),
            hop_limit: 64,
            ports: Some((49_152, 7)),
            vlan: None,
            outer: None,
            sizes: vec![Bytes(64)],
            tag: TAG,
        };
        Ok(Track { sender, router, receiver, spec })
    }

    fn threads(&self) -> anyhow::Result<NapiThreads> {
        Ok(NapiThreads::start(&self.router, "near", &[RECEIVER])?)
    }

    fn flood(&self, own: bool, time: Nanos) -> anyhow::Result<(Run, Nanos)> {
        let threads = own.then(|| self.threads()).transpose()?;
        let before = cpu_of(threads.as_ref());
        let burst = Burst { frames: u64::MAX, interval_ps: 0, then: None, time };
        let (run, _, _) = self.send(&burst)?;
        Ok((run, cpu_of(threads.as_ref()) - before))
    }

    /// The rate found and how many trials were void.
    fn search(&self, time: Nanos) -> anyhow::Result<((f64, u32), Nanos)> {
        let threads = self.threads()?;
        let before = cpu_of(Some(&threads));
        let mut search = Mlr::new(&config(time))?;
        let mut void = 0;
        while let Some(trial) = search.trial() {
            search.take(&self.trial(&trial, &mut void)?);
        }
        let outcome = search.outcome();
        let lower = outcome.first().and_then(|goal| goal.lower).context("no rate is without loss")?;
        Ok(((lower.load.0, void), cpu_of(Some(&threads)) - before))
    }

    /// A trial whose load was lower since the host delayed the generator shows nothing about the router, unless it lost some.
    fn trial(&self, trial: &Trial, void: &mut u32) -> anyhow::Result<TrialResult> {
        let burst = Burst::from_trial(trial, Nanos::from_secs(1));
        let mut left = ATTEMPTS;
        loop {
            let (run, held, duplicates) = self.send(&burst)?;
            left -= 1;
            let is_lower = held.0 > trial.duration.0 / HELD;
            if !is_lower || run.received.saturating_sub(duplicates) < run.sent || left == 0 {
                let (sent, received) = (run.sent, run.received);
                let intended = trial.frames;
                return Ok(TrialResult { intended, sent, received, duplicates, duration: trial.duration });
            }
            *void += 1;
        }
    }

    fn send(&self, burst: &Burst) -> anyhow::Result<(Run, Nanos, u64)> {
        let link = Link { near: &self.sender, far: &self.receiver, names: [END, END] };
        let sink = link.sink(&self.spec, burst.frames.min(NUMBERS))?;
        let out = link.out()?;
        let sent = link.send(|| open_source(SourceKind::LiveFrames, &self.spec, out), burst)?;
        let arrived = settled(sink.as_ref(), sent.frames)?;
        let run = Run { sent: sent.frames, received: arrived.frames, time: sent.time };
        Ok((run, sent.held, arrived.duplicates))
    }
}

/// No loss in half of short trials, to one percent.
fn config(time: Nanos) -> MlrConfig {
    let trial = Nanos(time.0 / 4);
    let goal = Goal {
        width: 0.01,
        initial_duration: trial,
        final_duration: trial,
        duration_sum: Nanos(trial.0 * 7),
        ..Goal::ndr()
    };
    MlrConfig {
        limits: Limits { min: Load(10e3), max: Load(4e6) },
        goals: vec![goal],
        warm_up: Some(trial),
        budget: Nanos::from_secs(120),
    }
}

fn address(net: u8, host: u8) -> IpAddr {
    [198, 18 + net, 0, host].into()
}

/// Its name, for the filter.
pub(crate) const NAME: &str = "router";
/// The hosts' interfaces.
const END: &str = "eth0";
const ATTEMPTS: u32 = 5;
/// A share of a trial's time: a generator that was delayed for longer sent a lower load.
const HELD: u64 = 50;
const NUMBERS: u64 = 100_000_000;
