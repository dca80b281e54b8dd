//! Servers and clients as processes, each run bounded in time, on loopback.

pub(crate) use crate::ports::free_port;
use crate::ports::is_bound;
use crate::running::STEP;
pub(crate) use crate::running::{Running, ToolOutput, wait_until};
use std::process::Command;
use std::time::{Duration, Instant};

/// The program to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Real,
    Ours,
}

/// The output of both ends.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) server: String,
    pub(crate) client: String,
}

/// Runs a server and a client against it, and stops the server when it has printed the rows of the whole time. Both end
/// well and complain of nothing.
pub(crate) fn played(server: (Tool, &str), client: (Tool, &str)) -> Played {
    played_until(server, client, rows_of_whole(server.1, client.1))
}

/// The same, with other rows to wait for.
pub(crate) fn played_until(
    (server, server_words): (Tool, &str),
    (client, client_words): (Tool, &str),
    rows: Rows,
) -> Played {
    let port = free_port();
    let both_real = [server, client] == [Tool::Real; 2];
    let server = Server::start(server, server_words, port);
    let client = client_run(client, client_words, port);
    let good = client.code == Some(0) && client.stderr.is_empty();
    assert!(good, "{client_words}: {client:#?}, of the server {}", server.running.output_so_far());
    let served = server.stop_after(rows);
    // 2.1.8 goes on listening to a UDP client for a while after its end, and may find its own client's socket closed.
    let lines = served.stderr.replace(STILL_LISTENING, "");
    let complaints: Vec<&str> =
        lines.lines().filter(|line| !(both_real && line.ends_with(NO_LAST_ACKNOWLEDGEMENT))).collect();
    assert!(complaints.is_empty(), "{server_words}: {served:#?}, of the client {client:#?}");
    Played { server: served.stdout, client: client.stdout }
}

/// Rows of a server whose time begins with the test: of the first interval and of the whole time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) streams: usize,
    pub(crate) sums: usize,
}

impl Rows {
    /// Nothing is to be printed.
    pub(crate) const NONE: Rows = Rows { streams: 0, sums: 0 };

    /// Those in a text.
    pub(crate) fn from_text(text: &str) -> Rows {
        let rows = text.lines().filter(|line| begins_with_the_test(line));
        let (sums, streams): (Vec<&str>, Vec<&str>) = rows.partition(|line| line.starts_with("[SUM"));
        Rows { streams: streams.len(), sums: sums.len() }
    }

    fn are_in(self, text: &str) -> bool {
        let there = Rows::from_text(text);
        there.streams >= self.streams && there.sums >= self.sums
    }
}

/// The rows that a server prints in these modes.
pub(crate) fn rows_of_whole(server: &str, client: &str) -> Rows {
    let has = |argv: &str, option: &str| argv.split_whitespace().any(|word| word == option);
    let mut behind = client.split_whitespace().skip_while(|word| *word != "-P").skip(1);
    let streams: usize = behind.next().map_or(1, |count| count.parse().expect("a number of streams"));
    let directions =
        if ["--full-duplex", "-d", "-r"].iter().any(|option| has(client, option)) { 2 } else { 1 };
    let sums = usize::from(streams > 1 && !has(server, "-y"));
    let each = if has(server, "-i") { 2 } else { 1 };
    Rows { streams: streams * directions * each, sums: sums * each }
}

/// Does a line have a time that begins with the test?
fn begins_with_the_test(line: &str) -> bool {
    (line.contains(" 0.0000-") || line.contains(",0.0-")) && !line.contains("out-of-order")
}

/// A server that runs.
pub(crate) struct Server {
    tool: Tool,
    running: Running,
}

impl Server {
    /// Starts it and waits until its port is taken.
    pub(crate) fn start(tool: Tool, argv: &str, port: u16) -> Server {
        let udp = argv.split_whitespace().any(|word| word == "-u");
        let mut running = Running::start(command(tool, argv, port));
        wait_until(&format!("a socket on port {port}"), || {
            assert!(running.runs(), "it has ended: {}", running.output_so_far());
            is_bound(udp, port)
        });
        Server { tool, running }
    }

    /// Interrupts it once it has printed these rows.
    pub(crate) fn stop_after(self, rows: Rows) -> ToolOutput {
        let Server { tool, running } = self;
        let needed = if tool == Tool::Real { Rows { sums: 0, ..rows } } else { rows };
        let of_server = format!("{needed:?} that begin with the test: {}", running.output_so_far());
        wait_until(&of_server, || needed.are_in(&running.printed()));
        // The real server prints its sums at once, or never when it has lost them.
        let deadline = Instant::now() + GRACE;
        while !rows.are_in(&running.printed()) && Instant::now() < deadline {
            std::thread::sleep(STEP);
        }
        running.signal("INT");
        running.wait().good()
    }
}

/// Runs a client to its end.
pub(crate) fn client_run(tool: Tool, argv: &str, port: u16) -> ToolOutput {
    Running::start(command(tool, &format!("-c 127.0.0.1 {argv}"), port)).wait()
}

impl Running {
    /// Waits until it has printed this.
    pub(crate) fn wait_for(&self, text: &str) {
        wait_until(&format!("{text:?} of {}", self.output_so_far()), || self.printed().contains(text));
    }
}

/// A client or server as a command.
pub(crate) fn command(tool: Tool, argv: &str, port: u16) -> Command {
    let mut command = match tool {
        Tool::Real => Command::new("iperf"),
        Tool::Ours => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pathmeter"));
            command.arg("iperf");
            command
        }
    };
    command.args(argv.split_whitespace()).args(["-p", &port.to_string()]);
    command
}

const GRACE: Duration = Duration::from_secs(1);
const NO_LAST_ACKNOWLEDGEMENT: &str = "WARNING: ack of last datagram failed.";
const STILL_LISTENING: &str = "Waiting for server threads to complete. Interrupt again to force quit.\n";
