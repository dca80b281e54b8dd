//! The client's session against the server's: every kind of flow, over links of every kind, to the end.

mod unproved;

use model::plan::Transport;
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};
use pathmeter_wire::iperf2::{
    Ack, Amount, BurstRecord, Flow, FlowInput, FlowOutput, Group, Header, Number, Rate, Request, Sending,
    ServerReport, Shape, TcpClient, TcpServer, Traffic, UdpClient, UdpServer, Version, number,
};
use pathmeter_wire::stamp::Clock;
use pathmeter_wire::work::in_band::{FlowCommand, FlowUpdate, PeerFact};
use pathmeter_wire::{Policy, ProtocolError};
use proptest::prelude::*;
use world::{BEGIN, Delivery, InBand, Nature, Trouble, Who};

type World<'a> = world::World<'a, Group, Group, InBand<'a>>;

/// Clocks of both ends.
fn clock() -> Clock {
    Clock { mono: BEGIN, wall: WallTime(1_795_246_708_000_000_000) }
}

/// Conditions of the link between the two ends.
struct Setting<'a> {
    nature: Nature<'a>,
    lose: Delivery<'a>,
    policy: Policy,
}

impl Default for Setting<'_> {
    fn default() -> Self {
        let nature = Nature { delay: Nanos::from_millis(3), portion: 1000, ..Nature::default() };
        Setting { nature, lose: Box::new(|_, _, _| false), policy: Policy::default() }
    }
}

fn losing<'a>(lose: impl FnMut(Who, u64, &[u8]) -> bool + 'a) -> Setting<'a> {
    Setting { lose: Box::new(lose), ..Setting::default() }
}

fn troubled<'a>(troubles: impl IntoIterator<Item = (u64, Trouble)>) -> Setting<'a> {
    let troubles = troubles.into_iter().map(|(ms, trouble)| (Nanos::from_millis(ms), trouble)).collect();
    let setting = Setting::default();
    Setting { nature: Nature { troubles, ..setting.nature }, ..setting }
}

fn request(transport: Transport, traffic: Traffic) -> Request {
    Request { traffic, amount: Amount::Time(Nanos::from_secs(1)), length: 200, ..Request::new(transport) }
}

fn world<'a>(request: &Request, setting: Setting<'a>) -> World<'a> {
    let (transport, streams) = (request.transport, request.streams);
    let mut work = InBand::new(&setting.nature, transport, streams, clock());
    work.lose = setting.lose;
    work.expects = (request.traffic == Traffic::Dual).then_some((Who::Client, streams));
    let client = |now| Group::client(request, streams, false, clock(), now);
    let server = |now| Group::server(transport, setting.policy, None, clock(), now);
    World::new(setting.nature, client, server, work)
}

fn run<'a>(request: &Request, setting: Setting<'a>) -> World<'a> {
    let mut world = world(request, setting);
    let _ = world.run();
    world
}

fn assert_well(world: &World<'_>) {
    assert_eq!(world.errors(), [None, None]);
}

fn report(world: &World<'_>) -> Option<ServerReport> {
    world
        .work
        .client
        .observed
        .iter()
        .find_map(|observed| if let PeerFact::Report(report) = observed { Some(*report) } else { None })
}

/// The sending of the server.
fn server_sends<'a>(world: &'a World<'_>) -> &'a Sending {
    world.work.server.runs.iter().find_map(|run| run.sends.as_ref()).expect("it sends")
}

const ALL: [Traffic; 5] =
    [Traffic::Forward, Traffic::Reverse, Traffic::FullDuplex, Traffic::Dual, Traffic::Tradeoff];

