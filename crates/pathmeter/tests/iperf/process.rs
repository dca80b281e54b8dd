//! Servers and clients as processes, each run bounded in time, on loopback.

pub(crate) use crate::ports::free_port;
use crate::ports::is_bound;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The program to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Real,
    Ours,
}

/// The output of a program that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) text: String,
    pub(crate) errors: String,
    /// `None`: a signal.
    pub(crate) status: Option<i32>,
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
    let good = client.status == Some(0) && client.errors.is_empty();
    assert!(good, "{client_words}: {client:#?}, of the server {}", server.running.said());
    let served = server.stop_after(rows);
    // 2.1.8 goes on listening to a UDP client for a while after its end, and may find its own client's socket closed.
    let lines = served.errors.replace(STILL_LISTENING, "");
    let complaints: Vec<&str> =
        lines.lines().filter(|line| !(both_real && line.ends_with(NO_LAST_ACKNOWLEDGEMENT))).collect();
    assert!(complaints.is_empty(), "{server_words}: {served:#?}, of the client {client:#?}");
    Played { server: served.text, client: client.text }
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
        let bound = until(TIMEOUT, || {
            assert!(running.runs(), "it has ended: {}", running.said());
            is_bound(udp, port)
        });
        assert!(bound, "nothing on {port}: {}", running.said());
        Server { tool, running }
    }

    /// Interrupts it once it has printed these rows.
    pub(crate) fn stop_after(self, rows: Rows) -> Ended {
        let Server { tool, running } = self;
        let needed = if tool == Tool::Real { Rows { sums: 0, ..rows } } else { rows };
        let printed = until(TIMEOUT, || needed.are_in(&running.printed()));
        assert!(printed, "not {needed:?} that begin with the test: {}", running.said());
        // The real server prints its sums at once, or never when it has lost them.
        until(GRACE, || rows.are_in(&running.printed()));
        running.signal("INT");
        let ended = running.ended();
        assert_eq!(ended.status, Some(0), "{ended:#?}");
        ended
    }
}

/// Runs a client to its end.
pub(crate) fn client_run(tool: Tool, argv: &str, port: u16) -> Ended {
    Running::start(command(tool, &format!("-c 127.0.0.1 {argv}"), port)).ended()
}

/// A program that runs, and its output so far; killed on drop.
pub(crate) struct Running {
    child: Child,
    said: [Arc<Mutex<String>>; 2],
    readers: Vec<JoinHandle<()>>,
    named: String,
}

impl Running {
    /// Starts it.
    pub(crate) fn start(mut command: Command) -> Running {
        let named = format!("{command:?}");
        let mut child = command.spawn().unwrap_or_else(|error| panic!("start {named}: {error}"));
        let said = [Arc::<Mutex<String>>::default(), Arc::<Mutex<String>>::default()];
        let out = read_along(child.stdout.take().expect("piped"), said[0].clone());
        let err = read_along(child.stderr.take().expect("piped"), said[1].clone());
        Running { child, said, readers: vec![out, err], named }
    }

    /// Its standard output until now.
    pub(crate) fn printed(&self) -> String {
        self.said[0].lock().expect("readers do not panic").clone()
    }

    /// Its command, its output and its standard error.
    pub(crate) fn said(&self) -> String {
        let errors = self.said[1].lock().expect("readers do not panic");
        format!("{}\n{}\n--- standard error:\n{errors}", self.named, self.printed())
    }

    /// Waits until it has printed this.
    pub(crate) fn wait_for(&self, text: &str) {
        let printed = until(TIMEOUT, || self.printed().contains(text));
        assert!(printed, "no {text:?}: {}", self.said());
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "it has gone by itself: {}", self.said());
    }

    /// Is it still there?
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
    }

    /// Waits for its end. One that hangs is a failure.
    pub(crate) fn ended(mut self) -> Ended {
        let over = until(TIMEOUT, || !self.runs());
        assert!(over, "it does not end: {}", self.said());
        let status = self.child.wait().expect("a child of ours");
        for reader in self.readers.drain(..) {
            reader.join().expect("readers do not panic");
        }
        let [text, errors] = [0, 1].map(|at| std::mem::take(&mut *self.said[at].lock().expect("as above")));
        Ended { text, errors, status: status.code() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The program may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Asks again and again until it is so, or for this long; was it?
fn until(longest: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + longest;
    while !is_so() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(STEP);
    }
    true
}

fn read_along(mut from: impl Read + Send + 'static, said: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            said.lock().expect("nobody panics with it").push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
    })
}

/// A busy machine must not fail a test; one that hangs must.
const TIMEOUT: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(10);
const NO_LAST_ACKNOWLEDGEMENT: &str = "WARNING: ack of last datagram failed.";
const STILL_LISTENING: &str = "Waiting for server threads to complete. Interrupt again to force quit.\n";
