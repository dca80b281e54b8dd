//! Hosts between the two ends that are observed while a test runs (`--observe`): each serves a second test, of one block per second,
//! whose result has the CPUs, counters and facts of that host.

use super::Options;
use crate::error::{Result, sentence};
use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use crate::work::client;
use insight::run_of_events;
use linux::clock::mono_now;
use model::event::Event;
use model::limit::ObservedHost;
use model::plan::{End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::run::Run;
use model::units::{BitRate, Nanos};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use wire::iperf3::Extras;

/// The hosts that are observed.
pub(super) struct Observing {
    stop: Interrupt,
    threads: Vec<(Target, std::io::Result<JoinHandle<ObservedHost>>)>,
}

impl Observing {
    /// Begins to observe the hosts that a plan names, and waits until each has begun or failed to.
    pub(super) fn start(plan: &Plan, options: &Options) -> Observing {
        let (observing, begun) = Observing::spawn(plan, options);
        let deadline = mono_now() + BEGIN;
        for has_begun in begun {
            // An end of the channel is a failure, which the thread reports.
            has_begun.recv_timeout(Duration::from_nanos(deadline.saturating_since(mono_now()).0)).ok();
        }
        observing
    }

    /// Begins to observe them beside a load that runs already, without a wait.
    pub(super) fn begin(plan: &Plan, options: &Options) -> Observing {
        Observing::spawn(plan, options).0
    }

    fn spawn(plan: &Plan, options: &Options) -> (Observing, Vec<Receiver<()>>) {
        let stop = Interrupt::default();
        let started = plan.local.observe.iter().map(|target| {
            let (begun, has_begun) = channel();
            let (own, security, stop) = (plan_of(plan, target), options.security.clone(), stop.clone());
            let thread = Builder::new().name("observe".into()).spawn(move || {
                observe(&own, &security, &stop, &mut || {
                    begun.send(()).ok();
                })
            });
            (target.clone(), thread, has_begun)
        });
        let (threads, begun) = started.map(|(target, thread, begun)| ((target, thread), begun)).unzip();
        (Observing { threads, stop }, begun)
    }

    /// The observations until now.
    pub(super) fn finish(self) -> Vec<Event> {
        self.stop.raise();
        let observed = self.threads.into_iter().map(|(target, thread)| match thread.map(JoinHandle::join) {
            Ok(Ok(observed)) => observed,
            Ok(Err(_)) => ObservedHost::without(target, "its observation ended unexpectedly".into()),
            Err(error) => ObservedHost::without(target, format!("start a thread: {error}")),
        });
        observed.map(|one| Event::Observed(Box::new(one))).collect()
    }
}

/// The test whose result describes a host. It lasts a little longer than the one that is observed, which ends it.
fn plan_of(plan: &Plan, target: &Target) -> Plan {
    let time = match plan.test.end {
        End::Time(time) => plan.test.omit + time + AFTER,
        End::Bytes(_) | End::Blocks(_) => LONGEST,
    };
    let test = TestSpec {
        end: End::Time(time.min(LONGEST)),
        bitrate: Some(RATE),
        length: Some(BLOCK),
        facts_toward: Some(plan.target.address.ip()),
        ..TestSpec::new(Transport::Tcp)
    };
    let local = LocalOptions {
        bind: plan.local.bind,
        device: plan.local.device.clone(),
        connect_timeout: plan.local.connect_timeout,
        ..LocalOptions::default()
    };
    Plan { target: target.clone(), protocol: ProtocolName::Native, test, local }
}

fn observe(plan: &Plan, security: &Security, stop: &Interrupt, begun: &mut dyn FnMut()) -> ObservedHost {
    let mut events = Vec::new();
    let outcome = client::run(plan, security, &Extras::default(), stop, &mut |event| {
        if matches!(event, Event::Started(_)) {
            begun();
        }
        events.push(event.clone());
    });
    let run = run_of_events("", "throughput", &events);
    observed(plan, outcome, run).unwrap_or_else(|note| ObservedHost::without(plan.target.clone(), note))
}

/// The description of a host by a test of it; `Err`: why there is none.
fn observed(plan: &Plan, outcome: Result<()>, run: Run) -> Result<ObservedHost, String> {
    let Some(result) = run.summary.peer else {
        return Err(outcome.err().map_or_else(|| "it reported nothing".into(), |error| sentence(&error)));
    };
    let (own, peer) = (run.host.unwrap_or_default(), run.peer.unwrap_or_default());
    // A namespace has all three in common with its host, and a virtual machine at most the name.
    let is_this_host = (&own.name, &own.kernel, &own.cpu) == (&peer.name, &peer.kernel, &peer.cpu);
    Ok(ObservedHost {
        target: plan.target.clone(),
        is_this_host,
        name: peer.name,
        links: result.links,
        interfaces: result.interfaces,
        busiest_cpu: result.cpu.busiest_cpu,
        busiest_softirq: result.cpu.busiest_softirq,
        dropped: result.kernel.softnet_drops.saturating_add(result.kernel.conntrack_drops),
        facts: result.facts,
        note: None,
    })
}

/// One block per second.
const RATE: BitRate = BitRate(8 * BLOCK as u64);
const BLOCK: u32 = 1000;
/// What is observed begins no later for a host that does not answer.
const BEGIN: Nanos = Nanos::from_secs(3);
/// The test that is observed begins and ends within this time, too.
const AFTER: Nanos = Nanos::from_secs(5);
const LONGEST: Nanos = Nanos::from_secs(24 * 3600);