#[test]
fn every_traffic_ends_with_every_byte() {
    for traffic in ALL {
        let world = run(&request(Transport::Tcp, traffic), Setting::default());
        assert_well(&world);
        let (client, server) = (&world.work.client, &world.work.server);
        assert_eq!(server.received, client.sent, "{traffic:?}");
        assert_eq!(client.received, server.sent, "{traffic:?}");
        let least = 200 * 900;
        assert_eq!(client.sent > least, traffic != Traffic::Reverse);
        let both = matches!(traffic, Traffic::Reverse | Traffic::FullDuplex | Traffic::Dual);
        assert_eq!(server.sent > least, both, "{traffic:?}");
        let acked = client.observed.contains(&PeerFact::Ack(Ack { version: Version::OURS, times: None }));
        assert_eq!(acked, !matches!(traffic, Traffic::Reverse | Traffic::FullDuplex), "{traffic:?}");
    }
}

#[test]
fn streams_of_one_client_are_one_session() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for traffic in ALL {
            let client_request = Request { streams: 5, ..request(transport, traffic) };
            let world = run(&client_request, Setting::default());
            assert_well(&world);
            let (client, server) = (&world.work.client, &world.work.server);
            let flows = if traffic == Traffic::Dual { 10 } else { 5 };
            assert_eq!((client.runs.len(), server.runs.len()), (flows, flows), "{transport} {traffic:?}");
            assert!(client.sent + server.sent > 5 * 200 * 900, "{transport} {traffic:?}");
            assert!(client.received <= server.sent && server.received <= client.sent);
        }
    }
}

#[test]
fn every_datagram_is_in_the_report() {
    for traffic in [Traffic::Forward, Traffic::Dual, Traffic::Tradeoff] {
        let world = run(&request(Transport::Udp, traffic), Setting::default());
        assert_well(&world);
        let (client, server) = (&world.work.client, &world.work.server);
        let report = report(&world).expect("a report");
        assert_eq!((report.datagrams, report.lost), (client.datagrams + 1, 0), "the end is counted");
        assert_eq!(report.bytes, client.sent + 200);
        assert_eq!(server.arrived, client.datagrams);
    }
}

#[test]
fn a_udp_server_sends_and_the_client_counts() {
    for traffic in [Traffic::Reverse, Traffic::FullDuplex] {
        let world = run(&request(Transport::Udp, traffic), Setting::default());
        assert_well(&world);
        let (client, server) = (&world.work.client, &world.work.server);
        assert!(server.datagrams > 900);
        assert_eq!((client.arrived, client.highest), (server.datagrams, server.datagrams));
        assert_eq!(report(&world), None);
    }
}

#[test]
fn a_connection_back_carries_data_in_the_same_session() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let world = run(&request(transport, Traffic::Dual), Setting::default());
        assert_well(&world);
        let (client, server) = (&world.work.client, &world.work.server);
        assert!(client.received > 200 * 900, "{transport}");
        assert_eq!((client.runs.len(), server.runs.len()), (2, 2), "there and back");
        assert!(world.server.session.later().is_empty());
    }
}

#[test]
fn a_connection_back_can_come_after_the_test() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let client_request = Request { port: 6001, ..request(transport, Traffic::Tradeoff) };
        let there = run(&client_request, Setting::default());
        let later = there.server.session.later();
        let [back] = later else { panic!("{later:?}") };
        assert_eq!((back.port, back.amount), (6001, Amount::Time(Nanos::from_secs(1))));
        let setting = Setting::default();
        let mut work = InBand::new(&setting.nature, transport, 1, clock());
        work.expects = Some((Who::Server, 1));
        let mut world = World::new(
            setting.nature,
            |now| Group::back(later, Policy::default(), clock(), now),
            |now| Group::listening(&request(transport, Traffic::Tradeoff), clock(), now),
            work,
        );
        let _ = world.run();
        assert_well(&world);
        assert!(world.work.server.received > 200 * 900);
        assert!(world.server.session.later().is_empty(), "and no connection back to that");
    }
}

