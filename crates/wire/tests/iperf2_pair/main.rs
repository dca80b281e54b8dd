//! The client's machine against the server's: every kind of flow, over links of every kind, to the end.

mod unproved;
mod world;

use model::plan::Transport;
use model::units::{BitRate, Bytes, Nanos};
use pathmeter_wire::iperf2::{
    Ack, Amount, BurstRecord, Flow, FlowInput, FlowOutput, Header, Number, Rate, Request, Shape, TcpClient,
    TcpServer, Told, Traffic, UdpClient, UdpServer, Version, number,
};
use pathmeter_wire::{Policy, ProtocolError};
use proptest::prelude::*;
use world::{Nature, START, World, clock};

fn request(transport: Transport, traffic: Traffic) -> Request {
    Request { traffic, amount: Amount::Time(Nanos::from_secs(1)), length: 200, ..Request::new(transport) }
}

fn world(request: Request, nature: Nature) -> World {
    let transport = request.transport;
    let policy = nature.policy.clone();
    match transport {
        Transport::Tcp => {
            let server = Box::new(TcpServer::new(policy, clock(), START));
            World::new(transport, Box::new(TcpClient::new(request, START)), Some(server), nature)
        }
        Transport::Udp => {
            World::new(transport, Box::new(UdpClient::new(request, clock(), START)), None, nature)
        }
    }
}

fn run(request: Request, nature: Nature) -> World {
    let mut world = world(request, nature);
    world.run(200_000);
    world
}

fn assert_well(world: &World) {
    assert_eq!((&world.client.error, &world.server.error), (&None, &None));
}

const ALL: [Traffic; 5] =
    [Traffic::Forward, Traffic::Reverse, Traffic::FullDuplex, Traffic::Dual, Traffic::Tradeoff];

#[test]
fn every_traffic_ends_with_every_byte() {
    for traffic in ALL {
        let world = run(request(Transport::Tcp, traffic), Nature::default());
        assert_well(&world);
        assert_eq!(world.server.received, world.client.sent, "{traffic:?}");
        assert_eq!(world.client.received, world.server.sent, "{traffic:?}");
        let least = 200 * 900;
        assert_eq!(world.client.sent > least, traffic != Traffic::Reverse);
        assert_eq!(world.server.sent > least, matches!(traffic, Traffic::Reverse | Traffic::FullDuplex));
        let acked = world.client.told.contains(&Told::Ack(Ack { version: Version::OURS, times: None }));
        assert_eq!(acked, !matches!(traffic, Traffic::Reverse | Traffic::FullDuplex), "{traffic:?}");
    }
}

#[test]
fn every_datagram_is_in_the_report() {
    for traffic in [Traffic::Forward, Traffic::Dual, Traffic::Tradeoff] {
        let world = run(request(Transport::Udp, traffic), Nature::default());
        assert_well(&world);
        let report = world.client.report().expect("a report");
        assert_eq!((report.datagrams, report.lost), (world.client.datagrams + 1, 0), "the end is counted");
        assert_eq!(report.bytes, world.client.sent + 200);
        assert_eq!(world.server.arrived, world.client.datagrams);
    }
}

#[test]
fn a_udp_server_sends_and_the_client_counts() {
    for traffic in [Traffic::Reverse, Traffic::FullDuplex] {
        let world = run(request(Transport::Udp, traffic), Nature::default());
        assert_well(&world);
        assert!(world.server.datagrams > 900);
        assert_eq!(
            (world.client.arrived, world.client.highest),
            (world.server.datagrams, world.server.datagrams)
        );
        assert_eq!(world.client.report(), None);
    }
}

#[test]
fn a_connection_back_is_asked_for_and_carries_data() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for traffic in [Traffic::Dual, Traffic::Tradeoff] {
            let there = run(Request { port: 6001, ..request(transport, traffic) }, Nature::default());
            let [back] = &there.server.backs[..] else { panic!("{:?}", there.server.backs) };
            assert_eq!((back.port, back.amount), (6001, Amount::Time(Nanos::from_secs(1))));
            let nature = Nature::default();
            let mut world = match transport {
                Transport::Tcp => {
                    let server = Box::new(TcpServer::new(Policy::default(), clock(), START));
                    World::new(
                        transport,
                        Box::new(TcpClient::back(back.clone(), START)),
                        Some(server),
                        nature,
                    )
                }
                Transport::Udp => {
                    let client = Box::new(UdpClient::back(back.clone(), clock(), START));
                    World::new(transport, client, None, nature)
                }
            };
            world.run(20_000);
            assert_well(&world);
            assert_eq!(world.server.told[0], Told::Plain, "data from the first byte");
            assert!(world.server.received > 200 * 900);
            assert!(world.server.backs.is_empty(), "and no connection back to that");
        }
    }
}

