//! One flow of a session: its socket, and how far it is.

use crate::error::is_pause;
use crate::session::budget::Held;
use crate::work::observer::{Fact, TcpStart};
use crate::work::throughput::shared::{FlowSocket, PieceRecords, Records};
use linux::clock::mono_now;
use linux::sockaddr::plain;
use linux::tcp_info::{TcpState, tcp_info};
use model::plan::{Direction, TestSpec, Transport};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use wire::iperf2::{FrameRecord, Header, Request, Shape};

/// One flow.
pub(super) struct ActiveFlow {
    /// A flow that has come: what its session is to hear first.
    pub(super) first: Option<Vec<u8>>,
    /// Its socket.
    pub(super) socket: FlowSocket,
    /// Its number among those of its direction.
    pub(super) index: u32,
    /// The direction in which this end sends.
    pub(super) direction: Direction,
    /// Datagrams have numbers of 64 bits.
    pub(super) wide: bool,
    /// How the data is cut.
    pub(super) shape: Shape,
    /// Records say when data was sent, and this end's clock agrees with theirs.
    pub(super) trip_times: bool,
    /// The state known before its data.
    pub(super) known: Known,
    /// Datagrams that have come before its data moves.
    pub(super) early: Vec<Vec<u8>>,
    /// Data moves, or has moved.
    pub(super) started: bool,
    /// The stream this end sends, once it does.
    pub(super) sends: Option<u32>,
    /// The stream this end receives, once it does.
    pub(super) receives: Option<u32>,
    /// The machine knows that the sender has stopped.
    pub(super) sender_done: bool,
    /// The receiving thread has ended.
    pub(super) receiver_done: bool,
    /// The machine waits for the figures of what came.
    pub(super) measuring: bool,
    /// The peer sends no more (TCP).
    pub(super) ended: bool,
    /// Since when the peer's host reports that its port is closed.
    pub(super) refused: Option<MonoTime>,
    /// The flow is over.
    pub(super) over: bool,
    /// Its place in the server, and what it had moved when that heard of it last.
    pub(super) held: Option<Held>,
    pub(super) known_moved: u64,
    /// TCP: the kernel's state of it before anything was sent on it.
    pub(super) tcp: Option<TcpStart>,
    /// TCP: what the peer's host has acknowledged, and when that was more than before.
    pub(super) acknowledged: Option<(Bytes, MonoTime)>,
}

/// The state of a flow that an end knows before its data.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// A client has connected it, in this time.
    Opened(Nanos),
    /// A client has requested this; absent: its flow has no request.
    Requested(Option<Box<Request>>),
    /// The flow is one in the return direction.
    Back,
}

impl ActiveFlow {
    /// A flow that has just been opened or found.
    pub(super) fn new(socket: FlowSocket, direction: Direction, known: Known) -> ActiveFlow {
        let (wide, shape, trip_times) = match &known {
            Known::Requested(Some(request)) => (request.wide, request.shape, request.trip_times),
            _ => (true, Shape::Stream, false),
        };
        ActiveFlow {
            tcp: socket.tcp().and_then(TcpStart::from_socket),
            first: None,
            socket,
            index: 0,
            direction,
            wide,
            shape,
            trip_times,
            known,
            early: Vec::new(),
            started: false,
            sends: None,
            receives: None,
            sender_done: false,
            receiver_done: false,
            measuring: false,
            ended: false,
            refused: None,
            over: false,
            held: None,
            known_moved: 0,
            acknowledged: None,
        }
    }

    /// Is it for the session to read its socket?
    pub(super) fn hears(&self) -> bool {
        !self.over && !self.ended && (self.receives.is_none() || self.receiver_done) && !self.measuring
    }

    /// Something moved since the last call; its place is not to be another's then.
    pub(super) fn note_moved(&mut self, moved: u64, now: MonoTime) -> bool {
        let more = std::mem::replace(&mut self.known_moved, moved) != moved;
        if let (true, Some(held)) = (more, &self.held) {
            held.touch(now, true);
        }
        more
    }

