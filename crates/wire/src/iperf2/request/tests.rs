//! Headers as 2.1.8 sends them, and any others.

use super::*;
use crate::iperf2::{Fixed, FrameRecord};
use model::units::Bytes;
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

/// The request in these bytes, which this end writes likewise.
fn read(transport: Transport, text: &str) -> Request {
    let mut bytes = hex(text);
    bytes.extend_from_slice(&[0x30; 200]);
    let Header::Request(request, _) = Request::read(transport, &bytes) else {
        panic!("no request: {:?}", Request::read(transport, &bytes))
    };
    let written = request.bytes();
    let from = if transport == Transport::Udp { 16 } else { 0 };
    let same = written.len().min(hex(text).len());
    assert_eq!(written[from..same], bytes[from..same], "written as read");
    *request
}

fn tcp(text: &str) -> Request {
    read(Transport::Tcp, text)
}

fn udp(text: &str) -> Request {
    read(Transport::Udp, &format!("00000001 6b014a74 000d4ea1 00000000 {text}"))
}

fn second() -> Amount {
    Amount::Time(Nanos::from_secs(1))
}

/// Headers of `iperf -c 127.0.0.1 -p PORT` with the options of each line, captured from a socket.
#[test]
fn tcp_headers_of_2_1_8() {
    let plain =
        tcp("40010078 00000001 00009685 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001
        00080003 00000000 00000000 00000000 00000000");
    let expected = Request { amount: second(), port: 0x9685, ..Request::new(Transport::Tcp) };
    assert_eq!(plain, expected);
    assert!(plain.wants_ack() && !plain.server_sends());

    let bytes =
        tcp("40010078 00000001 000085cf 00000000 00000000 00100000 00000000 00000000 00000000 00020001
        00080003 00000000 00000000 00000000 00000000");
    assert_eq!(bytes.amount, Amount::Bytes(Bytes(1 << 20)), "-n 1M");

    let rate =
        tcp("40010078 00000002 0000b3ab 000003e8 00000000 ffffff9c 00000000 00000000 00000000 00020001
        00080003 00000010 18711a00 00000200 00000000");
    assert_eq!(rate.rate, Some(Rate::Bits(BitRate(9_000_000_000))), "-b 9g");
    assert_eq!((rate.streams, rate.length, rate.tos), (2, 1000, 0x10), "-P 2 -l 1000 -S 0x10");

    let dual =
        tcp("c0010079 00000001 00001771 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001
        00080003 00000000 00000000 00000000 00000000");
    assert_eq!((dual.traffic, dual.port, dual.wants_ack()), (Traffic::Dual, 6001, true), "-d -L 6001");

    let tradeoff =
        tcp("c0010078 00000001 00001772 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001
        00080003 00000000 00000000 00000000 00000000");
    assert_eq!((tradeoff.traffic, tradeoff.port), (Traffic::Tradeoff, 6002), "-r -L 6002");

    let reverse =
        tcp("44010078 00000001 0000a48b 00000000 00000000 ffffff9c 00000000 00000000 04000000 00020001
        00080003 00000000 00000000 00000000 00000000");
    assert_eq!((reverse.traffic, reverse.wants_ack()), (Traffic::Reverse, false), "-R");

    let duplex =
        tcp("44010078 00000001 00008187 00000000 00000000 ffffff9c 00000000 00000000 08000000 00020001
        00080003 00000000 00000000 00000000 00000000");
    assert_eq!((duplex.traffic, duplex.wants_ack()), (Traffic::FullDuplex, false), "--full-duplex");

    let detect =
        tcp("46010078 00000001 00009647 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001
        00080003 00000000 00000000 00000000 00000000");
    assert_eq!((detect.traffic, detect.wants_ack()), (Traffic::Forward, true), "-X");
}

#[test]
fn longer_tcp_headers_of_2_1_8() {
    let times =
        tcp("400100a0 00000001 0000a499 00000000 00000000 ffffff9c 00000000 00000000 00100000 00020001
        00080003 00000000 00000000 00000000 00000000 00000000 6b014a6d 0008a3aa 00000000 00000000");
    let start = WallTime(0x6b01_4a6d * 1_000_000_000 + 0x8_a3aa * 1000);
    assert_eq!(
        (times.trip_times, times.start, times.starts_then),
        (true, Some(start), false),
        "--trip-times"
    );

    let starts =
        tcp("400100a0 00000001 00009363 00000000 00000000 ffffff38 00000000 00000000 10000000 00020001
        00080003 00000000 00000000 00000000 00000000 00000000 6b014a6a 00000000 00000000 00000000");
    assert_eq!((starts.starts_then, starts.start.is_some()), (true, true), "--txstart-time");

    let fq = tcp("400100a0 00000001 00009835 00000000 00000000 ffffff9c 00000000 00000000 02000000 00020001
        00080003 00000000 00000000 00000000 00000000 00000000 6b014a74 000d2aee 0001e848 00000000");
    assert_eq!(fq.fq_rate, Some(BitRate(1_000_000)), "--fq-rate 1m");

    let frames =
        tcp("440100e0 00000001 0000a2cf 00000000 00000000 ffffff9c 00000000 00000000 04010000 00020001
        00080003 00000000 00000000 00000000 00000000 00000000 6b014a71 000c8853 00000000 00000000
        0000003c 00000000 000f4240 00000000 000186a0 00000000 00000000 00000000");
    let Shape::Isochronous(Some(settings)) = frames.shape else { panic!("{:?}", frames.shape) };
    let whole = |whole| Fixed { whole, millionths: 0 };
    assert_eq!(
        (settings.rate, settings.mean, settings.variance),
        (whole(60), whole(1_000_000), whole(100_000))
    );
    assert_eq!(settings.period(), Some(Nanos::from_nanos(16_666_666)));

    let key = tcp("5601007c 00000001 0000a4c3 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001
        00080003 00000000 00000000 00000000 00000000 00067365 63726574");
    assert_eq!(key.key.as_deref(), Some(&b"secret"[..]), "--permit-key=secret -X");
}

#[test]
fn udp_headers_of_2_1_8() {
    let plain =
        udp("48010098 00000001 0000dcca 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001
        00080003 00000000 00100000 00000000 00000000");
    assert_eq!(plain.rate, Some(Rate::Bits(BitRate(1 << 20))), "its default of one Mbit/s");
    assert!(plain.wide && !plain.wants_ack());

    let reverse =
        udp("6c010098 00000001 0000d562 00000000 00000000 ffffff9c 00000000 00000000 04000000 00020001
        00080003 00000000 00100000 00000000 00000000");
    assert_eq!(reverse.traffic, Traffic::Reverse);

    let duplex =
        udp("6c010098 00000001 0000a04b 00000000 00000000 ffffff9c 00000000 00000000 08080000 00020001
        00080003 00000000 00100000 00000000 00000000");
    assert_eq!((duplex.traffic, duplex.no_fin), (Traffic::FullDuplex, true));

    let dual =
        udp("c8010099 00000001 0000e508 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001
        00080003 00000000 00100000 00000000 00000000");
    assert_eq!(dual.traffic, Traffic::Dual);

    let silent =
        udp("68010098 00000001 0000db7d 00000000 00000000 ffffff9c 00000000 00000000 00080000 00020001
        00080003 00000000 00100000 00000000 00000000");
    assert!(silent.no_fin, "--no-udp-fin");

    let times =
        udp("680100d8 00000001 00009c3c 00000000 00000000 ffffff9c 00000000 00000000 00100000 00020001
        00080003 00000000 00100000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
        00000000 00000000 00000000 00000000 6b014a74 000d8cb4 00000000 00000000");
    assert!(times.trip_times && times.start.is_some());
}

/// A plain header of 2.2 is four bytes longer, which moves only the frame record of UDP.
#[test]
fn headers_of_2_2_are_recognised_by_their_length() {
    let text = "40010080 00000001 00001389 00000000 00000000 ffffff9c 00000000 00000000 00004000 00020002
        00020005 00000000 00000000 00000000 00000000 000f4240";
    let Header::Request(request, 64) = Request::read(Transport::Tcp, &hex(text)) else {
        panic!("no request")
    };
    let version = request.version.unwrap();
    assert_eq!((request.traffic, version.to_string().as_str()), (Traffic::Forward, "2.2.2"));
    assert_eq!((FrameRecord::place(request.version), FrameRecord::place(Some(Version::OURS))), (80, 76));
    assert_eq!(Request::read(Transport::Tcp, &hex(text)[..60]), Header::More(64));
    assert_eq!(Version::OURS.to_string(), "2.1.8");
}

#[test]
fn clients_without_an_extension() {
    let bytes = hex("80000001 00000001 00001771 00000000 00000000 ffffff9c 30313233");
    let Header::Request(request, 24) = Request::read(Transport::Tcp, &bytes) else { panic!("no request") };
    assert_eq!((request.traffic, request.version, request.wants_ack()), (Traffic::Dual, None, false));
    assert_eq!(request.bytes(), bytes[..24]);
    assert_eq!(Request::read(Transport::Tcp, b"0123456789"), Header::Plain);
    let datagram = hex("00000001 6b014a74 000dbdd5 00000000 36373839 30313233");
    assert_eq!(Request::read(Transport::Udp, &datagram), Header::Plain, "-C");
    let small = hex("00000001 6b014a74 000da6e4 00000000 00020000 30313233");
    assert_eq!(Request::read(Transport::Udp, &small), Header::Plain, "small trip times have no test to read");
}

#[test]
fn foreign_bytes_are_recognised() {
    for first in
        [&b"GET / HTTP/1.1\r\nHost: a\r\n"[..], b"SSH-2.0-OpenSSH_9.6\r\n", b"PRI * HTTP/2.0\r\n\r\n"]
    {
        assert!(matches!(Request::read(Transport::Tcp, first), Header::Foreign | Header::Plain), "{first:?}");
    }
    let tls = b"\x16\x03\x01\x02\0\x01\0\x01";
    assert_eq!(Request::read(Transport::Tcp, tls), Header::Foreign);
    let mut typed = Request::new(Transport::Tcp).bytes();
    typed[27] = 1;
    assert_eq!(Request::read(Transport::Tcp, &typed), Header::Foreign);
}

fn frames() -> impl Strategy<Value = Frames> {
    let fixed =
        || (any::<u32>(), 0..1_000_000_u32).prop_map(|(whole, millionths)| Fixed { whole, millionths });
    let rate = fixed().prop_map(|fixed| Fixed { whole: fixed.whole.max(1), ..fixed });
    (rate, fixed(), fixed(), fixed()).prop_map(|(rate, mean, variance, gap)| Frames {
        rate,
        mean,
        variance,
        gap,
    })
}

fn requests() -> impl Strategy<Value = Request> {
    let traffic = prop::sample::select(vec![
        Traffic::Forward,
        Traffic::Reverse,
        Traffic::FullDuplex,
        Traffic::Dual,
        Traffic::Tradeoff,
    ]);
    let amount = prop_oneof![
        (1..MAX_AMOUNT).prop_map(|hundredths| Amount::Time(Nanos(hundredths * HUNDREDTH))),
        (0..MAX_AMOUNT).prop_map(|bytes| Amount::Bytes(Bytes(bytes))),
    ];
    let rate =
        prop::option::of((1..1_u64 << 56, any::<bool>()).prop_map(|(rate, packets)| {
            if packets { Rate::Packets(rate) } else { Rate::Bits(BitRate(rate)) }
        }));
    let shape = prop_oneof![
        Just(Shape::Stream),
        Just(Shape::Isochronous(None)),
        frames().prop_map(|frames| Shape::Isochronous(Some(frames))),
        frames().prop_map(Shape::Bursts),
    ];
    let head = (any::<bool>(), traffic, 0..STREAMS_MASK, any::<u16>(), any::<u32>(), amount);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<u8>());
    let tail = (rate, shape, prop::option::of(1..1_u64 << 50), prop::option::of(any::<u32>()));
    let names =
        (prop::option::of("[a-z]{1,16}"), prop::option::of(prop::collection::vec(any::<u8>(), 0..128)));
    (head, flags, tail, names).prop_map(
        |((udp, traffic, streams, port, length, amount), flags, tail, names)| {
            let transport = if udp { Transport::Udp } else { Transport::Tcp };
            let (trip_times, starts_then, no_fin, peer_detect, tos) = flags;
            let start = (trip_times || starts_then).then_some(WallTime(1_795_246_708_000_001_000));
            let fq_rate = tail.2.map(|rate| BitRate(rate * 8));
            let (congestion, key) = if udp { (None, None) } else { names };
            Request {
                traffic,
                streams,
                port,
                length,
                amount,
                trip_times,
                starts_then,
                start,
                no_fin,
                tos,
                fq_rate,
                rate: tail.0,
                shape: tail.1,
                prefetch: tail.3,
                peer_detect,
                congestion,
                key,
                ..Request::new(transport)
            }
        },
    )
}

proptest! {
    #[test]
    fn requests_survive_the_wire(request in requests(), cut in 0_usize..300) {
        let request = match request.traffic {
            // The flags of `-X` include "reverse or full duplex", which excludes -d and -r.
            Traffic::Dual | Traffic::Tradeoff => Request { peer_detect: false, ..request },
            _ => request,
        };
        let bytes = request.bytes();
        let Header::Request(read, length) = Request::read(request.transport, &bytes) else {
            return Err(TestCaseError::fail("no request"));
        };
        prop_assert_eq!(&*read, &request);
        prop_assert!(request.transport == Transport::Udp || length == bytes.len());
        if request.transport == Transport::Tcp && cut < bytes.len() {
            let reported = Request::read(request.transport, &bytes[..cut]);
            prop_assert!(matches!(reported, Header::More(more) if more > cut), "{:?} of {}", reported, cut);
        }
    }

    #[test]
    fn any_bytes_are_an_answer(bytes: Vec<u8>, first in any::<[u8; 2]>(), udp: bool) {
        let transport = if udp { Transport::Udp } else { Transport::Tcp };
        let mut bytes = bytes;
        let head = [&vec![0; if udp { 16 } else { 0 }][..], &[first[0], 1, 0, first[1]], &[0; 56]].concat();
        for bytes in [bytes.clone(), { bytes.splice(0..0, head); bytes }] {
            match Request::read(transport, &bytes) {
                Header::Request(_, length) => prop_assert!(length <= bytes.len()),
                Header::More(more) => prop_assert!(more > bytes.len() && more <= 400),
                Header::Plain | Header::Foreign => {}
            }
        }
    }
}
