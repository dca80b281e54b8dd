//! Any input of a TWAMP control connection, to the server and to the client. Neither keeps more than it needs, a server answers
//! no more than the requests, and a client has a port only where it was given one.

use model::time::MonoTime;
use model::units::Nanos;
use wire::stamp::Timestamp;
use wire::twamp::{Accept, Client, TwampCommand, Request, Server, SetUp};
use wire::{Input, Output, Session};

const NOW: MonoTime = MonoTime(1 << 30);

/// Length of its present output, bytes.
fn drained(end: &mut dyn Session) -> usize {
    let mut all = 0;
    while let Output::Send(bytes) = end.output(NOW) {
        all += bytes.len();
    }
    all
}

fn serve(choice: u8, data: &[u8], portion: usize) {
    let mut server = Server::new([choice; 12], Timestamp(1), NOW);
    if choice & 1 != 0 {
        server.input(NOW, Input::Received(&SetUp { mode: 1 }.write())).expect("the mode it speaks");
    }
    let (mut given, mut opened, mut running) = (drained(&mut server), 0, false);
    for part in data.chunks(portion) {
        if server.input(NOW, Input::Received(part)).is_err() {
            return;
        }
        while let Some(command) = server.take_command() {
            match command {
                TwampCommand::Open(asked) => {
                    assert!(!running && asked.dscp < 64);
                    opened += 1;
                    assert!(opened <= 4);
                    let outcome = if choice & 2 == 0 { Ok(9) } else { Err(Accept::NOT_NOW) };
                    opened -= u32::from(outcome.is_err());
                    if server.opened(NOW, outcome).is_err() {
                        return;
                    }
                }
                TwampCommand::Begin => {
                    assert!(opened > 0 && !running);
                    running = true;
                }
                TwampCommand::End(tail) => {
                    assert!(running && tail <= Nanos::from_secs(10));
                    (opened, running) = (0, false);
                }
            }
        }
        given += drained(&mut server);
    }
    // Greeting and start, and then an answer no longer than its question.
    assert!(given <= 64 + 48 + data.len());
}

fn ask(data: &[u8], portion: usize) {
    let request = Request {
        sender: None,
        sender_port: 7,
        receiver: None,
        receiver_port: 8,
        padding: 30,
        start: Timestamp(1),
        timeout: Nanos::ZERO,
        type_p: 0,
    };
    let mut client = Client::new(request, NOW);
    for part in data.chunks(portion) {
        if client.input(NOW, Input::Received(part)).is_err() {
            return;
        }
        drained(&mut client);
        assert_ne!(client.port(), Some(0));
    }
    client.finish();
    assert!(drained(&mut client) <= 32);
}

/// One input.
pub(crate) fn run(data: &[u8]) {
    let Some((&[choice, portion], data)) = data.split_first_chunk() else { return };
    let portion = usize::from(portion) + 1;
    serve(choice, data, portion);
    ask(data, portion);
    if let Some(message) = data.first_chunk::<{ Request::LEN }>()
        && let Some(request) = Request::read(message)
    {
        let again = Request::read(&request.write());
        // A length of time loses what is below a nanosecond, an address its family where there is none.
        let timeout = again.map(|again| again.timeout.0.abs_diff(request.timeout.0));
        assert!(timeout.is_some_and(|off| off <= 1));
        assert_eq!(again.map(|again| (again.sender, again.type_p)), Some((request.sender, request.type_p)));
    }
}