#[test]
fn bytes_are_exact() {
    for traffic in [Traffic::Forward, Traffic::Reverse] {
        let amount = Amount::Bytes(Bytes(123_456));
        let world = run(Request { amount, ..request(Transport::Tcp, traffic) }, Nature::default());
        assert_well(&world);
        let data = if traffic == Traffic::Forward { world.server.received } else { world.client.received };
        assert_eq!(data, 123_456);
        let world = run(Request { amount, ..request(Transport::Udp, traffic) }, Nature::default());
        assert_well(&world);
        let sender = if traffic == Traffic::Forward { &world.client } else { &world.server };
        assert_eq!(sender.datagrams, 123_456_u64.div_ceil(200));
    }
}

#[test]
fn records_are_promised_by_the_header_before_them() {
    let start = Some(clock().wall);
    for traffic in [Traffic::Forward, Traffic::Reverse] {
        let asked = Request { trip_times: true, start, ..request(Transport::Tcp, traffic) };
        let world = run(asked, Nature::default());
        assert_well(&world);
        let told: Vec<_> = world
            .client
            .told
            .iter()
            .filter(|told| matches!(told, Told::Ack(ack) if ack.times.is_some()))
            .collect();
        assert_eq!(told.len(), usize::from(traffic == Traffic::Forward));
        let header = if traffic == Traffic::Forward { &world.client.said[0] } else { &world.server.said[0] };
        let Header::Request(header, _) = Request::read(Transport::Tcp, header) else { panic!("{header:?}") };
        assert!(header.trip_times);
    }
    assert_eq!(BurstRecord::LEN, 92);
}

#[test]
fn lost_datagrams_are_counted() {
    let lose = Box::new(|from_client: bool, index: u64, _: &[u8]| {
        from_client && index.is_multiple_of(10) && index < 900
    });
    let world = run(request(Transport::Udp, Traffic::Forward), Nature { lose, ..Nature::default() });
    assert_well(&world);
    let report = world.client.report().expect("a report");
    assert_eq!(report.lost, 89);
    assert_eq!(report.datagrams, world.client.datagrams + 1);
}

/// The last data datagrams never come: what the end is numbered tells of them.
#[test]
fn what_is_lost_at_the_end_is_lost() {
    let lose = Box::new(|from_client: bool, index: u64, bytes: &[u8]| {
        from_client && index > 900 && matches!(number(bytes, true), Some(Number::Data(_)))
    });
    let world = run(request(Transport::Udp, Traffic::Forward), Nature { lose, ..Nature::default() });
    assert_well(&world);
    let report = world.client.report().expect("a report");
    assert_eq!(report.lost, world.client.datagrams - 900);
}

/// Upstream's retransmitted report is garbage; ours is the same each time.
#[test]
fn a_lost_report_is_sent_again() {
    let lose = Box::new(|from_client: bool, index: u64, _: &[u8]| !from_client && index < 5);
    let world = run(request(Transport::Udp, Traffic::Forward), Nature { lose, ..Nature::default() });
    assert_well(&world);
    assert_eq!(world.client.report().expect("the fifth").lost, 0);
    assert!(world.server.said.windows(2).all(|two| two[0] == two[1]));
    assert!(world.server.said.len() <= 9);
}

#[test]
fn a_lost_end_is_said_again() {
    let mut ends = 0;
    let lose = Box::new(move |from_client: bool, _: u64, bytes: &[u8]| {
        let end = from_client && matches!(number(bytes, true), Some(Number::Fin(_)));
        ends += u64::from(end);
        end && ends <= 3
    });
    let world = run(request(Transport::Udp, Traffic::Forward), Nature { lose, ..Nature::default() });
    assert_well(&world);
    let report = world.client.report().expect("a report");
    assert_eq!(
        report.datagrams,
        world.client.datagrams + 4,
        "the ends that were lost are counted, as iPerf2 does"
    );
}

#[test]
fn a_client_without_a_report_ends_after_two_seconds() {
    let lose = Box::new(|from_client: bool, _: u64, _: &[u8]| !from_client);
    let mut world = world(request(Transport::Udp, Traffic::Forward), Nature { lose, ..Nature::default() });
    world.run(20_000);
    assert_well(&world);
    assert_eq!(world.client.told, [Told::NoReport]);
    assert_eq!(world.client.said.len(), 200);
    assert!(world.server.said.len() <= 9, "a report is sent at most nine times");
}

