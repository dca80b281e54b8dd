//! A server with every protocol, an honest client, and an attacker with many addresses.

use super::net::{Net, SERVER, ip};
use super::support::{Ended, Running, Server, pathmeter};
use linux::namespace::Namespace;
use linux::socket::{TcpOptions, tcp_connect};
use model::units::Nanos;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

/// The attacker's ports at the server: native, iPerf3, iPerf2, SockPerf, HTTP.
pub(crate) const PORTS: [u16; 5] = [5210, 5201, 5001, 11111, 8080];
/// Options that make a server answer there.
const ALL: [&str; 5] = ["--iperf3", "--iperf2", "--sockperf", "--http", "--stamp"];

/// Two hosts. The attacker's addresses are at the client's end.
pub(crate) struct Testbed {
    net: Net,
}

/// Address number `n` of the attacker.
pub(crate) fn attacker(n: u8) -> IpAddr {
    Ipv4Addr::new(10, 77, 1, n).into()
}

impl Testbed {
    /// Absent, after saying why, where this process may not make it.
    pub(crate) fn new(test: &str) -> Option<Testbed> {
        let net = Net::new(test)?;
        linux::privilege::raise_open_files().ok();
        let batch: String = (1..=50).map(|n| format!("address add {}/32 dev eth0\n", attacker(n))).collect();
        let file = std::env::temp_dir().join(format!("{}.batch", net.client));
        std::fs::write(&file, batch).unwrap();
        ip(&["-n", &net.client, "-batch", file.to_str().unwrap()]);
        std::fs::remove_file(&file).unwrap();
        ip(&["-n", &net.server, "route", "add", "10.77.1.0/24", "dev", "eth0"]);
        Some(Testbed { net })
    }

    /// The server's network namespace.
    pub(crate) fn server(&self) -> &str {
        &self.net.server
    }

    /// A server with every protocol and these options.
    pub(crate) fn serve(&self, options: &[&str]) -> Server {
        self.serve_only(&[&ALL, options].concat())
    }

    /// A server with these options.
    pub(crate) fn serve_only(&self, options: &[&str]) -> Server {
        let server = self.net.serve(options);
        server.process.wait_for("pathmeter's own protocol");
        server
    }

    /// Runs something at the attacker's end.
    pub(crate) fn there<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let path = format!("/run/netns/{}", self.net.client);
        Namespace::open(path).unwrap().run(work).unwrap()
    }

    /// Runs something at the server's end.
    pub(crate) fn at_the_server<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let path = format!("/run/netns/{}", self.net.server);
        Namespace::open(path).unwrap().run(work).unwrap()
    }

    /// Connections of one of the attacker's addresses to a port.
    pub(crate) fn connect(&self, n: u8, port: u16, count: usize) -> Vec<TcpStream> {
        let options = TcpOptions { local_address: Some(attacker(n)), ..TcpOptions::default() };
        let remote: SocketAddr = (SERVER.parse::<IpAddr>().unwrap(), port).into();
        let open = || tcp_connect(remote, &options, Nanos::from_secs(10)).expect("the server accepts");
        self.there(|| (0..count).map(|_| open()).collect())
    }

    /// Waits, for some seconds at most, until the server has taken all who have connected: it starts no more threads.
    pub(crate) fn all_are_taken(&self, server: &Server) {
        let tasks = format!("/proc/{}/task", server.process.pid());
        let count = || std::fs::read_dir(&tasks).unwrap().count();
        let mut before = 0;
        for _ in 0..10 {
            let now = count();
            if now == before {
                return;
            }
            before = now;
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
    }

    /// Starts an honest client.
    pub(crate) fn client(&self, args: &[&str]) -> Running {
        Running::start(pathmeter(Some(&self.net.client), args))
    }

    /// An honest client of every protocol, all at once; each is served in full.
    #[track_caller]
    pub(crate) fn all_are_served(&self, server: &Server) {
        // The limits hold however busy the host is that has both ends and the attacker.
        let commands: [&[&str]; 7] = [
            &["throughput", SERVER, "-n", "1M", "--json", "--connect-timeout", "60s"],
            &["throughput", SERVER, "-n", "1M", "--json", "--protocol", "iperf3", "--connect-timeout", "60s"],
            &["throughput", SERVER, "-n", "1M", "--json", "--protocol", "iperf2", "--connect-timeout", "60s"],
            &["throughput", SERVER, "-u", "-b", "2M", "-n", "100K", "--json", "--protocol", "iperf2"],
            &["latency", SERVER, "--protocol", "sockperf", "--tcp", "-n", "50", "--timeout", "8s", "--json"],
            &["latency", SERVER, "--protocol", "stamp", "-n", "50", "--timeout", "8s", "--json"],
            &["transfer", "http://10.77.0.2:8080/bytes/100K", "-n", "1", "--json"],
        ];
        let running: Vec<Running> = commands.iter().map(|args| self.client(args)).collect();
        for (args, client) in commands.iter().zip(running) {
            let ended: Ended = client.end();
            let text = server.process.output_so_far();
            let log: Vec<&str> = text.lines().filter(|line| line.contains(" 10.77.0.1:")).collect();
            assert_eq!(ended.code, Some(0), "{args:?}\n{}\n{log:#?}", ended.stderr);
        }
    }
}
