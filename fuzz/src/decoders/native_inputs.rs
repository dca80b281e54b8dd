//! Every native machine under any inputs in any order: the worst that a peer and an engine could send. It holds little however
//! much it receives, does no work for an unauthenticated peer, and ends when it is left alone.

use model::dut::PortFacts;
use model::event::Event;
use model::host::Host;
use model::plan::{TestSpec, Transport};
use model::sample::{IntervalSample, Side};
use model::time::MonoTime;
use model::units::Nanos;
use spoiled::held::Held;
use std::cell::Cell;
use std::sync::LazyLock;
use wire::native::frames::{FramesAsk, FramesClient, FramesPort, FramesReply, FramesWish};
use wire::native::probe::{ProbeClient, ProbeSend};
use wire::native::udp::{UdpOpen, UdpStep};
use wire::native::{Client, ClientConfig, FlowKey, Server, ServerConfig, SessionId, Token, greeting};
use wire::work::frames::PortAnswer;
use wire::work::probes;
use wire::work::throughput::{Reply, Request, Sent};
use wire::{Input, Output, Policy, Session, WorkReply, WorkRequest};

/// One input.
pub(crate) fn run(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    let began = MonoTime(1 << 40);
    let now = began;
    let token = if first & 4 == 0 { None } else { Token::new(b"a secret of 16 b") };
    let (binding, entropy, software) = (Vec::new(), [1; 32], String::from("fuzz"));
    match first & 3 {
        0 => {
            let (policy, busy, host) = (Policy::default(), false, Host::default());
            let guarded = token.is_some();
            let config = ServerConfig { token, binding, policy, busy, entropy, software, host };
            let (asked, heard) = (Cell::new(false), Cell::new(0));
            let check = |output: &Output, now: MonoTime| match output {
                // A session without a request does not wait long: connections are places, too.
                Output::WaitUntil(until) if !asked.get() => {
                    assert!(until.is_some_and(|until| until <= now + Nanos::from_secs(60)), "it waits until {until:?}");
                }
                Output::Work(_) => {
                    asked.set(true);
                    // A peer without the token gets no work done: no flow, no place, no probe, no frame.
                    assert!(!guarded, "{output:?} for an unauthenticated client");
                }
                // A listener may keep each: they are no more than one in 50 ms, and some at once.
                Output::Event(Event::Sample(sample)) if sample.side == Side::Peer => {
                    heard.set(heard.get() + 1);
                    let allowed = 64 + (now - began).0 / 50_000_000;
                    assert!(heard.get() <= allowed, "{} intervals, where {allowed} are allowed", heard.get());
                }
                _ => {}
            };
            let server = Server::new(config, now);
            if first & 16 == 0 || guarded {
                torment(server, rest, now, check, |_, _| ());
            } else {
                asked.set(true);
                torment(at_work(server, now), rest, now, check, reports());
            }
        }
        1 => {
            let config = ClientConfig { token, binding, entropy, software, host: Host::default() };
            let spec = TestSpec::new(Transport::Udp);
            torment(Client::new(config, spec, Nanos::from_secs(1), now), rest, now, |_, _| (), |_, _| ());
        }
        2 if first & 8 != 0 => {
            let config = ClientConfig { token, binding, entropy, software, host: Host::default() };
            let wish = FramesWish { interface: "eth1".into(), ..FramesWish::default() };
            torment(FramesClient::new(config, wish, now), rest, now, |_, _| (), |client, now| {
                let _ = client.ask(now, FramesAsk::Counted {});
                let _ = client.ask(now, FramesAsk::Sent {});
                client.take_reply();
            });
        }
        2 => {
            let config = ClientConfig { token, binding, entropy, software, host: Host::default() };
            torment(ProbeClient::new(config, now), rest, now, |_, _| (), |client, now| {
                let probes =
                    ProbeSend { id: 1, sizes: vec![100], count: 1, cut: None, trace: false, gap: Nanos::ZERO };
                let _ = client.request(now, probes);
                let _ = client.report(now, 1);
                while client.take_reply().is_some() {}
            });
        }
        _ => handshake(rest, now),
    }
}

