//! Programs that tests start inside a namespace: this test binary once more, whose role its environment names.

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
    let argv: Vec<&str> = role.split(' ').collect();
    match argv[..] {
        ["echo", address] => echo(address.parse().unwrap()),
        ["liar", interface, peer, own, above, reported, shift] => {
            let peer: IpAddr = peer.parse().unwrap();
            let (above, reported, shift) = (above.parse(), reported.parse(), shift.parse());
            let lie = Lie {
                peer,
                own: own.parse().unwrap(),
                above: above.unwrap(),
                reported: reported.unwrap(),
                shift: shift.unwrap(),
            };
            liar(interface, &lie);
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

/// The reply of a liar to every probe of `peer` larger than `above`.
struct Lie {
    peer: IpAddr,
    /// In whose name.
    own: IpAddr,
    above: u32,
    /// The MTU it reports.
    reported: u32,
    /// Added to the source port of the datagram it quotes: then it is another flow's.
    shift: u16,
}

fn liar(interface: &str, lie: &Lie) {
    let capture =
        Capture { interface: interface.to_owned(), peer: lie.peer, snap: 256, memory: Bytes(1 << 22) };
    let mut captor = capture.start().unwrap();
    let sender = RawSender::open(lie.peer.is_ipv6()).unwrap();
    ready();
    loop {
        let mut lies = Vec::new();
        captor
            .frames(mono_now() + Nanos::from_secs(1), &mut |frame| {
                let packet = &frame.bytes[frame.network.min(frame.bytes.len())..];
                lies.extend(lie.about(packet, frame.length - frame.network as u32));
            })
            .unwrap();
        for packet in lies {
            let _ = sender.send(&packet, SocketAddr::new(lie.peer, 0));
        }
    }
}

impl Lie {
    /// The packet that reports it; `None`: that one is none of ours.
    fn about(&self, packet: &[u8], length: u32) -> Option<Vec<u8>> {
        let v4 = self.peer.is_ipv4();
        let header = if v4 { 20 } else { 40 };
        let source = packet.get(if v4 { 12 } else { 8 }..)?;
        let ours =
            packet.get(header + 8..)?.starts_with(b"PMTRPRB") && source.starts_with(&octets(self.peer));
        if length <= self.above || !ours {
            return None;
        }
        let mut quote = packet[..(header + 8 + 32).min(packet.len())].to_vec();
        let port = u16::from_be_bytes([quote[header], quote[header + 1]]).wrapping_add(self.shift);
        quote[header..header + 2].copy_from_slice(&port.to_be_bytes());
        let kind = if v4 { [3, 4, 0, 0] } else { [2, 0, 0, 0] };
        let mut icmp = [&kind[..], &self.reported.to_be_bytes(), &quote].concat();
        let length = (icmp.len() as u16).to_be_bytes();
        let ends = [octets(self.own), octets(self.peer)].concat();
        let pseudo = if v4 { Vec::new() } else { [&ends[..], &[0, 0], &length, &[0, 0, 0, 58]].concat() };
        let sum = checksum(&[&pseudo[..], &icmp].concat());
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());
        let total = (20 + icmp.len() as u16).to_be_bytes();
        let ip = match v4 {
            true => vec![0x45, 0, total[0], total[1], 0, 1, 0, 0, LIARS_HOPS, 1, 0, 0],
            false => vec![0x60, 0, 0, 0, length[0], length[1], 58, LIARS_HOPS],
        };
        Some([ip, ends, icmp].concat())
    }
}

fn octets(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = pairs.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[expect(clippy::print_stdout, reason = "the test that started this waits for it")]
fn ready() {
    println!("ready");
}

/// TTL by which rules distinguish the liar's messages from the router's own.
pub(super) const LIARS_HOPS: u8 = 77;
