//! Whatever an iPerf2 peer may send: every decoder takes any bytes, what it takes it can write and read again, and every
//! machine survives any bytes in any portions, at any times, and says nothing after it has closed.
#![no_main]

use model::plan::Transport;
use model::time::{MonoTime, WallTime};
use model::units::{BitRate, Nanos};
use spoiled::held::Held;
use wire::echo::{Arrival, Exchange, Reflect, Request as Ping};
use wire::iperf2::{
    Ack, AckRead, Amount, Bounce, Bouncer, BurstRecord, Flow, FlowInput, FlowOutput, FrameRecord, Frames,
    Header, Request, ServerReport, Shape, TcpClient, TcpServer, Traffic, UdpClient, UdpServer, is_wide,
    number,
};
use wire::stamp::Clock;
use wire::{Policy, Sent};

/// IPv4 and UDP.
const HEADERS: usize = 28;
const START: MonoTime = MonoTime(1 << 40);

fn clock() -> Clock {
    Clock { mono: START, wall: WallTime(1 << 60) }
}

/// What was read is written and read again as the same.
fn decode(bytes: &[u8]) {
    for transport in [Transport::Tcp, Transport::Udp] {
        if let Header::Request(request, length) = Request::read(transport, bytes) {
            assert!(length <= bytes.len());
            let request = sent(*request);
            let written = request.bytes();
            let Header::Request(again, length) = Request::read(transport, &written) else {
                panic!("what is written of {request:?} is none")
            };
            assert_eq!(*again, request);
            // A datagram's header leaves out of its length what follows the frame record.
            assert!(length == written.len() || (transport == Transport::Udp && length < written.len()));
        }
    }
    if let AckRead::Ack(ack, length) = Ack::read(bytes) {
        assert!(length <= bytes.len());
        let written = ack.bytes();
        assert_eq!(Ack::read(&written), AckRead::Ack(ack, written.len()));
    }
    if let Some(report) = ServerReport::read(bytes) {
        assert_eq!(ServerReport::read(&report.bytes()), Some(report));
    }
    if let Some(record) = BurstRecord::read(bytes) {
        let mut written = [0; BurstRecord::LEN];
        record.write(&mut written);
        assert_eq!(BurstRecord::read(&written), Some(record));
    }
    if let Some(record) = FrameRecord::read(bytes) {
        let mut written = [0; Frames::LEN];
        record.write(&mut written);
        assert_eq!(FrameRecord::read(&written), Some(record));
    }
    let _ = number(bytes, is_wide(bytes));
}

/// What of a request this end can write: what is of one transport only, and in a header only where there is room.
fn sent(request: Request) -> Request {
    let udp = request.transport == Transport::Udp;
    // The bits with which old clients ask for a connection back are others' in a header that says more.
    let reused = request.peer_detect || request.transfer_id.is_some();
    let traffic = match request.traffic {
        Traffic::Dual | Traffic::Tradeoff if reused => Traffic::Forward,
        traffic => traffic,
    };
    let amount = match request.amount {
        Amount::Time(time) => Amount::Time(time.min(Nanos(i32::MAX as u64 * 10_000_000))),
        amount => amount,
    };
    let congestion = request.congestion.filter(|_| !udp);
    let timed = request.trip_times || request.starts_then || request.fq_rate.is_some();
    let start = request.start.filter(|_| timed || matches!(request.shape, Shape::Isochronous(_)));
    // It travels in bytes.
    let fq_rate = request.fq_rate.map(|rate| BitRate(rate.0 / 8 * 8));
    Request { wide: request.wide && udp, traffic, amount, start, congestion, fq_rate, ..request }
}

fn bounce(bytes: &[u8]) {
    let mut bouncer = Bouncer::new(clock(), 0);
    bouncer.request(Ping { sequence: 3, sent: START, wants_reply: true }, &mut [0; 100]);
    let _ = (bouncer.frame(bytes), bouncer.reply(bytes));
    let mut buffer = bytes.to_vec();
    buffer.resize(bytes.len() + 50, 0);
    let arrival = Arrival::new(([192, 0, 2, 1], 9).into(), START);
    if let Some(length) = Bounce::new(clock()).reflect(arrival, START, &mut buffer, bytes.len()) {
        assert!(length <= buffer.len());
    }
}

/// What the machine heard and said, as IPv4 carries it, bytes.
#[derive(Default)]
struct Moved {
    came: usize,
    went: usize,
    /// It was to send data, too: the engine asks who is there before it does.
    data: bool,
}

/// Every outcome by the driver's rule: an input, then outputs until it wants to wait.
fn play(flow: &mut dyn Flow, mut script: &[u8]) -> Moved {
    let (mut now, mut moved, held) = (START, Moved::default(), Held::from_now());
    let mut over = drain(flow, now, false, &mut moved);
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
                moved.came += HEADERS + piece.len();
                FlowInput::Received(piece)
            }
        };
        let failed = flow.input(now, input).is_err();
        assert!(!(over && failed), "an error after the end");
        over = drain(flow, now, over, &mut moved);
        held.check();
        assert!(!failed || over, "an error is the end");
    }
    moved
}

fn drain(flow: &mut dyn Flow, now: MonoTime, mut over: bool, moved: &mut Moved) -> bool {
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
                match &output {
                    FlowOutput::Send(bytes) => moved.went += HEADERS + bytes.len(),
                    FlowOutput::Start(run) => moved.data |= run.sends.is_some(),
                    _ => {}
                }
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
        0 => drop(play(&mut TcpServer::new(Policy::default(), clock(), START), script)),
        1 => drop(play(&mut TcpClient::new(request(Transport::Tcp), START), script)),
        2 => drop(play(&mut UdpClient::new(request(Transport::Udp), clock(), START), script)),
        _ => {
            let (first, script) = script.split_at(script.len().min(150));
            let mut datagram = request(Transport::Udp).bytes();

            datagram[..12].copy_from_slice(b"\0\0\0\x01\x6b\x01\x4a\x74\0\0\0\x05");
            for (byte, change) in datagram.iter_mut().zip(first) {
                *byte ^= change;
            }
            if let Some(mut flow) = UdpServer::new(&datagram, &Policy::default(), clock(), START) {
                // Whoever forges an address gets no more sent there than three times what it sends, headers included.
                let moved = play(&mut flow, script);
                let came = moved.came + HEADERS + datagram.len();
                assert!(moved.data || moved.went <= 3 * came, "{} bytes for {came}", moved.went);
            }
        }
    }
});
