//! Frames made and counted in the kernel: over a cable, through a router and a bridge, in namespaces, with exact counts.
//!
//! Needs root (`CAP_BPF` in the first user namespace); without it each test here reports on stderr that it is skipped, which in
//! CI is a failure.

#[path = "../lab/mod.rs"]
mod lab;
mod receiving;
mod sending;
mod times;

use lab::{FEW, Lab, Middle, all, arrived, decode, dropper, made, missing, open, paced};
use linux::OsError;
use linux::capture::Capture;
use linux::clock::mono_now;
use linux::cpu::{affinity, pin_current_thread};
use linux::nic::{Offload, set_offload};
use pathmeter_frames::bpf::assembler::{Assembler, Op, Reg};
use pathmeter_frames::bpf::{Generator, Mode, Program, XdpSink};
use pathmeter_frames::{Arrived, Burst, FrameSpec, Sent, Sink, Source, Stop, Watch};
use std::collections::BTreeSet;
use std::process::Command;
use units::framing::Imix;
use units::{Bytes, Nanos};

impl Lab {
    fn sink(&self, spec: &FrameSpec, frames: u64) -> linux::Result<XdpSink> {
        self.receiver.run(|| XdpSink::attach(spec, frames, Watch::Times, self.arrival.index, Mode::Driver))?
    }

    fn send(&self, spec: &FrameSpec, burst: &Burst) -> linux::Result<Sent> {
        self.sender.run(|| {
            // A veth receives in the sender's context: on one CPU the order is that of sending.
            pin_current_thread(affinity()?[0])?;
            Generator::new(spec, self.out.index)?.run(burst, &Stop::default())
        })?
    }

    /// Sends and counts, each in its namespace.
    fn count(&self, spec: &FrameSpec, burst: &Burst) -> linux::Result<(Sent, Arrived)> {
        let sink = self.sink(spec, burst.frames)?;
        let sent = self.send(spec, burst)?;
        Ok((sent, arrived(&sink, sent.frames)))
    }
}

#[test]
fn every_frame_over_a_cable_is_counted_once() {
    let Some(lab) = made(Lab::cable()) else { return };
    for (family, size, timed) in [(4, 64, true), (4, 1518, true), (6, 78, false), (6, 84, true)] {
        let spec = lab.spec(family, size);
        let Some((sent, arrived)) = made(lab.count(&spec, &paced(FEW))) else { return };
        assert_eq!(sent.frames, FEW);
        let counts =
            (arrived.frames, arrived.bytes, arrived.duplicates, arrived.reordered, arrived.unchecked);
        assert_eq!(counts, (FEW, FEW * (size - 4), 0, 0, 0), "IPv{family}, {size} bytes");
        assert_eq!(spec.is_timed(), timed);
    }
}

/// More frames than the interface queues: where the host takes the receiver's CPU away some are lost, and the sink reports which.
#[test]
fn a_flood_is_counted_or_missing() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    let Some(sink) = made(lab.sink(&spec, 100_000)) else { return };
    assert_eq!(lab.send(&spec, &all(100_000)).expect("it sends").frames, 100_000);
    let deadline = mono_now() + Nanos::from_secs(5);
    let (arrived, missing) = loop {
        let arrived = sink.arrived().expect("the counters can be read");
        let missing = missing(&sink, 100_000);
        // Some frames may be in flight.
        if arrived.frames + missing.len() as u64 == 100_000 || mono_now() >= deadline {
            break (arrived, missing);
        }
    };
    assert_eq!((arrived.frames + missing.len() as u64, arrived.duplicates), (100_000, 0));
    assert_eq!(sink.last_missing(100_000).expect("the bits can be read"), missing.last().copied());
}

#[test]
fn a_mix_and_a_vlan_are_counted_once() {
    let Some(lab) = made(Lab::cable()) else { return };
    let sizes = Imix::simple(units::framing::Network::V4).sequence().to_vec();
    for vlan in [None, Some(100)] {
        let sizes = sizes.iter().map(|size| *size + Bytes(if vlan.is_some() { 4 } else { 0 })).collect();
        let spec = FrameSpec { vlan, sizes, ..lab.spec(4, 0) };
        let Some((sent, arrived)) = made(lab.count(&spec, &paced(192))) else { return };
        assert_eq!((sent.frames, arrived.distinct(), arrived.reordered), (192, 192, 0));
        let twelve: u64 = spec.sizes.iter().map(|size| size.0 - 4).sum();
        assert_eq!(arrived.bytes, 16 * twelve);
    }
}

