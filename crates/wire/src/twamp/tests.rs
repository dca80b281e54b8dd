//! Client against server on a virtual link, and either against messages it should never receive.

use super::*;
use crate::stamp::Timestamp;
use crate::{Input, Output, ProtocolError, Session};
use model::time::MonoTime;
use model::units::Nanos;
use proptest::prelude::*;

const NOW: MonoTime = MonoTime(1_000_000_000);
const LATER: MonoTime = MonoTime(62_000_000_000);

fn request() -> Request {
    Request {
        sender: Some([192, 0, 2, 1].into()),
        sender_port: 0x1122,
        receiver: Some([192, 0, 2, 9].into()),
        receiver_port: 0x3344,
        padding: 30,
        start: Timestamp(0x0102_0304_0506_0708),
        timeout: Nanos::from_millis(2500),
        type_p: Request::of_dscp(46),
    }
}

fn server() -> Server {
    Server::new([7; 12], Timestamp(9), NOW)
}

/// The bytes that the end sends now, and whether it closes.
fn sent(end: &mut dyn Session) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    loop {
        match end.output(NOW) {
            Output::Send(bytes) => all.extend(bytes),
            Output::Close => return (all, true),
            _ => return (all, false),
        }
    }
}

/// The end receives these bytes, and sends bytes or fails.
fn hear(end: &mut dyn Session, bytes: &[u8]) -> Result<Vec<u8>, ProtocolError> {
    end.input(NOW, Input::Received(bytes))?;
    Ok(sent(end).0)
}

/// A client at the point to which these answers bring it.
fn client(answers: &[&[u8]]) -> Client {
    let mut client = Client::new(request(), NOW);
    answers.iter().for_each(|answer| drop(hear(&mut client, answer).unwrap()));
    client
}

fn greeting(modes: u32) -> Vec<u8> {
    Greeting { modes }.write().into()
}

fn start(accept: Accept) -> Vec<u8> {
    Start { accept, begun: Timestamp(1) }.write().into()
}

fn accepted(accept: Accept, port: u16) -> Vec<u8> {
    Accepted { accept, port, session: [5; 16] }.write().into()
}

#[test]
fn a_connection_has_one_test_after_the_other() {
    let mut server = server();
    let start = [SetUp { mode: 1 }.write().to_vec(), request().write().to_vec()].concat();
    hear(&mut server, &start).unwrap();
    for port in [7000, 7001] {
        assert!(matches!(server.take_command(), Some(TwampCommand::Open(_))), "{port}");
        server.opened(NOW, Ok(port)).unwrap();
        hear(&mut server, &message::START_SESSIONS).unwrap();
        assert_eq!(server.take_command(), Some(TwampCommand::Begin));
        let next = [Stop { accept: Accept::OK, sessions: 1 }.write().to_vec(), request().write().to_vec()];
        hear(&mut server, &next.concat()).unwrap();
        assert_eq!(server.take_command(), Some(TwampCommand::End(Nanos::from_millis(2500))));
    }
}

#[test]
fn messages_are_these_bytes() {
    let zeros = |count| vec![0; count];
    assert_eq!(
        greeting(0x0102_0304),
        [zeros(12), vec![1, 2, 3, 4], zeros(34), vec![4, 0], zeros(12)].concat()
    );
    assert_eq!(SetUp { mode: 1 }.write()[..], [vec![0, 0, 0, 1], zeros(160)].concat());
    let begun = [zeros(15), vec![3], zeros(16), zeros(7), vec![1], zeros(8)].concat();
    assert_eq!(start(Accept::UNSUPPORTED), begun);
    let fields = [
        vec![5, 4, 0, 0],
        zeros(8),
        vec![0x11, 0x22, 0x33, 0x44],
        [vec![192, 0, 2, 1], zeros(12), vec![192, 0, 2, 9], zeros(12)].concat(),
        zeros(16),
        vec![0, 0, 0, 30],
        vec![1, 2, 3, 4, 5, 6, 7, 8],
        vec![0, 0, 0, 2, 0x80, 0, 0, 0],
        vec![46, 0, 0, 0],
        zeros(24),
    ];
    assert_eq!(request().write()[..], fields.concat());
    assert_eq!(accepted(Accept::OK, 0x1f2e), [vec![0, 0, 0x1f, 0x2e], vec![5; 16], zeros(28)].concat());
    assert_eq!(message::START_SESSIONS[..], [vec![2], zeros(31)].concat());
    assert_eq!(StartAck { accept: Accept::FAILED }.write()[..], [vec![1], zeros(31)].concat());
    let stop = Stop { accept: Accept::OK, sessions: 1 }.write();
    assert_eq!(stop[..], [vec![3, 0, 0, 0, 0, 0, 0, 1], zeros(24)].concat());
}