/// A server in the middle of a test that lasts for a day.
fn at_work(mut server: Server, now: MonoTime) -> Server {
    let inputs = [
        Input::Received(&greeting((1, 9))),
        Input::Received(&frame(br#"{"type":"hello"}"#)),
        Input::Received(&frame(LONG_TEST)),
        WorkReply::Open(Vec::new()).into(),
        Input::Received(&frame(br#"{"type":"start"}"#)),
    ];
    let mut begun = false;
    for input in inputs {
        server.input(now, input).expect("a good client");
        loop {
            match server.output(now) {
                Output::WaitUntil(_) => break,
                Output::Work(WorkRequest::Throughput(Request::Start)) => begun = true,
                _ => {}
            }
        }
    }
    assert!(begun, "the test does not begin");
    server
}

/// The client reports more and more intervals.
fn reports() -> impl Fn(&mut Server, MonoTime) {
    let reported = Cell::new(0_u64);
    move |server, now| {
        for _ in 0..100 {
            let (start, end) = (reported.get(), reported.get() + 60_000_000);
            reported.set(end);
            let sample = format!(
                r#"{{"type":"interval","sample":{{"side":"local","start_ns":{start},"end_ns":{end},"omitted":false,"streams":[]}}}}"#
            );
            if server.input(now, Input::Received(&frame(sample.as_bytes()))).is_err() {
                return;
            }
        }
    }
}

/// Sends one input after the other, and takes the outputs each time, which `check` inspects. Left alone, it ends.
fn torment<S: Session>(
    mut session: S,
    data: &[u8],
    mut now: MonoTime,
    check: impl Fn(&Output, MonoTime),
    also: impl Fn(&mut S, MonoTime),
) {
    let (mut rest, mut closed, held) = (data, false, Held::from_now());
    drain(&mut session, now, &check, &mut closed);
    while let Some((&what, after)) = rest.split_first() {
        rest = after;
        now = now + Nanos(u64::from(what >> 5) * 700_000_000);
        let was_closed = closed;
        let failed = say(&mut session, now, what & 31, &mut rest).is_err();
        also(&mut session, now);
        drain(&mut session, now, &check, &mut closed);
        held.check();
        assert!(!failed || (closed && !was_closed), "an error is the end, once");
    }
    for _ in 0..10_000 {
        let until = drain(&mut session, now, &check, &mut closed);
        if closed {
            return;
        }
        // The wait for this end's own work has no end: its result always comes.
        now = now.max(until.unwrap_or(now));
        let _ = session.input(now, Input::Timer);
        if until.is_none() {
            let _ = session.input(now, Reply::SendersDone(Vec::new()).into());
            let _ = session.input(now, Reply::Measured { result: Box::default(), report: None }.into());
        }
    }
    panic!("a session that never ends");
}

fn say<S: Session>(
    session: &mut S,
    now: MonoTime,
    what: u8,
    rest: &mut &[u8],
) -> Result<(), wire::ProtocolError> {
    match what {
        0 => session.input(now, Input::Timer),
        1 => session.input(now, Input::Closed),
        2 => session.input(now, WorkReply::Open(Vec::new()).into()),
        3 => session.input(now, WorkReply::Failed("no".into()).into()),
        4 => {
            let sent = vec![Sent { stream: 0, bytes: 1000, datagrams: 1 }];
            session.input(now, Reply::SendersDone(sent).into())
        }
        5 => session.input(now, Reply::Measured { result: Box::default(), report: None }.into()),
        6 => session.input(now, Input::Interrupt("enough")),
        7 => session.input(now, Reply::Progress { sent: 1 << 40, received: 1 << 50, omitted: false }.into()),
        8 => {
            let (start, end) = (Nanos::ZERO, Nanos::from_nanos(1));
            let sample =
                IntervalSample { side: Side::Local, start, end, omitted: false, streams: Vec::new() };
            session.input(now, Reply::Sample(sample).into())
        }
        9 => {
            let bytes = take(rest).to_vec();
            session.input(now, probes::Reply::Datagram { bytes, fragment: None }.into())
        }
        10 => session.input(now, probes::Reply::TooBig(100).into()),
        11 => session.input(now, Input::Received(take(rest))),
        14 => session.input(now, probes::Reply::PathObservation(Box::default()).into()),
        15 => session.input(now, PortAnswer::Open(Box::new(port())).into()),
        16 => {
            let reply = FramesReply::Begun {};
            session.input(now, PortAnswer::Reply { id: 1, reply }.into())
        }
        12 => session.input(now, Input::Received(&frame(take(rest)))),
        13 => session.input(now, Input::Received(&greeting((1, 9)))),
        _ => {
            let Some((&which, after)) = rest.split_first() else { return Ok(()) };
            *rest = after;
            session.input(now, Input::Received(&frame(MESSAGES[usize::from(which) % MESSAGES.len()])))
        }
    }
}

fn port() -> FramesPort {
    let (facts, mac) = (PortFacts::default(), [2; 6]);
    let (addresses, sources, sinks, notes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    FramesPort { facts, mac, addresses, sources, sinks, notes }
}

/// Takes the outputs, and returns until when it waits. Nothing comes after `Close`.
fn drain<S: Session>(
    session: &mut S,
    now: MonoTime,
    check: &impl Fn(&Output, MonoTime),
    closed: &mut bool,
) -> Option<MonoTime> {
    for _ in 0..100_000 {
        let output = session.output(now);
        assert!(!*closed || matches!(output, Output::WaitUntil(None)), "{output:?} after Close");
        if !*closed {
            check(&output, now);
        }
        match output {
            Output::WaitUntil(until) => return until,
            Output::Close => *closed = true,
            _ => {}
        }
    }
    panic!("a session never stops giving outputs");
}

fn handshake(data: &[u8], mut now: MonoTime) {
    let (session, key) = (SessionId::new([7; 16]), FlowKey::new([8; 32]));
    let mut open = UdpOpen::new(session, 1, &key, now);
    let mut rest = data;
    while let Some((&what, after)) = rest.split_first() {
        rest = after;
        now = now + Nanos(u64::from(what) * 1_000_000);
        open.input(take(&mut rest), now);
        while let UdpStep::Send(_) = open.step(now) {
            now = now + Nanos::from_nanos(1);
        }
        assert_ne!(open.step(now), UdpStep::Open, "an ACK was forged");
    }
}

/// Takes as many bytes as the next byte gives.
fn take<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let Some((&length, after)) = rest.split_first() else { return &[] };
    let (taken, after) = after.split_at(usize::from(length).min(after.len()));
    *rest = after;
    taken
}

fn frame(json: &[u8]) -> Vec<u8> {
    [(json.len() as u32).to_be_bytes().as_slice(), json].concat()
}

/// The request of a client for a day of TCP.
const LONG_TEST: &[u8] = br#"{"type":"test","kind":"throughput","interval_ns":0,"spec":{"transport":"tcp","end":{"time":86400000000000}},"host":{"name":"","version":"","kernel":"","cpu":"","cpus":1,"clock_source":"","congestion":"","nic":null}}"#;

/// A message in each line; `native_messages` begins with them as well: there the first byte marks them as framed.
static MESSAGES: LazyLock<Vec<&[u8]>> = LazyLock::new(|| {
    let text = include_str!("../../seeds/native_messages/messages");
    text.strip_prefix('P').expect("it begins with a P").lines().map(str::as_bytes).collect()
});
