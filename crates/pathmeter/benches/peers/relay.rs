//! A far end that only looks at the time: it passes the control connection and the UDP handshake on to a real server,
//! keeps the data datagrams to itself, and notes when the kernel received each.
//!
//! It sleeps between looks, so that no sender pays for waking it; the kernel's time does not depend on that.

use super::common::lab::FAR;
use linux::batch::{BatchReceiver, Wait};
use linux::namespace::Namespace;
use linux::options::set_recv_buffer;
use linux::timestamp::set_receive_time;
use model::units::Bytes;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A relay in front of a server at 127.0.0.1.
pub(crate) struct Relay {
    stop: Arc<AtomicBool>,
    connections: Option<JoinHandle<anyhow::Result<()>>>,
    datagrams: Option<JoinHandle<io::Result<Vec<u64>>>>,
}

impl Relay {
    /// Opens it inside the far namespace; data datagrams are those of `payload` bytes.
    pub(crate) fn open(inside: &Namespace, port: u16, payload: usize) -> anyhow::Result<Relay> {
        let (listener, socket, upstream) = inside.run(|| -> io::Result<_> {
            let upstream = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            upstream.connect((Ipv4Addr::LOCALHOST, port))?;
            Ok((TcpListener::bind((FAR, port))?, UdpSocket::bind((FAR, port))?, upstream))
        })??;
        set_recv_buffer(&socket, Bytes(16 << 20))?;
        set_receive_time(&socket, true)?;
        upstream.set_nonblocking(true)?;
        socket.set_nonblocking(true)?;
        listener.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (tcp_stop, udp_stop) = (stop.clone(), stop.clone());
        let far = inside.run(Namespace::current)??;
        let connections = std::thread::spawn(move || {
            far.enter()?;
            pass_connections(&listener, port, &tcp_stop);
            Ok(())
        });
        let datagrams = std::thread::spawn(move || note_datagrams(&socket, &upstream, payload, &udp_stop));
        Ok(Relay { stop, connections: Some(connections), datagrams: Some(datagrams) })
    }

    /// Closes it; when each data datagram came, in nanoseconds.
    pub(crate) fn close(mut self) -> anyhow::Result<Vec<u64>> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.datagrams.take().expect("it is taken here alone");
        Ok(thread.join().map_err(|_| anyhow::anyhow!("the relay's thread panicked"))??)
    }
}

impl Drop for Relay {
    /// Waits for its threads: the next relay binds the same port.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.connections.take().map(JoinHandle::join);
        self.datagrams.take().map(JoinHandle::join);
    }
}

/// Mean absolute deviation of the gaps from `nominal`, nanoseconds; the first part of the run is left out.
pub(crate) fn pacing_error(times: &[u64], nominal: f64) -> Option<f64> {
    let counted = &times[times.len() / 20..];
    let errors: Vec<f64> =
        counted.windows(2).map(|pair| (pair[1].wrapping_sub(pair[0]) as f64 - nominal).abs()).collect();
    (errors.len() >= 20).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
}

fn note_datagrams(
    socket: &UdpSocket,
    upstream: &UdpSocket,
    payload: usize,
    stop: &AtomicBool,
) -> io::Result<Vec<u64>> {
    let mut times = Vec::with_capacity(1 << 20);
    let mut batch = BatchReceiver::new();
    let mut answer = [0; 2048];
    let mut connected = false;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        if !connected {
            let Ok((_, client)) = socket.peek_from(&mut answer) else { continue };
            socket.connect(client)?;
            connected = true;
        }
        loop {
            let count = batch.recv(socket, Wait::Spin).unwrap_or(0);
            for message in (0..count).map(|index| batch.message(index)) {
                if message.data.len() == payload {
                    times.extend(message.kernel_time.map(|t| t.0));
                } else {
                    upstream.send(message.data).ok();
                }
            }
            if count == 0 {
                break;
            }
        }
        while let Ok(length) = upstream.recv(&mut answer) {
            socket.send(&answer[..length]).ok();
        }
    }
    Ok(times)
}

fn pass_connections(listener: &TcpListener, port: u16, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((client, _)) => drop(pass_connection(client, port)),
            Err(_) => std::thread::sleep(LOOK * 10),
        }
    }
}

fn pass_connection(client: TcpStream, port: u16) -> io::Result<()> {
    client.set_nonblocking(false)?;
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    for (from, to) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        std::thread::spawn(move || copy(from, to));
    }
    Ok(())
}

fn copy(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 16 << 10];
    loop {
        match from.read(&mut buffer)? {
            0 => return to.shutdown(std::net::Shutdown::Write),
            length => to.write_all(&buffer[..length])?,
        }
    }
}

const LOOK: Duration = Duration::from_millis(1);