    /// Looks how much of what it sends the peer's host has acknowledged.
    pub(super) fn note_acknowledged(&mut self, now: MonoTime) {
        let bytes = self.socket.tcp().and_then(|socket| tcp_info(socket).ok()?.bytes_acked);
        if let Some(bytes) = bytes.filter(|bytes| self.acknowledged.is_none_or(|(known, _)| *bytes > known)) {
            self.acknowledged = Some((bytes, now));
        }
    }

    /// The last data is not acknowledged, however often it was retransmitted; or the peer's host is there and its program reads
    /// no more: it is at its end, and has room for none of what is left.
    pub(super) fn is_unanswered(&self) -> bool {
        let Some(socket) = self.socket.tcp() else { return false };
        let left = linux::options::unacknowledged(socket).map_or(0, |bytes| bytes.0);
        tcp_info(socket).is_ok_and(|info| {
            let is_shut = info.send_window.is_some_and(|window| window.0 < u64::from(SMALL_WINDOW));
            info.timeouts_in_a_row >= UNANSWERED || (!self.ended && left > 1 && is_shut)
        })
    }

    /// The peer's host has acknowledged the end of the data, and its program has not closed the connection: one that reads does
    /// so at once. Called when the machine has waited long enough.
    pub(super) fn is_left_open(&self) -> bool {
        let state = self.socket.tcp().and_then(|socket| Some(tcp_info(socket).ok()?.state));
        !self.ended && matches!(state, Some(TcpState::FinWait2))
    }

    /// This end of it.
    pub(super) fn local(&self) -> SocketAddr {
        plain(self.socket.local())
    }

    /// The other end.
    pub(super) fn peer(&self) -> SocketAddr {
        plain(self.socket.remote())
    }

    /// The records of what it receives that are to be timed: with times of sending, and TCP's bursts in any case.
    pub(super) fn records(&self) -> Option<Records> {
        let bursts = matches!(self.shape, Shape::Bursts(_));
        let frames = matches!(self.shape, Shape::Isochronous(_));
        match (&self.known, self.socket.transport()) {
            (Known::Back, _) => None,
            (_, Transport::Tcp) if self.trip_times || bursts => Some(Records::Pieces(PieceRecords {
                trip_times: self.trip_times,
                header: matches!(self.known, Known::Opened(_)),
                singly: bursts,
            })),
            // A client does not know the version of a server, which decides where its record is.
            (Known::Requested(Some(request)), Transport::Udp) if self.trip_times && frames => {
                Some(Records::Frames(FrameRecord::place(request.version)))
            }
            _ => None,
        }
    }

    /// Keeps the part of a connection's first bytes that is data behind its header.
    pub(super) fn keep_data(&mut self, first: &[u8]) {
        if let (Some(Records::Pieces(_)), Header::Request(_, length)) =
            (self.records(), Request::read(self.socket.transport(), first))
            && let Some(data) = first.get(length..)
        {
            self.early = vec![data.to_vec()];
        }
    }

    /// The fact to report when its session learns of it.
    pub(super) fn fact(&self, test: &TestSpec) -> Option<Fact> {
        // A return flow that this server opens sends beside the data that it receives: it is no connection of the client's.
        let is_clients = matches!(self.known, Known::Requested(_)) || self.direction == Direction::Up;
        let up = test.directions.up() && is_clients;
        let stream = test.stream_numbers(if up { Direction::Up } else { Direction::Down }).start + self.index;
        match (&self.known, &self.socket) {
            (Known::Opened(took), FlowSocket::Tcp(_)) => Some(Fact::Connect {
                stream,
                local: self.local(),
                remote: self.peer(),
                took: *took,
                tcp: self.tcp,
            }),
            (Known::Requested(request), _) => Some(Fact::Request {
                stream,
                ends: (self.local(), self.peer()),
                request: request.clone(),
                tcp: self.tcp,
            }),
            _ => None,
        }
    }
}

/// Writes all of it, also to a socket with a short timeout.
///
/// # Errors
/// The connection is gone, or takes nothing until the deadline.
pub(super) fn write_all(mut socket: &TcpStream, mut bytes: &[u8], deadline: MonoTime) -> io::Result<()> {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(e) if is_pause(&e) && mono_now() < deadline => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Retransmission timeouts in a row, the last of them seconds after the first, that no queue of the path explains.
const UNANSWERED: u8 = 4;
/// A window in which no full segment fits, bytes.
const SMALL_WINDOW: u32 = 1460;
