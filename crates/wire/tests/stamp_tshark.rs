//! Our STAMP frames, read by another implementation: the TWAMP-Test dissector of tshark, which must be installed.
//!
//! The dissector knows the open packets alone; the HMAC of authenticated ones has its own tests.

use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use pathmeter_wire::echo::{Arrival, Exchange, Reflect, Request};
use pathmeter_wire::stamp::{Clock, Format, PORT, Reflector, ReflectorOptions, Sender, SenderOptions};
use std::io::Write;
use std::process::{Command, Stdio};

const SENDER: [u8; 4] = [192, 0, 2, 1];
const REFLECTOR: [u8; 4] = [192, 0, 2, 2];
const SENDER_PORT: u16 = 40_000;

/// A request and its reply, as UDP payloads.
fn exchange(length: usize, format: Format) -> (Vec<u8>, Vec<u8>) {
    let clock = |wall: &str| Clock { mono: MonoTime(0), wall: wall.parse::<WallTime>().expect("RFC 3339") };
    let mut sender = Sender::new(SenderOptions {
        clock: clock("2026-08-01T12:30:00.250Z"),
        format,
        synced: false,
        error: Nanos::from_nanos(976_562),
        ssid: 0x0a0b,
        key: None,
        far_counts: false,
    });
    let mut reflector = Reflector::new(ReflectorOptions {
        clock: clock("2026-08-01T12:31:00.500Z"),
        format,
        synced: true,
        error: Nanos::from_micros(1),
        stateful: true,
        key: None,
    });
    let mut request = vec![0xab; length];
    for sequence in 1..=3 {
        sender.request(Request { sequence, sent: MonoTime(sequence), wants_reply: true }, &mut request);
    }
    let mut reply = request.clone();
    let from = (SENDER, SENDER_PORT).into();
    let arrival = Arrival { ttl: Some(61), ..Arrival::new(from, MonoTime(1000)) };
    let replied = reflector.reflect(arrival, MonoTime(2_000_000), &mut reply, length);
    assert_eq!(replied, Some(length));
    (request, reply)
}

/// A request on the wire.
fn there(payload: &[u8]) -> Vec<u8> {
    frame((SENDER, SENDER_PORT), (REFLECTOR, PORT), payload)
}

/// A reply on the wire.
fn back(payload: &[u8]) -> Vec<u8> {
    frame((REFLECTOR, PORT), (SENDER, SENDER_PORT), payload)
}

/// An Ethernet frame of one UDP datagram over IPv4.
fn frame(from: ([u8; 4], u16), to: ([u8; 4], u16), payload: &[u8]) -> Vec<u8> {
    let length = |header: usize| u16::try_from(payload.len() + header).expect("a small frame").to_be_bytes();
    let ethernet = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let ip = [&[0x45, 0], &length(28)[..], &[0, 0, 0x40, 0, 255, 17, 0, 0], &from.0, &to.0].concat();
    let udp = [from.1.to_be_bytes(), to.1.to_be_bytes(), length(8), [0, 0]].concat();
    [&ethernet, &ip[..], &udp, payload].concat()
}

/// A capture file in the classic form, little-endian, of Ethernet frames.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 0xffff, 1_u32];
    let mut file: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for (second, frame) in (1_u32..).zip(frames) {
        let length = u32::try_from(frame.len()).expect("a small frame");
        file.extend([second, 0, length, length].into_iter().flat_map(u32::to_le_bytes));
        file.extend(frame);
    }
    file
}

