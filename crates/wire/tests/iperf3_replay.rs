//! Recorded dialogues of real iPerf3 clients and servers: each of our machines takes the place of one end.
//!
//! A transcript holds the bytes of the control connection, in hexadecimal, read by a proxy between the two.

use model::event::Event;
use model::plan::{Direction, End, TestSpec, Transport};
use model::sample::{Side, SideResult};
use model::time::MonoTime;
use model::units::Nanos;
use pathmeter_wire::iperf3::{
    COOKIE_LEN, Classified, Client, ClientConfig, Cookie, Params, Results, Server, ServerConfig,
};
use pathmeter_wire::iperf3::{classify, stream_id};
use pathmeter_wire::work::throughput::{Reply, Request};
use pathmeter_wire::{
    Expect, FlowPlan, Input, Output, Policy, ProtocolError, Session, Until, WorkReply, WorkRequest,
};
use std::collections::VecDeque;
use std::path::Path;

/// One dialogue, divided into the messages of each end.
struct Transcript {
    cookie: Cookie,
    params: Params,
    client: Vec<Sent>,
    server: Vec<Sent>,
}

/// One message of an end.
#[derive(Clone, Debug, PartialEq)]
enum Sent {
    State(u8),
    Error([u8; 8]),
    Message(Vec<u8>),
    Close,
}

impl Transcript {
    fn read(name: &str) -> Transcript {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/transcripts/iperf3/{name}.txt"));
        let text = std::fs::read_to_string(&path).expect("a transcript");
        let client = bytes_of(&text, "C ");
        let Classified::Cookie(cookie) = classify(&client) else { panic!("{name} begins with a cookie") };
        let client = cut(&client[COOKIE_LEN..], true);
        let params = client
            .iter()
            .find_map(|message| if let Sent::Message(json) = message { Some(json) } else { None });
        let params = params.map(|json| Params::decode(json).expect("real parameters"));
        let params = params.unwrap_or_else(|| Params {
            test: TestSpec::new(Transport::Tcp),
            extras: pathmeter_wire::iperf3::Extras::default(),
        });
        Transcript { cookie, params, client, server: cut(&bytes_of(&text, "S "), false) }
    }

    fn test(&self) -> &TestSpec {
        &self.params.test
    }

    /// The results of the real end that sends in this direction.
    fn results(&self, sends: Direction) -> Option<Results> {
        let (messages, nth) = if sends == Direction::Up { (&self.client, 1) } else { (&self.server, 0) };
        let mut messages =
            messages.iter().filter_map(|s| if let Sent::Message(json) = s { Some(json) } else { None });
        messages.nth(nth).map(|json| Results::decode(json).expect("real results"))
    }

    fn side(&self, sends: Direction) -> SideResult {
        let results = self.results(sends).expect("a dialogue with results");
        results.to_side(self.test(), sends).expect("real results")
    }
}

fn bytes_of(text: &str, end: &str) -> Vec<u8> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(end)).filter(|line| *line != "end");
    lines.flat_map(|line| line.as_bytes().chunks(2).map(hex_byte)).collect()
}

fn hex_byte(pair: &[u8]) -> u8 {
    u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal")
}

fn cut(mut bytes: &[u8], is_client: bool) -> Vec<Sent> {
    let mut messages = Vec::new();
    while let Some((first, rest)) = bytes.split_first() {
        // No message of a transcript is 16 MiB long: a length begins with 0.
        (messages, bytes) = match (first, is_client) {
            (0, _) => {
                let (length, body) = bytes.split_first_chunk().expect("a length");
                let (body, rest) = body.split_at(u32::from_be_bytes(*length) as usize);
                (push(messages, Sent::Message(body.to_vec())), rest)
            }
            (0xfe, false) => {
                let (words, rest) = rest.split_first_chunk().expect("two words");
                (push(messages, Sent::Error(*words)), rest)
            }
            _ => (push(messages, Sent::State(*first)), rest),
        };
    }
    push(messages, Sent::Close)
}

fn push(mut list: Vec<Sent>, item: Sent) -> Vec<Sent> {
    list.push(item);
    list
}

fn wire_bytes(message: &Sent) -> Vec<u8> {
    match message {
        Sent::State(byte) => vec![*byte],
        Sent::Error(words) => [&[0xfe], &words[..]].concat(),
        Sent::Message(json) => [&(json.len() as u32).to_be_bytes(), &json[..]].concat(),
        Sent::Close => Vec::new(),
    }
}