#[test]
fn every_frame_through_a_router_arrives() {
    let Some(lab) = made(Lab::through(Middle::Router)) else { return };
    for (family, size) in [(4, 64), (4, 512), (6, 84)] {
        let Some((sent, arrived)) = made(lab.count(&lab.spec(family, size), &paced(FEW))) else { return };
        assert_eq!(sent.frames, FEW);
        assert_eq!((arrived.frames, arrived.duplicates), (FEW, 0), "IPv{family}, {size} bytes");
    }
}

#[test]
fn every_frame_through_a_bridge_arrives() {
    let Some(lab) = made(Lab::through(Middle::Bridge)) else { return };
    let Some((sent, arrived)) = made(lab.count(&lab.spec(4, 64), &paced(FEW))) else { return };
    assert_eq!((sent.frames, arrived.frames, arrived.duplicates), (FEW, FEW, 0));
}

#[test]
fn what_a_router_drops_is_known_to_the_frame() {
    let Some(lab) = made(Lab::through(Middle::Router)) else { return };
    let middle = lab.middle.as_ref().expect("there is a router");
    let near = open(middle).and_then(|mut network| network.link("near")).expect("it has a near side").index;
    let attach = || dropper(7)?.attach_xdp(near, Mode::Driver);
    let Some(_attached) = made(middle.run(attach).and_then(|attached| attached)) else { return };
    let spec = lab.spec(4, 64);
    let Some(sink) = made(lab.sink(&spec, FEW)) else { return };
    assert_eq!(lab.send(&spec, &paced(FEW)).expect("it sends").frames, FEW);
    let arrived = arrived(&sink, FEW - FEW / 7);
    assert_eq!((arrived.distinct(), arrived.duplicates, arrived.reordered), (FEW - FEW / 7, 0, 0));
    let dropped: Vec<u64> = (0..FEW).skip(6).step_by(7).collect();
    assert_eq!(missing(&sink, FEW), dropped);
}

/// Mirrors frames received at one port of a bridge to the other, to which the bridge forwards them as well.
#[test]
fn frames_that_a_bridge_duplicates_are_counted_separately() {
    let Some(lab) = made(Lab::through(Middle::Bridge)) else { return };
    let middle = lab.middle.as_ref().expect("there is a bridge");
    for arguments in [
        "qdisc add dev near clsact",
        "filter add dev near ingress protocol ip u32 match u32 0 0 action mirred egress mirror dev far",
    ] {
        let mut tc = Command::new("tc");
        middle.spawn_inside(tc.args(arguments.split(' '))).expect("the namespace opens");
        assert!(tc.status().expect("tc is installed").success(), "tc {arguments}");
    }
    let spec = lab.spec(4, 64);
    let Some(sink) = made(lab.sink(&spec, FEW)) else { return };
    // Each of them arrives twice.
    assert_eq!(lab.send(&spec, &paced(FEW / 2)).expect("it sends").frames, FEW / 2);
    let arrived = arrived(&sink, FEW);
    assert_eq!((arrived.frames, arrived.distinct(), arrived.duplicates), (FEW, FEW / 2, FEW / 2));
}

#[test]
fn a_router_drops_what_has_no_hops_left() {
    let Some(lab) = made(Lab::through(Middle::Router)) else { return };
    let spec = FrameSpec { hop_limit: 1, ..lab.spec(4, 64) };
    let Some(sink) = made(lab.sink(&spec, FEW)) else { return };
    assert_eq!(lab.send(&spec, &paced(FEW)).expect("it sends").frames, FEW);
    // This frame arrives after the others would have.
    let after = FrameSpec { hop_limit: 64, ..spec };
    assert_eq!(lab.send(&after, &all(1)).expect("it sends").frames, 1);
    let arrived = arrived(&sink, 1);
    assert_eq!((arrived.frames, arrived.distinct()), (1, 1));
}

