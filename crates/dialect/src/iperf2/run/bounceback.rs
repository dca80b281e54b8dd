//! `--bounceback`: requests over TCP, some in a row and a pause, each timed until its reply is here.

use super::client::{Ended, beside_load, failure_text};
use super::facts;
use super::out::{self, window};
use super::zone;
use crate::Process;
use crate::iperf2::output::{
    Iperf2Bounceback, Iperf2Connection, Iperf2Histogram, Iperf2OneWay, Iperf2Options, Iperf2Percentiles,
    Iperf2Role, Iperf2Text, connect_times,
};
use crate::iperf2::{Bounceback, CommandLine, Histograms};
use crate::out::Out;
use engine::host::interrupt::Interrupt;
use engine::work::observer::TcpStart;
use engine::work::throughput::flows::tcp_options;
use linux::clock::{mono_now, sleep_until, wall_now};
use linux::socket::{TcpOptions, tcp_connect};
use model::plan::{End, Plan, Transport};
use model::stats::bins::Bins;
use model::stats::histogram::Histogram;
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wire::echo::{Exchange, Request};
use wire::iperf2::{BounceRequest, Bouncer, MIN_BOUNCE};
use wire::stamp::Clock;

/// Runs the test: its connections, each in a thread of its own.
///
/// # Errors
/// A sentence for the user.
pub(super) fn run(line: &CommandLine, asked: Bounceback, process: Process) -> Result<(), String> {
    let plan = line.plan().map_err(|failure| failure_text(&failure))?;
    let options = line.output_options(Iperf2Role::Client, zone(line));
    let out = Mutex::new(out::open(line)?);
    let settings = line.settings(window(Transport::Tcp, true, line.client.test.window));
    let size = settings.length;
    if (size as usize) < MIN_BOUNCE {
        return Err(format!(
            "ERROR: --bounceback needs -l of {MIN_BOUNCE} bytes or more, and {size} were given"
        ));
    }
    lock(&out).write(&settings.text(&options));
    let interrupt = (process.interrupt)().map_err(|error| format!("ERROR: catch signals: {error:#}"))?;
    beside_load(line, &interrupt, || measure((line, asked), (&plan, &options, size), &out, &interrupt))
}

fn measure(
    (line, asked): (&CommandLine, Bounceback),
    (plan, options, size): (&Plan, &Iperf2Options, u32),
    out: &Mutex<Out>,
    interrupt: &Interrupt,
) -> Result<(), String> {
    if line.client.load.is_some() {
        interrupt_wait(asked.delay, interrupt);
    }
    let print = |text: &str| lock(out).write(text);
    let clock = Clock { mono: mono_now(), wall: wall_now() };
    let rows = Mutex::new(Iperf2Bounceback::new(options.clone(), size + asked.reply.unwrap_or(size)));
    let bins = line.both.histograms.unwrap_or_default().shape();
    let mut connections = Vec::new();
    let mut took = Vec::new();
    for id in 1..=plan.test.streams {
        let (socket, text, time) = connect(plan, options, id, (size, asked))?;
        print(&text);
        took.push(time);
        let bins = Bins::new(bins);
        connections.push(Trips { bins, ..Trips::new(id, socket, (plan, asked, size), clock) });
    }
    let shared = Shared { rows: &rows, out, interrupt, percentiles: options.percentiles };
    let start = mono_now();
    let ended: Vec<(Trips, Ended)> = std::thread::scope(|scope| {
        let run = |mut trips: Trips| {
            trips.start = start;
            let ended = trips.run(&plan.test.end, asked, shared);
            trips.finish(shared);
            (trips, ended)
        };
        let threads: Vec<_> = connections.into_iter().map(|trips| scope.spawn(move || run(trips))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread that does not panic")).collect()
    });
    if let [_, _, ..] = &ended[..] {
        print(&sum(&rows, ended.iter().map(|(trips, _)| trips)));
        print(&connect_times(&took, 0).unwrap_or_default());
    }
    ended.into_iter().try_for_each(|(_, ended)| ended)?;
    out::close(&lock(out))
}

/// Waits so long, or until the interrupt.
fn interrupt_wait(time: Nanos, interrupt: &Interrupt) {
    let until = mono_now() + time;
    while mono_now() < until && !interrupt.is_raised() {
        sleep_until(until.min(mono_now() + STEP));
    }
}

/// State that the connections share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    rows: &'a Mutex<Iperf2Bounceback>,
    out: &'a Mutex<Out>,
    interrupt: &'a Interrupt,
    percentiles: Iperf2Percentiles,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The row of all connections over the longest of their times.
fn sum<'a>(rows: &Mutex<Iperf2Bounceback>, all: impl Iterator<Item = &'a Trips>) -> String {
    let (mut whole, mut elapsed) = (histogram(), Nanos::ZERO);
    for trips in all {
        whole.merge(&trips.whole).expect("histograms of one range and precision");
        elapsed = elapsed.max(trips.ended);
    }
    lock(rows).row("[SUM]", (Nanos::ZERO, elapsed), whole.distribution().as_ref())
}

