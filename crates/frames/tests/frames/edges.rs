//! Errors and limits of sources and sinks, and their reports of frames that they could not count.

use super::SINKS;
use super::lab::{Lab, all, arrived, made, missing, paced};
use linux::nic::{Offload, set_offload};
use model::dut::{SinkKind, SourceKind};
use pathmeter_frames::{Burst, FrameSpec, Stop, Watch, open_sink, open_source};
use std::thread;
use std::time::Duration;
use units::{Bytes, Nanos};

/// Sinks that pass frames through this process.
const OUTSIDE: [SinkKind; 3] = [SinkKind::Xsk, SinkKind::PacketRing, SinkKind::Packet];

#[test]
fn what_cannot_be_is_named() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    let refused = |source| lab.send(source, &spec, &paced(1)).expect_err("it cannot be");
    // A veth has no memory to share.
    let copies = refused(SourceKind::XskZeroCopy);
    assert!(copies.is_unsupported(), "{copies}");
    let open_here = || open_source(SourceKind::XskCopy, &spec, lab.out.index);
    let Some(first) = made(lab.sender.run(open_here).and_then(|source| source)) else { return };
    let busy = refused(SourceKind::XskCopy);
    assert_eq!(busy.errno(), Some(libc::EBUSY));
    let place = format!("bind an AF_XDP socket to queue 0 of interface {}: ", lab.out.index);
    assert!(busy.to_string().starts_with(&place), "{busy}");
    drop(first);
    for kind in [SourceKind::Packet, SourceKind::XskCopy] {
        let nowhere = lab.sender.run(|| open_source(kind, &spec, 4711).map(drop)).expect("it opens");
        let nowhere = nowhere.expect_err("there is no such interface");
        assert!(nowhere.to_string().contains("4711"), "{nowhere}");
    }
    for kind in SINKS {
        let nowhere = || open_sink(kind, &spec, 1, Watch::Counts, 4711).map(drop);
        let nowhere = lab.receiver.run(nowhere).expect("it opens").expect_err("there is no such interface");
        assert!(nowhere.to_string().contains("4711"), "{kind:?}: {nowhere}");
    }
    for kind in OUTSIDE {
        let small = FrameSpec { sizes: vec![Bytes(63)], ..spec.clone() };
        let small = lab.sink(kind, &small, 1).map(drop).expect_err("there is no room for the signature");
        assert!(small.to_string().starts_with("make frames of [63] bytes"), "{kind:?}: {small}");
    }
}

/// The kernel tears a socket down after its end, and reports meanwhile that its queue is taken.
#[test]
fn a_queue_that_was_just_left_is_taken_again() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    for _ in 0..5 {
        let pair = (SourceKind::XskCopy, SinkKind::Xsk);
        let Some((sent, arrived)) = made(lab.count(pair, &spec, &paced(20))) else { return };
        assert_eq!((sent.frames, arrived.frames), (20, 20));
    }
}

#[test]
fn frames_of_another_trial_are_not_counted_and_repetitions_are() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(6, 128);
    for kind in SINKS {
        let Some(sink) = made(lab.sink(kind, &spec, 100)) else { return };
        assert_eq!(sink.kind(), kind);
        let send = |spec: &FrameSpec, frames| lab.send(SourceKind::Packet, spec, &paced(frames));
        send(&FrameSpec { tag: 7, ..spec.clone() }, 100).expect("it sends");
        send(&FrameSpec { vlan: Some(7), ..spec.clone() }, 100).expect("it sends");
        send(&spec, 100).expect("it sends");
        let once = arrived(&*sink, 100);
        assert_eq!((once.frames, once.duplicates, once.reordered), (100, 0, 0), "{kind:?}");
        send(&spec, 150).expect("it sends");
        let twice = arrived(&*sink, 250);
        let counts = (twice.frames, twice.duplicates, twice.reordered, twice.unchecked);
        // The sink was opened for 100 numbers, and records them by sixty-four.
        assert_eq!(counts, (250, 100, 100, 150 - 128), "{kind:?}");
    }
}

