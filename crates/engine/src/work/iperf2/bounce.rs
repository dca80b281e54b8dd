//! Round trips at the server: every request of a connection is answered, and counted.

use super::shared::{Server, TestPlace};
use crate::error::Result;
use crate::host;
use crate::work::echo::server::reflect_on;
use crate::work::observer::{Fact, SessionEvent, TcpStart, Watcher};
use linux::clock::{mono_now, wall_now};
use linux::sockaddr::plain;
use model::event::{Connected, Event};
use model::latency::WaitMode;
use model::plan::{Plan, ProtocolName, Target, TestSpec, Transport};
use model::time::MonoTime;
use model::units::Nanos;
use std::cell::RefCell;
use std::net::{SocketAddr, TcpStream};
use wire::ProtocolError;
use wire::iperf2::{BOUNCE_HEAD, Bounce, BounceRequest};
use wire::native::LatencyObservation;
use wire::stamp::Clock;

/// Answers the requests of a connection until the client ends it. `deadline` is that of its first request.
///
/// # Errors
/// The client sends something else, the connection breaks, or the limit of tests is reached.
pub(super) fn serve(server: &Server, socket: &TcpStream, (clock, deadline): (Clock, MonoTime)) -> Result<()> {
    let ends = (plain(socket.local_addr()?), plain(socket.peer_addr()?));
    let place = TestPlace::take(server, ends.1.ip(), Transport::Tcp)?;
    let Some(request) = first_request(server, socket, deadline)? else { return Ok(()) };
    if let Some(tos) = request.tos {
        linux::options::set_tos(socket, tos).ok();
    }
    let watcher = server.config.observer.session(ends.1, ProtocolName::Iperf2);
    let log = RefCell::new(Log::new(watcher, server.config.local.interval));
    log.borrow_mut().begin(server, ends, request, TcpStart::from_socket(socket));
    let answered = reflect_on(
        socket,
        Bounce { clock },
        SILENCE,
        &server.interrupt,
        |_| log.borrow_mut().trips += 1,
        |now| log.borrow_mut().look(now),
    );
    log.into_inner().end(ends.1, answered.as_ref().err());
    drop(place);
    Ok(answered?)
}

/// Peeks at the first request, which stays unread; `None`: the client goes before it is whole.
fn first_request(server: &Server, socket: &TcpStream, deadline: MonoTime) -> Result<Option<BounceRequest>> {
    let mut first = [0; BOUNCE_HEAD];
    while mono_now() < deadline && !server.interrupt.is_raised() {
        match socket.peek(&mut first) {
            Ok(BOUNCE_HEAD) => return Ok(BounceRequest::read(&first)),
            Ok(0) => return Ok(None),
            Ok(_) => std::thread::sleep(PEEK_PAUSE.to_duration()),
            Err(e) if crate::error::is_pause(&e) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Err(ProtocolError::Timeout("with the rest of its first request".into()).into())
}

/// The events to report of the round trips of one connection.
struct Log {
    watcher: Box<dyn Watcher>,
    began: MonoTime,
    interval: Nanos,
    /// The end of the last interval that was reported.
    reported: Nanos,
    /// Requests answered, and how many of them have been reported.
    trips: u64,
    trips_reported: u64,
}

impl Log {
    fn new(watcher: Box<dyn Watcher>, interval: Nanos) -> Log {
        Log { watcher, began: mono_now(), interval, reported: Nanos::ZERO, trips: 0, trips_reported: 0 }
    }

    fn begin(
        &mut self,
        server: &Server,
        ends: (SocketAddr, SocketAddr),
        request: BounceRequest,
        tcp: Option<TcpStart>,
    ) {
        let connected = Connected {
            wall: wall_now(),
            plan: Plan {
                target: Target { host: ends.1.ip().to_string(), address: ends.1 },
                protocol: ProtocolName::Iperf2,
                test: TestSpec::new(Transport::Tcp),
                local: server.config.local.clone(),
            },
            local: ends.0,
            remote: ends.1,
            session: String::new(),
            control_mss: None,
            host: host::describe(Some(ends.1.ip())),
            peer: None,
        };
        self.watcher.event(SessionEvent::Event(&Event::Connected(connected)));
        self.watcher.event(SessionEvent::Fact(&Fact::Bouncing { ends, request, tcp }));
    }

    /// Reports the intervals that are over.
    fn look(&mut self, now: MonoTime) {
        let elapsed = now.saturating_since(self.began);
        while self.interval.0 > 0 && elapsed >= self.reported.saturating_add(self.interval) {
            let end = self.reported.saturating_add(self.interval);
            let trips = self.trips - self.trips_reported;
            self.emit((self.reported, end), trips, false);
            (self.reported, self.trips_reported) = (end, self.trips);
        }
    }

    fn emit(&mut self, span: (Nanos, Nanos), trips: u64, whole: bool) {
        self.watcher.event(SessionEvent::Fact(&Fact::Bounced { span, trips, whole }));
    }

    fn end(mut self, client: SocketAddr, broken: Option<&std::io::Error>) {
        let elapsed = mono_now().saturating_since(self.began);
        self.emit((Nanos::ZERO, elapsed), self.trips, true);
        let wait = WaitMode::Hybrid;
        let observed =
            LatencyObservation { client, wait, received: self.trips, duplicates: 0, reordered: 0, elapsed };
        self.watcher.event(SessionEvent::Reflected(&observed));
        match broken {
            None => self.watcher.ended(Ok(())),
            Some(error) => self.watcher.ended(Err(&ProtocolError::Closed(error.to_string()))),
        }
    }
}

/// The kernel would wake at once again.
const PEEK_PAUSE: Nanos = Nanos::from_millis(10);
/// A client that asks for nothing for so long has gone.
const SILENCE: Nanos = Nanos::from_secs(60);
