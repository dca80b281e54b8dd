//! UDP flows whose source address is not proved, and the effect of a server's limits on every flow.

use super::clock;
use model::plan::Transport;
use model::time::{MonoTime, WallTime};
use model::units::{BitRate, Bytes, Nanos};
use pathmeter_wire::iperf2::{
    Amount, Fixed, Flow, FlowInput, FlowOutput, Frames, Numbered, Request, ServerReport, Shape, TcpServer,
    Traffic, UdpServer, put_fin,
};
use pathmeter_wire::work::in_band::{FlowCommand, FlowUpdate};
use pathmeter_wire::{Datagram, Policy, ProtocolError, Sent, Stamp};
use world::BEGIN;

fn asks(traffic: Traffic, amount: Amount) -> Request {
    Request { traffic, amount, ..Request::new(Transport::Udp) }
}

/// The datagram that begins this flow.
fn first(request: &Request) -> Vec<u8> {
    let mut datagram = request.bytes();
    let numbered = Numbered { clock: clock(), wide: true };
    numbered.write(Stamp { sequence: 1, sent: BEGIN }, &mut datagram);
    datagram
}

fn server(request: &Request, policy: &Policy) -> Option<UdpServer> {
    UdpServer::new(&first(request), policy, clock(), BEGIN)
}

/// The outputs of a flow until it waits, and the time at which that ends.
fn outputs(flow: &mut dyn Flow, now: MonoTime) -> (Vec<FlowOutput>, Option<MonoTime>) {
    let mut outputs = Vec::new();
    loop {
        match flow.output(now) {
            FlowOutput::WaitUntil(until) => return (outputs, until),
            output => outputs.push(output),
        }
    }
}

/// Lets the flow wait as long as it wants without input; returns when it closed, and all its outputs.
fn left_alone(flow: &mut dyn Flow) -> (Nanos, Vec<FlowOutput>) {
    let (mut all, mut until) = outputs(flow, BEGIN);
    let mut now = BEGIN;
    for _ in 0..20 {
        let Some(next) = until else { break };
        now = next;
        flow.input(now, FlowInput::Timer).ok();
        let (mut more, mut later) = outputs(flow, now);
        // A flow that has stopped its sender receives the confirmation.
        if more.contains(&FlowCommand::StopSender.into()) {
            let sent = Sent { stream: 0, bytes: 0, datagrams: 0 };
            flow.input(now, FlowInput::Update(&FlowUpdate::SenderDone(sent))).ok();
            let (rest, then) = outputs(flow, now);
            more.extend(rest);
            later = then;
        }
        all.extend(more);
        until = later;
    }
    assert!(all.contains(&FlowCommand::Close.into()), "it never ends");
    (now - BEGIN, all)
}

const A_DAY: Amount = Amount::Time(Nanos::from_secs(86_400));

#[test]
fn a_flow_that_sends_nothing_more_is_over_after_ten_seconds() {
    for amount in [A_DAY, Amount::Bytes(Bytes(1 << 30))] {
        for traffic in [Traffic::Forward, Traffic::FullDuplex, Traffic::Dual, Traffic::Tradeoff] {
            let mut flow = server(&asks(traffic, amount), &Policy::default()).expect("a flow");
            assert_eq!(left_alone(&mut flow).0, Nanos::from_secs(10), "{traffic:?} {amount:?}");
        }
    }
}

#[test]
fn reports_are_never_more_than_three_times_what_came() {
    for (length, ends) in [(16, 1), (16, 20), (60, 3), (128, 12), (1470, 30)] {
        let mut datagram = first(&asks(Traffic::Forward, A_DAY));
        datagram.resize(length.max(76), 0);
        let mut flow = UdpServer::new(&datagram, &Policy::default(), clock(), BEGIN).expect("a flow");
        let (mut came, mut went) = (datagram.len(), 0);
        let mut fin = vec![0; length];
        put_fin(&mut fin, 2, WallTime(1));
        for end in 0..ends {
            came += fin.len();
            flow.input(BEGIN, FlowInput::Update(&FlowUpdate::Received(fin.clone()))).expect("an end");
            let mut outcome = outputs(&mut flow, BEGIN).0;
            if outcome.contains(&FlowCommand::Measure.into()) {
                let figures =
                    ServerReport { bytes: datagram.len() as u64, datagrams: 1, ..ServerReport::default() };
                flow.input(BEGIN, FlowInput::Update(&FlowUpdate::Measured(figures))).expect("figures");
                outcome.extend(outputs(&mut flow, BEGIN).0);
            }
            went +=
                outcome
                    .iter()
                    .map(|output| {
                        if let FlowOutput::Command(FlowCommand::Send(bytes)) = output {
                            bytes.len()
                        } else {
                            0
                        }
                    })
                    .sum::<usize>();
            assert!(went <= 3 * came, "{went} bytes for {came} after {end} ends of {length}");
        }
        assert!(went > 0, "an honest client has its report: {length}");
    }
}

