//! The tool's own floor: round trips against itself over loopback, waiting as the test will.

use super::flow::{Burst, EgressFlow};
use super::tally::{Gather, Tally};
use crate::error::{Context, Result};
use crate::work::echo::reflector::{self, Hooks};
use crate::work::echo::socket::Socket;
use crate::work::echo::wait::Waiter;
use linux::clock::mono_now;
use model::latency::{LatencyPlan, ToolBaseline, WaitMode};
use model::plan::Transport;
use model::units::Nanos;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::sockperf::{Client, MAX_TCP_LEN, Responder};

/// Measures it: a quarter of a second. `cpus`: those this process may use. `None`: there is no loopback to measure
/// over, or no CPU for it.
pub(crate) fn measure(plan: &LatencyPlan, cpus: &[usize]) -> Result<Option<ToolBaseline>> {
    let Ok((near, far)) = pair(plan.transport) else { return Ok(None) };
    let wait = if plan.wait == WaitMode::Spin && cpus.len() < 2 { WaitMode::Block } else { plan.wait };
    let stop = AtomicBool::new(false);
    let size = (plan.size as usize).min(LARGEST);
    // This thread may be bound to one CPU, and its child would be bound to the same.
    let elsewhere = plan.cpu.and_then(|own| cpus.iter().copied().find(|cpu| *cpu != own as usize));
    std::thread::scope(|scope| {
        let reflector = std::thread::Builder::new().name("floor".into());
        let work = || {
            if let Some(cpu) = elsewhere {
                linux::cpu::pin_current_thread(cpu).ok();
            }
            answer(&far, wait, &stop);
        };
        reflector.spawn_scoped(scope, work).context("start the floor's reflector")?;
        let floor = ping(near, size, wait);
        stop.store(true, Ordering::Release);
        // On a host that gives them no CPU, two threads that spin measure only that.
        Ok(floor?.filter(|floor| floor.rtt.count >= FEWEST))
    })
}

fn ping(socket: Socket, size: usize, wait: WaitMode) -> Result<Option<ToolBaseline>> {
    let started = mono_now();
    let gather = Gather { started, warm_up: Some(WARM_UP), ..Gather::default() };
    let mut flow = EgressFlow::new(socket, Client::new(MAX_TCP_LEN), size, Tally::new(gather));
    let mut waiter = Waiter::new(wait);
    while mono_now() < started + TIME {
        flow.ping(Burst { count: 1, size, due: None }, TIMEOUT, &mut waiter);
    }
    let rtt = flow.tally.finish(&waiter.watch, false, Nanos::ZERO).rtt;
    Ok(rtt.map(|rtt| ToolBaseline { rtt, wait: waiter.mode }))
}

fn answer(far: &Socket, wait: WaitMode, stop: &AtomicBool) {
    let (mut responder, mut waiter) = (Responder::new(MAX_TCP_LEN), Waiter::new(wait));
    let no_peer = ([127, 0, 0, 1], 0).into();
    let hooks = Hooks::after(|_: &[u8], _| {});
    match far {
        Socket::Udp(socket) | Socket::Group(socket, _) => {
            reflector::datagrams(socket, no_peer, &mut responder, &mut waiter, stop, hooks).ok();
        }
        Socket::Tcp(_) => {
            let stop = || stop.load(Ordering::Acquire);
            reflector::stream(far, no_peer, &mut responder, &mut waiter, stop, hooks).ok();
        }
        // The cost of this end is measured without TLS.
        Socket::Tls(_) => {}
    }
}

fn pair(transport: Transport) -> std::io::Result<(Socket, Socket)> {
    match transport {
        Transport::Udp => {
            let (near, far) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
            near.connect(far.local_addr()?)?;
            far.connect(near.local_addr()?)?;
            near.set_nonblocking(true)?;
            Ok((Socket::Udp(Arc::new(near)), Socket::Udp(Arc::new(far))))
        }
        Transport::Tcp => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let near = TcpStream::connect(listener.local_addr()?)?;
            let (far, _) = listener.accept()?;
            near.set_nodelay(true)?;
            far.set_nodelay(true)?;
            near.set_nonblocking(true)?;
            far.set_nonblocking(true)?;
            Ok((Socket::Tcp(Arc::new(near.into())), Socket::Tcp(Arc::new(far.into()))))
        }
    }
}

const TIME: Nanos = Nanos::from_millis(250);
const WARM_UP: Nanos = Nanos::from_millis(50);
/// Round trips in that time that make a floor: two milliseconds each.
const FEWEST: u64 = 100;
const TIMEOUT: Nanos = Nanos::from_millis(100);
/// Above this the copying outweighs the waiting, and is the path's own.
const LARGEST: usize = 1472;

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::MonoTime;
    use std::time::Duration;
    use wire::echo::{Arrival, Reflect, Stray};

    /// Holds each message for a while.
    struct Slow(Responder, u64);

    impl Reflect for Slow {
        fn reflect(&mut self, arrival: Arrival, now: MonoTime, buf: &mut [u8], len: usize) -> Option<usize> {
            std::thread::sleep(Duration::from_nanos(HELD.0));
            self.1 += 1;
            self.0.reflect(arrival, now, buf, len)
        }

        fn frame(&self, head: &[u8]) -> Result<Option<usize>, Stray> {
            self.0.frame(head)
        }
    }

    #[test]
    fn a_round_trip_takes_what_the_far_end_took_for_it() {
        // A host whose CPUs are taken may let none come back in the time of one.
        let (rtt, answered) = (0..100).find_map(|_| behind_a_slow_end()).expect("one is answered");
        assert!((1..=answered).contains(&rtt.count), "{rtt:?} of {answered}");
        assert!(rtt.min >= HELD && rtt.p50 >= HELD && rtt.mean >= HELD, "{rtt:?}");
    }

    fn behind_a_slow_end() -> Option<(model::stats::distribution::Distribution, u64)> {
        let (near, far) = pair(Transport::Udp).unwrap();
        let Socket::Udp(far) = far else { panic!("it is UDP") };
        let stop = AtomicBool::new(false);
        let mut slow = Slow(Responder::new(MAX_TCP_LEN), 0);
        let rtt = std::thread::scope(|scope| {
            scope.spawn(|| {
                let hooks = Hooks::after(|_: &[u8], _| {});
                let (no_peer, mut waiter) = (([127, 0, 0, 1], 0).into(), Waiter::new(WaitMode::Block));
                reflector::datagrams(&far, no_peer, &mut slow, &mut waiter, &stop, hooks).unwrap();
            });
            let rtt = ping(near, 64, WaitMode::Block).unwrap();
            stop.store(true, Ordering::Release);
            rtt
        });
        Some((rtt?.rtt, slow.1))
    }

    const HELD: Nanos = Nanos::from_millis(5);
}
