//! A path that loses, doubles, swaps and delays datagrams on their return path, each by its number.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Delivery of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    Pass,
    Lose,
    Double,
    /// Delivered after the next one.
    Swap,
    /// Delivered so much later.
    Delay(Duration),
}

/// Stands between one client and a server until dropped.
pub(super) struct Relay {
    /// HOST:PORT for the client.
    pub(super) host: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The number of the message that a reply answers, from 1 on.
pub(super) type Number = fn(&[u8]) -> u64;

impl Relay {
    /// A forward path that loses nothing.
    pub(super) fn to(server: u16, number: Number, delivery: fn(u64) -> Delivery) -> Relay {
        Relay::both(server, |_| false, number, delivery)
    }

    /// One that loses these requests too.
    pub(super) fn both(
        server: u16,
        loses: fn(&[u8]) -> bool,
        number: Number,
        delivery: fn(u64) -> Delivery,
    ) -> Relay {
        let near = UdpSocket::bind("127.0.0.1:0").unwrap();
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        far.connect(("127.0.0.1", server)).unwrap();
        for socket in [&near, &far] {
            socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        }
        let host = near.local_addr().unwrap().to_string();
        let stop = Arc::<AtomicBool>::default();
        let stopped = stop.clone();
        let thread = Some(std::thread::spawn(move || {
            let mut path = Path { near, client: None, loses, held: None, delayed: Vec::new() };
            let mut buf = vec![0; 1 << 16];
            while !stopped.load(Ordering::Acquire) {
                path.carry(&far, &mut buf, number, delivery);
            }
        }));
        Relay { host, stop, thread }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// SockPerf's.
pub(super) fn sockperf_number(reply: &[u8]) -> u64 {
    u64::from_be_bytes(*reply.first_chunk().unwrap())
}

/// STAMP's Sender Sequence Number begins at 0.
pub(super) fn stamp_number(reply: &[u8]) -> u64 {
    u64::from(u32::from_be_bytes(reply[24..28].try_into().unwrap())) + 1
}

struct Path {
    near: UdpSocket,
    client: Option<SocketAddr>,
    loses: fn(&[u8]) -> bool,
    held: Option<Vec<u8>>,
    delayed: Vec<(Instant, Vec<u8>)>,
}

impl Path {
    fn carry(&mut self, far: &UdpSocket, buf: &mut [u8], number: Number, delivery: fn(u64) -> Delivery) {
        if let Ok((length, from)) = self.near.recv_from(buf) {
            self.client = Some(from);
            if !(self.loses)(&buf[..length]) {
                far.send(&buf[..length]).unwrap();
            }
        }
        let now = Instant::now();
        let due: Vec<_> = self.delayed.extract_if(.., |(due, _)| *due <= now).collect();
        due.iter().for_each(|(_, reply)| self.deliver(reply));
        let Ok(length) = far.recv(buf) else { return };
        let reply = &buf[..length];
        match delivery(number(reply)) {
            Delivery::Lose => return,
            Delivery::Swap => return self.held = Some(reply.to_vec()),
            Delivery::Delay(time) => return self.delayed.push((now + time, reply.to_vec())),
            Delivery::Pass => self.deliver(reply),
            Delivery::Double => {
                self.deliver(reply);
                self.deliver(reply);
            }
        }
        if let Some(reply) = self.held.take() {
            self.deliver(&reply);
        }
    }

    fn deliver(&self, reply: &[u8]) {
        self.near.send_to(reply, self.client.expect("it has asked")).unwrap();
    }
}
