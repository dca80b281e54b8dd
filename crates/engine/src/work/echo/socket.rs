//! The socket of one way: whole messages out, whole messages in, never blocking.

use super::encrypted::Encrypted;
use super::wait::Waiter;
use crate::session::budget::{Budget, Held, Limits, client_of};
use crate::session::closing::Tcp;
use crate::session::link::wait_for;
use linux::clock::{mono_now, wall_now};
use linux::message::{self, Received};
use linux::poll::Interest;
use linux::timestamp::PacketTimes;
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, LazyLock};
use wire::echo::Stray;

/// A socket that carries messages.
#[derive(Clone, Debug)]
pub(crate) enum Socket {
    /// A byte stream of framed messages.
    Tcp(Arc<Tcp>),
    /// The same, encrypted.
    Tls(Arc<Encrypted>),
    /// A connected datagram socket.
    Udp(Arc<UdpSocket>),
    /// A datagram socket that sends to a group; replies come from its members.
    Group(Arc<UdpSocket>, SocketAddr),
}

impl Socket {
    /// Sends a whole message; a stream that is full is waited for until the deadline. `false`: it did not take any
    /// of it now.
    pub(crate) fn send(&self, message: &[u8], deadline: MonoTime) -> io::Result<bool> {
        let sent = match self {
            Socket::Tls(socket) => return socket.send(message, deadline).map(|()| true),
            Socket::Udp(socket) => socket.send(message),
            Socket::Group(socket, group) => socket.send_to(message, group),
            Socket::Tcp(socket) => (&***socket).write(message),
        };
        match (self, sent) {
            (Socket::Tcp(socket), Ok(n)) if n < message.len() => {
                finish(socket, &message[n..], deadline - mono_now()).map(|()| true)
            }
            (_, Ok(_)) => Ok(true),
            (_, Err(e)) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            (_, Err(e)) => Err(e),
        }
    }

    /// Does it carry a stream of messages, and not one in each datagram?
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self, Socket::Tcp(_) | Socket::Tls(_))
    }

    /// Sends all of it; a stream that is full is waited for. A datagram that the kernel does not take is lost.
    pub(crate) fn send_all(&self, message: &[u8], limit: Nanos) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => finish(socket, message, limit),
            Socket::Tls(_) | Socket::Udp(_) | Socket::Group(..) => {
                self.send(message, mono_now() + limit).map(drop)
            }
        }
    }

    /// Receives, with the kernel's times where it has any.
    fn receive_timed(&self, buf: &mut [u8]) -> io::Result<Received> {
        match self {
            Socket::Tls(socket) => {
                let len = socket.receive(buf)?;
                let times = PacketTimes::default();
                Ok(Received { len, from: None, local: None, ttl: None, class: None, fragment: None, times })
            }
            _ => message::receive(self, buf),
        }
    }

    fn receive(&self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Udp(socket) | Socket::Group(socket, _) => socket.recv(buf),
            Socket::Tls(socket) => socket.receive(buf),
            Socket::Tcp(socket) => match (&***socket).read(buf)? {
                0 => Err(ErrorKind::UnexpectedEof.into()),
                n => Ok(n),
            },
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Tls(socket) => socket.socket().as_fd(),
            Socket::Udp(socket) | Socket::Group(socket, _) => socket.as_fd(),
        }
    }
}

