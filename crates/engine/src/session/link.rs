//! The control connection as bytes: plain TCP or TLS, never blocking.

use crate::error::Result;
use crate::session::closing::Tcp;
use linux::clock::mono_now;
use linux::options;
use linux::poll::{Interest, wait};
use linux::stream::SmallSegments;
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// A control connection. Reads never block; writes wait until a deadline. Its segments are small, so that the ends can still
/// talk where large packets vanish, and report it.
#[derive(Debug)]
pub(crate) struct Link {
    socket: Tcp,
    tls: Option<rustls::Connection>,
    /// Bytes that were read ahead when the connection was accepted.
    ahead: Vec<u8>,
    /// How long it took this end to open it; zero at the end that was called.
    pub(crate) opened: Nanos,
}

impl Link {
    /// Takes over a connected socket, and what was already read from it.
    pub(crate) fn new(
        socket: impl Into<Tcp>,
        ahead: Vec<u8>,
        tls: Option<rustls::Connection>,
    ) -> io::Result<Link> {
        let socket = socket.into();
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        // After an outage the ends hear of each other within a second, where the kernel can do that (Linux 6.15).
        options::set_longest_retransmission(&*socket, LONGEST_RETRANSMISSION).ok();
        Ok(Link { socket, tls, ahead, opened: Nanos::ZERO })
    }

    /// The socket, to poll and to ask for addresses.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Completes the TLS handshake, where there is one.
    pub(crate) fn handshake(&mut self, deadline: MonoTime) -> io::Result<()> {
        while self.tls.as_ref().is_some_and(|t| t.is_handshaking()) {
            if let Err(error) = self.flush_tls(deadline) {
                // A peer that has closed already may have sent the reason.
                return Err(self
                    .read_tls()
                    .err()
                    .filter(|why| why.kind() == ErrorKind::InvalidData)
                    .unwrap_or(error));
            }
            if self.tls.as_ref().is_some_and(|t| t.is_handshaking() && t.wants_read()) {
                if self.ahead.is_empty() {
                    wait_for(Interest::readable(&*self.socket), deadline)?;
                }
                match self.read_tls() {
                    Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                    Err(e) => {
                        // The peer is sent the reason, where that is possible.
                        self.flush_tls(deadline).ok();
                        return Err(e);
                    }
                    Ok(_) => {}
                }
            }
        }
        self.flush_tls(deadline)
    }

    /// A value that only the two ends of this TLS connection know; empty without TLS.
    pub(crate) fn binding(&self) -> Result<Vec<u8>> {
        let bound = self.tls.as_ref().map(crate::session::tls::binding).transpose()?;
        Ok(bound.map(Vec::from).unwrap_or_default())
    }

    /// Is there something to read that poll(2) does not know of?
    pub(crate) fn has_buffered(&mut self) -> bool {
        // An error in the packets so far is returned by the next read.
        let decrypted = |tls: &mut rustls::Connection| {
            tls.process_new_packets().map_or(true, |state| state.plaintext_bytes_to_read() > 0)
        };
        !self.ahead.is_empty() || self.tls.as_mut().is_some_and(decrypted)
    }

    /// Reads what is there; `None`: nothing now; `Some(0)`: the peer closed.
    pub(crate) fn read(&mut self, buf: &mut [u8]) -> io::Result<Option<usize>> {
        if self.tls.is_none() && !self.ahead.is_empty() {
            let n = self.ahead.len().min(buf.len());
            buf[..n].copy_from_slice(&self.ahead[..n]);
            self.ahead.drain(..n);
            return Ok(Some(n));
        }
        match self.read_raw(buf) {
            Ok(n) => Ok(Some(n)),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Sends all of it before the deadline.
    pub(crate) fn write(&mut self, mut bytes: &[u8], deadline: MonoTime) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.writer().write_all(bytes)?;
            return self.flush_tls(deadline);
        }
        while !bytes.is_empty() {
            match SmallSegments(&self.socket).write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    wait_for(Interest::writable(&*self.socket), deadline)?;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Closes the sending direction: no more will be sent.
    pub(crate) fn finish(&mut self, deadline: MonoTime) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            self.flush_tls(deadline).ok();
        }
        self.socket.shutdown(std::net::Shutdown::Write).ok();
    }

    /// Reads and forgets until the peer has closed too.
    pub(crate) fn hear_out(&mut self, deadline: MonoTime) {
        let mut buffer = [0; 4096];
        while mono_now() < deadline {
            match (&*self.socket).read(&mut buffer) {
                Ok(0) => return,
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e)
                    if e.kind() == ErrorKind::WouldBlock
                        && wait_for(Interest::readable(&*self.socket), deadline).is_ok() => {}
                Err(_) => return,
            }
        }
    }

    fn read_raw(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.tls.is_none() {
            return (&*self.socket).read(buf);
        }
        loop {
            let tls = self.tls.as_mut().expect("checked above");
            match tls.reader().read(buf) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // A peer that went without close_notify has gone all the same.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            self.read_tls()?;
        }
    }

    /// Takes encrypted bytes and returns how many; 0: the peer closed.
    fn read_tls(&mut self) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return Ok(0) };
        let taken = if self.ahead.is_empty() {
            tls.read_tls(&mut &*self.socket)?
        } else {
            let n = tls.read_tls(&mut self.ahead.as_slice())?;
            self.ahead.drain(..n);
            n
        };
        tls.process_new_packets().map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
        Ok(taken)
    }

    fn flush_tls(&mut self, deadline: MonoTime) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        flush(tls, SmallSegments(&self.socket), &self.socket, deadline)
    }
}

/// Sends what TLS has ready, by a writer to this socket, which does not block.
pub(crate) fn flush(
    tls: &mut rustls::Connection,
    mut writer: impl Write,
    socket: &TcpStream,
    deadline: MonoTime,
) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(&mut writer) {
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => wait_for(Interest::writable(socket), deadline)?,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Waits for a socket; [`ErrorKind::TimedOut`] from the deadline on.
pub(crate) fn wait_for(interest: Interest<'_>, deadline: MonoTime) -> io::Result<()> {
    wait(&mut [interest], Some(deadline))?;
    if mono_now() >= deadline {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(())
}

/// The least that the kernel takes.
const LONGEST_RETRANSMISSION: Nanos = Nanos::from_secs(1);
