//! The first bytes of a TCP connection: a test header, round trips, data of an old client, or nothing of ours.

use super::active_flow::{ActiveFlow, Known};
use super::bounce;
use super::shared::Server;
use crate::error::Result;
use crate::error::is_pause;
use crate::session::budget::Held;
use crate::session::closing::Tcp;
use crate::session::listener::{FIRST_BYTES_LIMIT, FIRST_BYTES_STEP, Heard, hear};
use crate::work::observer::TcpStart;
use crate::work::throughput::shared::FlowSocket;
use linux::clock::mono_now;
use model::plan::Direction;
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use std::net::TcpStream;
use std::sync::Arc;
use wire::ProtocolError;
use wire::iperf2::{Flow, FlowInput, FlowOutput, Request, TcpServer, is_bounceback};
use wire::stamp::Clock;
use wire::work::in_band::{FlowCommand, FlowUpdate};

/// Reads a connection until its purpose is known; `None`: it was served already, or has gone.
///
/// # Errors
/// The connection is of another kind, or silent.
pub(super) fn open(
    server: &Server,
    socket: Tcp,
    (clock, held): (Clock, &Held),
) -> Result<Option<(ActiveFlow, Option<Request>)>> {
    socket.set_nonblocking(false)?;
    let tcp = TcpStart::from_socket(&socket);
    socket.set_read_timeout(Some(FIRST_BYTES_STEP))?;
    let timeout = server.config.timeout.unwrap_or(FIRST_BYTES_LIMIT).min(FIRST_BYTES_LIMIT);
    let deadline = mono_now() + timeout;
    if server.config.key.is_none() && begins_with_a_record(server, &socket, (deadline, held))? {
        return bounce::serve(server, &socket, (clock, deadline)).map(|()| None);
    }
    let machine = TcpServer::new(server.config.policy.clone(), clock, mono_now());
    let mut machine = machine.with_key(server.config.key.clone());
    let Some((request, first)) = first_word(server, &socket, &mut machine, (deadline, held))? else {
        return Ok(None);
    };
    if let Some(request) = &request {
        // A refusal of the kernel is not worth failing a test: the client measures with what it gets.
        crate::work::throughput::flows::configure_accepted(&socket, &request.test()).ok();
        if let Some(limit) = request.prefetch {
            linux::options::set_unsent_limit(&socket, Bytes(limit.into())).ok();
        }
    }
    socket.set_read_timeout(None)?;
    let known = Known::Requested(request.clone());
    let flow = ActiveFlow::new(FlowSocket::Tcp(Arc::new(socket)), Direction::Down, known);
    let flow = ActiveFlow { first: Some(first), tcp, ..flow };
    Ok(Some((flow, request.map(|request| *request))))
}

/// The request of a client, where it sends one, and its bytes.
type FirstWord = (Option<Box<Request>>, Vec<u8>);

/// Feeds a machine until it returns the client's request, and passes the bytes read for that to the session, which has a
/// machine of its own; `None`: the client has gone without a request.
fn first_word(
    server: &Server,
    socket: &TcpStream,
    machine: &mut TcpServer,
    (deadline, held): (MonoTime, &Held),
) -> Result<Option<FirstWord>> {
    let (mut buffer, mut first) = ([0; 4096], Vec::new());
    loop {
        loop {
            match machine.output(mono_now()) {
                // The session's machine sends it.
                FlowOutput::Command(FlowCommand::Send(_)) => {}
                FlowOutput::Request(request) => return Ok(Some((request, first))),
                FlowOutput::WaitUntil(_) => break,
                FlowOutput::Command(FlowCommand::Close) => return Ok(None),
                _ => return Err(ProtocolError::Flows("it wants to begin before it has asked".into()).into()),
            }
        }
        let update = match hear(socket, &mut buffer, (held, &server.interrupt), deadline)? {
            Heard::End if server.interrupt.is_raised() => return Ok(None),
            Heard::End => Some(FlowUpdate::Ended),
            Heard::Bytes(length) => {
                first.extend_from_slice(&buffer[..length]);
                Some(FlowUpdate::Received(buffer[..length].to_vec()))
            }
            Heard::Pause => None,
        };
        machine.input(mono_now(), update.as_ref().map_or(FlowInput::Timer, FlowInput::Update))?;
    }
}

/// Waits for the first four bytes, which stay unread.
fn begins_with_a_record(
    server: &Server,
    socket: &TcpStream,
    (deadline, held): (MonoTime, &Held),
) -> Result<bool> {
    let mut first = [0; 4];
    while mono_now() < deadline && !server.interrupt.is_raised() && !held.must_leave() {
        match socket.peek(&mut first) {
            Ok(4) => return Ok(is_bounceback(&first) == Some(true)),
            Ok(0) => return Ok(false),
            // There is something and not enough: the kernel would wake at once again.
            Ok(_) => std::thread::sleep(PEEK_PAUSE.to_duration()),
            Err(e) if is_pause(&e) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(false)
}

const PEEK_PAUSE: Nanos = Nanos::from_millis(10);
