//! Servers and clients as processes, each run bounded in time, on loopback.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Whose program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Real,
    Ours,
}

/// What both ends printed.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) server: String,
    pub(crate) client: String,
    pub(crate) client_errors: String,
    /// The client's exit code.
    pub(crate) status: i32,
}

/// Runs a server, a client against it, and stops the server.
pub(crate) fn played((server, server_words): (Tool, &str), (client, client_words): (Tool, &str)) -> Played {
    let udp = server_words.contains("-u");
    let port = free_port();
    let server = Server::start(server, server_words, port, udp);
    let (text, errors, status) = client_run(client, client_words, port);
    Played { server: server.stop(), client: text, client_errors: errors, status }
}

/// A server that runs.
pub(crate) struct Server(Child);

impl Server {
    /// Starts it and waits until its port is taken.
    pub(crate) fn start(tool: Tool, words: &str, port: u16, udp: bool) -> Server {
        let mut child = command(tool, words, port).spawn().expect("the program starts");
        let deadline = Instant::now() + PATIENCE;
        let taken = || if udp { UdpSocket::bind(("0.0.0.0", port)).is_err() } else { tcp_taken(port) };
        while !taken() {
            assert!(Instant::now() < deadline, "no server on {port}: {:?}", child.try_wait());
            std::thread::sleep(Duration::from_millis(20));
        }
        Server(child)
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Interrupts it once the last client's lines are out, and gives what it printed.
    pub(crate) fn stop(self) -> String {
        // The server has seen the end of a test a moment after the client has.
        std::thread::sleep(Duration::from_millis(700));
        signal(self.0.id(), "INT");
        ended(self.0).0
    }
}

/// Runs a client to its end: its lines, its complaints and its exit code.
pub(crate) fn client_run(tool: Tool, words: &str, port: u16) -> (String, String, i32) {
    let child = command(tool, &format!("-c 127.0.0.1 {words}"), port).spawn().expect("the program starts");
    ended(child)
}

/// Waits for the end of a process, and kills it when it does not come.
pub(crate) fn ended(mut child: Child) -> (String, String, i32) {
    let mut out = child.stdout.take().expect("piped");
    let mut err = child.stderr.take().expect("piped");
    let read = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).map(|_| text)
    });
    let complaints = std::thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).map(|_| text)
    });
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("our own child") {
            break status.code().unwrap_or(-1);
        }
        if Instant::now() > deadline {
            child.kill().expect("our own child");
            panic!("process {} does not end", child.id());
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = read.join().expect("no panic").expect("UTF-8");
    (text, complaints.join().expect("no panic").expect("UTF-8"), status)
}

/// A process is to stop.
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "{pid} has gone by itself");
}

/// A client or server as a command.
pub(crate) fn command(tool: Tool, words: &str, port: u16) -> Command {
    let mut command = match tool {
        Tool::Real => Command::new("iperf"),
        Tool::Ours => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pathmeter"));
            command.arg("iperf");
            command
        }
    };
    command.args(words.split_whitespace()).args(["-p", &port.to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A port that nobody listens on, with TCP or UDP.
pub(crate) fn free_port() -> u16 {
    loop {
        let tcp = TcpListener::bind("0.0.0.0:0").expect("a free port");
        let port = tcp.local_addr().expect("bound").port();
        if UdpSocket::bind(("0.0.0.0", port)).is_ok() {
            return port;
        }
    }
}

/// Is there a listener? Asked of the kernel: a connection would be a client.
fn tcp_taken(port: u16) -> bool {
    let wanted = format!(":{port:04X}");
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().any(|file| {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let local = fields.next().is_some_and(|local| local.ends_with(&wanted));
            local && fields.nth(1) == Some("0A")
        })
    })
}

const PATIENCE: Duration = Duration::from_secs(30);
