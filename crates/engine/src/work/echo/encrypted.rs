//! A TCP connection whose messages are encrypted, never blocking once it is open.

use crate::session::closing::Tcp;
use crate::session::link::flush;
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};

/// An open connection.
#[derive(Debug)]
pub(crate) struct Encrypted {
    socket: Tcp,
    tls: Mutex<rustls::Connection>,
}

impl Encrypted {
    /// Agrees on keys with the other end, which has so long for each of its messages.
    pub(crate) fn open(
        socket: impl Into<Tcp>,
        mut tls: rustls::Connection,
        limit: Nanos,
    ) -> io::Result<Encrypted> {
        let mut socket = socket.into();
        socket.set_nonblocking(false)?;
        let time = Some(limit.max(SHORTEST).to_duration());
        socket.set_read_timeout(time)?;
        socket.set_write_timeout(time)?;
        // A message goes whole, however long it is.
        tls.set_buffer_limit(None);
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        socket.set_nonblocking(true)?;
        Ok(Encrypted { socket, tls: Mutex::new(tls) })
    }

    /// The socket, to poll and to ask for addresses.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Sends a whole message before the deadline.
    pub(crate) fn send(&self, message: &[u8], deadline: MonoTime) -> io::Result<()> {
        let mut tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        tls.writer().write_all(message)?;
        flush(&mut tls, &*self.socket, &self.socket, deadline)
    }

    /// Receives what is there.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match tls.reader().read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
            if tls.read_tls(&mut &*self.socket)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            tls.process_new_packets().map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
        }
    }
}

/// The kernel takes no shorter timeout.
const SHORTEST: Nanos = Nanos::from_millis(1);
