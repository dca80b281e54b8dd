//! Our capture files, read by other implementations: tshark and capinfos, which must be installed.

use pathmeter_packet::pcapng::{self, LinkType, Packet, Statistics};
use pathmeter_packet::{Captured, Splitter};
use std::io::Write;
use std::process::{Command, Stdio};
use units::time::WallTime;

/// A captured TCP super-packet over IPv4: 4 segments, checksum left to the card.
fn super_packet() -> Vec<u8> {
    let payload = 3 * 1448 + 100;
    let length = u16::try_from(52 + payload).expect("fits").to_be_bytes();
    let ip =
        [&[0x45, 0], &length[..], &[0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]].concat();
    let tcp = [0x9c, 0x40, 0x14, 0x5a, 0, 0, 1, 0, 0, 0, 0, 1, 0x80, 0x18, 1, 0, 0xab, 0xcd, 0, 0];
    let options = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    [&ip[..], &tcp, &options, &vec![0x5a; payload]].concat()
}

fn begun(link: LinkType) -> Vec<u8> {
    let mut file = Vec::new();
    pcapng::section(&mut file, "pathmeter test", "Linux");
    pcapng::interface(&mut file, link, "tun7", 262_144);
    file
}

fn time() -> WallTime {
    "2026-08-01T12:30:00.123456789Z".parse().expect("RFC 3339")
}

/// The output of this program for the file, given on its standard input.
fn read(program: &str, arguments: &[&str], file: &[u8]) -> String {
    let mut command = Command::new(program);
    let piped = command.args(arguments).env("TZ", "UTC").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::piped()).spawn().unwrap_or_else(|e| panic!("run {program}: {e}"));
    child.stdin.take().expect("piped").write_all(file).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn fields(file: &[u8], names: &[&str]) -> Vec<String> {
    let mut arguments =
        vec!["-n", "-r", "-", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
    arguments.extend(["-T", "fields", "-E", "separator=|"]);
    arguments.extend(names.iter().flat_map(|name| ["-e", name]));
    read("tshark", &arguments, file).lines().map(str::to_owned).collect()
}

#[test]
fn tshark_reads_times_directions_and_comments() {
    if skip::lacks(&["tshark", "capinfos"]) {
        return;
    }
    let mut file = begun(LinkType::Ethernet);
    let ethernet = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let frame = [&ethernet, &super_packet()[..]].concat();
    let (length, bytes) = (u32::try_from(frame.len()).expect("small"), &frame[..96]);
    let comment = Some("gso 4 × 1448");
    pcapng::packet(&mut file, &Packet { time: time(), bytes, length, outgoing: Some(true), comment });
    let packet = Packet { time: time(), bytes, length, outgoing: Some(false), comment: None };
    pcapng::packet(&mut file, &packet);
    let statistics = Statistics { begin: time(), end: time(), received: 7, dropped: 5 };
    pcapng::statistics(&mut file, &statistics);
    let names = [
        "frame.time_epoch",
        "frame.interface_name",
        "frame.len",
        "frame.cap_len",
        "frame.packet_flags_direction",
        "frame.comment",
    ];
    let start = "1785587400.123456789|tun7|4510|96|";
    assert_eq!(
        fields(&file, &names),
        [format!("{start}0x00000002|gso 4 × 1448"), format!("{start}0x00000001|"),]
    );
}

#[test]
fn the_packets_of_a_super_packet_are_right_to_tshark() {
    if skip::lacks(&["tshark", "capinfos"]) {
        return;
    }
    let mut file = begun(LinkType::RawIp);
    let bytes = super_packet();
    let captured = Captured::read(&bytes, 4496, 1, 1448).expect("a packet");
    Splitter::default().split(&captured, true, &mut |bytes, length| {
        pcapng::packet(&mut file, &Packet { time: time(), bytes, length, outgoing: None, comment: None });
    });
    let names = [
        "ip.len",
        "ip.id",
        "ip.checksum.status",
        "tcp.seq_raw",
        "tcp.len",
        "tcp.flags.push",
        "tcp.checksum.status",
    ];
    assert_eq!(
        fields(&file, &names),
        [
            "1500|0x1234|1|256|1448|0|1",
            "1500|0x1235|1|1704|1448|0|1",
            "1500|0x1236|1|3152|1448|0|1",
            "152|0x1237|1|4600|100|1|1",
        ]
    );
}

#[test]
fn capinfos_reads_the_interface_and_finds_its_counts() {
    if skip::lacks(&["tshark", "capinfos"]) {
        return;
    }
    let mut file = begun(LinkType::RawIp);
    let bytes = &super_packet()[..];
    let packet = Packet { time: time(), bytes, length: 4496, outgoing: None, comment: None };
    pcapng::packet(&mut file, &packet);
    let statistics = Statistics { begin: time(), end: time(), received: 7, dropped: 5 };
    pcapng::statistics(&mut file, &statistics);
    let path = std::env::temp_dir().join(format!("pathmeter-pcapng-{}.pcapng", std::process::id()));
    let write = |path: &std::path::Path| -> std::io::Result<()> {
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).open(path)?.write_all(&file)
    };
    write(&path).expect("a temporary file");
    let text = read("capinfos", &["-M", &path.display().to_string()], &[]);
    std::fs::remove_file(&path).expect("it is ours");
    for line in [
        "Capture application: pathmeter test",
        "Number of packets:   1",
        "Encapsulation = Raw IP",
        "Name = tun7",
        "Number of stat entries = 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}
