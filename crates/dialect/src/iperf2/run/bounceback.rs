//! `--bounceback`: requests over TCP, some in a row and a pause, each timed until its reply is here.

use super::client::{Ended, told};
use super::facts;
use super::out::{Out, window};
use super::zone;
use crate::Interrupts;
use crate::iperf2::{Bounceback, CommandLine};
use engine::host::interrupt::Interrupt;
use engine::work::observer::TcpStart;
use linux::clock::{mono_now, sleep_until, wall_now};
use linux::socket::{TcpOptions, tcp_connect};
use model::plan::{End, Plan, Transport};
use model::stats::histogram::Histogram;
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use report::format::iperf2::{
    Iperf2Bounceback, Iperf2Connection, Iperf2Options, Iperf2Role, Iperf2Text, bounceback_histogram,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use wire::echo::{Exchange, Request};
use wire::iperf2::{Bouncer, MIN_BOUNCE};
use wire::stamp::Clock;

/// Runs the test.
///
/// # Errors
/// A sentence for the user.
pub(super) fn run(line: &CommandLine, asked: Bounceback, stop: Interrupts) -> Result<(), String> {
    let plan = line.plan().map_err(|failure| told(&failure))?;
    let options = line.output_options(Iperf2Role::Client, zone());
    let mut out = Out::open(line)?;
    let settings = line.settings(window(Transport::Tcp, true, line.client.test.window));
    let size = settings.length;
    if (size as usize) < MIN_BOUNCE {
        return Err(format!(
            "ERROR: --bounceback needs -l of {MIN_BOUNCE} bytes or more, and {size} were given"
        ));
    }
    out.write(&settings.text(&options));
    let interrupt = stop().map_err(|error| format!("ERROR: catch signals: {error:#}"))?;
    let (socket, line) = connect(&plan, &options, size)?;
    out.write(&line);
    let clock = Clock { mono: mono_now(), wall: wall_now() };
    let mut trips = Trips {
        socket,
        bouncer: Bouncer::new(clock, plan.test.tos),
        buffer: vec![b'0'; size as usize],
        sequence: 0,
        start: mono_now(),
        rows: Iperf2Bounceback::new(options, 1, size),
        interval: plan.local.interval,
        reported: Nanos::ZERO,
        whole: histogram(),
        part: histogram(),
    };
    let ended = trips.run(&plan.test.end, asked, &interrupt, &mut out);
    trips.finish(&mut out);
    ended?;
    out.close()
}

/// The connection, and its line.
fn connect(plan: &Plan, options: &Iperf2Options, size: u32) -> Result<(TcpStream, String), String> {
    let test = &plan.test;
    let bytes = |value: u32| Bytes(value.into());
    let asked = TcpOptions {
        local_address: plan.local.bind,
        local_port: plan.local.client_port,
        device: plan.local.device.clone(),
        mss: test.mss.map(bytes),
        send_buffer: test.window.map(bytes),
        recv_buffer: test.window.map(bytes),
        congestion: test.congestion.clone(),
        tos: Some(test.tos).filter(|tos| *tos > 0),
        nodelay: true,
        ..TcpOptions::default()
    };
    let before = mono_now();
    let timeout = plan.local.connect_timeout.unwrap_or(PATIENCE);
    let socket = tcp_connect(plan.target.address, &asked, timeout)
        .map_err(|error| format!("connect failed: {error}: is `iperf -s` running there?"))?;
    let took = mono_now() - before;
    let failed = |error: std::io::Error| format!("ERROR: bounceback: {error}");
    socket.set_read_timeout(Some(PATIENCE.to_duration())).map_err(failed)?;
    socket.set_write_timeout(Some(PATIENCE.to_duration())).map_err(failed)?;
    let connection = Iperf2Connection {
        ends: Some((socket.local_addr().map_err(failed)?, socket.peer_addr().map_err(failed)?)),
        words: vec![format!("bb w/quickack len/hold={size}/0")],
        tos: test.tos,
        took: Some(took),
        ..facts::requested(0, None, TcpStart::of(&socket))
    };
    let text = Iperf2Text::new(options.clone(), 1).connected(&connection, wall_now());
    let silent = options.csv || options.exclude.connections;
    Ok((socket, if silent { String::new() } else { text }))
}

/// The round trips of one connection.
struct Trips {
    socket: TcpStream,
    bouncer: Bouncer,
    buffer: Vec<u8>,
    sequence: u64,
    start: MonoTime,
    rows: Iperf2Bounceback,
    interval: Nanos,
    /// The end of the last interval reported.
    reported: Nanos,
    whole: Histogram,
    part: Histogram,
}

impl Trips {
    fn run(&mut self, end: &End, asked: Bounceback, interrupt: &Interrupt, out: &mut Out) -> Ended {
        let limit = match end {
            End::Time(time) => *time,
            End::Bytes(_) | End::Blocks(_) => Nanos(u64::MAX),
        };
        let most = match end {
            End::Bytes(bytes) => bytes.0.div_ceil(self.buffer.len() as u64),
            End::Time(_) | End::Blocks(_) => u64::MAX,
        };
        let period = Nanos((asked.period * 1e9) as u64);
        for row in 0_u64.. {
            let due = Nanos(period.0.saturating_mul(row));
            if due >= limit || !self.wait(due, interrupt, out) {
                break;
            }
            for _ in 0..asked.count {
                if interrupt.is_raised() || self.elapsed() >= limit || self.sequence >= most {
                    return Ok(());
                }
                self.trip().map_err(|error| format!("ERROR: bounceback: {error}"))?;
            }
            self.report(out);
        }
        // The time is the test's, whether requests fill it or not.
        if limit.0 < u64::MAX {
            self.wait(limit, interrupt, out);
        }
        Ok(())
    }

    fn elapsed(&self) -> Nanos {
        mono_now() - self.start
    }

    /// Waits in steps, so that an interrupt is seen and intervals are told; false: interrupted.
    fn wait(&mut self, due: Nanos, interrupt: &Interrupt, out: &mut Out) -> bool {
        while self.elapsed() < due && !interrupt.is_raised() {
            let next = self.elapsed().saturating_add(STEP).min(due);
            sleep_until(self.start + next);
            self.report(out);
        }
        !interrupt.is_raised()
    }

    fn trip(&mut self) -> std::io::Result<()> {
        let broken = |what: String| std::io::Error::new(std::io::ErrorKind::InvalidData, what);
        self.sequence += 1;
        let sent = mono_now();
        let request = Request { sequence: self.sequence, sent, wants_reply: true };
        self.bouncer.request(request, &mut self.buffer);
        self.socket.write_all(&self.buffer)?;
        self.socket.read_exact(&mut self.buffer)?;
        let took = mono_now() - sent;
        let reply =
            self.bouncer.reply(&self.buffer).map_err(|stray| broken(format!("no reply: {stray:?}")))?;
        if reply.sequence != self.sequence {
            return Err(broken("a reply to another request".into()));
        }
        self.whole.record(took.0);
        self.part.record(took.0);
        Ok(())
    }

    /// Rows of the intervals that are over.
    fn report(&mut self, out: &mut Out) {
        while self.interval.0 > 0 && self.elapsed() >= self.reported.saturating_add(self.interval) {
            let end = self.reported.saturating_add(self.interval);
            let row = self.rows.row((self.reported, end), self.part.distribution().as_ref());
            out.write(&row);
            (self.reported, self.part) = (end, histogram());
        }
    }

    fn finish(&mut self, out: &mut Out) {
        let elapsed = self.elapsed();
        out.write(&self.rows.row((Nanos::ZERO, elapsed), self.whole.distribution().as_ref()));
        if self.whole.count() > 0 {
            out.write(&bounceback_histogram(1, elapsed, &self.whole));
        }
        // The peer sees the end of the connection either way.
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}

fn histogram() -> Histogram {
    Histogram::new(3, LONGEST.0).expect("three digits and ten seconds are within its range")
}

/// A request, a reply or a connection that takes longer is lost.
const PATIENCE: Nanos = Nanos::from_secs(10);
const LONGEST: Nanos = Nanos::from_secs(10);
const STEP: Nanos = Nanos::from_millis(50);
