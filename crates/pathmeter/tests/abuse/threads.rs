//! A server that may have few threads: whom it cannot serve it turns away, and all is well again later.

use super::support::Server;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A control group in which few threads may run; removed on drop, once it is empty.
struct FewThreads(PathBuf);

impl FewThreads {
    /// Absent, after saying why, where there are none.
    fn new(test: &str) -> Option<FewThreads> {
        let roots = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup"].map(PathBuf::from);
        let name = format!("pathmeter-abuse-{}", std::process::id());
        let made = roots.into_iter().map(|root| root.join(&name)).find(|group| {
            let made = std::fs::create_dir(group).is_ok();
            let limits = made && group.join("pids.max").exists();
            if made && !limits {
                std::fs::remove_dir(group).ok();
            }
            limits
        });
        if made.is_none() {
            skip::skip(format!("{test}: it limits threads, which needs the pids controller and root"));
        }
        made.map(FewThreads)
    }

    fn set(&self, file: &str, value: &str) {
        std::fs::write(self.0.join(file), value).unwrap();
    }
}

impl Drop for FewThreads {
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while std::fs::remove_dir(&self.0).is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn a_thread_that_cannot_be_started_ends_no_server() {
    let Some(group) = FewThreads::new("a_thread_that_cannot_be_started_ends_no_server") else { return };
    let ports = [super::support::free_port(), super::support::free_port(), super::support::free_port()];
    let [iperf2, sockperf, http] = ports.map(|port| port.to_string());
    let options = [format!("--iperf2={iperf2}"), format!("--sockperf={sockperf}"), format!("--http={http}")];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let server = Server::start(&options);
    server.process.wait_for("pathmeter's own protocol");
    group.set("cgroup.procs", &server.process.pid().to_string());
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.process.pid())).unwrap().count();
    group.set("pids.max", &(threads + 3).to_string());
    let connect = |port: u16| TcpStream::connect(("127.0.0.1", port)).expect("the listener accepts");
    for port in [[server.port].as_slice(), &ports].concat() {
        let held: Vec<TcpStream> = (0..8).map(|_| connect(port)).collect();
        server.process.wait_for("no thread for it");
        drop(held);
    }
    group.set("pids.max", "max");
    let own = server.host();
    let run = |args: &[&str]| super::support::run(args).code(0);
    run(&["throughput", &own, "-n", "1M", "--json"]);
    run(&["throughput", "127.0.0.1", "--protocol", "iperf2", "-p", &iperf2, "-n", "1M", "--json"]);
    run(&["latency", "127.0.0.1", "--protocol", "sockperf", "--tcp", "-p", &sockperf, "-n", "20", "--json"]);
    run(&["transfer", &format!("http://127.0.0.1:{http}/bytes/10K"), "-n", "1", "--json"]);
    assert!(!server.process.output_so_far().contains("server ended"), "{}", server.process.output_so_far());
    server.stop();
}