/// The client sets how many bytes return; the server how long that may take.
#[test]
fn flows_back_of_many_bytes_end_with_the_time_allowed() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let amount = Amount::Bytes(Bytes(1 << 30));
        let client_request = Request { amount, ..request(transport, Traffic::Dual) };
        let policy = Policy { max_time: Some(Nanos::from_secs(2)), ..Policy::default() };
        let vanishes = troubled([(500, Trouble::Vanish(Who::Client))]);
        let mut world = world(&client_request, Setting { policy, ..vanishes });
        let took = world.run();
        assert!(took <= Nanos::from_secs(20), "{transport}: {took}");
        let sent = world.work.server.sent;
        assert!((400_000..1_000_000).contains(&sent), "{transport}: {sent} bytes in two seconds and a bit");
    }
}

#[test]
fn a_server_that_never_connects_back_is_not_waited_for() {
    let client_request = request(Transport::Tcp, Traffic::Tradeoff);
    let setting = troubled([(0, Trouble::Vanish(Who::Client))]);
    let mut work = InBand::new(&setting.nature, Transport::Tcp, 1, clock());
    work.expects = Some((Who::Server, 1));
    let mut world = World::new(
        setting.nature,
        |now| Group::back(&[client_request], Policy::default(), clock(), now),
        |now| Group::listening(&request(Transport::Tcp, Traffic::Tradeoff), clock(), now),
        work,
    );
    assert!(world.run() <= Nanos::from_secs(6));
    assert!(matches!(world.errors(), [_, Some(ProtocolError::Flows(_))]), "{:?}", world.errors());
}

#[test]
fn bytes_are_exact() {
    for traffic in [Traffic::Forward, Traffic::Reverse] {
        let amount = Amount::Bytes(Bytes(123_456));
        let world = run(&Request { amount, ..request(Transport::Tcp, traffic) }, Setting::default());
        assert_well(&world);
        let (client, server) = (&world.work.client, &world.work.server);
        assert_eq!(if traffic == Traffic::Forward { server } else { client }.received, 123_456);
        let world = run(&Request { amount, ..request(Transport::Udp, traffic) }, Setting::default());
        assert_well(&world);
        let (client, server) = (&world.work.client, &world.work.server);
        let sender = if traffic == Traffic::Forward { client } else { server };
        assert_eq!(sender.datagrams, 123_456_u64.div_ceil(200));
    }
}

#[test]
fn records_are_promised_by_the_header_before_them() {
    let start = Some(clock().wall);
    for traffic in [Traffic::Forward, Traffic::Reverse] {
        let client_request = Request { trip_times: true, start, ..request(Transport::Tcp, traffic) };
        let world = run(&client_request, Setting::default());
        assert_well(&world);
        let (client, server) = (&world.work.client, &world.work.server);
        let acks = client
            .observed
            .iter()
            .filter(|observed| matches!(observed, PeerFact::Ack(ack) if ack.times.is_some()));
        assert_eq!(acks.count(), usize::from(traffic == Traffic::Forward));
        let header = if traffic == Traffic::Forward { &client.messages[0] } else { &server.messages[0] };
        let Header::Request(header, _) = Request::read(Transport::Tcp, header) else { panic!("{header:?}") };
        assert!(header.trip_times);
    }
    assert_eq!(BurstRecord::LEN, 92);
}

#[test]
fn lost_datagrams_are_counted() {
    let setting = losing(|who, index, _| who == Who::Client && index.is_multiple_of(10) && index < 900);
    let world = run(&request(Transport::Udp, Traffic::Forward), setting);
    assert_well(&world);
    let report = report(&world).expect("a report");
    assert_eq!(report.lost, 89);
    assert_eq!(report.datagrams, world.work.client.datagrams + 1);
}

/// The last data datagrams never arrive: the number of the end reveals them.
#[test]
fn what_is_lost_at_the_end_is_lost() {
    let setting = losing(|who, index, bytes| {
        who == Who::Client && index > 900 && matches!(number(bytes, true), Some(Number::Data(_)))
    });
    let world = run(&request(Transport::Udp, Traffic::Forward), setting);
    assert_well(&world);
    assert_eq!(report(&world).expect("a report").lost, world.work.client.datagrams - 900);
}

