//! Plain UDP sockets, without a privilege: datagrams of 18 bytes, which make frames of 64.

use super::common::lab::FAR;
use super::run::GENERATOR;
use linux::batch::GsoSender;
use linux::cpu::pin_current_thread;
use model::units::Nanos;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags};
use std::io::{ErrorKind, IoSlice};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

/// Sends the most that a system call takes, repeatedly: frames and the time they took.
pub(crate) fn sendmmsg(port: u16, tag: u32, time: Nanos) -> anyhow::Result<(u64, Nanos)> {
    let socket = connected(port)?;
    let payload = payload(tag);
    let parts = [IoSlice::new(&payload)];
    let mut nothing: Vec<SendAncillaryBuffer> = (0..BATCH).map(|_| SendAncillaryBuffer::default()).collect();
    let mut messages: Vec<MMsgHdr> =
        nothing.iter_mut().map(|control| MMsgHdr::new(&parts, control)).collect();
    repeat(time, || match rustix::net::sendmmsg(&socket, &mut messages, SendFlags::empty()) {
        Ok(sent) => Ok(sent as u64),
        // The error is of an earlier datagram, for which no socket was open.
        Err(rustix::io::Errno::CONNREFUSED) => Ok(0),
        Err(error) => Err(error.into()),
    })
}

/// A hundred and more in one, which the kernel cuts where the far end has a program in its driver.
pub(crate) fn segments(port: u16, tag: u32, time: Nanos) -> anyhow::Result<(u64, Nanos)> {
    let socket = connected(port)?;
    let payload = payload(tag);
    let mut sender = GsoSender::new(&socket, payload.len(), None)?;
    let count = sender.segments();
    (0..count).for_each(|index| sender.segment_mut(index).copy_from_slice(&payload));
    repeat(time, || match sender.send(count) {
        Ok(sent) => Ok(sent as u64),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(0),
        Err(error) => Err(error.into()),
    })
}

fn connected(port: u16) -> anyhow::Result<UdpSocket> {
    pin_current_thread(GENERATOR)?;
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((FAR, port))?;
    Ok(socket)
}

/// The payload that the sink identifies them by; all have the number 0.
fn payload(tag: u32) -> [u8; 18] {
    let mut payload = [0; 18];
    payload[..4].copy_from_slice(&tag.to_be_bytes());
    payload
}

fn repeat(time: Nanos, mut send: impl FnMut() -> anyhow::Result<u64>) -> anyhow::Result<(u64, Nanos)> {
    let began = Instant::now();
    let end = began + Duration::from_nanos(time.0);
    let mut sent = 0;
    while Instant::now() < end {
        sent += send()?;
    }
    Ok((sent, Nanos(began.elapsed().as_nanos() as u64)))
}

const BATCH: usize = 64;
