use super::*;
use crate::error::Kind;
use crate::error::tests::printed;
use crate::work::dut::fixture::{Between, Fixture, again, frames, open};
use model::units::Nanos;
use std::time::{Duration, Instant};

fn paced(frames: u64) -> Burst {
    Burst { frames, interval_ps: 100_000_000, then: None, time: Nanos::from_secs(30) }
}

/// Sends and counts as a trial does.
fn trial(from: &mut LocalPort, to: &mut LocalPort, spec: &FrameSpec, burst: &Burst) -> (Sent, Counted) {
    to.count(SinkKind::Xdp, spec, burst.frames, Watch::Times).expect("a veth takes XDP");
    from.send(SourceKind::LiveFrames, spec, burst).expect("this kernel makes live frames");
    let sent = from.sent().expect("they are sent");
    std::thread::sleep(Duration::from_millis(100));
    (sent, to.counted().expect("they are counted"))
}

#[test]
fn frames_cross_every_device_with_addresses_made_for_the_test() {
    for between in [Between::Cable, Between::Bridge, Between::Router] {
        let Some(fixture) = Fixture::new(between) else { return };
        fixture.take_live_frames();
        let (mut one, mut two) = fixture.ports();
        for v4 in [true, false] {
            let spec = frames(&mut one, &two, v4, 128);
            let (sent, counted) = trial(&mut one, &mut two, &spec, &paced(1000));
            let counts = (sent.frames, counted.arrived.distinct(), counted.last_missing);
            assert_eq!(counts, (1000, 1000, None), "{between:?}, IPv4: {v4}");
            let back = frames(&mut two, &one, v4, 128);
            let (_, counted) = trial(&mut two, &mut one, &back, &paced(1000));
            assert_eq!(counted.arrived.distinct(), 1000, "{between:?} back, IPv4: {v4}");
        }
        assert_eq!(one.notes().len(), 2, "{:?}", one.notes());
        assert!(one.notes()[0].starts_with("eth0 was given 198.18.0.2/24"), "{:?}", one.notes());
    }
}

#[test]
fn what_was_added_goes_with_the_port_and_what_was_there_stays() {
    let Some(fixture) = Fixture::new(Between::Cable) else { return };
    let own: IpAddr = "10.9.0.1".parse().unwrap();
    let mut network = open(&fixture.hosts[0]).unwrap();
    network.add_address("eth0", own, 24).unwrap();
    let wanted: IpAddr = "198.18.7.7".parse().unwrap();
    let addressing = Addressing { addresses: vec![(own, 24), (wanted, 24)], gateways: vec![] };
    let options = LocalOptions { addressing, ..fixture.options(0) };
    let port = LocalPort::open(again(&fixture.hosts[0]), "eth0", &options).unwrap();
    // The interface has addresses of IPv4, so that none is added; it has none of IPv6.
    let expected: Vec<IpAddr> = vec![own, wanted, "2001:2::2".parse().unwrap()];
    assert_eq!(port.addresses(), expected);
    assert_eq!(port.facts().addresses, expected);
    drop(port);
    let left: Vec<IpAddr> =
        network.addresses().unwrap().iter().filter(|all| all.is_lasting).map(|all| all.address).collect();
    assert_eq!(left, [own]);
}

/// An interface with an address of the world is not given more of them unasked.
#[test]
fn nothing_is_added_unasked_to_what_others_use() {
    let Some(fixture) = Fixture::new(Between::Cable) else { return };
    let public: IpAddr = "8.8.4.4".parse().unwrap();
    open(&fixture.hosts[0]).unwrap().add_address("eth0", public, 24).unwrap();
    let port = LocalPort::open(again(&fixture.hosts[0]), "eth0", &fixture.options(0)).unwrap();
    assert_eq!((port.addresses(), port.notes()), (vec![public], &[][..]));
    assert!(crate::work::dut::safety::check(&[&port.exposure], &[], false).is_err());
    let addressing = bridged(0);
    let wanted = LocalOptions { addressing: addressing.clone(), ..fixture.options(0) };
    drop(port);
    let port = LocalPort::open(again(&fixture.hosts[0]), "eth0", &wanted).unwrap();
    assert_eq!(port.addresses().len(), 1 + addressing.addresses.len());
}

#[test]
fn ports_in_one_namespace_find_each_other() {
    let Some(fixture) = Fixture::in_one(Between::Bridge) else { return };
    let (mut one, two) = fixture.ports();
    assert_eq!(one.next_hop(two.addresses()[0]).unwrap(), two.mac());

    let fixture = Fixture::in_one(Between::Router).expect("the first could be made");
    let (mut one, mut two) = fixture.ports();
    let near = open(&fixture.device).unwrap().link("near").unwrap().mac;
    assert_eq!(Some(one.next_hop(two.addresses()[0]).unwrap()), near);
    fixture.take_live_frames();
    let spec = frames(&mut one, &two, true, 64);
    let (_, counted) = trial(&mut one, &mut two, &spec, &paced(500));
    assert_eq!(counted.arrived.distinct(), 500);
    one.gateways.clear();
    let reply = printed(&one.next_hop(two.addresses()[0]).unwrap_err());
    assert!(reply.contains("198.19.0.2 is an address of this host") && reply.contains("gateway"), "{reply}");
}