#[test]
fn frames_of_another_trial_are_left_and_repetitions_are_counted() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    let Some(sink) = made(lab.sink(&spec, 100)) else { return };
    lab.send(&spec, &all(100)).expect("it sends");
    let once = arrived(&sink, 100);
    assert_eq!((once.frames, once.duplicates, once.reordered), (100, 0, 0));
    lab.send(&FrameSpec { tag: 7, ..spec.clone() }, &all(50)).expect("it sends");
    lab.send(&spec, &all(150)).expect("it sends");
    let twice = arrived(&sink, 250);
    assert_eq!((twice.frames, twice.duplicates, twice.reordered), (250, 100, 100));
    assert!(twice.others >= 50, "{twice:?}");
    // The sink was opened for 100 numbers, and records them by sixty-four.
    assert_eq!((twice.distinct(), twice.unchecked), (150, 150 - 128));
    assert_eq!(missing(&sink, 128), Vec::<u64>::new());
}

#[test]
fn what_is_missing_is_known_by_its_number() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(6, 84);
    let Some(sink) = made(lab.sink(&spec, 200)) else { return };
    lab.send(&spec, &all(130)).expect("it sends");
    assert_eq!(arrived(&sink, 130).frames, 130);
    assert_eq!(missing(&sink, 134), [130, 131, 132, 133]);
    assert_eq!(missing(&sink, 200)[..2], [130, 131]);
}

#[test]
fn every_header_and_checksum_is_right() {
    let Some(lab) = made(Lab::cable()) else { return };
    for (family, sizes) in [
        (4, vec![64]),
        (4, vec![91]),
        (6, vec![78]),
        (6, vec![300]),
        (4, vec![64, 64, 1518, 570, 77]),
        (6, vec![1518, 84]),
    ] {
        let spec = FrameSpec { sizes: sizes.iter().copied().map(Bytes).collect(), ..lab.spec(family, 0) };
        let listen = || {
            set_offload("eth0", Offload::Gro, true)?;
            let (peer, memory) = (spec.source, Bytes(4 << 20));
            Capture { interface: "eth0".into(), peer, snap: 2000, memory }.start()
        };
        let Some(mut captor) = made(lab.receiver.run(listen).and_then(|captor| captor)) else { return };
        lab.send(&spec, &paced(FEW)).expect("it sends");
        let (mut numbers, mut flows) = (BTreeSet::new(), BTreeSet::new());
        let deadline = mono_now() + Nanos::from_secs(10);
        while numbers.len() < FEW as usize && mono_now() < deadline {
            let taken = captor.frames(deadline, &mut |frame| {
                let (number, flow) = decode(frame.bytes, family);
                let size = sizes[number as usize % sizes.len()];
                assert_eq!(frame.length as u64, size - 4, "frame {number}");
                assert!(numbers.insert(number), "{number} came twice");
                flows.insert(flow);
            });
            taken.expect("the capture goes on");
        }
        assert_eq!(numbers, (0..FEW).collect(), "IPv{family}, {sizes:?} bytes");
        assert!(flows.len() > FEW as usize - 5, "{} flows", flows.len());
    }
}

#[test]
fn a_refusal_names_what_and_why() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    let Some(_sink) = made(lab.sink(&spec, 1)) else { return };
    let busy = lab.sink(&spec, 1).expect_err("there is a program already");
    assert_eq!(busy.errno(), Some(libc::EBUSY), "{busy}");
    let nowhere =
        lab.receiver.run(|| XdpSink::attach(&spec, 1, Watch::Counts, 4711, Mode::Driver)).expect("it opens");
    let nowhere = nowhere.expect_err("there is no such interface").to_string();
    assert!(nowhere.starts_with("attach pm_sink to interface 4711: "), "{nowhere}");
    let mut code = Assembler::default();
    code.op(Op::Mov, Reg::R0, Reg::R9);
    code.exit();
    let minded: OsError = Program::load_xdp("broken", code).expect_err("R9 was never set");
    assert!(minded.to_string().contains("R9 !read_ok"), "{minded}");
}
