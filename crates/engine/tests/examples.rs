//! The examples do what they say: two clients and the server they measure to.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_path_is_measured_and_followed_to_a_server() {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let _server = Server::start(port);
    let verdict = output_of("measure", port);
    assert!(verdict.contains("TCP up transferred"), "{verdict}");
    let rows = output_of("follow", port);
    assert!(rows.lines().filter(|row| row.starts_with("Local at ")).count() >= 5, "{rows}");
}

/// Output of an example for a test to this port.
fn output_of(name: &str, port: u16) -> String {
    let output = example(name).args(["127.0.0.1", &port.to_string()]).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Cargo builds examples beside the tests.
fn example(name: &str) -> Command {
    let this = std::env::current_exe().unwrap();
    Command::new(this.parent().unwrap().parent().unwrap().join("examples").join(name))
}

/// Killed on drop.
struct Server(Child);

impl Server {
    fn start(port: u16) -> Server {
        let server = Server(example("serve").arg(port.to_string()).stderr(Stdio::null()).spawn().unwrap());
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(Instant::now() < deadline, "the server does not listen on port {port}");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}
