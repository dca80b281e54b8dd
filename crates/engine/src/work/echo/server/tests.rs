use super::*;
use crate::session::listener::tests::{bound, noted_while};
use std::io::{Read, Write};
use std::time::Duration;
use wire::sockperf::{CLIENT, HEADER_LEN, Header, MAX_TCP_LEN, PONG};

fn connect(address: SocketAddr, timeout: Duration) -> TcpStream {
    let socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(timeout)).expect("a timeout");
    socket
}

/// Sends a message and waits for the reply.
fn is_answered(mut socket: &TcpStream) -> bool {
    let mut message = [0; HEADER_LEN];
    Header { sequence: 1, flags: CLIENT | PONG, len: HEADER_LEN as u32 }.write(&mut message);
    socket.write_all(&message).is_ok() && socket.read_exact(&mut message).is_ok()
}

#[test]
fn connections_that_say_nothing_are_closed_and_their_places_are_free() {
    let (socket, address) = bound();
    let service = Streams::new(Responder::new(MAX_TCP_LEN), WaitMode::Block, Arc::default());
    let service = Arc::new(Streams { silence: Nanos::from_secs(1), ..service });
    let connections = service.connections.clone();
    noted_while(
        |listener| listener.add(socket, service).expect("it is added"),
        || {
            let silent: Vec<TcpStream> =
                (0..20).map(|_| connect(address, Duration::from_millis(20))).collect();
            let talker = connect(address, Duration::from_secs(20));
            for mut socket in silent {
                let closed = (0..1000).any(|_| {
                    assert!(is_answered(&talker), "one that talks goes on");
                    matches!(socket.read(&mut [0]), Ok(0))
                });
                assert!(closed, "it is silent, and holds its place");
            }
            let left = |wanted| {
                (0..1000).any(|_| {
                    std::thread::sleep(Duration::from_millis(10));
                    connections.held() == wanted
                })
            };
            assert!(left(1), "{} places are taken", connections.held());
            drop(talker);
            assert!(left(0), "{} places are taken", connections.held());
        },
    );
}