#[test]
fn asking_for_data_is_repeated_until_it_comes() {
    let lose = Box::new(|from_client: bool, index: u64, _: &[u8]| from_client && index < 4);
    let world = run(request(Transport::Udp, Traffic::Reverse), Nature { lose, ..Nature::default() });
    assert_well(&world);
    assert!(world.client.arrived > 900);
    let none = Box::new(|_: bool, _: u64, _: &[u8]| true);
    let world = run(request(Transport::Udp, Traffic::Reverse), Nature { lose: none, ..Nature::default() });
    assert!(matches!(world.client.error, Some(ProtocolError::Timeout(_))), "{:?}", world.client.error);
}

#[test]
fn the_one_end_of_a_server_may_be_lost() {
    for traffic in [Traffic::Reverse, Traffic::FullDuplex] {
        let lose =
            Box::new(|_: bool, _: u64, bytes: &[u8]| matches!(number(bytes, true), Some(Number::Fin(_))));
        let world = run(request(Transport::Udp, traffic), Nature { lose, ..Nature::default() });
        assert_well(&world);
        assert_eq!(world.client.arrived, world.server.datagrams);
    }
}

#[test]
fn who_vanishes_keeps_nobody() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for traffic in ALL {
            for amount in [Amount::Time(Nanos::from_secs(1)), Amount::Bytes(Bytes(1_000_000))] {
                let asked = Request { amount, ..request(transport, traffic) };
                let nature = Nature { client_gone_ms: Some(500), ..Nature::default() };
                run(asked.clone(), nature);
                run(asked.clone(), Nature { server_gone_ms: Some(500), ..Nature::default() });
                run(asked, Nature { server_gone_ms: Some(0), ..Nature::default() });
            }
        }
    }
    let nature = Nature { client_gone_ms: Some(500), ..Nature::default() };
    let world = run(request(Transport::Tcp, Traffic::Forward), nature);
    assert!(matches!(world.server.error, Some(ProtocolError::Timeout(_))), "{:?}", world.server.error);
}

#[test]
fn an_interrupt_ends_a_test_with_its_figures() {
    for traffic in [Traffic::Forward, Traffic::Dual, Traffic::FullDuplex] {
        for transport in [Transport::Tcp, Transport::Udp] {
            let nature = Nature { interrupts_ms: vec![300], ..Nature::default() };
            let asked = Request { amount: Amount::Time(Nanos::from_secs(5)), ..request(transport, traffic) };
            let world = run(asked, nature);
            assert_eq!(world.client.error, None, "{transport} {traffic:?}");
            assert!(world.server.received > 200 * 200, "{transport} {traffic:?}");
            assert_eq!(
                world.client.report().is_some(),
                transport == Transport::Udp && traffic != Traffic::FullDuplex
            );
        }
    }
}

#[test]
fn a_policy_binds_what_a_server_sends() {
    let policy = Policy {
        max_time: Some(Nanos::from_millis(500)),
        max_rate: Some(BitRate(1000)),
        max_streams: Some(2),
    };
    let nature = || Nature { policy: policy.clone(), ..Nature::default() };
    for transport in [Transport::Tcp, Transport::Udp] {
        let world = run(request(transport, Traffic::Reverse), nature());
        let asked = world.server.asked().expect("a request");
        assert_eq!(asked.amount, Amount::Time(Nanos::from_millis(500)));
        assert_eq!(asked.rate, Some(Rate::Bits(BitRate(1000))));
    }
    let many = Request { streams: 3, ..request(Transport::Tcp, Traffic::Forward) };
    assert!(matches!(run(many, nature()).server.error, Some(ProtocolError::Stopped(_))));
}

fn server_hears(bytes: &[u8]) -> (Result<(), ProtocolError>, Vec<FlowOutput>) {
    let mut server = TcpServer::new(Policy::default(), clock(), START);
    let result = server.input(START, FlowInput::Received(bytes));
    let mut outputs = Vec::new();
    loop {
        match server.output(START) {
            FlowOutput::WaitUntil(_) => return (result, outputs),
            output => outputs.push(output),
        }
    }
}

