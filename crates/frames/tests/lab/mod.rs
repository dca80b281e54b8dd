//! Common parts of the tests of frames: hosts in namespaces with a cable or a device between them, and decoding of frames.

use linux::clock::mono_now;
use linux::namespace::Namespace;
use linux::netlink::{Link, Network, OperState};
use linux::nic::{Offload, set_offload};
use pathmeter_frames::bpf::assembler::{Assembler, If, Op, Reg, Size};
use pathmeter_frames::bpf::{Map, Program};
use pathmeter_frames::{Arrived, Burst, FrameSpec, Sink};
use std::net::IpAddr;
use std::thread;
use units::{Bytes, Nanos};

/// A host that sends and one that counts, with a cable between them or a third host.
pub(crate) struct Lab {
    pub(crate) sender: Namespace,
    pub(crate) receiver: Namespace,
    /// The host between them, whose interfaces are `near` and `far`.
    pub(crate) middle: Option<Namespace>,
    pub(crate) out: Link,
    pub(crate) arrival: Link,
    /// The Ethernet address that frames are sent to: the receiver's, or the router's near side.
    pub(crate) next_hop: [u8; 6],
}

/// The device between the two.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Middle {
    Router,
    Bridge,
}

impl Lab {
    pub(crate) fn cable() -> linux::Result<Lab> {
        let (sender, receiver) = (Namespace::new()?, Namespace::new()?);
        for end in [&sender, &receiver] {
            // Otherwise the kernel's own multicasts run on any CPU, and process frames of the test on that one.
            end.set_sysctl("net/ipv6/conf/default/disable_ipv6", "1")?;
        }
        let mut network = open(&sender)?;
        network.add_veth("eth0", "eth0", &receiver)?;
        network.set_up("eth0")?;
        let mut far = open(&receiver)?;
        far.set_up("eth0")?;
        let (out, arrival) = (network.link("eth0")?, far.link("eth0")?);
        let next_hop = arrival.mac.expect("a veth has an address");
        Ok(Lab { sender, receiver, middle: None, out, arrival, next_hop })
    }

    pub(crate) fn through(kind: Middle) -> linux::Result<Lab> {
        let (sender, middle, receiver) = (Namespace::new()?, Namespace::new()?, Namespace::new()?);
        let mut between = open(&middle)?;
        let mut ends = Vec::new();
        for (port, host) in [("near", &sender), ("far", &receiver)] {
            between.add_veth(port, "eth0", host)?;
            between.set_up(port)?;
            let mut network = open(host)?;
            network.set_up("eth0")?;
            ends.push(network.link("eth0")?);
        }
        // Otherwise its driver does not accept frames without socket buffers.
        middle.run(|| set_offload("near", Offload::Gro, true))??;
        for port in ["near", "far"] {
            wait_until_up(&mut between, port)?;
        }
        let [out, arrival] = <[Link; 2]>::try_from(ends).expect("there are two ends");
        let mac = arrival.mac.expect("a veth has an address");
        let next_hop = match kind {
            Middle::Bridge => {
                between.add_bridge("br0")?;
                between.set_up("br0")?;
                between.set_master("near", Some("br0"))?;
                between.set_master("far", Some("br0"))?;
                mac
            }
            Middle::Router => {
                for (at, family) in [("net/ipv4/ip_forward", 4), ("net/ipv6/conf/all/forwarding", 6)] {
                    middle.set_sysctl(at, "1")?;
                    between.add_address("near", address(family, 0, 254), prefix(family))?;
                    between.add_address("far", address(family, 1, 254), prefix(family))?;
                    between.add_neighbour("far", address(family, 1, 1), mac)?;
                }
                between.link("near")?.mac.expect("a veth has an address")
            }
        };
        Ok(Lab { sender, receiver, middle: Some(middle), out, arrival, next_hop })
    }

    pub(crate) fn spec(&self, family: u8, size: u64) -> FrameSpec {
        FrameSpec {
            source_mac: self.out.mac.expect("a veth has an address"),
            destination_mac: self.next_hop,
            source: address(family, 0, 1),
            destination: address(family, 1, 1),
            hop_limit: 64,
            ports: None,
            vlan: None,
            outer: None,
            sizes: vec![Bytes(size)],
            tag: 0x706d_0001,
        }
    }
}

/// The kernel detects a carrier only after a while; a bridge does not forward to a port before.
fn wait_until_up(network: &mut Network, port: &str) -> linux::Result<()> {
    let deadline = mono_now() + Nanos::from_secs(10);
    while network.link(port)?.state != OperState::Up && mono_now() < deadline {
        thread::yield_now();
    }
    Ok(())
}

pub(crate) fn open(namespace: &Namespace) -> linux::Result<Network> {
    namespace.run(Network::open)?
}

/// RFC 2544's and RFC 5180's networks for benchmarks: 198.18.0.0/15 and 2001:2::/48.
pub(crate) fn address(family: u8, net: u8, host: u8) -> IpAddr {
    match family {
        4 => [198, 18 + net, 0, host].into(),
        _ => [0x2001, 2, 0, net.into(), 0, 0, 0, host.into()].into(),
    }
}

