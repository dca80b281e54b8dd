//! Programs that tests start inside a namespace: this test binary once more, told by its environment what to be.

use super::lab::{Lab, Node};
use super::support::Running;
use linux::capture::Capture;
use linux::clock::mono_now;
use linux::raw::RawSender;
use model::units::{Bytes, Nanos};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::Command;

const ROLE: &str = "PATHMETER_TEST_ROLE";

/// Starts this at a node; it ends when dropped.
pub(super) fn start(lab: &Lab, node: Node, role: &str) -> Running {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &lab.ns(node)]).arg(std::env::current_exe().expect("it runs"));
    command.args(["helper::plays_its_role", "--exact", "--ignored", "--nocapture"]).env(ROLE, role);
    let helper = Running::start(command);
    helper.wait_for_output("ready");
    helper
}

#[test]
#[ignore = "a program that other tests start"]
fn plays_its_role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = role.split(' ').collect();
    match words[..] {
        ["echo", address] => echo(address.parse().unwrap()),
        ["liar", interface, peer, own, mtu, shift] => {
            let peer: IpAddr = peer.parse().unwrap();
            liar(interface, peer, own.parse().unwrap(), mtu.parse().unwrap(), shift.parse().unwrap());
        }
        _ => panic!("no such role: {role}"),
    }
}

/// Sends every datagram's beginning back.
fn echo(address: SocketAddr) {
    let socket = UdpSocket::bind(address).unwrap();
    ready();
    let mut buffer = vec![0; 65_536];
    while let Ok((len, from)) = socket.recv_from(&mut buffer) {
        let _ = socket.send_to(&buffer[..len.min(8)], from);
    }
}

/// Says of every probe of `peer` larger than `mtu` that no more than `mtu` crosses. `shift` is added to the source port
/// of the datagram it quotes: another flow's.
fn liar(interface: &str, peer: IpAddr, own: IpAddr, mtu: u32, shift: u16) {
    let capture = Capture { interface: interface.to_owned(), peer, snap: 256, memory: Bytes(1 << 22) };
    let mut captor = capture.start().unwrap();
    let sender = RawSender::open(peer.is_ipv6()).unwrap();
    ready();
    loop {
        let deadline = mono_now() + Nanos::from_secs(1);
        let mut lies = Vec::new();
        captor
            .frames(deadline, &mut |frame| {
                let packet = &frame.bytes[frame.network.min(frame.bytes.len())..];
                lies.extend(lie(packet, frame.length - frame.network as u32, peer, own, mtu, shift));
            })
            .unwrap();
        for lie in lies {
            let _ = sender.send(&lie, SocketAddr::new(peer, 0));
        }
    }
}

fn lie(packet: &[u8], length: u32, peer: IpAddr, own: IpAddr, mtu: u32, shift: u16) -> Option<Vec<u8>> {
    let header = if peer.is_ipv6() { 40 } else { 20 };
    let payload = packet.get(header + 8..)?;
    let source_at = if peer.is_ipv6() { 8 } else { 12 };
    let octets = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let (peer, own) = (octets(peer), octets(own));
    if length <= mtu || !payload.starts_with(b"PMTRPRB") || !packet[source_at..].starts_with(&peer) {
        return None;
    }
    let mut quote = packet[..(header + 8 + 32).min(packet.len())].to_vec();
    let port = u16::from_be_bytes([quote[header], quote[header + 1]]).wrapping_add(shift);
    quote[header..header + 2].copy_from_slice(&port.to_be_bytes());
    let v4 = header == 20;
    let told = if v4 { (mtu & 0xffff).to_be_bytes() } else { mtu.to_be_bytes() };
    let mut icmp = [if v4 { &[3, 4, 0, 0][..] } else { &[2, 0, 0, 0] }, &told, &quote].concat();
    let length = (icmp.len() as u16).to_be_bytes();
    let pseudo = if v4 { Vec::new() } else { [&own[..], &peer, &[0, 0], &length, &[0, 0, 0, 58]].concat() };
    let sum = checksum(&[&pseudo[..], &icmp].concat());
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let ip = if v4 {
        let total = (20 + icmp.len() as u16).to_be_bytes();
        [&[0x45, 0, total[0], total[1], 0, 1, 0, 0, LIARS_HOPS, 1, 0, 0], &own[..], &peer].concat()
    } else {
        [&[0x60, 0, 0, 0, length[0], length[1], 58, LIARS_HOPS], &own[..], &peer].concat()
    };
    Some([ip, icmp].concat())
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[expect(clippy::print_stdout, reason = "the test that started this waits for it")]
fn ready() {
    println!("ready");
}

/// TTL by which rules tell the liar's messages from the router's own.
pub(super) const LIARS_HOPS: u8 = 77;
