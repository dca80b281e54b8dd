//! A path on the loopback that loses, doubles and swaps data datagrams of our protocol, each by its number, and carries
//! everything else as it is.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How a data datagram is delivered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Delivery {
    Once,
    Lost,
    Twice,
    AfterTheNext,
    /// By a path that is so much longer.
    Behind(Duration),
    /// After it comes a copy with a number so far ahead, and copies with these numbers.
    ThenAgain {
        ahead: u64,
        again: &'static [u64],
    },
}

/// Stands between clients and a server until dropped, in both directions.
pub(super) struct Relay {
    /// HOST:PORT for the client.
    pub(super) host: String,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    /// To the server at this port of the loopback.
    pub(super) fn to(server: u16, delivery: fn(u64) -> Delivery) -> Relay {
        let near = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = near.local_addr().unwrap();
        near.set_read_timeout(Some(STEP)).unwrap();
        let listener = TcpListener::bind(address).expect("the port is as free for TCP");
        listener.set_nonblocking(true).unwrap();
        let stop = Arc::<AtomicBool>::default();
        let (for_udp, for_tcp) = (stop.clone(), stop.clone());
        let threads = vec![
            std::thread::spawn(move || carry_datagrams(&near, server, delivery, &for_udp)),
            std::thread::spawn(move || carry_connections(&listener, server, &for_tcp)),
        ];
        Relay { host: address.to_string(), stop, threads }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

pub(super) fn carry_connections(listener: &TcpListener, server: u16, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        let Ok((near, _)) = listener.accept() else {
            std::thread::sleep(STEP);
            continue;
        };
        near.set_nonblocking(false).unwrap();
        let far = TcpStream::connect(("127.0.0.1", server)).unwrap();
        for (mut from, mut to) in [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))]
            .map(|(from, to)| (from.unwrap(), to.unwrap()))
        {
            // Ends with the connection.
            std::thread::spawn(move || {
                io::copy(&mut from, &mut to).ok();
                to.shutdown(Shutdown::Write).ok();
            });
        }
    }
}

pub(super) fn carry_datagrams(
    near: &UdpSocket,
    server: u16,
    delivery: fn(u64) -> Delivery,
    stop: &AtomicBool,
) {
    let mut clients: HashMap<SocketAddr, Flow> = HashMap::new();
    let mut buf = vec![0; 1 << 16];
    while !stop.load(Ordering::Acquire) {
        while let Ok((length, from)) = near.recv_from(&mut buf) {
            let flow = clients.entry(from).or_insert_with(|| Flow::to(server));
            let Flow { far, up, .. } = flow;
            up.take(&buf[..length], delivery, |datagram| drop(far.send(datagram)));
        }
        for (client, Flow { far, up, down }) in &mut clients {
            while let Ok(length) = far.recv(&mut buf) {
                down.take(&buf[..length], delivery, |datagram| drop(near.send_to(datagram, client)));
            }
            up.bring(|datagram| drop(far.send(datagram)));
            down.bring(|datagram| drop(near.send_to(datagram, client)));
        }
    }
}

struct Flow {
    far: UdpSocket,
    up: Path,
    down: Path,
}

impl Flow {
    fn to(server: u16) -> Flow {
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        far.connect(("127.0.0.1", server)).unwrap();
        far.set_nonblocking(true).unwrap();
        Flow { far, up: Path::default(), down: Path::default() }
    }
}

/// One direction of a flow.
#[derive(Default)]
struct Path {
    held: Option<Vec<u8>>,
    /// Datagrams on the longer path, and when they arrive.
    behind: VecDeque<(Instant, Vec<u8>)>,
}

impl Path {
    fn take(&mut self, datagram: &[u8], delivery: fn(u64) -> Delivery, mut deliver: impl FnMut(&[u8])) {
        let delivery = number(datagram).map_or(Delivery::Once, delivery);
        match delivery {
            Delivery::Lost => return,
            Delivery::AfterTheNext => {
                self.held = Some(datagram.to_vec());
                return;
            }
            Delivery::Behind(time) => {
                self.behind.push_back((Instant::now() + time, datagram.to_vec()));
                return;
            }
            _ => deliver(datagram),
        }
        match delivery {
            Delivery::Twice => deliver(datagram),
            Delivery::ThenAgain { ahead, again } => {
                std::iter::once(&ahead).chain(again).for_each(|number| deliver(&with(*number, datagram)));
            }
            _ => {}
        }
        if let Some(held) = self.held.take() {
            deliver(&held);
        }
    }

    /// Delivers datagrams that have arrived by the longer path.
    fn bring(&mut self, mut deliver: impl FnMut(&[u8])) {
        while self.behind.front().is_some_and(|(at, _)| Instant::now() >= *at) {
            self.behind.pop_front().into_iter().for_each(|(_, datagram)| deliver(&datagram));
        }
    }
}

/// The number of a data datagram: after two bytes of stream, the first of which is zero.
fn number(datagram: &[u8]) -> Option<u64> {
    let (first, _) = datagram.split_first_chunk::<8>()?;
    (first[0] == 0).then(|| u64::from_be_bytes(*first) & ((1 << 48) - 1))
}

fn with(number: u64, datagram: &[u8]) -> Vec<u8> {
    [&datagram[..2], &number.to_be_bytes()[2..], &datagram[8..]].concat()
}

const STEP: Duration = Duration::from_millis(1);