#[test]
fn what_is_written_is_read() {
    let v6 = Request { sender: Some("2001:db8::1".parse().unwrap()), receiver: None, ..request() };
    let no_address = Request { sender: None, receiver: None, ..request() };
    for request in [request(), v6, no_address] {
        assert_eq!(Request::read(&request.write()), Some(request));
    }
    let mut of_no_ip = request().write();
    of_no_ip[1] = 5;
    assert_eq!(Request::read(&of_no_ip), None);
    let answer = Accepted { accept: Accept(9), port: 7, session: [3; 16] };
    assert_eq!(Accepted::read(&answer.write()), answer);
    let stop = Stop { accept: Accept::FAILED, sessions: 77 };
    let stop = stop.write();
    assert_eq!((&stop[..2], &stop[4..8]), (&[Stop::COMMAND, Accept::FAILED.0][..], &[0, 0, 0, 77][..]));
    assert_eq!(request().dscp(), Some(46));
    assert_eq!(Request { type_p: 1 << 30, ..request() }.dscp(), None);
}

#[test]
fn a_refusal_is_reported_in_words() {
    let open = greeting(1);
    let refused = |answers: &[&[u8]], last: &[u8], words: &str| {
        let error = hear(&mut client(answers), last).unwrap_err();
        assert!(matches!(&error, ProtocolError::Refused(why) if why.contains(words)), "{error}: {words}");
    };
    refused(&[], &greeting(0), "wants no connection");
    refused(&[], &greeting(0b110), "only authenticated or encrypted TWAMP (modes 0x6)");
    refused(&[&open], &start(Accept::NOT_NOW), "the connection: its resources are used up");
    let begun = start(Accept::OK);
    refused(&[&open, &begun], &accepted(Accept::UNSUPPORTED, 0), "the test: it does not support");
    refused(&[&open, &begun], &accepted(Accept(200), 0), "200, which has no meaning");
    let ack = StartAck { accept: Accept::INTERNAL }.write();
    refused(&[&open, &begun, &accepted(Accept::OK, 9)], &ack, "to start the test: it has an internal");
}

#[test]
fn another_port_is_requested_once() {
    let mut asking = client(&[&greeting(1), &start(Accept::OK)]);
    let again = hear(&mut asking, &accepted(Accept::FAILED, 777)).unwrap();
    assert_eq!(Request::read(&again).map(|request| request.receiver_port), Some(777));
    let mut other = asking;
    assert!(matches!(hear(&mut other, &accepted(Accept::FAILED, 778)), Err(ProtocolError::Refused(_))));
}

#[test]
fn a_server_that_breaks_the_protocol_is_reported() {
    let (open, begun) = (greeting(1), start(Accept::OK));
    let violates = |answers: &[&[u8]], last: &[u8]| {
        let error = hear(&mut client(answers), last).unwrap_err();
        assert!(matches!(error, ProtocolError::Violation { protocol: "TWAMP", .. }), "{error}");
    };
    violates(&[&open, &begun], &accepted(Accept::OK, 0));
    let running = [&open[..], &begun, &accepted(Accept::OK, 9), &[0; 32]];
    violates(&running, b"?");
    violates(&running[..3], &[0; 33]);
}

#[test]
fn silence_and_the_end_of_the_connection_are_reported_in_every_state() {
    let answers = [greeting(1), start(Accept::OK), accepted(Accept::OK, 9), vec![0; 32]];
    for known in 0..=answers.len() {
        let answers: Vec<&[u8]> = answers[..known].iter().map(Vec::as_slice).collect();
        let closed = client(&answers).input(NOW, Input::Closed);
        assert!(matches!(closed, Err(ProtocolError::Closed(_))), "{known}: {closed:?}");
        let mut waiting = client(&answers);
        assert_eq!(waiting.input(NOW, Input::Timer), Ok(()));
        let late = waiting.input(LATER, Input::Timer);
        // While packets are sent no message is due.
        assert_eq!(late.is_err(), known < 4, "{known}: {late:?}");
        let stopped = client(&answers).input(NOW, Input::Interrupt("stop"));
        assert_eq!(stopped, Err(ProtocolError::Stopped("stop".into())));
    }
    let mut other = client(&[]);
    assert_eq!(hear(&mut other, b"SSH-2.0-OpenSSH_9.2\r\n"), Ok(vec![]));
    let late = other.input(LATER, Input::Timer).unwrap_err().to_string();
    assert!(late.contains("before its TWAMP greeting") && late.contains("shorter"), "{late}");
}

#[test]
fn a_client_that_goes_before_the_test_sends_no_stop() {
    let mut early = client(&[&greeting(1)]);
    early.finish();
    assert_eq!(sent(&mut early), (vec![], true));
    assert_eq!(early.input(NOW, Input::Closed), Ok(()));
}

/// A server whose client has chosen the mode.
fn ready() -> Server {
    let mut server = server();
    hear(&mut server, &SetUp { mode: 1 }.write()).unwrap();
    server
}