fn refused(fixture: &Fixture, interface: &str) -> (Kind, String) {
    let error = LocalPort::open(again(&fixture.hosts[0]), interface, &fixture.options(0)).unwrap_err();
    (error.kind(), printed(&error))
}

#[test]
fn an_interface_that_cannot_be_a_port_is_refused_with_a_remedy() {
    let Some(fixture) = Fixture::new(Between::Cable) else { return };
    let (kind, reply) = refused(&fixture, "eth7");
    assert_eq!(kind, Kind::Usage);
    assert!(reply.contains("no interface eth7 here") && reply.contains("lo, eth0"), "{reply}");
    let (kind, reply) = refused(&fixture, "lo");
    assert!(kind == Kind::Usage && reply.contains("loopback"), "{reply}");
    let mut network = open(&fixture.hosts[0]).unwrap();
    network.add_bridge("br0").unwrap();
    let (kind, reply) = refused(&fixture, "br0");
    assert!(kind == Kind::Usage && reply.contains("br0 is a bridge"), "{reply}");
    // The other end down: no carrier.
    open(&fixture.hosts[1]).unwrap().set_down("eth0").unwrap();
    let (kind, reply) = refused(&fixture, "eth0");
    assert!(kind == Kind::Unreachable && reply.contains("eth0 has no carrier"), "{reply}");
    network.set_down("eth0").unwrap();
    let (kind, reply) = refused(&fixture, "eth0");
    assert!(
        kind == Kind::Unreachable
            && reply.contains("eth0 is down")
            && reply.contains("`ip link set eth0 up`"),
        "{reply}"
    );
}

#[test]
fn a_next_hop_that_is_not_found_states_why() {
    let Some(fixture) = Fixture::new(Between::Router) else { return };
    let (mut one, two) = fixture.ports();
    let failed = |port: &mut LocalPort, to: &str| {
        let error = port.next_hop(to.parse().unwrap()).unwrap_err();
        assert_eq!(error.kind(), Kind::Unreachable);
        printed(&error)
    };
    // The gateway is on the link and does not exist.
    one.gateways = vec!["198.18.0.99".parse().unwrap(), "2001:2::99".parse().unwrap()];
    let reply = failed(&mut one, "198.19.0.2");
    assert!(reply.contains("ARP for 198.18.0.99 (the router) on eth0 is not answered"), "{reply}");
    let reply = failed(&mut one, "2001:2:0:1::2");
    assert!(reply.contains("neighbour solicitation for 2001:2::99"), "{reply}");
    one.gateways.clear();
    let reply = failed(&mut one, "198.19.0.2");
    assert!(reply.contains("no route to 198.19.0.2") && reply.contains("dev eth0"), "{reply}");
    drop(two);
}

#[test]
fn what_is_being_sent_ends_when_it_is_stopped() {
    let Some(fixture) = Fixture::new(Between::Cable) else { return };
    let (mut one, mut two) = fixture.ports();
    let spec = frames(&mut one, &two, true, 64);
    let long = Burst { frames: 10_000_000, time: Nanos::from_secs(1000), ..paced(0) };
    two.count(SinkKind::Xdp, &spec, 1000, Watch::Counts).unwrap();
    one.send(SourceKind::LiveFrames, &spec, &long).unwrap();
    assert!(one.send(SourceKind::LiveFrames, &spec, &long).is_err(), "it sends already");
    let (stop, began) = (one.stop.clone(), Instant::now());
    let raise = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        stop.raise();
    });
    let sent = one.sent().expect("what was sent until then is reported");
    assert!(sent.frames > 0 && sent.frames < long.frames, "{sent:?}");
    assert!(began.elapsed() < Duration::from_secs(200));
    raise.join().unwrap();
    let reply = one.send(SourceKind::LiveFrames, &spec, &long).unwrap_err().to_string();
    assert_eq!(reply, "eth0 was asked to stop");
    assert!(one.sent().is_err() && two.counted().is_ok() && two.counted().is_err());
    // Dropped in the middle of it.
    one.stop = Stop::default();
    one.send(SourceKind::LiveFrames, &spec, &long).unwrap();
    drop(one);
    assert!(began.elapsed() < Duration::from_secs(400));
}

#[test]
fn what_the_kernel_refuses_is_an_error_of_send_and_count() {
    let Some(fixture) = Fixture::new(Between::Cable) else { return };
    let (mut one, mut two) = fixture.ports();
    let spec = FrameSpec { sizes: vec![model::units::Bytes(9018)], ..frames(&mut one, &two, true, 64) };
    let error = one.send(SourceKind::LiveFrames, &spec, &paced(1)).unwrap_err();
    let reply = crate::error::sentence(&error);
    assert!(reply.starts_with("send out of eth0: ") && reply.contains("above 3200 bytes"), "{reply}");
    assert!(one.sent().is_err(), "nothing was begun");
    open(&fixture.hosts[1]).unwrap().delete_link("eth0").unwrap();
    let reply = crate::error::sentence(&two.count(SinkKind::Xdp, &spec, 1, Watch::Counts).unwrap_err());
    assert!(reply.starts_with("count on eth0: "), "{reply}");
}