/// The record of one of our machines in a recorded dialogue.
#[derive(Default)]
struct Played {
    sent: Vec<u8>,
    plan: Option<FlowPlan>,
    expect: Vec<Expect>,
    events: Vec<Event>,
    error: Option<ProtocolError>,
    closed: bool,
}

/// Plays one end against the messages of the other. Input that the machine waits for arrives at once.
fn play(session: &mut dyn Session, other: &[Sent], measured: Option<&SideResult>, portion: usize) -> Played {
    let mut played = Played::default();
    let mut now = MonoTime(1_000_000_000);
    let mut other: VecDeque<Sent> = other.to_vec().into();
    let mut answers: VecDeque<Input<'_>> = VecDeque::new();
    let mut stopped = false;
    let mut pending: VecDeque<u8> = VecDeque::new();
    for _ in 0..100_000 {
        match session.output(now) {
            Output::Send(bytes) => played.sent.extend(bytes),
            Output::Work(WorkRequest::Flows(order)) => {
                played.plan = Some(order.plan);
                answers.push_back(WorkReply::Open(Vec::new()).into());
            }
            Output::Work(WorkRequest::Throughput(Request::Start)) => {}
            Output::Work(WorkRequest::Throughput(Request::StopSenders)) => {
                assert!(!std::mem::replace(&mut stopped, true));
                answers.push_back(Reply::SendersDone(Vec::new()).into());
            }
            Output::Work(WorkRequest::Throughput(Request::Drain { expect, .. })) => {
                played.expect = expect;
                let result = Box::new(measured.expect("results").clone());
                answers.push_back(Reply::Measured { result, report: None }.into());
            }
            Output::Work(other) => panic!("{other:?} in a test"),
            Output::Event(event) => played.events.push(event),
            Output::Close => played.closed = true,
            Output::WaitUntil(until) => {
                if played.closed {
                    assert_eq!(until, None);
                    return played;
                }
                let portion: Vec<u8> = pending.drain(..portion.min(pending.len())).collect();
                let input = match answers.pop_front() {
                    Some(answer) if portion.is_empty() => answer,
                    // Messages that the peer sends only after a message of this end wait for it.
                    _ if !portion.is_empty() => Input::Received(&portion),
                    _ => match next_message(&mut other, &played) {
                        Some(Sent::Close) => Input::Closed,
                        Some(message) => {
                            pending.extend(wire_bytes(&message));
                            continue;
                        }
                        None => {
                            now = until.expect("a deadline");
                            Input::Timer
                        }
                    },
                };
                let error = session.input(now, input).err();
                played.error = played.error.or(error);
            }
        }
    }
    panic!("the dialogue does not end");
}

/// The next message of the other end; none where it waits for our machine to end the test.
fn next_message(other: &mut VecDeque<Sent>, played: &Played) -> Option<Sent> {
    let waits_for_end =
        other.front() == Some(&Sent::State(EXCHANGE_RESULTS)) && played.sent.last() != Some(&TEST_END);
    if waits_for_end { None } else { other.pop_front() }
}

/// Our client in the place of the real one.
fn play_client(transcript: &Transcript, portion: usize) -> Played {
    let config = ClientConfig {
        cookie: transcript.cookie.clone(),
        test: TestSpec { end: End::Time(Nanos::from_secs(1)), ..transcript.test().clone() },
        extras: transcript.params.extras.clone(),
    };
    let mut client = Client::new(config, MonoTime(1_000_000_000));
    let measured = transcript.results(Direction::Up).map(|_| transcript.side(Direction::Up));
    play(&mut client, &transcript.server, measured.as_ref(), portion)
}

/// Our server in the place of the real one.
fn play_server(transcript: &Transcript, config: ServerConfig, portion: usize) -> Played {
    let mut server = Server::new(config, transcript.cookie.clone(), MonoTime(1_000_000_000));
    let measured = transcript.results(Direction::Down).map(|_| transcript.side(Direction::Down));
    play(&mut server, &transcript.client, measured.as_ref(), portion)
}