/// The connection, its line, and how long it took.
fn connect(
    plan: &Plan,
    options: &Iperf2Options,
    id: u32,
    (size, bounceback): (u32, Bounceback),
) -> Result<(TcpStream, String, Nanos), String> {
    let test = &plan.test;
    let local_port = plan.local.client_port;
    let socket_options = TcpOptions { local_port, nodelay: true, ..tcp_options(test, &plan.local) };
    let before = mono_now();
    let timeout = plan.local.connect_timeout.unwrap_or(TIMEOUT);
    let socket = tcp_connect(plan.target.address, &socket_options, timeout)
        .map_err(|error| format!("connect failed: {error}: is `iperf -s` running there?"))?;
    let took = mono_now() - before;
    let failed = |error: std::io::Error| format!("ERROR: bounceback: {error}");
    socket.set_read_timeout(Some(TIMEOUT.to_duration())).map_err(failed)?;
    socket.set_write_timeout(Some(TIMEOUT.to_duration())).map_err(failed)?;
    let Bounceback { quick_ack, reply, trip_times, .. } = bounceback;
    let request = BounceRequest { size, reply, hold: 0, tos: None, quick_ack, trip_times };
    let connection = Iperf2Connection {
        ends: Some((socket.local_addr().map_err(failed)?, socket.peer_addr().map_err(failed)?)),
        remarks: facts::bouncing(&request),
        tos: test.tos,
        took: Some(took),
        ..facts::requested(0, None, TcpStart::from_socket(&socket))
    };
    let text = Iperf2Text::new(options.clone(), id).connected(&connection, wall_now());
    let silent = options.csv || options.exclude.connections;
    Ok((socket, if silent { String::new() } else { text }, took))
}

/// The round trips of one connection.
struct Trips {
    /// The number in brackets.
    id: u32,
    socket: TcpStream,
    bouncer: Bouncer,
    clock: Clock,
    /// Bytes of a request, and of its reply.
    size: usize,
    reply: usize,
    buffer: Vec<u8>,
    sequence: u64,
    start: MonoTime,
    interval: Nanos,
    /// The end of the last interval reported, and of the whole.
    reported: Nanos,
    ended: Nanos,
    whole: Histogram,
    part: Histogram,
    /// Those of the whole time, as they are printed.
    bins: Bins,
    /// The one-way delays, where the clocks are taken to agree.
    one_way: Option<Iperf2OneWay>,
}

impl Trips {
    fn new(id: u32, socket: TcpStream, (plan, asked, size): (&Plan, Bounceback, u32), clock: Clock) -> Trips {
        let reply = asked.reply.unwrap_or(size);
        let mut bouncer = Bouncer::new(clock, plan.test.tos);
        bouncer.quick_ack = asked.quick_ack;
        bouncer.trip_times = asked.trip_times;
        bouncer.reply = asked.reply;
        Trips {
            id,
            socket,
            bouncer,
            clock,
            size: size as usize,
            reply: reply as usize,
            buffer: vec![b'0'; size.max(reply) as usize],
            sequence: 0,
            start: mono_now(),
            interval: plan.local.interval,
            reported: Nanos::ZERO,
            ended: Nanos::ZERO,
            whole: histogram(),
            part: histogram(),
            bins: Bins::new(Histograms::default().shape()),
            one_way: asked.trip_times.then(Iperf2OneWay::default),
        }
    }

