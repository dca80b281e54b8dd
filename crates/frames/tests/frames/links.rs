//! Kinds of interfaces: large, without XDP, with several queues, down and up again.

use super::lab::{FEW, Lab, arrived, made, open, paced};
use super::{SINKS, SOURCES};
use linux::cpu::{affinity, pin_current_thread};
use model::dut::{SinkKind, SourceKind};
use pathmeter_frames::{FrameSpec, Stop, Watch, open_sink, open_source};
use std::process::Command;
use std::thread;
use std::time::Duration;

#[test]
fn jumbo_frames_go_through_packet_sockets() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 9018);
    let refused = |source| lab.send(source, &spec, &paced(1)).expect_err("the MTU is 1500").to_string();
    let why = "send frames on eth0, 9018 bytes long: its MTU is 1500: make it 9000 or send shorter frames";
    assert_eq!(refused(SourceKind::Packet), why);
    for host in [&lab.sender, &lab.receiver] {
        open(host).and_then(|mut network| network.set_mtu("eth0", 9000)).expect("a veth may be so large");
    }
    for family in [4, 6] {
        let spec = lab.spec(family, 9018);
        for sink in [SinkKind::PacketRing, SinkKind::Packet] {
            let pair = (SourceKind::Packet, sink);
            let Some((sent, arrived)) = made(lab.count(pair, &spec, &paced(300))) else { return };
            let counts = (sent.frames, arrived.frames, arrived.bytes, arrived.duplicates);
            assert_eq!(counts, (300, 300, 300 * 9014, 0), "{sink:?}");
        }
    }
    let why = "pass through AF_XDP a frame of 9018 bytes: there is room for 4100 bytes: send shorter frames, or \
               use AF_PACKET";
    assert_eq!(refused(SourceKind::XskCopy), why);
    let refused = lab.sink(SinkKind::Xsk, &spec, 1).map(drop).expect_err("a chunk is a page").to_string();
    assert!(refused.contains("there is room for 3844 bytes"), "{refused}");
}

/// A bridge has no XDP of its own.
#[test]
fn where_the_driver_has_no_xdp_the_stack_does_its_work() {
    let Some(lab) = made(Lab::cable()) else { return };
    let mut far = open(&lab.receiver).expect("the namespace opens");
    far.add_bridge("br0").and_then(|()| far.set_up("br0")).expect("it is made");
    far.set_master("eth0", Some("br0")).expect("it is a port");
    let bridge = far.link("br0").expect("it is there");
    let destination_mac = bridge.mac.expect("a bridge has an address");
    let spec = FrameSpec { destination_mac, ..lab.spec(4, 128) };
    let open = |kind| lab.receiver.run(|| open_sink(kind, &spec, FEW, Watch::Times, bridge.index))?;
    let refused = open(SinkKind::Xdp).map(drop).expect_err("its driver has no such mode");
    assert!(refused.is_unsupported(), "{refused}");
    for kind in &SINKS[1..] {
        let Some(sink) = made(open(*kind)) else { return };
        let sent = lab.send(SourceKind::Packet, &spec, &paced(FEW)).expect("it sends");
        let arrived = arrived(&*sink, FEW);
        assert_eq!((sent.frames, arrived.frames, arrived.duplicates), (FEW, FEW, 0), "{kind:?}");
    }
}

/// A device that restarts takes its link down: frames sent meanwhile are lost, as with every other source.
#[test]
fn frames_are_sent_on_into_a_dead_link() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    open(&lab.receiver).and_then(|mut network| network.set_down("eth0")).expect("it goes down");
    for source in SOURCES {
        let Some(sent) = made(lab.send(source, &spec, &paced(200))) else { return };
        assert_eq!(sent.frames, 200, "{source:?}");
    }
}

/// A sink outlives its link.
#[test]
fn counting_goes_on_when_the_link_comes_back() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    for kind in SINKS {
        let Some(sink) = made(lab.sink(kind, &spec, 100)) else { return };
        let send = || lab.send(SourceKind::Packet, &spec, &paced(100)).expect("it sends");
        send();
        assert_eq!(arrived(&*sink, 100).frames, 100, "{kind:?}");
        let mut far = open(&lab.receiver).expect("the namespace opens");
        far.set_down("eth0").expect("it goes down");
        send();
        far.set_up("eth0").expect("it comes up");
        let mut near = open(&lab.sender).expect("the namespace opens");
        while !near.link("eth0").expect("it is there").has_carrier {
            thread::sleep(Duration::from_millis(1));
        }
        send();
        let arrived = arrived(&*sink, 200);
        assert_eq!((arrived.frames, arrived.duplicates), (200, 100), "{kind:?}");
    }
}

#[test]
fn every_queue_has_its_socket() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    let cpus = affinity().expect("they can be read");
    if cpus.len() < 2 {
        skip::skip("on one CPU a veth has one queue");
        return;
    }
    let mut ethtool = Command::new("ethtool");
    lab.receiver.spawn_inside(ethtool.args(["-L", "eth0", "rx", "2"])).expect("the namespace opens");
    assert!(ethtool.status().expect("ethtool is installed").success());
    let Some(sink) = made(lab.sink(SinkKind::Xsk, &spec, FEW)) else { return };
    // A veth receives live frames on the queue of the CPU that sends them.
    for cpu in &cpus[..2] {
        let send = || {
            pin_current_thread(*cpu)?;
            open_source(SourceKind::LiveFrames, &spec, lab.out.index)?.run(&paced(FEW), &Stop::default())
        };
        lab.sender.run(send).and_then(|sent| sent).expect("it sends");
    }
    let arrived = arrived(&*sink, 2 * FEW);
    assert_eq!((arrived.frames, arrived.duplicates), (2 * FEW, FEW));
    // In each queue they were in order.
    assert_eq!(arrived.reordered, 0);
}
