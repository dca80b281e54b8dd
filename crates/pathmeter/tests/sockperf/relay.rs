//! A path that loses, doubles and disorders datagrams on their return path, by a function of the test.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Delivery of the reply with this number in its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Pass,
    Lose,
    Double,
    /// Delivered after the next one.
    Swap,
    /// Its last byte is changed.
    Alter,
}

/// Stands between a client and a server until dropped.
pub(crate) struct Relay {
    pub(crate) port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    pub(crate) fn to(server: u16, delivery: fn(u64) -> Delivery) -> Relay {
        let near = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        let far = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        far.connect(("127.0.0.1", server)).expect("loopback");
        for socket in [&near, &far] {
            socket.set_read_timeout(Some(Duration::from_millis(1))).expect("not zero");
        }
        let port = near.local_addr().expect("bound").port();
        let stop = Arc::<AtomicBool>::default();
        let stopped = stop.clone();
        let thread = Some(std::thread::spawn(move || carry(&near, &far, delivery, &stopped)));
        Relay { port, stop, thread }
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

fn carry(near: &UdpSocket, far: &UdpSocket, delivery: fn(u64) -> Delivery, stop: &AtomicBool) {
    let mut client: Option<SocketAddr> = None;
    let mut held: Option<Vec<u8>> = None;
    let mut buf = [0; 65_536];
    while !stop.load(Ordering::Acquire) {
        if let Ok((length, from)) = near.recv_from(&mut buf) {
            client = Some(from);
            far.send(&buf[..length]).ok();
        }
        let (Ok(length), Some(client)) = (far.recv(&mut buf), client) else { continue };
        let reply = &mut buf[..length];
        let number = reply.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let copies = match delivery(number) {
            Delivery::Pass => 1,
            Delivery::Lose => 0,
            Delivery::Double => 2,
            Delivery::Alter => {
                reply[length - 1] ^= 1;
                1
            }
            Delivery::Swap => {
                held = Some(reply.to_vec());
                0
            }
        };
        for _ in 0..copies {
            near.send_to(reply, client).ok();
        }
        if copies > 0
            && let Some(reply) = held.take()
        {
            near.send_to(&reply, client).ok();
        }
    }
}