/// Half a message on a stream would break all that follow. `limit`: the longest wait for room.
pub(crate) fn finish(socket: &TcpStream, mut rest: &[u8], limit: Nanos) -> io::Result<()> {
    // The clock is read only where there is something to wait for.
    let mut deadline = None;
    while !rest.is_empty() {
        match (&*socket).write(rest) {
            Ok(n) => rest = &rest[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                let deadline = *deadline.get_or_insert_with(|| mono_now() + limit);
                wait_for(Interest::writable(socket), deadline)?;
            }
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Messages that have been received: a datagram at a time, or cut from the stream.
#[derive(Debug)]
pub(crate) struct MessageBuffer {
    buf: Vec<u8>,
    /// At a server: what it may grow to, and what it has taken of the memory for that.
    growth: Option<Growth>,
    from: usize,
    until: usize,
}

/// When bytes came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Came {
    /// Into this program's hands.
    pub(crate) at: MonoTime,
    /// How long the kernel had them before, where its times are enabled.
    pub(crate) held: Option<Nanos>,
    /// The times of the packet, likewise.
    pub(crate) times: PacketTimes,
}

/// The next item of the buffer.
pub(crate) enum Next<'a> {
    /// A whole message.
    Message(&'a mut [u8]),
    /// Not one yet.
    More,
    /// The stream makes no sense from here on.
    Broken(Stray),
}

impl MessageBuffer {
    /// For messages of at most this size.
    pub(crate) fn new(largest: usize) -> MessageBuffer {
        MessageBuffer { buf: vec![0; (2 * largest).max(1 << 17)], growth: None, from: 0, until: 0 }
    }

    /// The same for clients of this address: it grows with received data, and never with an announced length. Long messages of
    /// all clients together, and of one source, take a limited memory.
    pub(crate) fn of_server(largest: usize, source: IpAddr) -> MessageBuffer {
        let growth = Growth { most: (2 * largest).max(FIRST_BUFFER), source, held: Vec::new() };
        MessageBuffer { buf: vec![0; FIRST_BUFFER], growth: Some(growth), from: 0, until: 0 }
    }

    /// Waits for bytes, which came this very moment: the clock is the caller's to read. `false`: the deadline passed.
    pub(crate) fn fill(
        &mut self,
        socket: &Socket,
        waiter: &mut Waiter,
        deadline: MonoTime,
    ) -> io::Result<bool> {
        self.make_room()?;
        let room = &mut self.buf[self.until..];
        let came = waiter.until(deadline, socket, || socket.receive(room))?;
        self.until += came.unwrap_or(0);
        Ok(came.is_some())
    }

    /// The same with the kernel's times, which have to be switched on. `meanwhile` is called between two tries.
    pub(crate) fn fill_timed(
        &mut self,
        socket: &Socket,
        waiter: &mut Waiter,
        deadline: MonoTime,
        mut meanwhile: impl FnMut(),
    ) -> io::Result<Option<Came>> {
        self.make_room()?;
        let room = &mut self.buf[self.until..];
        let came =
            waiter.until(deadline, socket, || socket.receive_timed(room).inspect_err(|_| meanwhile()))?;
        came.map(|message| self.took(socket, &message)).transpose()
    }

    /// Takes what is there now; `None`: nothing.
    pub(crate) fn poll(&mut self, socket: &Socket) -> io::Result<Option<Came>> {
        self.make_room()?;
        match socket.receive_timed(&mut self.buf[self.until..]) {
            Ok(message) => self.took(socket, &message).map(Some),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn took(&mut self, socket: &Socket, message: &Received) -> io::Result<Came> {
        let at = mono_now();
        if message.len == 0 && matches!(socket, Socket::Tcp(_)) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.until += message.len;
        let held = message.times.kernel.map(|kernel| wall_now() - kernel);
        Ok(Came { at, held, times: message.times })
    }

    /// The datagram that came: the whole of what was filled in.
    pub(crate) fn datagram(&mut self) -> &mut [u8] {
        let range = self.from..self.until;
        (self.from, self.until) = (0, 0);
        &mut self.buf[range]
    }

    /// The next message of a stream.
    pub(crate) fn message(&mut self, frame: impl FnOnce(&[u8]) -> Result<Option<usize>, Stray>) -> Next<'_> {
        match frame(&self.buf[self.from..self.until]) {
            Ok(Some(length)) if length > 0 && length <= self.until - self.from => {
                let range = self.from..self.from + length;
                self.from += length;
                Next::Message(&mut self.buf[range])
            }
            Ok(_) => Next::More,
            Err(stray) => Next::Broken(stray),
        }
    }

    fn make_room(&mut self) -> io::Result<()> {
        let is_full = self.until == self.buf.len();
        if self.from == self.until {
            (self.from, self.until) = (0, 0);
        } else if self.from > self.buf.len() / 2 || (is_full && self.from > 0) {
            self.buf.copy_within(self.from..self.until, 0);
            (self.from, self.until) = (0, self.until - self.from);
        }
        match &mut self.growth {
            Some(growth) if self.until == self.buf.len() => growth.double(&mut self.buf),
            _ => Ok(()),
        }
    }
}

/// How the buffer of a server grows.
#[derive(Debug)]
struct Growth {
    most: usize,
    source: IpAddr,
    held: Vec<Held>,
}

impl Growth {
    fn double(&mut self, buf: &mut Vec<u8>) -> io::Result<()> {
        let length = (2 * buf.len()).min(self.most);
        let amount = u32::try_from((length - buf.len()).div_ceil(BLOCK)).unwrap_or(u32::MAX);
        let held = MESSAGES.take(self.source, amount, client_of(self.source, false));
        self.held.push(held.map_err(|_| io::Error::new(ErrorKind::OutOfMemory, TOO_LONG))?);
        buf.resize(length, 0);
        Ok(())
    }
}

/// Memory for messages that are longer than [`FIRST_BUFFER`], of all servers of this process: 64 MiB, a quarter of it for one source.
static MESSAGES: LazyLock<Arc<Budget>> = LazyLock::new(|| Budget::new(Limits::quarters(1024, false)));
/// One part of that, bytes.
const BLOCK: usize = 64 << 10;
const FIRST_BUFFER: usize = 16 << 10;
const TOO_LONG: &str =
    "too much memory is taken by long messages of this address, or of all, that have not ended";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_a_server_grows_with_received_data_and_within_a_limit() {
        let source = IpAddr::from([192, 0, 2, 77]);
        let largest = 1 << 20;
        let fill = |messages: &mut MessageBuffer| {
            while messages.buf.len() < 2 * largest {
                messages.until = messages.buf.len();
                messages.make_room()?;
            }
            io::Result::Ok(())
        };
        let mut held = Vec::new();
        let refused = loop {
            let mut messages = MessageBuffer::of_server(largest, source);
            assert_eq!(messages.buf.len(), FIRST_BUFFER);
            match fill(&mut messages) {
                Ok(()) => held.push(messages),
                Err(error) => break error,
            }
            assert!(held.len() <= 8, "16 MiB of one source");
        };
        assert!(held.len() >= 6 && refused.to_string().contains("long messages"), "{} {refused}", held.len());
        assert!(
            fill(&mut MessageBuffer::of_server(largest, IpAddr::from([192, 0, 2, 78]))).is_ok(),
            "another source"
        );
        drop(held);
        assert!(fill(&mut MessageBuffer::of_server(largest, source)).is_ok(), "it is given back");
    }
}
