//! The form of the frames of every source on the cable, read by us and by tshark.

use super::lab::{Lab, decode, made, paced};
use super::{SOURCES, wrapped};
use linux::capture::Capture;
use linux::clock::mono_now;
use linux::nic::{Offload, set_offload};
use model::dut::SourceKind;
use pathmeter_frames::FrameSpec;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::Command;
use units::{Bytes, Nanos};

/// The frames of a burst as received, with a removed tag restored, by their numbers.
fn captured(lab: &Lab, source: SourceKind, spec: &FrameSpec, frames: u64) -> linux::Result<Captured> {
    let family = if spec.is_ipv6() { 6 } else { 4 };
    let listen = || {
        set_offload("eth0", Offload::Gro, true)?;
        let peer = spec.outer.map_or(spec.source, |(source, _)| source.into());
        Capture { interface: "eth0".into(), peer, snap: 10_000, memory: Bytes(4 << 20) }.start()
    };
    let mut captor = lab.receiver.run(listen)??;
    lab.send(source, spec, &paced(frames))?;
    let mut captured = Captured::new();
    let deadline = mono_now() + Nanos::from_secs(10);
    while (captured.len() as u64) < frames && mono_now() < deadline {
        let taken = captor.frames(deadline, &mut |frame| {
            let (number, _) = decode(&bare(frame.bytes, spec), family);
            let tag = frame.vlan.map(|(protocol, tag)| [protocol.to_be_bytes(), tag.to_be_bytes()].concat());
            let whole = [&frame.bytes[..12], &tag.unwrap_or_default(), &frame.bytes[12..]].concat();
            assert!(captured.insert(number, whole).is_none(), "{number} came twice");
        });
        taken.expect("the capture goes on");
    }
    assert_eq!(captured.len() as u64, frames, "{source:?}, {spec:?}");
    Ok(captured)
}

/// The packet inside the tunnel, as a frame of its own.
fn bare(frame: &[u8], spec: &FrameSpec) -> Vec<u8> {
    let Some((source, destination)) = spec.outer else { return frame.to_vec() };
    let (header, packet) = frame[12..].split_at(2 + 40);
    assert_eq!(header[..6], [0x86, 0xdd, 0x60, 0, 0, 0]);
    assert_eq!(header[6..10], [(packet.len() >> 8) as u8, packet.len() as u8, 4, spec.hop_limit]);
    assert_eq!(header[10..], [source.octets(), destination.octets()].concat());
    [&frame[..12], &[8, 0], packet].concat()
}

type Captured = BTreeMap<u64, Vec<u8>>;

/// Frames of every kind.
fn specs(lab: &Lab) -> Vec<FrameSpec> {
    let sizes = |sizes: &[u64]| sizes.iter().copied().map(Bytes).collect();
    vec![
        lab.spec(4, 64),
        lab.spec(6, 78),
        lab.spec(6, 84),
        FrameSpec { sizes: sizes(&[64, 1518, 571]), ..lab.spec(4, 0) },
        FrameSpec { sizes: sizes(&[1518, 89]), vlan: Some(7), ..lab.spec(6, 0) },
        FrameSpec { vlan: Some(4094), ..lab.spec(4, 68) },
        FrameSpec { ports: Some((4000, 5000)), ..lab.spec(4, 512) },
        wrapped(lab.spec(4, 64)),
        wrapped(FrameSpec { sizes: sizes(&[64, 1478, 571]), vlan: Some(7), ..lab.spec(4, 0) }),
    ]
}

#[test]
fn every_source_sends_the_same_frames() {
    let Some(lab) = made(Lab::cable()) else { return };
    for spec in specs(&lab) {
        // The fields that depend on the time: the time, and the checksum that covers it.
        let outer = if spec.outer.is_some() { 40 } else { 0 };
        let udp = 14 + if spec.vlan.is_some() { 4 } else { 0 } + outer + if spec.is_ipv6() { 40 } else { 20 };
        let without_time = |(number, mut frame): (u64, Vec<u8>)| {
            if spec.is_timed() {
                frame[udp + 6..udp + 8].fill(0);
                frame[udp + 20..udp + 26].fill(0);
            }
            (number, frame)
        };
        let mut first: Option<Captured> = None;
        for source in SOURCES {
            let Some(frames) = made(captured(&lab, source, &spec, 100)) else { return };
            let frames = frames.into_iter().map(without_time).collect();
            let first = first.get_or_insert_with(|| Captured::clone(&frames));
            assert_eq!(*first, frames, "{source:?}, {spec:?}");
        }
    }
}

#[test]
fn tshark_finds_every_frame_well_formed() {
    let Some(lab) = made(Lab::cable()) else { return };
    for source in SOURCES {
        let mut frames = Vec::new();
        for spec in specs(&lab) {
            let Some(captured) = made(captured(&lab, source, &spec, 12)) else { return };
            frames.extend(captured.into_values());
        }
        let path = std::env::temp_dir().join(format!("pm-frames-{}.pcap", std::process::id()));
        std::fs::write(&path, pcap(&frames)).expect("there is room for a file");
        let lines = tshark(&path);
        std::fs::remove_file(&path).expect("it was just written");
        assert_eq!(lines.len(), frames.len());
        for (line, frame) in lines.iter().zip(&frames) {
            let fields: Vec<&str> = line.split('|').collect();
            let [length, ip, udp, protocol, malformed] = fields[..] else { panic!("{line}") };
            assert_eq!(length, frame.len().to_string());
            // 1: good. IPv6 has none in its header.
            assert!((ip == "1" || ip.is_empty()) && udp == "1" && malformed.is_empty(), "{line}");
            assert!(protocol.contains("udp"), "{line}");
        }
        assert_eq!(lines.iter().filter(|line| line.contains(":ipv6:")).count(), 60);
        assert_eq!(lines.iter().filter(|line| line.contains(":ipv6:ip:udp")).count(), 24);
        assert_eq!(lines.iter().filter(|line| line.contains(":vlan:")).count(), 36);
    }
}

/// A file of frames (draft-ietf-opsawg-pcap): magic, version 2.4, snap length, Ethernet; before each frame its lengths.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut put_words = |put_words: &[u32], frame: &[u8]| {
        put_words.iter().for_each(|word| file.extend(word.to_ne_bytes()));
        file.write_all(frame).expect("memory takes all");
    };
    put_words(&[0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 65_535, 1], &[]);
    for frame in frames {
        let length = frame.len() as u32;
        put_words(&[0, 0, length, length], frame);
    }
    file
}

fn tshark(path: &std::path::Path) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-T", "fields", "-E", "separator=|", "-E", "occurrence=f", "-r"]).arg(path);
    for protocol in ["ip", "udp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    for field in
        ["frame.len", "ip.checksum.status", "udp.checksum.status", "frame.protocols", "_ws.malformed"]
    {
        command.args(["-e", field]);
    }
    let output = command.output().expect("tshark is installed: `scripts/test` does so");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !complaint.contains("cut short"), "{complaint}");
    String::from_utf8(output.stdout).expect("tshark writes text").lines().map(str::to_owned).collect()
}
