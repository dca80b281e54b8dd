//! Echo requests: one flow, whose checksum never changes, since some routers distinguish flows by it. Needs
//! `net.ipv4.ping_group_range` or `CAP_NET_RAW`.

use super::tcp::arrived;
use super::udp::answer_in;
use super::{Channel, Heard, Probe};
use crate::error::{Context, Failure, Result};
use crate::work::probe::numbered::is_pending;
use linux::clock::mono_now;
use linux::errno::{EACCES, EPERM};
use linux::error_queue::{self, QueueEntry};
use linux::icmp::EchoSocket;
use linux::{message, options};
use model::hops::{Answer, HopsPlan};
use model::path::Flow;
use model::plan::LocalOptions;
use packet::header;
use packet::icmp::HEADER;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// An echo socket towards one host, and what was heard on it.
#[derive(Debug)]
pub(super) struct Echoes {
    pub(super) socket: EchoSocket,
    to: SocketAddr,
    payload: Vec<u8>,
    /// The number of the last request.
    latest: u32,
    heard: Vec<Heard>,
}

impl Echoes {
    pub(super) fn open(plan: &HopsPlan) -> Result<Echoes> {
        Echoes::toward(plan.target.address, &plan.local, plan.size).map_err(|error| {
            let advice = "sudo sysctl -w net.ipv4.ping_group_range='0 2147483647', or --protocol udp, which needs no privilege";
            match error.system().and_then(linux::error::OsError::errno) {
                Some(EPERM | EACCES) => Failure::usage("echo requests need privilege on this host", advice).into(),
                _ => error,
            }
        })
    }

    /// `size`: of each request, whole IP packet.
    pub(super) fn toward(to: SocketAddr, local: &LocalOptions, size: u32) -> Result<Echoes> {
        let ident = u16::from_ne_bytes(crate::host::entropy()?);
        let socket = EchoSocket::open(to, local.bind, local.device.as_deref(), ident)?;
        message::set_receive_notes(&socket)?;
        // Older kernels than Linux 5.9 say nothing of extensions.
        options::set_receive_extensions(&socket).ok();
        let headers = header::ip(to.is_ipv6()) + HEADER;
        let payload = vec![0; (size as usize).saturating_sub(headers).max(LEAST_PAYLOAD)];
        Ok(Echoes { socket, to, payload, latest: 0, heard: Vec::new() })
    }

    /// Sends the request of this number; it bears the low 16 bits of it.
    pub(super) fn request(&mut self, number: u32, ttl: u8) -> Result<()> {
        options::set_hops(&self.socket, ttl)?;
        self.latest = number;
        let [_, _, high, low] = number.to_be_bytes();
        // Number and payload add up to the same, whatever the number.
        self.payload[..2].copy_from_slice(&[!high, !low]);
        let now = mono_now();
        // An ICMP message that came meanwhile is raised by the next call, whatever that call is about.
        for _ in 0..PENDING {
            match self.socket.send(u16::from_be_bytes([high, low]), &self.payload) {
                Ok(()) => break,
                Err(error) if is_pending(&error) => self.errors()?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error).with_context(|| format!("send to icmp {}", self.to.ip())),
            }
        }
        self.heard.push(Heard::Sent(number, now));
        Ok(())
    }

    fn errors(&mut self) -> Result<()> {
        let mut quote = [0; QUOTED];
        for _ in 0..TAKEN {
            let entry = error_queue::take(&self.socket, &mut quote).context("read the error queue")?;
            let Some(entry) = entry else { break };
            let QueueEntry::Error(error) = entry else { continue };
            let quote = &quote[..error.quoted.min(QUOTED)];
            let Some((number, _)) = self.socket.quoted(quote) else { continue };
            let Some(answer) = answer_in(&error, quote, self.to, mono_now()) else { continue };
            self.heard.push(Heard::Answer(numbered(self.latest, number), answer));
        }
        Ok(())
    }

    fn replies(&mut self) -> Result<()> {
        let mut buffer = vec![0; BUFFER];
        for _ in 0..TAKEN {
            match self.socket.receive(&mut buffer) {
                Ok(None) => {}
                Ok(Some(reply)) => {
                    let from = reply.received.from.map_or(self.to.ip(), |from| from.ip());
                    let answer = Answer { ttl: reply.received.ttl, ..arrived(from) };
                    self.heard.push(Heard::Answer(numbered(self.latest, reply.sequence), answer));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if is_pending(&error) => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("receive from icmp {}", self.to.ip()));
                }
            }
        }
        Ok(())
    }
}

impl Channel for Echoes {
    fn send(&mut self, probe: Probe) -> Result<()> {
        self.request(probe.number, probe.ttl)
    }

    fn take(&mut self, heard: &mut Vec<Heard>) -> Result<()> {
        self.errors()?;
        self.replies()?;
        heard.append(&mut self.heard);
        Ok(())
    }

    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.socket.as_fd()]
    }

    fn flows(&self) -> Vec<Option<Flow>> {
        vec![None]
    }
}

/// The last number up to `latest` with these low bits.
fn numbered(latest: u32, sequence: u16) -> u32 {
    let [_, _, high, low] = latest.to_be_bytes();
    let behind = u16::from_be_bytes([high, low]).wrapping_sub(sequence);
    latest.wrapping_sub(behind.into())
}

/// The bytes that keep the checksum constant.
const LEAST_PAYLOAD: usize = 2;
const QUOTED: usize = 576;
const BUFFER: usize = 1 << 16;
const PENDING: usize = 8;
const TAKEN: usize = 256;

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn sequence_numbers_of_a_long_watch_come_round() {
        assert_eq!([numbered(7, 7), numbered(7, 3), numbered(70_000, 70_000_u32 as u16)], [7, 3, 70_000]);
        assert_eq!([numbered(65_537, 65_535), numbered(131_072, 0)], [65_535, 131_072]);
    }
}