    fn run(&mut self, end: &End, asked: Bounceback, shared: Shared<'_>) -> Ended {
        let limit = match end {
            End::Time(time) => *time,
            End::Bytes(_) | End::Blocks(_) => Nanos(u64::MAX),
        };
        let most = match end {
            End::Bytes(bytes) => bytes.0.div_ceil(self.size as u64),
            End::Time(_) | End::Blocks(_) => u64::MAX,
        };
        let period = Nanos((asked.period * 1e9) as u64);
        for row in 0_u64.. {
            let due = Nanos(period.0.saturating_mul(row));
            if due >= limit || !self.wait(due, shared) {
                break;
            }
            for _ in 0..asked.count {
                if shared.interrupt.is_raised() || self.elapsed() >= limit || self.sequence >= most {
                    return Ok(());
                }
                self.trip().map_err(|error| format!("ERROR: bounceback: {error}"))?;
            }
            self.report(shared);
        }
        // The time is the test's, whether requests fill it or not.
        if limit.0 < u64::MAX {
            self.wait(limit, shared);
        }
        Ok(())
    }

    fn elapsed(&self) -> Nanos {
        mono_now() - self.start
    }

    /// Waits in steps, so that an interrupt is noticed and intervals are printed; false: interrupted.
    fn wait(&mut self, due: Nanos, shared: Shared<'_>) -> bool {
        while self.elapsed() < due && !shared.interrupt.is_raised() {
            let next = self.elapsed().saturating_add(STEP).min(due);
            sleep_until(self.start + next);
            self.report(shared);
        }
        !shared.interrupt.is_raised()
    }

    fn trip(&mut self) -> std::io::Result<()> {
        let broken = |what: String| std::io::Error::new(std::io::ErrorKind::InvalidData, what);
        self.sequence += 1;
        let sent = mono_now();
        let request = Request { sequence: self.sequence, sent, wants_reply: true };
        self.bouncer.request(request, &mut self.buffer[..self.size]);
        self.socket.write_all(&self.buffer[..self.size])?;
        self.socket.read_exact(&mut self.buffer[..self.reply])?;
        let now = mono_now();
        let took = now - sent;
        let reply = self
            .bouncer
            .reply(&self.buffer[..self.reply])
            .map_err(|stray| broken(format!("no reply: {stray:?}")))?;
        if reply.sequence != self.sequence {
            return Err(broken("a reply to another request".into()));
        }
        if let (Some(one_way), Some(far)) = (&mut self.one_way, reply.far) {
            let wall = |at| self.clock.at(at).0.cast_signed();
            let (there, back) = (far.received.0.cast_signed(), far.sent.0.cast_signed());
            one_way.record(there - wall(sent), wall(now) - back);
        }
        self.whole.record(took.0);
        self.part.record(took.0);
        self.bins.record(took.0.cast_signed(), 1);
        Ok(())
    }

    /// Rows of the intervals that are over.
    fn report(&mut self, shared: Shared<'_>) {
        while self.interval.0 > 0 && self.elapsed() >= self.reported.saturating_add(self.interval) {
            let end = self.reported.saturating_add(self.interval);
            let row =
                lock(shared.rows).row(&self.label(), (self.reported, end), self.part.distribution().as_ref());
            lock(shared.out).write(&row);
            (self.reported, self.part) = (end, histogram());
        }
    }

    fn label(&self) -> String {
        format!("[{:3}]", self.id)
    }

    fn finish(&mut self, shared: Shared<'_>) {
        self.ended = self.elapsed();
        let span = (Nanos::ZERO, self.ended);
        let mut text = lock(shared.rows).row(&self.label(), span, self.whole.distribution().as_ref());
        if let Some(one_way) = &self.one_way {
            text.push_str(&one_way.row(&self.label(), span));
        }
        if self.whole.count() > 0 {
            let histogram = Iperf2Histogram { name: "BB8", bins: &self.bins, largest: None };
            let time = (0.0, self.ended.as_secs_f64());
            text.push_str(&histogram.line(self.id, time, true, shared.percentiles));
        }
        lock(shared.out).write(&text);
        // The peer sees the end of the connection in either case.
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }
}

fn histogram() -> Histogram {
    Histogram::new(3, LONGEST.0).expect("three digits and ten seconds are within its range")
}

/// A request, a reply or a connection that takes longer is lost.
const TIMEOUT: Nanos = Nanos::from_secs(10);
const LONGEST: Nanos = Nanos::from_secs(10);
const STEP: Nanos = Nanos::from_millis(50);