#[test]
fn a_start_far_ahead_is_refused() {
    let ahead = |seconds: u64| Request {
        start: Some(WallTime(clock().at(BEGIN).0 + seconds * 1_000_000_000)),
        starts_then: true,
        ..asks(Traffic::Reverse, A_DAY)
    };
    assert!(server(&ahead(50), &Policy::default()).is_some());
    assert!(server(&ahead(70), &Policy::default()).is_none());
    let client_request = Request { transport: Transport::Tcp, wide: false, ..ahead(70) };
    let mut tcp = TcpServer::new(Policy::default(), clock(), BEGIN);
    let refused = tcp.input(BEGIN, FlowInput::Update(&FlowUpdate::Received(client_request.bytes())));
    assert!(matches!(refused, Err(ProtocolError::Stopped(_))), "{refused:?}");
}

#[test]
fn the_longest_time_binds_flows_of_every_amount() {
    let policy = Policy { max_time: Some(Nanos::from_secs(3)), ..Policy::default() };
    for amount in [Amount::Time(Nanos::from_secs(10)), Amount::Bytes(Bytes(1 << 30))] {
        let mut flow = server(&asks(Traffic::Reverse, amount), &policy).expect("a flow");
        let (took, outputs) = left_alone(&mut flow);
        assert_eq!(took, Nanos::from_secs(4), "{amount:?}");
        assert!(outputs.contains(&FlowCommand::StopSender.into()), "{amount:?}");
        // Data of a client that never ends is refused in time.
        let mut flow = server(&asks(Traffic::Forward, amount), &policy).expect("a flow");
        outputs_while_data_come(&mut flow, amount);
    }
}

fn outputs_while_data_come(flow: &mut UdpServer, amount: Amount) {
    for second in 0..20_u64 {
        let now = BEGIN + Nanos::from_secs(second);
        let over = flow.input(now, FlowInput::Update(&FlowUpdate::Progress(1000 * second))).is_err()
            || flow.input(now, FlowInput::Timer).is_err();
        let closed = outputs(flow, now).0.contains(&FlowCommand::Close.into());
        if over || closed {
            assert_eq!(second, 4, "{amount:?}");
            return;
        }
    }
    panic!("it goes on: {amount:?}");
}

#[test]
fn a_client_above_the_rate_is_turned_off() {
    let policy = Policy { max_rate: Some(BitRate(100_000_000)), ..Policy::default() };
    let ends = |streams: u32, rate: u64| {
        let client_request = Request { streams, ..asks(Traffic::Forward, A_DAY) };
        let mut flow = server(&client_request, &policy).expect("a flow");
        (0..40_u64).any(|half| {
            let now = BEGIN + Nanos::from_millis(500 * half);
            flow.input(now, FlowInput::Update(&FlowUpdate::Progress(rate / 16 * half))).is_err()
        })
    };
    assert!(ends(1, 500_000_000));
    assert!(!ends(1, 100_000_000));
    assert!(ends(4, 100_000_000), "each of four streams has a quarter");
}

/// The request as a server would carry it out.
fn reduced(request: &Request, policy: &Policy) -> Request {
    let mut flow = server(request, policy).expect("a flow");
    match flow.output(BEGIN) {
        FlowOutput::Request(Some(request)) => *request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn bursts_and_frames_do_not_evade_the_rate() {
    let policy = Policy { max_rate: Some(BitRate(1_000_000)), ..Policy::default() };
    let whole = |whole| Fixed { whole, millionths: 0 };
    let shaped = |shape| Request {
        shape,
        start: Some(WallTime(1)),
        trip_times: true,
        ..asks(Traffic::Reverse, A_DAY)
    };
    let frames = Frames { rate: whole(100), mean: whole(u32::MAX), variance: whole(9), gap: whole(0) };
    let Shape::Isochronous(Some(cut)) = reduced(&shaped(Shape::Isochronous(Some(frames))), &policy).shape
    else {
        panic!("frames");
    };
    assert_eq!((cut.mean, cut.variance, cut.rate), (whole(1_000_000), whole(0), whole(100)));
}