#[test]
fn a_stop_and_the_time_end_every_source() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    let slow =
        Burst { frames: u64::MAX, interval_ps: 1_000_000_000, then: None, time: Nanos::from_millis(40) };
    for source in [SourceKind::XskCopy, SourceKind::Packet] {
        let Some(sink) = made(lab.sink(SinkKind::Packet, &spec, 100)) else { return };
        let sent = lab.send(source, &spec, &slow).expect("it sends");
        // One frame per millisecond, from the first on: never more, however late they are.
        assert!((1..=41).contains(&sent.frames) && sent.time <= slow.time, "{sent:?}");
        assert_eq!(arrived(&*sink, sent.frames).frames, sent.frames);
        let stop = Stop::default();
        let endless = Burst { time: Nanos::from_secs(60), ..slow };
        let stopped = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                stop.raise();
            });
            lab.sender.run(|| open_source(source, &spec, lab.out.index)?.run(&endless, &stop))?
        });
        let stopped = stopped.expect("it sends");
        assert!(stopped.time < Nanos::from_secs(50), "{stopped:?}");
    }
}

#[test]
fn without_a_pace_all_frames_are_handed_over() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = FrameSpec { sizes: [64, 1518, 570].map(Bytes).to_vec(), ..lab.spec(4, 0) };
    for source in [SourceKind::XskCopy, SourceKind::Packet] {
        let Some(sink) = made(lab.sink(SinkKind::Xdp, &spec, 20_000)) else { return };
        let sent = lab.send(source, &spec, &all(20_000)).expect("it sends");
        assert_eq!((sent.frames, sent.late, sent.gaps), (20_000, Nanos::ZERO, 0));
        let arrived = arrived(&*sink, 20_000);
        // A busy host may lose some between the two, and the sink then reports which.
        let missing = missing(&*sink, 20_000).len() as u64;
        assert_eq!((arrived.frames, arrived.duplicates), (20_000 - missing, 0), "{source:?}");
        assert!(arrived.frames > 0);
    }
}

#[test]
fn delays_are_of_one_clock() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    for pair in super::pairs() {
        let Some((_, arrived)) = made(lab.count(pair, &spec, &paced(200))) else { return };
        let delays = arrived.delays.expect("the frames carry their time");
        let (less, more) = arrived.variation.expect("the frames carry their time");
        assert_eq!((delays.count(), less.count() + more.count()), (200, 199), "{pair:?}");
        // Another clock would be off by hours.
        assert!(delays.max() < Some(30_000_000_000), "{pair:?}: {:?}", delays.max());
        let silence = arrived.silence.expect("there was some time between two").time();
        assert!(silence > Nanos::ZERO && silence < Nanos::from_secs(30), "{pair:?}: {silence:?}");
        let counted = || open_sink(pair.1, &spec, 1, Watch::Counts, lab.arrival.index)?.arrived();
        let counted = lab.receiver.run(counted).and_then(|arrived| arrived).expect("it opens");
        assert!(counted.delays.is_none() && counted.silence.is_none(), "{pair:?}");
    }
}

#[test]
fn frames_that_were_joined_are_no_count() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = FrameSpec { ports: Some((4000, 5000)), ..lab.spec(4, 512) };
    for kind in [SinkKind::PacketRing, SinkKind::Packet] {
        let Some(sink) = made(lab.sink(kind, &spec, 10_000)) else { return };
        let join = || set_offload("eth0", Offload::UdpGroForwarding, true);
        lab.receiver.run(join).and_then(|joined| joined).expect("a veth can join frames");
        // Live frames are merged in batches.
        lab.send(SourceKind::LiveFrames, &spec, &all(10_000)).expect("it sends");
        let joined = sink.arrived().expect_err("the number of arrivals is unknown").to_string();
        assert!(
            joined.ends_with("the interface joins frames: switch off its rx-udp-gro-forwarding"),
            "{joined}"
        );
    }
}
