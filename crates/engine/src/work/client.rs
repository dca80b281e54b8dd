//! The client's end of a test: opens the control connection, chooses the protocol's machine and drives it.

use crate::error::{Result, fault};
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::session::connect::{Security, connect, native_config};
use crate::session::link::Link;
use crate::session::protocol::Tests;
use crate::work::driver::Driver;
use crate::work::iperf2;
use crate::work::observer::{SessionEvent, ToSink, Watcher};
use crate::work::workers::{Opener, Setting};
use linux::clock::mono_now;
use model::event::Event;
use model::framing::LARGEST_UDP_PAYLOAD;
use model::host::Host;
use model::plan::{Plan, ProtocolName, Transport};
use model::units::Nanos;
use std::sync::Arc;
use wire::{Session, iperf3, native};

/// Runs one throughput test. Events go to `sink` as they happen; the measurement before a failure has been reported.
pub fn run(
    plan: &Plan,
    security: &Security,
    extras: &iperf3::Extras,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&Event),
) -> Result<()> {
    if plan.protocol == ProtocolName::Iperf2 {
        let mut watcher = ToSink(sink);
        let mut sink = |event: SessionEvent<'_>| watcher.event(event);
        return iperf2::client(plan, &iperf2::Extras::default(), interrupt, &mut sink);
    }
    let link = connect(&plan.target, plan.protocol, &plan.local, security, interrupt)?;
    let tests = Tests::for_protocol(plan.protocol);
    if tests.is_silent {
        notice_vanished(&link);
    }
    let host = host::describe(Some(plan.target.address.ip()));
    let mut plan = plan.clone();
    if plan.test.transport == Transport::Udp && plan.test.length.is_none() {
        plan.test.length = tests.payload_of_segment.map(|default| payload_of_segment(&link, default));
    }
    let session = machine(&plan, security, extras, &host, &link)?;
    drive(session, link, (&plan, host), interrupt, sink)
}

/// Runs one test of our own protocol with the session that `guard` makes of its machine.
pub(crate) fn run_guarded(
    plan: &Plan,
    security: &Security,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&Event),
    guard: impl FnOnce(native::Client) -> Box<dyn Session>,
) -> Result<()> {
    let link = connect(&plan.target, plan.protocol, &plan.local, security, interrupt)?;
    let host = host::describe(Some(plan.target.address.ip()));
    let config = native_config(security, &host, &link)?;
    let session = guard(native::Client::new(config, plan.test.clone(), plan.local.interval, mono_now()));
    drive(session, link, (plan, host), interrupt, sink)
}

fn drive(
    mut session: Box<dyn Session>,
    link: Link,
    (plan, host): (&Plan, Host),
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&Event),
) -> Result<()> {
    let setting = Setting {
        opener: Opener::Client { target: plan.target.clone() },
        local: plan.local.clone(),
        host,
        admit: Box::new(|_| true),
        watcher: &mut ToSink(sink),
        offers: Arc::default(),
    };
    Driver::new(session.as_mut(), link, setting, interrupt, Arc::default())?.run()?;
    Ok(())
}

/// A server that has vanished without a word is given up in mid test, too: this protocol has no messages for that. A refusal of
/// the kernel only makes the wait longer.
fn notice_vanished(link: &Link) {
    linux::options::set_keepalive(link.socket(), PROBED, PROBED, 2).ok();
    linux::options::set_user_timeout(link.socket(), VANISHED).ok();
}

/// How long a server may say nothing to the kernel's probes. Links and routers fail over in less.
const VANISHED: Nanos = Nanos::from_secs(15);
/// When the kernel asks whether it is still there, and again.
const PROBED: Nanos = Nanos::from_secs(5);

/// The segment size of the control connection, where it fits a datagram.
fn payload_of_segment(link: &Link, default: u32) -> u32 {
    let mss = linux::options::mss(link.socket()).map_or(0, |mss| mss.0);
    u32::try_from(mss).ok().filter(|mss| (16..=LARGEST_UDP_PAYLOAD).contains(mss)).unwrap_or(default)
}

fn machine(
    plan: &Plan,
    security: &Security,
    extras: &iperf3::Extras,
    host: &Host,
    link: &Link,
) -> Result<Box<dyn Session>> {
    let now = mono_now();
    Ok(match plan.protocol {
        ProtocolName::Iperf3 => {
            let cookie = iperf3::Cookie::from_entropy(&host::entropy()?);
            let config = iperf3::ClientConfig { cookie, test: plan.test.clone(), extras: extras.clone() };
            Box::new(iperf3::Client::new(config, now))
        }
        ProtocolName::Native => {
            let config = native_config(security, host, link)?;
            Box::new(native::Client::new(config, plan.test.clone(), plan.local.interval, now))
        }
        ProtocolName::Iperf2 | ProtocolName::Foreign => {
            return Err(fault(format!(
                "{}: nothing here speaks this protocol with a dialogue",
                plan.target.address
            )));
        }
    })
}