#[test]
fn first_bytes_of_every_kind() {
    let (result, outputs) = server_hears(&[0, 0x80, 0, 0, 0, 0, 0, 100]);
    assert_eq!((result, outputs), (Ok(()), vec![FlowOutput::Bounce(vec![0, 0x80, 0, 0, 0, 0, 0, 100])]));
    let (result, outputs) = server_hears(b"01234567");
    assert_eq!(result, Ok(()));
    assert!(
        matches!(&outputs[..], [FlowOutput::Told(Told::Plain), FlowOutput::Start(run)] if run.received == 8)
    );
    assert!(server_hears(b"SSH-2.0-OpenSSH_9.6\r\n").0.is_err());
    assert_eq!(server_hears(b"012").1, []);
}

#[test]
fn a_key_is_demanded_where_there_is_one() {
    let hears = |request: &Request| {
        let mut server = TcpServer::new(Policy::default(), clock(), START).with_key(b"secret".to_vec());
        server.input(START, FlowInput::Received(&request.bytes()))
    };
    let plain = request(Transport::Tcp, Traffic::Forward);
    assert!(matches!(hears(&plain), Err(ProtocolError::Stopped(_))));
    assert!(hears(&Request { key: Some(b"wrong".to_vec()), ..plain.clone() }).is_err());
    assert_eq!(hears(&Request { key: Some(b"secret".to_vec()), ..plain }), Ok(()));
}

#[test]
fn leftovers_and_strangers_begin_no_flow() {
    let first = |bytes: &[u8]| UdpServer::new(bytes, &Policy::default(), clock(), START).is_some();
    let mut datagram = Request::new(Transport::Udp).bytes();
    datagram[..12].copy_from_slice(b"\0\0\0\x01\x6b\x01\x4a\x74\0\0\0\x05");
    assert!(first(&datagram));
    pathmeter_wire::iperf2::put_fin(&mut datagram, 9, clock().wall);
    assert!(!first(&datagram), "an end");
    assert!(!first(b"") && !first(&[0; 100]) && !first(b"GET / HTTP/1.1\r\nHost: example\r\n"));
}

#[test]
fn frames_are_asked_for_and_heard() {
    let frames = Shape::Isochronous(Some(pathmeter_wire::iperf2::Frames {
        rate: pathmeter_wire::iperf2::Fixed { whole: 60, millionths: 0 },
        ..Default::default()
    }));
    for transport in [Transport::Tcp, Transport::Udp] {
        let world = run(Request { shape: frames, ..request(transport, Traffic::Reverse) }, Nature::default());
        assert_well(&world);
        assert_eq!(world.server.asked().expect("a request").shape, frames);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_link_leads_to_an_end(
        udp: bool, traffic in prop::sample::select(ALL.to_vec()), delay_ms in 0_u64..300, portion in 1_usize..100,
        loss in 0_u64..90, seed: u64, gone in prop::option::of(0_u64..2000), server: bool,
        interrupts_ms in prop::collection::vec(0_u64..2000, 0..3),
    ) {
        let transport = if udp { Transport::Udp } else { Transport::Tcp };
        let mut state = seed | 1;
        let lose = Box::new(move |_: bool, _: u64, _: &[u8]| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % 100 < loss
        });
        let (client_gone_ms, server_gone_ms) = if server { (None, gone) } else { (gone, None) };
        let nature =
            Nature { delay_ms, portion, lose, client_gone_ms, server_gone_ms, interrupts_ms, ..Nature::default() };
        let world = run(request(transport, traffic), nature);
        prop_assert!(world.server.received <= world.client.sent);
        prop_assert!(world.client.arrived <= world.server.datagrams);
        if let Some(report) = world.client.report() {
            prop_assert!(report.lost + world.server.arrived < report.datagrams);
        }
    }

    #[test]
    fn any_bytes_are_survived(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..10)) {
        let mut flows: Vec<Box<dyn Flow>> = vec![
            Box::new(TcpServer::new(Policy::default(), clock(), START)),
            Box::new(TcpClient::new(request(Transport::Tcp, Traffic::Forward), START)),
            Box::new(UdpClient::new(request(Transport::Udp, Traffic::Reverse), clock(), START)),
        ];
        flows.extend(pieces.iter().find_map(|first| {
            UdpServer::new(first, &Policy::default(), clock(), START).map(|flow| Box::new(flow) as Box<dyn Flow>)
        }));
        for flow in &mut flows {
            for piece in &pieces {
                let _ = flow.input(START, FlowInput::Received(piece));
                while !matches!(flow.output(START), FlowOutput::WaitUntil(_)) {}
            }
        }
    }
}