fn states(messages: &[Sent]) -> Vec<String> {
    let name = |message: &Sent| match message {
        Sent::State(byte) => format!("state {byte}"),
        Sent::Error(words) => format!("error {:?}", words.first_chunk::<4>()),
        Sent::Message(_) => "message".to_owned(),
        Sent::Close => "close".to_owned(),
    };
    messages.iter().map(name).collect()
}

fn peer_result(events: &[Event]) -> Option<&SideResult> {
    events.iter().find_map(|event| match event {
        Event::Result(result) if result.side == Side::Peer => Some(&result.result),
        _ => None,
    })
}

/// The figures of a result that cross the wire.
fn assert_same_figures(ours: &SideResult, real: &SideResult) {
    assert_eq!(ours.streams.len(), real.streams.len());
    for (ours, real) in ours.streams.iter().zip(&real.streams) {
        assert_eq!((ours.stream, ours.role, ours.bytes), (real.stream, real.role, real.bytes));
        assert_eq!(ours.elapsed, real.elapsed);
        assert_eq!(ours.tcp, real.tcp);
        let udp = |row: &model::sample::StreamResult| {
            row.udp.as_ref().map(|u| (u.datagrams, u.lost, u.last_sequence))
        };
        assert_eq!(udp(ours), udp(real));
    }
}

#[test]
fn our_client_talks_to_real_servers() {
    for name in COMPLETE {
        let transcript = Transcript::read(name);
        for portion in [1, 7, 4096] {
            let played = play_client(&transcript, portion);
            assert_eq!(played.error, None, "{name}");
            let sent = cut(&played.sent[COOKIE_LEN..], true);
            assert_eq!(states(&sent), states(&transcript.client), "{name}");
            assert_eq!(played.sent[..COOKIE_LEN], transcript.cookie.to_wire());
            let peer = peer_result(&played.events).expect("the server's results");
            assert_same_figures(peer, &transcript.side(Direction::Down));
            let receiving: Vec<u32> = transcript.test().stream_numbers(Direction::Down).collect();
            assert_eq!(played.expect.iter().map(|e| e.stream).collect::<Vec<_>>(), receiving, "{name}");
        }
    }
}

#[test]
fn our_parameters_say_what_the_real_ones_say() {
    for name in COMPLETE {
        let transcript = Transcript::read(name);
        let mut ours = Params::decode(&transcript.params.encode()).expect("our parameters");
        // Ours announce offload, for which whole buffers are sent; those of versions before 3.21 do not.
        ours.test.burst = transcript.params.test.burst;
        assert_eq!(ours, transcript.params, "{name}");
        let keys = |json: &[u8]| -> serde_json::Map<String, serde_json::Value> {
            serde_json::from_slice(json).expect("an object")
        };
        let Some(Sent::Message(real)) = transcript.client.first() else { panic!("{name} has parameters") };
        let (ours, real) = (keys(&transcript.params.encode()), keys(real));
        for (key, value) in &real {
            assert_eq!(ours.get(key), Some(value), "{name}: `{key}`");
        }
        let ours_alone =
            ours.keys().filter(|key| !real.contains_key(*key) && !OFFLOAD.contains(&key.as_str()));
        assert_eq!(ours_alone.collect::<Vec<_>>(), Vec::<&String>::new(), "{name}");
    }
}

#[test]
fn our_server_serves_real_clients() {
    for name in COMPLETE {
        let transcript = Transcript::read(name);
        for portion in [1, 7, 4096] {
            let played = play_server(&transcript, ServerConfig::default(), portion);
            assert_eq!(played.error, None, "{name}");
            let sent = cut(&played.sent, false);
            assert_eq!(states(&sent), states(&transcript.server), "{name}");
            let plan = played.plan.expect("flows");
            assert_eq!((&plan.test, plan.senders_wait_for_stop), (transcript.test(), true), "{name}");
            assert_same_figures(
                peer_result(&played.events).expect("results"),
                &transcript.side(Direction::Up),
            );
            let message =
                sent.iter().find_map(|s| if let Sent::Message(json) = s { Some(json) } else { None });
            let ours = Results::decode(message.expect("results")).expect("our results");
            let ours = ours.to_side(transcript.test(), Direction::Down).expect("our results");
            assert_same_figures(&ours, &transcript.side(Direction::Down));
            assert_expected(&played.expect, &transcript);
        }
    }
}

