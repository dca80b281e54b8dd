//! Devices between source and sink: those that pass all frames, and those that lose, duplicate and reorder.

use super::lab::{FEW, Lab, Middle, arrived, dropper, made, missing, open, paced};
use super::{SINKS, SOURCES, pairs};
use linux::clock::mono_now;
use linux::cpu::{affinity, pin_current_thread};
use linux::namespace::Namespace;
use linux::poll::{Interest, wait};
use linux::tap::Tap;
use pathmeter_frames::bpf::Mode;
use pathmeter_frames::{Burst, FrameSpec};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use units::Nanos;

#[test]
fn every_frame_through_a_router_and_a_bridge_arrives() {
    for (middle, specs) in [(Middle::Router, [(4, 64), (6, 512)]), (Middle::Bridge, [(4, 1518), (6, 84)])] {
        let Some(lab) = made(Lab::through(middle)) else { return };
        for pair in pairs() {
            for (family, size) in specs {
                let spec = lab.spec(family, size);
                let Some((sent, arrived)) = made(lab.count(pair, &spec, &paced(FEW))) else { return };
                let what = format!("{pair:?}, {spec:?}: {sent:?}");
                assert_eq!((sent.frames, arrived.frames, arrived.duplicates), (FEW, FEW, 0), "{what}");
            }
        }
    }
}

#[test]
fn what_a_device_drops_is_known_to_the_frame() {
    let Some(lab) = made(Lab::through(Middle::Router)) else { return };
    let middle = lab.middle.as_ref().expect("there is a router");
    let near = open(middle).and_then(|mut network| network.link("near")).expect("it has a near side").index;
    for sink in SINKS {
        let attach = || dropper(9)?.attach_xdp(near, Mode::Driver);
        let Some(attached) = made(middle.run(attach).and_then(|attached| attached)) else { return };
        let spec = lab.spec(4, 128);
        let Some(counting) = made(lab.sink(sink, &spec, FEW)) else { return };
        assert_eq!(lab.send(SOURCES[2], &spec, &paced(FEW)).expect("it sends").frames, FEW);
        let arrived = arrived(&*counting, FEW - FEW / 9);
        let counts = (arrived.frames, arrived.duplicates, arrived.reordered);
        assert_eq!(counts, (FEW - FEW / 9, 0, 0), "{sink:?}");
        let dropped: Vec<u64> = (0..FEW).skip(8).step_by(9).collect();
        assert_eq!(missing(&*counting, FEW), dropped, "{sink:?}");
        assert_eq!(counting.last_missing(FEW).expect("it was counted"), dropped.last().copied());
        drop(attached);
    }
}

/// A device in user space: frames received by the tap of one host are sent by that of another, at any time and any number of
/// times.
struct Faulty {
    lab: Lab,
    near: File,
    far: File,
}

impl Faulty {
    fn new() -> linux::Result<Faulty> {
        let port = || {
            let host = Namespace::new()?;
            let tap = host.run(|| Tap::open("eth0", false))??;
            let mut network = open(&host)?;
            network.set_up("eth0")?;
            let link = network.link("eth0")?;
            Ok((host, File::from(tap.into_fd()), link))
        };
        let ((sender, near, out), (receiver, far, arrival)) = (port()?, port()?);
        let next_hop = arrival.mac.expect("a tap has an address");
        let lab = Lab { sender, receiver, middle: None, out, arrival, next_hop };
        Ok(Faulty { lab, near, far })
    }

    /// Receives all frames of a burst, then sends them in this order.
    fn pass(&mut self, spec: &FrameSpec, frames: usize, sequence: &[u64]) {
        let signature = if spec.is_ipv6() { 62 } else { 42 };
        let mut taken = BTreeMap::new();
        let deadline = mono_now() + Nanos::from_secs(10);
        while taken.len() < frames {
            let ready =
                wait(&mut [Interest::readable(&self.near)], Some(deadline)).expect("it can be waited for");
            assert!(ready > 0 || mono_now() < deadline, "{} frames of {frames} came", taken.len());
            let mut frame = vec![0; 2000];
            let length = self.near.read(&mut frame).expect("a tap can be read");
            frame.truncate(length);
            // Other frames are the host's own neighbour discovery.
            if frame.get(signature..signature + 4) == Some(&spec.tag.to_be_bytes()) {
                let number = frame[signature + 4..signature + 12].try_into().expect("eight bytes");
                taken.insert(u64::from_be_bytes(number), frame);
            }
        }
        for number in sequence {
            self.far.write_all(&taken[number]).expect("a tap can be written");
        }
    }
}

/// Loses, doubles and exchanges some of so many frames.
fn disorder(frames: u64) -> Vec<u64> {
    let mut sequence: Vec<u64> = (0..frames).filter(|number| number % 13 != 12).collect();
    for place in (0..sequence.len() - 1).step_by(7) {
        sequence.swap(place, place + 1);
    }
    sequence.iter().flat_map(|number| vec![*number; if number % 10 == 9 { 2 } else { 1 }]).collect()
}

#[test]
fn frames_that_a_device_loses_duplicates_and_reorders_are_counted() {
    let Some(mut device) = made(Faulty::new()) else { return };
    // Fewer than a tap holds, so that it loses none itself.
    let sequence = disorder(450);
    let mut next = 0;
    let reordered = sequence.iter().filter(|number| {
        let behind = **number < next;
        next = next.max(**number + 1);
        behind
    });
    let reordered = reordered.count() as u64;
    // Frames are ordered on each CPU separately.
    let pinned = affinity().and_then(|cpus| pin_current_thread(cpus[0]));
    pinned.expect("a thread may stay on a CPU of its own");
    for (family, sink) in [4, 6].into_iter().flat_map(|family| SINKS.map(|sink| (family, sink))) {
        for source in SOURCES {
            let spec = device.lab.spec(family, 200);
            let Some(counting) = made(device.lab.sink(sink, &spec, 450)) else { return };
            let burst = Burst { interval_ps: 10_000_000, ..paced(450) };
            assert_eq!(device.lab.send(source, &spec, &burst).expect("it sends").frames, 450);
            device.pass(&spec, 450, &sequence);
            let arrived = arrived(&*counting, sequence.len() as u64);
            let what = format!("{source:?}, {sink:?}, IPv{family}: {arrived:?}");
            let lost: Vec<u64> = (0..450).filter(|number| number % 13 == 12).collect();
            assert_eq!(arrived.frames, sequence.len() as u64, "{what}");
            assert_eq!(arrived.distinct(), 450 - lost.len() as u64, "{what}");
            assert_eq!(arrived.bytes, sequence.len() as u64 * 196, "{what}");
            assert_eq!(arrived.reordered, reordered, "{what}");
            assert_eq!(missing(&*counting, 450), lost, "{what}");
        }
    }
}
