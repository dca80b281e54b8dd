//! A far end that lies about bytes and times: its figures never come out as a result that somebody could believe. Between a
//! real client and a real server is somebody who changes one message of the server's.

use super::support::{Ended, Server, free_port, run};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

/// Changes one row of a server's results.
type Lie = fn(&mut Value);
/// Changes a message of a server.
type Change = Box<dyn FnMut(&mut Value) + Send>;

/// Passes the control connection and one data connection of a client on; the server's messages of one type are changed. Its
/// threads end with the connections.
fn liar(server: u16, kind: &'static str, change: Change) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut forger = Some(Forger { held: Vec::new(), kind, change });
        for client in listener.incoming().take(2) {
            let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
            let (from_client, to_client) = (client.try_clone().unwrap(), client);
            let (to_server, from_server) = (server.try_clone().unwrap(), server);
            std::thread::spawn(move || pass(from_client, to_server, None));
            let forger = forger.take();
            std::thread::spawn(move || pass(from_server, to_client, forger));
        }
    });
    port
}

fn pass(mut from: TcpStream, mut to: TcpStream, mut forger: Option<Forger>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..length];
        let reported = forger.as_mut().map(|forger| forger.answer(bytes));
        if to.write_all(reported.as_deref().unwrap_or(bytes)).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Write).ok();
}

/// Finds the JSON messages among the bytes of a server: each has its length before it, in iPerf3's protocol as in ours, and
/// begins with a zero by that. A greeting and iPerf3's states have none.
struct Forger {
    held: Vec<u8>,
    kind: &'static str,
    change: Change,
}

impl Forger {
    fn answer(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let mut reported = Vec::new();
        loop {
            match self.held.first() {
                Some(0) => {
                    let Some(message) = self.message() else { return reported };
                    let mut message: Value = serde_json::from_slice(&message).unwrap();
                    if self.kind == ANY || message["type"] == self.kind {
                        (self.change)(&mut message);
                    }
                    reported.extend(framed(&message));
                }
                Some(_) => reported.push(self.held.remove(0)),
                None => return reported,
            }
        }
    }

    /// The message at the front, once it is complete.
    fn message(&mut self) -> Option<Vec<u8>> {
        let length = u32::from_be_bytes(self.held.get(..4)?.try_into().unwrap()) as usize;
        let message = self.held.get(4..4 + length)?.to_vec();
        self.held.drain(..4 + length);
        Some(message)
    }
}

fn framed(message: &Value) -> Vec<u8> {
    let text = serde_json::to_vec(message).unwrap();
    [u32::try_from(text.len()).unwrap().to_be_bytes().as_slice(), &text].concat()
}

/// A brace among the four bytes of a length, and bytes that come one by one, once left a client without an answer.
#[test]
fn a_liar_finds_messages_of_every_length_in_any_portions() {
    for padding in 0..600 {
        let message = json!({ "type": "pong", "padding": "x".repeat(padding) });
        let bytes = [b"PMTRCTRL\x01\x01".as_slice(), &framed(&message), &framed(&message)].concat();
        for portion in [1, 3, bytes.len()] {
            let change: Change = Box::new(|message| message["t2_ns"] = json!(7));
            let mut forger = Forger { held: Vec::new(), kind: "pong", change };
            let reported: Vec<u8> = bytes.chunks(portion).flat_map(|bytes| forger.answer(bytes)).collect();
            let lie = json!({ "type": "pong", "padding": "x".repeat(padding), "t2_ns": 7 });
            let expected = [b"PMTRCTRL\x01\x01".as_slice(), &framed(&lie), &framed(&lie)].concat();
            assert_eq!(reported, expected, "{padding} bytes more, in portions of {portion}");
        }
    }
}

/// Messages of iPerf3's have no type.
const ANY: &str = "";

/// The result of a client against a lie.
fn run_against(server: u16, args: &[&str], kind: &'static str, change: Change) -> Ended {
    let port = liar(server, kind, change);
    run(&[&["throughput", &format!("127.0.0.1:{port}"), "--json"], args].concat())
}

/// A little more than 100 days.
const MONTHS: u64 = 9_007_199_254_740_992;

#[test]
fn figures_that_cannot_be_true_are_void() {
    let server = Server::start(&[]);
    let lies: [(&[&str], Lie); 7] = [
        (&[], |row| row["elapsed_ns"] = json!(MONTHS)),
        (&[], |row| row["bytes"] = json!(1 << 30)),
        (&[], |row| row["total_bytes"] = json!(1 << 30)),
        (&[], |row| row["bytes"] = json!(0)),
        (&["-R"], |row| row["elapsed_ns"] = json!(MONTHS)),
        (&["-R"], |row| row["total_bytes"] = json!(1)),
        (&["-R"], |row| row["total_bytes"] = json!(0)),
    ];
    for (number, (args, lie)) in lies.into_iter().enumerate() {
        let lie = move |message: &mut Value| lie(&mut message["result"]["streams"][0]);
        let ended = run_against(server.port, &[&["-n", "1M"], args].concat(), "results", Box::new(lie));
        assert_eq!(ended.code, Some(4), "lie {number}\n{}\n{}", ended.stdout, ended.stderr);
        assert_eq!(ended.json()["verdict"]["status"], "void", "lie {number}");
    }
    server.stop();
}

#[test]
fn a_time_of_nothing_makes_no_test_faster() {
    let server = Server::start(&[]);
    for kind in ["results", "interval", "pong"] {
        let lie = move |message: &mut Value| match kind {
            "results" => message["result"]["streams"][0]["elapsed_ns"] = json!(1),
            "interval" => message["sample"]["streams"][0]["bytes"] = json!(1_u64 << 50),
            _ => message["t2_ns"] = json!(MONTHS),
        };
        // Bytes, and no time, in which on a busy host nothing might arrive.
        let args = ["-n", "20M", "-b", "200M", "-i", "100ms"];
        let run = run_against(server.port, &args, kind, Box::new(lie)).code(0).json();
        let number =
            |path: &str| run.pointer(path).unwrap_or_else(|| panic!("{path}: {run:#}")).as_f64().unwrap();
        let own =
            number("/summary/local/streams/0/bytes") * 8e9 / number("/summary/local/streams/0/elapsed_ns");
        let goodput = number("/summary/up/goodput_bps");
        assert!(goodput > 0.0 && goodput <= own * 1.5, "{kind}: {goodput} of {own}");
    }
    server.stop();
}

#[test]
fn an_iperf3_server_that_lies_is_void_too() {
    let port = free_port();
    let server = Server::start(&[&format!("--iperf3={port}")]);
    let lies: [(&[&str], Lie); 4] = [
        (&[], |row| row["bytes"] = json!(1_u64 << 40)),
        (&[], |row| row["bytes"] = json!(0)),
        (&[], |row| row["end_time"] = json!(9e6)),
        (&["-R"], |row| row["end_time"] = json!(9e6)),
    ];
    for (number, (args, lie)) in lies.into_iter().enumerate() {
        let lie = move |message: &mut Value| lie(&mut message["streams"][0]);
        let args = [&["-n", "1M", "--protocol", "iperf3"], args].concat();
        let ended = run_against(port, &args, ANY, Box::new(lie));
        assert_eq!(ended.code, Some(4), "lie {number}\n{}\n{}", ended.stdout, ended.stderr);
        assert_eq!(ended.json()["verdict"]["status"], "void", "lie {number}");
    }
    server.stop();
}
