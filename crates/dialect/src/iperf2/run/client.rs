//! `-c`: one test, printed as iPerf2 prints it.

use super::out::{self, window};
use super::{complain, facts, zone};
use crate::Process;
use crate::iperf2::CommandLine;
use crate::iperf2::output::{Cut, Iperf2Connection, Iperf2Options, Iperf2Role, Iperf2Text, connect_times};
use crate::out::Out;
use engine::error::{Error, Failure};
use engine::host::interrupt::Interrupt;
use engine::work::iperf2::{self, Back};
use engine::work::observer::{Fact, SessionEvent};
use linux::clock::wall_now;
use model::event::{Event, Warning};
use model::plan::{Directions, Plan};
use model::units::Nanos;

/// Runs the test, and beside it the working load, where there is to be one.
///
/// # Errors
/// A sentence for the user.
pub(super) fn run(line: &CommandLine, process: Process) -> Result<(), String> {
    let plan = line.plan().map_err(|failure| failure_text(&failure))?;
    readable(line)?;
    let mut out = out::open(line)?;
    let mut printer = Printer::new(line, 1);
    out.write(&printer.settings(line));
    let interrupt = (process.interrupt)().map_err(|error| format!("ERROR: catch signals: {error:#}"))?;
    beside_load(line, &interrupt, || measure(line, &plan, (&mut printer, &mut out), &interrupt))
}

/// The file of `-F`, before anybody is connected to. iPerf2 sends data of its own in its place.
fn readable(line: &CommandLine) -> Result<(), String> {
    let Some(path) = &line.client.file else { return Ok(()) };
    let opened = std::fs::File::open(path);
    opened.map(drop).map_err(|error| format!("ERROR: unable to open -F file: {}: {error}", path.display()))
}

/// Does this beside the working load of the line, which has a printer of its own.
pub(super) fn beside_load(
    line: &CommandLine,
    interrupt: &Interrupt,
    test: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let Some(load) = line.working_load() else { return test() };
    let plan = load.plan().map_err(|failure| failure_text(&failure))?;
    let mut printer = Printer::new(&load, line.client.test.streams + 1);
    let mut out = out::open(&load)?;
    std::thread::scope(|scope| {
        let load = scope.spawn(move || measure(&load, &plan, (&mut printer, &mut out), interrupt));
        let tested = test();
        let loaded = load.join().map_err(|_| "ERROR: the working load failed: an internal error".to_owned());
        tested.and(loaded.and_then(|loaded| loaded.map_err(|error| format!("working load: {error}"))))
    })
}

fn measure(
    line: &CommandLine,
    plan: &Plan,
    (printer, out): (&mut Printer, &mut Out),
    interrupt: &Interrupt,
) -> Result<(), String> {
    let rounds = line.client.connects.unwrap_or(1);
    for _ in 0..rounds {
        let mut print = |event: SessionEvent<'_>| out.write(&printer.print(event));
        let outcome = iperf2::client(plan, &line.client.extras, interrupt, &mut print);
        if interrupt.is_raised() {
            break;
        }
        if let Err(error) = outcome {
            out.write(&printer.ended());
            return Err(failed(&error));
        }
    }
    out.write(&printer.ended());
    out::close(out)
}

/// A sentence for the user, when it went wrong.
pub(super) type Ended = Result<(), String>;

/// Prints the output of a client.
struct Printer {
    options: Iperf2Options,
    /// How the data is cut, and whether delays of whole pieces are known.
    cut: (Cut, bool),
    text: Iperf2Text,
    /// The line of a connection that names the requested options.
    plain: Iperf2Connection,
    connections: Vec<Iperf2Connection>,
    versions: bool,
    connect_only: bool,
    times: Vec<Nanos>,
    failed: u64,
    /// A session has begun.
    begun: bool,
}

impl Printer {
    /// `first`: the number of its first stream.
    fn new(line: &CommandLine, first: u32) -> Printer {
        let both = line.client.test.directions == Directions::Both;
        let dual = both && line.client.extras.back != Back::FullDuplex;
        let options = Iperf2Options { dual, ..line.output_options(Iperf2Role::Client, zone(line)) };
        let plain = Iperf2Connection {
            remarks: facts::asked_for(line),
            tos: line.client.test.tos,
            ..Iperf2Connection::default()
        };
        Printer {
            cut: (facts::cut(line.client.extras.shape), line.client.extras.trip_times),
            text: Iperf2Text::new(options.clone(), first),
            options,
            plain,
            connections: Vec::new(),
            versions: line.client.extras.peer_detect,
            connect_only: line.client.extras.connect_only,
            times: Vec::new(),
            failed: 0,
            begun: false,
        }
    }

