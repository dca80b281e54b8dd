//! What the tools that are installed here print today, in the same test run. Each that is missing is skipped loudly.

use super::{near, only};
use model::plan::Transport;
use pathmeter_report::import::{Imported, Tool, read};
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A server that is ended with the test.
struct Server(Child);

impl Server {
    /// Starts it and waits until it listens; `None`: it is not installed.
    fn start(line: &str, port: u16, socket: Socket) -> Option<Server> {
        let mut remarks = line.split_whitespace();
        let program = remarks.next()?;
        let child = Command::new(program).args(remarks).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let Ok(child) = child else {
            skip::skip(format!("{program} is not installed"));
            return None;
        };
        let mut server = Server(child);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !socket.is_open(port) {
            let ended = server.0.try_wait().expect("a child");
            assert!(ended.is_none(), "`{line}` ended before it listened: {ended:?}");
            assert!(Instant::now() < deadline, "`{line}` does not listen after 20 s");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(server)
    }
}

/// What a server opens.
#[derive(Clone, Copy)]
enum Socket {
    TcpListener,
    Udp,
}

impl Socket {
    /// The kernel reports it: a connection to find out would be a client to the server.
    fn is_open(self, port: u16) -> bool {
        let (files, state) = match self {
            Socket::TcpListener => (["/proc/net/tcp", "/proc/net/tcp6"], "0A"),
            Socket::Udp => (["/proc/net/udp", "/proc/net/udp6"], "07"),
        };
        let tables = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
        let wanted = format!(":{port:04X}");
        let open = |line: &str| {
            let mut remarks = line.split_whitespace();
            remarks.nth(1).is_some_and(|local| local.ends_with(&wanted)) && remarks.nth(1) == Some(state)
        };
        tables.into_iter().any(|table| table.lines().any(open))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a program prints within 20 seconds, that succeeds.
fn print(line: &str) -> String {
    let run = || {
        let line = line.split_whitespace();
        let out = Command::new("timeout").arg("20").args(line).stdin(Stdio::null()).output();
        out.expect("timeout is installed")
    };
    // A server of iPerf3 reports that it is busy until it has done away with the test before.
    let is_busy = |out: &Output| String::from_utf8_lossy(&out.stderr).contains("the server is busy");
    let mut out = run();
    for _ in 0..50 {
        if !is_busy(&out) {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        out = run();
    }
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "`{line}`: {}\n{text}\n{errors}", out.status);
    text
}

/// A port that is free for TCP and UDP now.
fn port() -> u16 {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = tcp.local_addr().expect("bound").port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn goodput(imported: &Imported) -> f64 {
    let summary = &imported.run.summary;
    summary.up.as_ref().or(summary.down.as_ref()).expect("a direction").goodput.0 as f64
}

/// Bytes of all streams.
fn received(imported: &Imported) -> f64 {
    let summary = &imported.run.summary;
    summary.up.as_ref().or(summary.down.as_ref()).expect("a direction").received.bytes.0 as f64
}

#[test]
fn iperf3_reports_the_same_as_text_and_as_json() {
    let port = port();
    let Some(_server) = Server::start(&format!("iperf3 -s -p {port}"), port, Socket::TcpListener) else {
        return;
    };
    for options in [
        "-t 1",
        "-t 1 -R -P 2",
        "-t 1 -u -b 20M -l 1200",
        "-t 1 --bidir",
        "-t 1 -u -b 5M --get-server-output",
    ] {
        let text = only(&print(&format!("iperf3 -c 127.0.0.1 -p {port} {options}")));
        let json = only(&print(&format!("iperf3 -c 127.0.0.1 -p {port} {options} -J")));
        for one in [&text, &json] {
            assert_eq!(one.tool, Tool::Iperf3);
            let plan = one.run.throughput().expect("a plan");
            assert_eq!(
                (plan.target.address.port(), plan.test.transport == Transport::Udp),
                (port, options.contains("-u"))
            );
            assert!(goodput(one) > 0.0 && !one.run.intervals.is_empty(), "{options}");
        }
        let [text, json] = [text, json].map(|one| one.run.throughput().expect("a plan").test.clone());
        assert_eq!((text.directions, text.streams), (json.directions, json.streams), "{options}");
        if options.contains("-u") {
            assert_eq!(text.length, json.length, "{options}");
        }
    }
}

#[test]
fn iperf2_in_text_and_csv() {
    let port = port();
    let Some(_server) = Server::start(&format!("iperf -s -p {port}"), port, Socket::TcpListener) else {
        return;
    };
    for options in ["-t 1", "-t 1 -i 0.5 -P 3", "-t 1 -e -i 0.5", "-t 1 -R"] {
        let text = print(&format!("iperf -c 127.0.0.1 -p {port} {options}"));
        let imported = only(&text);
        assert_eq!(imported.tool, Tool::Iperf2, "{text}");
        let printed =
            text.lines().rfind(|line| line.contains("bits/sec") && !line.contains("[ CT]")).expect("a row");
        let mut remarks = printed.split(" sec ").nth(1).expect("figures").split_whitespace();
        let mut figure = || {
            let number: f64 = remarks.next().expect("a figure").parse().expect("a number");
            (number, remarks.next().expect("a unit"))
        };
        // Of several streams the last row is their sum over the longest of their times, which on a busy host differ:
        // their bytes are the same however the rate is reckoned.
        let (amount, unit) = figure();
        let factor = if unit.starts_with('G') { f64::from(1 << 30) } else { f64::from(1 << 20) };
        near(received(&imported), amount * factor, 0.006);
        let summary = &imported.run.summary;
        let direction = summary.up.as_ref().or(summary.down.as_ref()).expect("a direction");
        assert_eq!(direction.streams.len(), if options.contains("-P 3") { 3 } else { 1 }, "{text}");
        let sum: u64 = direction.streams.iter().map(|stream| stream.bytes.0).sum();
        assert_eq!(sum, direction.received.bytes.0, "{text}");
        if !options.contains("-P") {
            let (rate, unit) = figure();
            near(goodput(&imported), rate * if unit.starts_with('G') { 1e9 } else { 1e6 }, 0.01);
        }
    }
    let csv = print(&format!("iperf -c 127.0.0.1 -p {port} -t 1 -y C"));
    let imported = only(&csv);
    let bytes = csv.trim().split(',').nth(7).expect("bytes").parse::<u64>().expect("a figure");
    assert_eq!(imported.run.summary.up.expect("up").received.bytes.0, bytes);
}

#[test]
fn sockperf_and_its_log() {
    let port = port();
    let Some(_server) = Server::start(&format!("sockperf sr -i 127.0.0.1 -p {port}"), port, Socket::Udp)
    else {
        return;
    };
    let log = std::env::temp_dir().join(format!("pathmeter-import-{}.log", std::process::id()));
    let text =
        print(&format!("sockperf pp -i 127.0.0.1 -p {port} -t 1 --full-rtt --full-log {}", log.display()));
    let logged = std::fs::read_to_string(&log).expect("the log");
    let _ = std::fs::remove_file(&log);
    let (printed, logged) = (only(&text), only(&logged));
    assert_eq!((printed.tool, logged.tool), (Tool::Sockperf, Tool::Sockperf));
    let (one, two) = (printed.run.summary.rtt.expect("rtt"), logged.run.summary.rtt.expect("rtt"));
    assert_eq!(one.count, two.count);
    near(one.mean.0 as f64, two.mean.0 as f64, 1e-3);
    assert_eq!(printed.run.summary.egress_paths[0].ends.remote.port(), port);
}

/// The times in milliseconds that fping prints of a host: those of its probes in rows, in words or in a list, else the three of its
/// summary.
fn times_of_fping(text: &str, host: &str) -> Vec<f64> {
    let own = || text.lines().filter_map(|line| line.split_once(host)).map(|(_, behind)| behind);
    let number = |word: &str| word.trim_start_matches('(').parse::<f64>().ok();
    let rows = own().filter_map(|row| row.split_once(" bytes, ").or_else(|| row.split_once(" is alive ")));
    let in_rows = rows.filter_map(|(_, behind)| number(behind.split_whitespace().next()?));
    let lists = own().filter(|row| !row.contains('='));
    let in_lists = lists.flat_map(|row| row.split_whitespace().filter_map(number));
    let summaries = own().filter_map(|row| row.split_once("max = "));
    let in_summaries = summaries.flat_map(|(_, times)| times.split('/').filter_map(number));
    let all: [Vec<f64>; 3] = [in_rows.collect(), in_lists.collect(), in_summaries.collect()];
    all.into_iter().find(|times| !times.is_empty()).expect("times")
}

#[test]
fn fping_in_its_modes() {
    let modes = [
        ("-c 3", 3),
        ("-c 3 -D", 3),
        ("-c 2 -b 1000", 2),
        ("-c 3 -q", 3),
        ("-c 6 -Q 1 -p 300", 6),
        ("-C 4", 4),
        ("-C 4 -q", 4),
        ("-e", 1),
    ];
    for (options, probes) in modes {
        // Summaries go to standard error.
        let line = format!("fping -p 20 {options} 127.0.0.1 127.0.0.2 2>&1");
        let out = Command::new("sh").args(["-c", &line]).stdin(Stdio::null()).output().expect("a shell");
        let text = String::from_utf8_lossy(&out.stdout);
        if out.status.code() == Some(127) || text.contains("can't create socket") {
            skip::skip("fping is not installed, or has no permission");
            return;
        }
        assert!(out.status.success(), "`{line}`: {}\n{text}", out.status);
        let imported = read("log", &text, Default::default()).expect("outputs");
        assert_eq!(imported.len(), 2, "{options}: {text}");
        for (one, host) in imported.iter().zip(["127.0.0.1", "127.0.0.2"]) {
            let found = &one.run.summary.egress_paths[0];
            assert_eq!((one.tool, found.host.as_str()), (Tool::Fping, host), "{options}: {text}");
            assert_eq!((found.counted.sent, found.counted.received), (probes, probes), "{options}: {text}");
            let (rtt, times) = (found.rtt.expect("round trips"), times_of_fping(&text, host));
            near(rtt.min.0 as f64 / 1e6, times.iter().copied().fold(f64::INFINITY, f64::min), 0.001);
            near(rtt.max.0 as f64 / 1e6, times.iter().copied().fold(0.0, f64::max), 0.001);
        }
    }
}

#[test]
fn a_shell_s_log_of_all_of_them() {
    let port = port();
    let Some(_server) = Server::start(&format!("iperf3 -s -p {port}"), port, Socket::TcpListener) else {
        return;
    };
    let pings = Command::new("ping").args(["-c", "1", "127.0.0.1"]).output();
    let pings = pings.is_ok_and(|out| out.status.success());
    if !pings {
        skip::skip("ping is not installed, or has no permission");
    }
    let mut log = Vec::new();
    let lines = [
        (Tool::Iperf3, format!("iperf3 -c 127.0.0.1 -p {port} -t 1")),
        (Tool::Ping, "ping -c 2 -i 0.2 127.0.0.1".into()),
        (Tool::Iperf3, format!("iperf3 -c 127.0.0.1 -p {port} -t 1 -J")),
    ];
    let lines: Vec<_> = lines.into_iter().filter(|(tool, _)| pings || *tool != Tool::Ping).collect();
    for (_, line) in &lines {
        write!(log, "user@host:~$ {line}\r\n{}", print(line)).expect("memory");
    }
    let imported = read("log", &String::from_utf8_lossy(&log), Default::default()).expect("outputs");
    let tools: Vec<Tool> = imported.iter().map(|one| one.tool).collect();
    assert_eq!(tools, lines.iter().map(|(tool, _)| *tool).collect::<Vec<_>>());
}