pub(crate) fn prefix(family: u8) -> u8 {
    if family == 4 { 24 } else { 64 }
}

/// A burst as fast as possible.
pub(crate) fn all(frames: u64) -> Burst {
    Burst { frames, interval_ps: 0, then: None, time: Nanos::from_secs(30) }
}

/// Slow enough that a router forwards its queue in time.
pub(crate) fn paced(frames: u64) -> Burst {
    Burst { interval_ps: 50_000_000, ..all(frames) }
}

/// The numbers below `frames` that have not arrived, from the lowest: each is found below the one after it.
pub(crate) fn missing(sink: &dyn Sink, frames: u64) -> Vec<u64> {
    let last_below = |frames: u64| sink.last_missing(frames).expect("the numbers can be read");
    let mut missing: Vec<u64> =
        std::iter::successors(last_below(frames), |number| last_below(*number)).collect();
    missing.reverse();
    missing
}

/// The arrivals, as soon as there are this many frames, or after some seconds.
pub(crate) fn arrived(sink: &dyn Sink, frames: u64) -> Arrived {
    let deadline = mono_now() + Nanos::from_secs(5);
    loop {
        let arrived = sink.arrived().expect("the counters can be read");
        if arrived.frames >= frames || mono_now() >= deadline {
            return arrived;
        }
        thread::yield_now();
    }
}

/// No more than a virtual interface queues: when the host delays the sender, late frames follow at once.
pub(crate) const FEW: u64 = 200;

/// The result, or `None` after printing the reason: only for lack of permission.
#[track_caller]
pub(crate) fn made<T>(result: linux::Result<T>) -> Option<T> {
    match result {
        Ok(made) => Some(made),
        Err(error) if error.errno() == Some(libc::EPERM) => {
            skip::skip(format!("needs root: {error}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A program that drops one of this many UDP frames, always the last of them.
pub(crate) fn dropper(one_in: i32) -> linux::Result<Program> {
    let count = Map::array("turn", 1, 1)?;
    let mut code = Assembler::default();
    let pass = code.label();
    code.load(Size::Word, Reg::R2, Reg::R1, 4);
    code.load(Size::Word, Reg::R3, Reg::R1, 0);
    code.op_value(Op::Add, Reg::R3, 60);
    code.jump_if(If::Greater, Reg::R3, Reg::R2, pass);
    code.load(Size::Byte, Reg::R4, Reg::R3, 23 - 60);
    code.jump_if_value(If::NotEqual, Reg::R4, 17, pass);
    code.set_map_value(Reg::R5, &count);
    code.load(Size::Double, Reg::R4, Reg::R5, 0);
    code.op_value(Op::Add, Reg::R4, 1);
    code.store(Size::Double, Reg::R5, 0, Reg::R4);
    code.op_value(Op::Mod, Reg::R4, one_in);
    code.jump_if_value(If::NotEqual, Reg::R4, 0, pass);
    code.op_value(Op::Mov, Reg::R0, 1);
    code.exit();
    code.place(pass);
    code.op_value(Op::Mov, Reg::R0, 2);
    code.exit();
    Program::load_xdp("dropper", code)
}

/// Checks a frame, and returns its number and its ports.
pub(crate) fn decode(frame: &[u8], family: u8) -> (u64, [u8; 4]) {
    let (udp, addresses) = if family == 4 { (34, 26..34) } else { (54, 22..54) };
    if family == 4 {
        assert_eq!(ones_sum(&[&frame[14..34]]), 0xffff, "the header's checksum");
    }
    let ip_length = if family == 4 { [frame[16], frame[17]] } else { [frame[18], frame[19]] };
    let counted = frame.len() - if family == 4 { 14 } else { udp };
    assert_eq!(usize::from(u16::from_be_bytes(ip_length)), counted);
    let length = frame.len() - udp;
    assert_eq!(usize::from(u16::from_be_bytes([frame[udp + 4], frame[udp + 5]])), length);
    let pseudo = [0, 17, frame[udp + 4], frame[udp + 5]];
    assert_eq!(ones_sum(&[&frame[addresses], &pseudo, &frame[udp..]]), 0xffff, "UDP's checksum");
    let port = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    assert!(port(udp) >= 1024 && (1..=49_151).contains(&port(udp + 2)));
    assert_eq!(frame[udp + 8..udp + 12], 0x706d_0001_u32.to_be_bytes());
    let number = frame[udp + 12..udp + 20].try_into().expect("eight bytes");
    (u64::from_be_bytes(number), frame[udp..udp + 4].try_into().expect("four bytes"))
}

/// RFC 1071's sum of parts that are each padded to even length.
pub(crate) fn ones_sum(parts: &[&[u8]]) -> u64 {
    let word = |pair: &[u8]| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    let mut sum: u64 = parts.iter().flat_map(|part| part.chunks(2)).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}