    /// The first lines of the output. With `-d` and `-r` the client listens too.
    fn settings(&self, line: &CommandLine) -> String {
        let test = &line.client.test;
        let own = line.settings(window(test.transport, true, test.window)).text(&self.options);
        if test.directions != Directions::Both || line.client.extras.back == Back::FullDuplex {
            return own;
        }
        let mut listening = line.settings(window(test.transport, false, test.window));
        listening.port = line.client.extras.back_port.unwrap_or(line.both.port);
        let server = Iperf2Options { role: Iperf2Role::Server, ..self.options.clone() };
        listening.text(&server) + &own
    }

    fn print(&mut self, event: SessionEvent<'_>) -> String {
        match event {
            SessionEvent::Event(event) => self.event(event),
            SessionEvent::Fact(fact) => self.fact(fact),
            _ => String::new(),
        }
    }

    fn event(&mut self, event: &Event) -> String {
        match event {
            Event::Connected(connected) => {
                // The return path of -r is a session of its own.
                if std::mem::replace(&mut self.begun, true) {
                    self.text = Iperf2Text::new(self.options.clone(), self.text.last_id() + 1);
                    self.connections.clear();
                }
                self.text.cut(self.cut.0, self.cut.1);
                let device = connected.host.nic.as_ref().map(|nic| nic.name.clone());
                self.connections.iter_mut().for_each(|connection| connection.device.clone_from(&device));
                self.plain.device = device;
            }
            Event::Started(started) => {
                for stream in &started.streams {
                    let known = self.connections.iter().find(|known| known.stream == stream.stream);
                    let plain = Iperf2Connection { stream: stream.stream, ..self.plain.clone() };
                    self.text.connection(known.cloned().unwrap_or(plain));
                }
            }
            Event::Warning(Warning { text, .. }) => complain(&format!("WARNING: {text}")),
            _ => {}
        }
        self.text.event(event)
    }

    fn fact(&mut self, fact: &Fact) -> String {
        match fact {
            Fact::Connect { stream, local, remote, took, tcp } => {
                self.times.push(*took);
                let connection = Iperf2Connection {
                    stream: *stream,
                    ends: Some((*local, *remote)),
                    tcp: tcp.map(facts::tcp),
                    took: Some(*took),
                    ..self.plain.clone()
                };
                if self.connect_only {
                    return self.text.connected(&connection, wall_now());
                }
                self.connections.retain(|known| known.stream != *stream);
                self.connections.push(connection);
            }
            Fact::Retry { reason, .. } => {
                self.failed += 1;
                complain(&format!("tcp connect failed: {reason}: tried again"));
            }
            Fact::Ack { stream, ack } if self.versions => {
                let known = self.connections.iter_mut().filter(|known| known.stream == *stream);
                known.for_each(|known| known.peer = Some(facts::version(ack.version)));
            }
            Fact::Report { stream, report } => self.text.report(facts::report(*stream, report)),
            Fact::NoReport { stream } => {
                let line = "WARNING: did not receive ack of last datagram.";
                return format!("[{:3}] {line}\n", stream + 1);
            }
            Fact::Bursts { stream, bursts } => return self.text.bursts(*stream, bursts),
            Fact::Interval(details) => return self.text.interval(details),
            Fact::Total(details) => self.text.totals(details),
            Fact::Ack { .. } | Fact::Request { .. } | Fact::Bouncing { .. } | Fact::Bounced { .. } => {}
        }
        String::new()
    }

    /// The times of the connects, where there were several: 2.1.8 prints them with `-e`, and none where they are all
    /// there is.
    fn ended(&self) -> String {
        let shown = self.options.enhanced || self.connect_only;
        let silent = self.options.csv || self.options.exclude.connections || !shown;
        connect_times(&self.times, self.failed).filter(|_| !silent).unwrap_or_default()
    }
}

/// An error in iPerf2's words where scripts look for them, with ours behind.
fn failed(error: &Error) -> String {
    match error.failure() {
        Some(failure) => failure_text(failure),
        None => format!("ERROR: {error:#}"),
    }
}

/// The message for a host that cannot be reached.
pub(super) fn failure_text(failure: &Failure) -> String {
    let advice = failure.advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("connect failed: {}{advice}", failure.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf2::{Request, parse};

    #[test]
    fn a_file_that_is_not_there_is_reported_before_the_test() {
        let args = ["-c", "127.0.0.1", "-p", "9", "-F", "/nonexistent/file"].map(std::ffi::OsString::from);
        let Ok(Request::Client(line)) = parse(&args) else { panic!("a client") };
        let refused = readable(&line).expect_err("no such file");
        assert!(refused.contains("-F file: /nonexistent/file: No such file"), "{refused}");
    }
}
