use super::*;
use crate::session::listener::tests::{bound, noted_while};
use body::Pace;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A server of one transfer at a time that wants so much of it.
fn one_at_a_time(pace: Pace) -> Arc<HttpService> {
    let limits = Limits { transfers: 1, ..Limits::default() };
    let notes = Arc::new(Notes::new(Arc::new(|_: &str| {})));
    let mut service = HttpService::new(limits, notes, Arc::default());
    Arc::get_mut(&mut service).expect("it is new").pace = pace;
    service
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    socket
}

/// The status of the answer to a small request.
fn status(address: SocketAddr) -> String {
    let mut socket = connect(address);
    socket.write_all(b"GET /bytes/1 HTTP/1.1\r\nConnection: close\r\n\r\n").expect("it listens");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).ok();
    String::from_utf8_lossy(&answer).split_whitespace().nth(1).unwrap_or_default().to_owned()
}

/// Begins an upload, which then holds the only place.
fn begin(address: SocketAddr) -> TcpStream {
    let mut socket = connect(address);
    let head = b"PUT / HTTP/1.1\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n";
    socket.write_all(head).expect("it listens");
    let mut answer = [0; 25];
    socket.read_exact(&mut answer).expect("it is taken");
    assert_eq!(status(address), "503", "one transfer at a time");
    socket
}

#[test]
fn an_upload_that_drips_is_ended_and_its_place_is_free() {
    let (socket, address) = bound();
    let pace = Pace { span: Nanos::from_millis(500), least: 1 << 20, ..Pace::default() };
    let lines = noted_while(
        |listener| listener.add(socket, one_at_a_time(pace)).expect("it is added"),
        || {
            let mut upload = begin(address);
            let goes_on = (0..2000).all(|_| {
                std::thread::sleep(Duration::from_millis(10));
                upload.write_all(b"a").is_ok()
            });
            assert!(!goes_on, "a byte now and then is enough to hold the place");
            assert_eq!(status(address), "200");
        },
    );
    assert!(lines.iter().any(|line| line.contains("the transfer is slower than")), "{lines:?}");
}

#[test]
fn an_upload_that_stops_is_ended_and_its_place_is_free() {
    let (socket, address) = bound();
    let pace = Pace { silence: Nanos::from_millis(500), ..Pace::default() };
    let lines = noted_while(
        |listener| listener.add(socket, one_at_a_time(pace)).expect("it is added"),
        || {
            let mut upload = begin(address);
            assert!(matches!(upload.read(&mut [0]), Ok(0)), "it is closed");
            assert_eq!(status(address), "200");
        },
    );
    assert!(lines.iter().any(|line| line.contains("no byte moved")), "{lines:?}");
}