/// Requests a test, which is opened on this port; returns the answer.
fn ask(server: &mut Server, request: [u8; Request::LEN]) -> Accepted {
    let mut answer = hear(server, &request).unwrap();
    if let Some(TwampCommand::Open(_)) = server.take_command() {
        server.opened(NOW, Ok(9)).unwrap();
        answer = sent(server).0;
    }
    Accepted::read(&answer)
}

#[test]
fn a_server_refuses_what_it_does_not_speak() {
    let mut authenticated = server();
    let choice = [&[0, 0, 0, 2], &[1; 160][..]].concat();
    authenticated.input(NOW, Input::Received(&choice)).unwrap();
    let (answer, is_closed) = sent(&mut authenticated);
    assert_eq!(Start::read(&answer[Greeting::LEN..]).accept, Accept::UNSUPPORTED);
    assert!(is_closed);
    let mut silent = server();
    silent.input(NOW, Input::Received(&[0; 164])).unwrap();
    let (answer, is_closed) = sent(&mut silent);
    assert_eq!((answer.len(), is_closed), (Greeting::LEN, true));
    let mut no_ip = request().write();
    no_ip[1] = 0;
    assert_eq!(ask(&mut ready(), no_ip).accept, Accept::UNSUPPORTED);
    let phb = Request { type_p: 1 << 30, ..request() };
    assert_eq!(ask(&mut ready(), phb.write()).accept, Accept::UNSUPPORTED);
}

#[test]
fn a_client_gets_so_many_tests_each_with_a_name() {
    let mut server = ready();
    let names: Vec<_> = (0..4).map(|_| ask(&mut server, request().write())).collect();
    assert!(names.iter().all(|answer| answer.accept == Accept::OK && answer.port == 9));
    assert!((1..4).all(|at| names[at].session != names[at - 1].session));
    assert_eq!(ask(&mut server, request().write()).accept, Accept::NOT_NOW);
    let mut full = ready();
    hear(&mut full, &request().write()).unwrap();
    full.opened(NOW, Err(Accept::NOT_NOW)).unwrap();
    assert_eq!(Accepted::read(&sent(&mut full).0).accept, Accept::NOT_NOW);
}

#[test]
fn a_client_that_breaks_the_protocol_is_reported() {
    let start = message::START_SESSIONS;
    assert_eq!(hear(&mut ready(), &start).map(|ack| StartAck::read(&ack).accept), Ok(Accept::FAILED));
    assert!(hear(&mut ready(), &[1; 112]).is_err(), "one-way tests are OWAMP's");
    assert!(hear(&mut ready(), b"GET / HTTP/1.1\r\n").is_err());
    let mut running = ready();
    ask(&mut running, request().write());
    assert_eq!(hear(&mut running, &start).map(|ack| StartAck::read(&ack).accept), Ok(Accept::OK));
    assert_eq!(running.take_command(), Some(TwampCommand::Begin));
    assert!(hear(&mut running, &start).is_err());
    // The client sends too much while a test is being opened.
    let mut flooded = ready();
    hear(&mut flooded, &request().write()).unwrap();
    assert!(hear(&mut flooded, &[5; 2000]).is_err());
    assert!(ready().input(LATER, Input::Timer).is_err(), "it asks for nothing");
    let mut gone = ready();
    assert_eq!(gone.input(NOW, Input::Closed), Ok(()));
    assert!(sent(&mut gone).1);
}

#[test]
fn a_client_that_goes_before_its_port_is_open_stays_gone() {
    let mut server = ready();
    hear(&mut server, &request().write()).unwrap();
    assert!(matches!(server.take_command(), Some(TwampCommand::Open(_))));
    server.input(NOW, Input::Closed).unwrap();
    server.opened(NOW, Ok(40_000)).unwrap();
    assert_eq!(sent(&mut server), (Vec::new(), true));
    assert!(matches!(server.output(NOW), Output::WaitUntil(None)));
}

#[test]
fn a_tail_has_an_end() {
    let mut server = ready();
    ask(&mut server, Request { timeout: Nanos::from_secs(3600), ..request() }.write());
    hear(&mut server, &message::START_SESSIONS).unwrap();
    hear(&mut server, &Stop { accept: Accept::OK, sessions: 1 }.write()).unwrap();
    assert_eq!(server.take_command(), Some(TwampCommand::Begin));
    assert_eq!(server.take_command(), Some(TwampCommand::End(Nanos::from_secs(10))));
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer_or_an_error_and_memory_has_an_end(
        portions in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..20),
        polite: bool,
    ) {
        let mut server = if polite { ready() } else { server() };
        let mut client = if polite { client(&[&greeting(1)]) } else { client(&[]) };
        for portion in &portions {
            if hear(&mut server, portion).is_err() {
                break;
            }
            while let Some(command) = server.take_command() {
                if let TwampCommand::Open(_) = command {
                    server.opened(NOW, Ok(9)).ok();
                }
            }
        }
        for portion in &portions {
            if hear(&mut client, portion).is_err() {
                break;
            }
        }
        prop_assert!(client.port() != Some(0));
    }
}
