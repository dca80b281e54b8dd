//! Rates, offloads and counters.

use crate::{CPUS, PAIR, build, can_build, run};
use pathmeter_lab::build::Lab;
use pathmeter_lab::counters::{InterfaceCounters, Traffic};
use std::net::UdpSocket;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_link_holds_its_rate() {
    if !can_build() {
        return;
    }
    let _quiet = CPUS.lock().unwrap_or_else(PoisonError::into_inner);
    // A second of room: the queue never runs dry, however late the sender is.
    let lab = build(&format!("{PAIR}rate = \"20Mbit\"\nqueue = \"1s\"\n"));
    let stop = AtomicBool::new(false);
    let traffic = thread::scope(|scope| {
        scope.spawn(|| lab.node("client").unwrap().namespace().unwrap().run(|| flood(&stop)).unwrap());
        thread::sleep(Duration::from_millis(300));
        let (before, from) = (lab.counters().unwrap(), Instant::now());
        thread::sleep(Duration::from_secs(2));
        let (after, time) = (lab.counters().unwrap(), from.elapsed());
        stop.store(true, Ordering::Relaxed);
        (after.since(&before), time)
    });
    let (traffic, time) = traffic;
    let bits = 8.0 * interface(&traffic, "server", "eth0").link.rx_bytes as f64 / time.as_secs_f64();
    assert!((bits / 20e6 - 1.0).abs() < 0.03, "{bits:.0} bit/s");
    assert!(!traffic.cpus.is_empty() && !traffic.softnet.is_empty());
}

fn flood(stop: &AtomicBool) {
    // A socket's own buffer holds a twentieth of a second.
    let sockets: Vec<UdpSocket> = (0..10).map(|_| UdpSocket::bind("192.0.2.1:0").unwrap()).collect();
    sockets.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
    while !stop.load(Ordering::Relaxed) {
        for socket in &sockets {
            // A full buffer refuses, and there is no receiver: neither matters.
            while socket.send_to(&[0; 1400], "192.0.2.2:9").is_ok() {}
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn interface<'a>(traffic: &'a Traffic, node: &str, name: &str) -> &'a InterfaceCounters {
    let node = traffic.nodes.iter().find(|counters| counters.node == node).unwrap();
    node.interfaces.iter().find(|counters| counters.name == name).unwrap()
}

#[test]
fn a_full_queue_drops_and_counts() {
    if !can_build() {
        return;
    }
    let lab = build(&format!("{PAIR}rate = \"1Mbit\"\nqueue = \"10kB\"\n"));
    let before = lab.counters().unwrap();
    let sent = lab.node("client").unwrap().namespace().unwrap().run(|| {
        let socket = UdpSocket::bind("192.0.2.1:0").unwrap();
        (0..50).for_each(|_| drop(socket.send_to(&[0; 1400], "192.0.2.2:9")));
    });
    sent.unwrap();
    let traffic = lab.counters().unwrap().since(&before);
    let dropped = interface(&traffic, "client", "eth0").queue_drops;
    assert!((30..50).contains(&dropped), "there is room for seven: {dropped} of 50 were dropped");
}

#[test]
fn offloads_are_switched_as_in_the_file() {
    if !can_build() {
        return;
    }
    let lab = build(&format!("{PAIR}offload = false\n"));
    let output = run(&lab, "server", "ethtool -k eth0");
    let output = String::from_utf8(output.stdout).unwrap();
    for off in ["tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload"] {
        assert!(output.contains(&format!("{off}: off")), "{output}");
    }
}

#[test]
fn what_a_filter_drops_is_counted_where_it_is_dropped() {
    if !can_build() {
        return;
    }
    let shipped = pathmeter_lab::shipped::SHIPPED.iter().find(|shipped| shipped.name == "frag-drop").unwrap();
    let lab = Lab::build(&shipped.topology().unwrap()).unwrap();
    let before = lab.counters().unwrap();
    let ping = run(&lab, "client", "ping -c 1 -W 0.5 -M dont -s 2000 198.51.100.2");
    assert!(!ping.succeeded(), "{ping:?}");
    let traffic = lab.counters().unwrap().since(&before);
    let dropped: Vec<u64> = traffic.nodes.iter().filter_map(|node| Some(node.fragments?.ipv4)).collect();
    assert!(dropped.iter().sum::<u64>() == 2, "one ping in two fragments: {traffic:?}");
}