/// The repeated report of iPerf2 is garbage; ours is the same each time.
#[test]
fn a_lost_report_is_repeated() {
    let world = run(
        &request(Transport::Udp, Traffic::Forward),
        losing(|who, index, _| who == Who::Server && index < 5),
    );
    assert_well(&world);
    assert_eq!(report(&world).expect("the fifth").lost, 0);
    let sent = &world.work.server.messages;
    assert!(sent.windows(2).all(|two| two[0] == two[1]));
    assert!(sent.len() <= 9);
}

#[test]
fn a_lost_end_is_repeated() {
    let mut ends = 0;
    let setting = losing(move |who, _, bytes| {
        let end = who == Who::Client && matches!(number(bytes, true), Some(Number::Fin(_)));
        ends += u64::from(end);
        end && ends <= 3
    });
    let world = run(&request(Transport::Udp, Traffic::Forward), setting);
    assert_well(&world);
    assert_eq!(
        report(&world).expect("a report").datagrams,
        world.work.client.datagrams + 4,
        "the ends that were lost are counted, as iPerf2 does"
    );
}

#[test]
fn a_client_without_a_report_ends_after_two_seconds() {
    let setting = losing(|who, _, _| who == Who::Server);
    let world = run(&request(Transport::Udp, Traffic::Forward), setting);
    assert!(matches!(world.errors(), [Some(ProtocolError::Timeout(_)), None]), "{:?}", world.errors());
    assert_eq!(world.work.client.observed, [PeerFact::NoReport]);
    assert_eq!(world.client.warnings(), ["no-report"]);
    assert_eq!(world.work.client.messages.len(), 200);
    assert!(world.work.server.messages.len() <= 9, "a report is sent at most nine times");
}

#[test]
fn asking_for_data_is_repeated_until_it_comes() {
    let client_request = request(Transport::Udp, Traffic::Reverse);
    let world = run(&client_request, losing(|who, index, _| who == Who::Client && index < 4));
    assert_well(&world);
    assert!(world.work.client.arrived > 900);
    let world = run(&client_request, losing(|_, _, _| true));
    assert!(matches!(world.client.error, Some(ProtocolError::Timeout(_))), "{:?}", world.client.error);
}

#[test]
fn the_one_end_of_a_server_may_be_lost() {
    for traffic in [Traffic::Reverse, Traffic::FullDuplex] {
        let setting = losing(|_, _, bytes| matches!(number(bytes, true), Some(Number::Fin(_))));
        let world = run(&request(Transport::Udp, traffic), setting);
        assert_well(&world);
        assert_eq!(world.work.client.arrived, world.work.server.datagrams);
    }
}

#[test]
fn a_vanished_end_holds_the_other_no_longer() {
    let gone = |ms, who| troubled([(ms, Trouble::Vanish(who))]);
    for transport in [Transport::Tcp, Transport::Udp] {
        for traffic in ALL {
            for amount in [Amount::Time(Nanos::from_secs(1)), Amount::Bytes(Bytes(1_000_000))] {
                let client_request = Request { amount, ..request(transport, traffic) };
                run(&client_request, gone(500, Who::Client));
                run(&client_request, gone(500, Who::Server));
                run(&client_request, gone(0, Who::Server));
            }
        }
    }
    let world = run(&request(Transport::Tcp, Traffic::Forward), gone(500, Who::Client));
    assert!(matches!(world.server.error, Some(ProtocolError::Timeout(_))), "{:?}", world.server.error);
}