/// The server waits for the data that the client reports as sent.
fn assert_expected(expect: &[Expect], transcript: &Transcript) {
    let test = transcript.test();
    let results = transcript.results(Direction::Up).expect("results");
    assert_eq!(expect.len(), test.stream_numbers(Direction::Up).len());
    for expect in expect {
        let row = results.streams.iter().find(|row| row.id == stream_id(expect.stream)).expect("its row");
        match (test.transport, expect.until) {
            (Transport::Udp, Until::Sequence(last, _)) => assert_eq!(last as i64, row.packets),
            (Transport::Tcp, Until::Bytes(bytes, _)) => assert_eq!(bytes, row.bytes),
            (Transport::Tcp, Until::Quiet(_)) => assert!(test.omit > Nanos::ZERO),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_servers_report_is_taken_from_real_servers() {
    let output = |name: &str| {
        let played = play_client(&Transcript::read(name), 1000);
        played.events.into_iter().find_map(|event| match event {
            Event::Result(result) => Some((result.output_text, result.output_json)),
            _ => None,
        })
    };
    let (text, json) = output("tcp-both-omit-text").expect("results");
    assert!(text.expect("text").contains("Accepted connection from"));
    assert_eq!(json, None);
    let (text, json) = output("udp-both-json").expect("results");
    assert_eq!(text, None);
    assert!(json.expect("JSON")["end"]["sum_received"]["bytes"].as_u64() > Some(0));
}

#[test]
fn refusals_of_real_servers_are_understood() {
    assert_eq!(play_client(&Transcript::read("busy"), 1).error, Some(ProtocolError::Busy));
    for (name, code) in [("refused-duration", "error 37"), ("refused-rate", "error 27")] {
        let Some(ProtocolError::Refused(why)) = play_client(&Transcript::read(name), 2).error else {
            panic!("{name} is refused")
        };
        assert!(why.contains(code), "{why}");
    }
}

#[test]
fn our_server_refuses_as_the_real_one_does() {
    let time = Policy { max_time: Some(Nanos::from_secs(20)), ..Policy::default() };
    let rate = Policy { max_rate: Some(model::units::BitRate(10_000_000)), ..Policy::default() };
    for (name, policy) in [("refused-duration", time), ("refused-rate", rate)] {
        let transcript = Transcript::read(name);
        let played = play_server(&transcript, ServerConfig { policy, verifier: None }, 3);
        assert!(matches!(played.error, Some(ProtocolError::Stopped(_))));
        assert_eq!(cut(&played.sent, false), transcript.server, "{name}");
    }
}

#[test]
fn interrupts_of_real_ends_are_understood() {
    let stopped = |who: &str| Some(ProtocolError::PeerStopped(format!("the {who} was stopped")));
    assert_eq!(play_client(&Transcript::read("server-interrupted"), 9).error, stopped("server"));
    let transcript = Transcript::read("client-interrupted");
    assert_eq!(play_server(&transcript, ServerConfig::default(), 9).error, stopped("client"));
}

/// Dialogues that went to their end.
const COMPLETE: [&str; 30] = [
    "tcp-up",
    "tcp-down-parallel",
    "tcp-both-omit-text",
    "tcp-bytes",
    "tcp-blocks-down",
    "tcp-options",
    "udp-up",
    "udp-down-64bit",
    "udp-both-json",
    "udp-bytes",
    "master-tcp-up",
    "master-udp-both-gsro",
    "master-client-tcp-down",
    "master-server-udp-up",
    "3.21-tcp-mptcp",
    "3.21-udp-gsro-down",
    "3.21-tcp-both",
    "3.21-client-3.12-server",
    "3.12-client-3.21-server",
    "3.16-tcp-both",
    "3.16-udp-omit",
    "3.16-tcp-blocks-down",
    "3.17.1-tcp-both-omit",
    "3.17.1-udp-down-parallel",
    "3.18-tcp-parallel-output",
    "3.18-udp-blocks",
    "3.19.1-tcp-skip",
    "3.19.1-udp-both-64bit",
    "3.20-tcp-options",
    "3.20-udp-both-64bit",
];

/// Keys that versions before 3.21 do not send.
const OFFLOAD: [&str; 5] = ["gso", "gso_dg_size", "gso_bf_size", "gro", "gro_bf_size"];

const TEST_END: u8 = 4;
const EXCHANGE_RESULTS: u8 = 13;