/// The values that tshark reads for these fields of its TWAMP-Test dissector in each frame.
fn dissect(frames: &[Vec<u8>], fields: &[&str]) -> Vec<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r", "-", "-t", "u", "-d", "udp.port==862,twamp.test", "-T", "fields"]);
    tshark.args(["-E", "separator=|"]).env("TZ", "UTC");
    for field in fields {
        tshark.args(["-e", &format!("twamp.test.{field}")]);
    }
    let mut child = tshark
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tshark is needed for this test: apt-get install tshark (scripts/test does it)");
    let mut input = child.stdin.take().expect("it was piped");
    input.write_all(&pcap(frames)).expect("tshark reads its input");
    drop(input);
    let output = child.wait_with_output().expect("tshark ends by itself");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark failed: {errors}");
    let text = String::from_utf8(output.stdout).expect("fields in UTF-8");
    text.lines().map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

/// The value of a flag: newer versions of tshark print words.
fn flag(text: &str) -> bool {
    let first = text.split(',').next().expect("split gives at least one");
    matches!(first, "1" | "True")
}

const FIELDS: [&str; 13] = [
    "seq_number",
    "timestamp",
    "error_estimate",
    "mbz1",
    "receive_timestamp",
    "sender_seq_number",
    "sender_timestamp",
    "sender_error_estimate",
    "mbz2",
    "sender_ttl",
    "padding",
    "error_estimate.s",
    "error_estimate.z",
];

/// The expected values of a frame, in the order of [`FIELDS`]. Of times, the part that every version of tshark prints alike.
struct Expected {
    numbers: [(usize, u32); 7],
    times: [(usize, &'static str); 3],
    padding: &'static str,
    synced: bool,
}

fn assert_read(read: &[String], expected: &Expected) {
    for (field, number) in expected.numbers {
        assert_eq!(read[field], number.to_string(), "{} of {read:?}", FIELDS[field]);
    }
    for (field, time) in expected.times {
        assert!(read[field].contains(time), "{} of {read:?} is not {time}", FIELDS[field]);
    }
    assert_eq!(read[10], expected.padding);
    assert_eq!((flag(&read[11]), flag(&read[12])), (expected.synced, false), "{read:?}");
}

/// Reads a request and its reply of `length` bytes and compares every field.
fn assert_dissected(length: usize, request_padding: &'static str, reply_padding: &'static str) {
    let (request, reply) = exchange(length, Format::Ntp);
    let read = dissect(&[there(&request), back(&reply)], &FIELDS);
    assert_eq!(read.len(), 2, "{read:?}");
    // 2^-10 s is a Scale of 15 and a Multiplier of 128; 1 us is 135 * 2^5 units, rounded up, and synchronised.
    let (asked, answered) = (0x0f80, 0x8000 | 5 << 8 | 135);
    let request = Expected {
        numbers: [(0, 2), (2, asked), (3, 0x0a0b), (5, 0), (7, 0), (8, 0), (9, 0)],
        times: [(1, "12:30:00.250000003"), (4, "00:00:00.000000000"), (6, "00:00:00.000000000")],
        padding: request_padding,
        synced: false,
    };
    assert_read(&read[0], &request);
    let reply = Expected {
        numbers: [(0, 0), (2, answered), (3, 0x0a0b), (5, 2), (7, asked), (8, 0), (9, 61)],
        times: [(1, "12:31:00.502000000"), (4, "12:31:00.500001000"), (6, "12:30:00.250000003")],
        padding: reply_padding,
        synced: true,
    };
    assert_read(&read[1], &reply);
}

#[test]
fn base_packets_read_as_they_were_written() {
    if skip::lacks(&["tshark"]) {
        return;
    }
    assert_dissected(44, "000000", "000000");
}

#[test]
fn extra_padding_follows_the_base_packet() {
    if skip::lacks(&["tshark"]) {
        return;
    }
    assert_dissected(54, "00000080010006abababababab", "00000000010006abababababab");
}

#[test]
fn the_z_flag_marks_ptp_timestamps() {
    if skip::lacks(&["tshark"]) {
        return;
    }
    let (request, reply) = exchange(44, Format::Ptp);
    for read in dissect(&[there(&request), back(&reply)], &FIELDS) {
        assert!(flag(&read[12]), "{read:?}");
    }
}
