//! Whatever an iPerf2 peer may send: every decoder takes any bytes, what it takes it can write and read again, and every
//! machine survives any bytes in any portions, at any times, and says nothing after it has closed.
#![no_main]

use model::plan::Transport;
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use wire::echo::{Arrival, Exchange, Reflect, Request as Ping};
use wire::iperf2::{
    Ack, AckRead, Bounce, Bouncer, BurstRecord, Flow, FlowInput, FlowOutput, FrameRecord, Header, Request,
    ServerReport, TcpClient, TcpServer, Traffic, UdpClient, UdpServer, is_wide, number,
};
use wire::stamp::Clock;
use wire::{Policy, Sent};

const START: MonoTime = MonoTime(1 << 40);

fn clock() -> Clock {
    Clock { mono: START, wall: WallTime(1 << 60) }
}

/// What was read is written and read again as the same.
fn decode(bytes: &[u8]) {
    for transport in [Transport::Tcp, Transport::Udp] {
        if let Header::Request(request, length) = Request::read(transport, bytes) {
            assert!(length <= bytes.len());
            let again = Request::read(transport, &request.bytes());
            assert!(matches!(again, Header::Request(..)), "{request:?} became {again:?}");
        }
    }
    if let AckRead::Ack(ack, length) = Ack::read(bytes) {
        assert!(length <= bytes.len());
        assert!(matches!(Ack::read(&ack.bytes()), AckRead::Ack(again, _) if again == ack));
    }
    if let Some(report) = ServerReport::read(bytes) {
        assert!(ServerReport::read(&report.bytes()).is_some());
    }
    let _ = (BurstRecord::read(bytes), FrameRecord::read(bytes), number(bytes, is_wide(bytes)));
}

fn bounce(bytes: &[u8]) {
    let mut bouncer = Bouncer::new(clock(), 0);
    bouncer.request(Ping { sequence: 3, sent: START, wants_reply: true }, &mut [0; 100]);
    let _ = (bouncer.frame(bytes), bouncer.reply(bytes));
    let mut buffer = bytes.to_vec();
    buffer.resize(bytes.len() + 50, 0);
    let arrival = Arrival { from: ([192, 0, 2, 1], 9).into(), received: START, ttl: None };
    if let Some(length) = Bounce::new(clock()).reflect(arrival, START, &mut buffer, bytes.len()) {
        assert!(length <= buffer.len());
    }
}

/// Every outcome by the driver's rule: an input, then outputs until it wants to wait.
fn play(flow: &mut dyn Flow, mut script: &[u8]) {
    let mut now = START;
    let mut over = drain(flow, now, false);
    while let [what, rest @ ..] = script {
        now += Nanos(u64::from(*what) << 23);
        let (piece, after) = rest.split_at(rest.len().min(usize::from(*what >> 3) * 3));
        script = rest;
        let input = match what & 7 {
            0 => FlowInput::Timer,
            1 => FlowInput::Ended,
            2 => FlowInput::SenderDone(Sent { stream: 0, bytes: 9, datagrams: u64::from(*what) }),
            3 => FlowInput::Measured(&ServerReport::default()),
            4 => FlowInput::Progress(u64::from(*what)),
            5 if what & 0x80 != 0 => FlowInput::Interrupt("Ctrl-C"),
            _ => {
                script = after;
                FlowInput::Received(piece)
            }
        };
        let failed = flow.input(now, input).is_err();
        assert!(!(over && failed), "an error after the end");
        over = drain(flow, now, over);
        assert!(!failed || over, "an error is the end");
    }
}

fn drain(flow: &mut dyn Flow, now: MonoTime, mut over: bool) -> bool {
    for _ in 0..100 {
        match flow.output(now) {
            FlowOutput::WaitUntil(None) => {
                assert!(over, "a wait without an end");
                return over;
            }
            FlowOutput::WaitUntil(_) => return over,
            FlowOutput::Bounce(_) => {}
            output => {
                assert!(!over, "{output:?} after the end");
                over = output == FlowOutput::Close;
            }
        }
    }
    panic!("a machine that never waits");
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    decode(data);
    bounce(data);
    let Some((choice, script)) = data.split_first() else { return };
    let traffic = [Traffic::Forward, Traffic::Reverse, Traffic::FullDuplex, Traffic::Dual, Traffic::Tradeoff];
    let traffic = traffic[usize::from(choice >> 2) % traffic.len()];
    let request = |transport| Request { traffic, trip_times: choice & 0x80 != 0, ..Request::new(transport) };
    match choice & 3 {
        0 => play(&mut TcpServer::new(Policy::default(), clock(), START), script),
        1 => play(&mut TcpClient::new(request(Transport::Tcp), START), script),
        2 => play(&mut UdpClient::new(request(Transport::Udp), clock(), START), script),
        _ => {
            let (first, script) = script.split_at(script.len().min(150));
            let mut datagram = request(Transport::Udp).bytes();

            datagram[..12].copy_from_slice(b"\0\0\0\x01\x6b\x01\x4a\x74\0\0\0\x05");
            for (byte, change) in datagram.iter_mut().zip(first) {
                *byte ^= change;
            }
            if let Some(mut flow) = UdpServer::new(&datagram, &Policy::default(), clock(), START) {
                play(&mut flow, script);
            }
        }
    }
});