#[test]
fn an_interrupt_ends_a_test_with_its_figures() {
    for traffic in [Traffic::Forward, Traffic::Dual, Traffic::FullDuplex] {
        for transport in [Transport::Tcp, Transport::Udp] {
            let client_request =
                Request { amount: Amount::Time(Nanos::from_secs(5)), ..request(transport, traffic) };
            let world = run(&client_request, troubled([(300, Trouble::Interrupt(Who::Client))]));
            // The flow back ends with its server alone.
            let expected = (traffic == Traffic::Dual).then(|| ProtocolError::Stopped("Ctrl-C".into()));
            assert_eq!(world.client.error, expected, "{transport} {traffic:?}");
            assert!(world.work.server.received > 200 * 200, "{transport} {traffic:?}");
            assert_eq!(
                report(&world).is_some(),
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
    let setting = || Setting { policy: policy.clone(), ..Setting::default() };
    for transport in [Transport::Tcp, Transport::Udp] {
        let world = run(&request(transport, Traffic::Reverse), setting());
        let sends = server_sends(&world);
        assert_eq!(sends.amount, Amount::Time(Nanos::from_millis(500)));
        assert_eq!(sends.rate, Some(Rate::Bits(BitRate(1000))));
    }
    let many = Request { streams: 3, ..request(Transport::Tcp, Traffic::Forward) };
    assert!(matches!(run(&many, setting()).server.error, Some(ProtocolError::Stopped(_))));
    let many = Request { streams: 3, ..request(Transport::Udp, Traffic::Reverse) };
    assert_eq!(run(&many, setting()).work.server.sent, 0);
}

#[test]
fn a_client_chooses_no_large_buffer_of_a_server() {
    let greedy = Request { length: 16 << 20, ..request(Transport::Tcp, Traffic::Reverse) };
    assert_eq!(server_sends(&run(&greedy, Setting::default())).length, 1 << 20);
}

fn server_hears(bytes: &[u8]) -> (Result<(), ProtocolError>, Vec<FlowOutput>) {
    let mut server = TcpServer::new(Policy::default(), clock(), BEGIN);
    let result = server.input(BEGIN, FlowInput::Update(&FlowUpdate::Received(bytes.to_vec())));
    let mut outputs = Vec::new();
    loop {
        match server.output(BEGIN) {
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
        matches!(&outputs[..], [FlowOutput::Request(None), FlowOutput::Command(FlowCommand::Start(run))] if run.received == 8)
    );
    assert!(server_hears(b"SSH-2.0-OpenSSH_9.6\r\n").0.is_err());
    assert_eq!(server_hears(b"012").1, []);
}

#[test]
fn a_key_is_demanded_where_there_is_one() {
    let hears = |request: &Request| {
        let mut server = TcpServer::new(Policy::default(), clock(), BEGIN).with_key(Some(b"secret".to_vec()));
        server.input(BEGIN, FlowInput::Update(&FlowUpdate::Received(request.bytes())))
    };
    let plain = request(Transport::Tcp, Traffic::Forward);
    assert!(matches!(hears(&plain), Err(ProtocolError::Stopped(_))));
    assert!(hears(&Request { key: Some(b"wrong".to_vec()), ..plain.clone() }).is_err());
    assert_eq!(hears(&Request { key: Some(b"secret".to_vec()), ..plain }), Ok(()));
}

#[test]
fn leftovers_and_foreign_datagrams_begin_no_flow() {
    let first = |bytes: &[u8]| UdpServer::new(bytes, &Policy::default(), clock(), BEGIN).is_some();
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
        let world =
            run(&Request { shape: frames, ..request(transport, Traffic::Reverse) }, Setting::default());
        assert_well(&world);
        let sent = &world.work.client.messages[0];
        let Header::Request(client_request, _) = Request::read(transport, sent) else { panic!("{sent:?}") };
        assert_eq!(client_request.shape, frames);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_link_leads_to_an_end(
        udp: bool, traffic in prop::sample::select(ALL.to_vec()), delay_ms in 0_u64..300, portion in 1_usize..100,
        loss in 0_u64..90, seed: u64, streams in 1_u32..3, gone in prop::option::of(0_u64..2000), server: bool,
        interrupts_ms in prop::collection::vec(0_u64..2000, 0..3),
    ) {
        let transport = if udp { Transport::Udp } else { Transport::Tcp };
        let mut state = seed | 1;
        let lose = Box::new(move |_: Who, _: u64, _: &[u8]| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % 100 < loss
        });
        let who = if server { Who::Server } else { Who::Client };
        let vanishes = gone.map(|gone| (gone, Trouble::Vanish(who)));
        let interrupts = interrupts_ms.into_iter().map(|ms| (ms, Trouble::Interrupt(Who::Client)));
        let setting = troubled(interrupts.chain(vanishes));
        let nature = Nature { delay: Nanos::from_millis(delay_ms), portion, ..setting.nature };
        let client_request = Request { streams, ..request(transport, traffic) };
        let world = run(&client_request, Setting { nature, lose, ..setting });
        let (client, server) = (&world.work.client, &world.work.server);
        prop_assert!(server.received <= client.sent);
        prop_assert!(client.arrived <= server.datagrams);
        if let Some(report) = report(&world).filter(|_| streams == 1) {
            prop_assert!(report.lost + server.arrived < report.datagrams);
        }
    }

    #[test]
    fn any_bytes_are_survived(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..10)) {
        let mut flows: Vec<Box<dyn Flow>> = vec![
            Box::new(TcpServer::new(Policy::default(), clock(), BEGIN)),
            Box::new(TcpClient::new(request(Transport::Tcp, Traffic::Forward), BEGIN)),
            Box::new(UdpClient::new(request(Transport::Udp, Traffic::Reverse), clock(), BEGIN)),
        ];
        flows.extend(pieces.iter().find_map(|first| {
            UdpServer::new(first, &Policy::default(), clock(), BEGIN).map(|flow| Box::new(flow) as Box<dyn Flow>)
        }));
        for flow in &mut flows {
            for piece in &pieces {
                let _ = flow.input(BEGIN, FlowInput::Update(&FlowUpdate::Received(piece.clone())));
                while !matches!(flow.output(BEGIN), FlowOutput::WaitUntil(_)) {}
            }
        }
    }
}

/// A server that hangs on its connection back is waited for until its time is over, and no longer.
#[test]
fn a_server_that_hangs_when_it_connects_back_is_named() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let amount = Amount::Time(Nanos::from_secs(5));
        let request = Request { amount, ..request(transport, Traffic::Tradeoff) };
        let setting = troubled([(2_000, Trouble::Vanish(Who::Client))]);
        let mut work = InBand::new(&setting.nature, transport, 1, clock());
        work.expects = Some((Who::Server, 1));
        let mut world = World::new(
            setting.nature,
            |now| Group::back(std::slice::from_ref(&request), Policy::default(), clock(), now),
            |now| Group::listening(&request, clock(), now),
            work,
        );
        let took = world.run();
        assert!(took <= Nanos::from_secs(18), "{transport}: {took}");
        let [_, Some(error)] = world.errors() else { panic!("{transport}: no error") };
        let text = error.to_string();
        assert!(text.contains("of the 5.00 s that it was to send"), "{transport}: {text}");
    }
}

/// A server that is gone before the end of its data is an error, whatever has arrived before.
#[test]
fn a_server_that_is_gone_in_the_middle_is_named() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for traffic in [Traffic::Reverse, Traffic::FullDuplex] {
            let amount = Amount::Time(Nanos::from_secs(5));
            let client_request = Request { amount, ..request(transport, traffic) };
            let world = run(&client_request, troubled([(2_000, Trouble::Vanish(Who::Server))]));
            let [Some(error), _] = world.errors() else { panic!("{transport} {traffic:?}: no error") };
            let text = error.to_string();
            let is_timed = text.contains("of the 5.00 s that it was to send");
            assert!(is_timed || traffic == Traffic::FullDuplex, "{transport}: {text}");
        }
        let whole = run(&request(transport, Traffic::Reverse), Setting::default());
        assert_well(&whole);
    }
}
