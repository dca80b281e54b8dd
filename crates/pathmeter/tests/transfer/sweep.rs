//! MTU sweeps between two hosts: the rate by arithmetic, and the old state back after whatever end.

use super::common::{rows, transfers};
use super::net::{Net, SERVER, ip};
use super::support::{Ended, Running, Server, pathmeter, skip};
use model::transfer::packet_share;
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// Two hosts whose link carries up to 9000 bytes from the server, which answers HTTP on port 8080.
struct Hosts {
    net: Net,
    _server: Server,
}

fn hosts(test: &str) -> Option<Hosts> {
    let net = Net::new(test)?;
    for ns in [&net.client, &net.server] {
        ip(&["-n", ns, "link", "set", "eth0", "mtu", "9000"]);
    }
    ip(&["-n", &net.client, "link", "set", "eth0", "mtu", "1500"]);
    let server = net.serve(&["--http"]);
    server.process.wait_for("pathmeter's own protocol");
    Some(Hosts { net, _server: server })
}

impl Hosts {
    fn url(path: &str) -> String {
        format!("http://{SERVER}:8080{path}")
    }

    fn command(&self, argv: &[&str]) -> Command {
        pathmeter(Some(&self.net.client), &[&["transfer"], argv].concat())
    }

    #[track_caller]
    fn transfer(&self, argv: &[&str]) -> Ended {
        Running::start(self.command(argv)).end()
    }

    /// The client's MTU now.
    fn mtu(&self) -> u64 {
        mtu_of(&self.net.client, "eth0")
    }

    /// Waits until the client's MTU is this one.
    #[track_caller]
    fn wait_for_mtu(&self, is: impl Fn(u64) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is(self.mtu()) {
            assert!(Instant::now() < deadline, "the MTU stays {}", self.mtu());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn mtu_of(ns: &str, link: &str) -> u64 {
    let text = output(&["-n", ns, "-j", "link", "show", link]);
    let links: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    links[0]["mtu"].as_u64().expect("every link has an MTU")
}

fn output(argv: &[&str]) -> String {
    let done = Command::new("ip").args(argv).output().expect("ip starts");
    assert!(done.status.success(), "ip {}: {}", argv.join(" "), String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Case I of the reference: a shaper of 20 Mbit/s counts packets with 14 bytes of Ethernet.
#[test]
fn behind_a_shaper_the_gain_is_the_arithmetic() {
    let Some(hosts) = hosts("behind_a_shaper") else { return };
    let shaper = ["rate", "20mbit", "burst", "10k", "latency", "50ms"];
    let tc = [&["-n", &hosts.net.server, "qdisc", "add", "dev", "eth0", "root", "tbf"], &shaper[..]].concat();
    if !Command::new("tc").args(&tc).status().is_ok_and(|done| done.success()) {
        return skip("behind_a_shaper", "it needs tc(8) and the kernel's tbf");
    }
    let url = Hosts::url("/bytes/2500kB");
    let run = hosts.transfer(&[&url, "--mtu", "1280,1430,2000", "-n", "6", "--json"]).code(0).json();
    assert_eq!(hosts.mtu(), 1500);
    let mtus: Vec<u64> = transfers(&run).iter().map(|one| one["mtu"].as_u64().unwrap()).collect();
    assert_eq!(mtus, [1280, 1430, 2000].repeat(6), "interleaved");
    for (row, mtu) in rows(&run).iter().zip([1280_u32, 1430, 2000]) {
        let theory = packet_share(mtu, 52, 14).unwrap() * 20e6;
        // The fastest of six: others may have waited for a busy host, none can be faster than the shaper.
        let rate = row["rate_bps"]["max"].as_f64().unwrap();
        let reached = (0.95..1.01).contains(&(rate / theory));
        assert!(reached, "MTU {mtu}: {rate:.0} and not {theory:.0}\n{row:#}");
        // Packets were as large as the MTU, the last one apart.
        let (segments, mean) =
            (row["data_segments"].as_f64().unwrap(), row["mean_payload_bytes"].as_f64().unwrap());
        assert!(mean <= f64::from(mtu - 52) && mean > f64::from(mtu - 52) * 0.99, "{row:#}");
        assert!((segments * mean - 2_500_000.0).abs() < 1000.0, "{row:#}");
        assert_eq!(row["mss"], mtu - 52, "{row:#}");
    }
    let gain = &rows(&run)[2]["gain"];
    assert!((gain["expected_percent"].as_f64().unwrap() - 1.92).abs() < 0.01, "{gain:#}");
    // How sure that is depends on how much else the machine does; what it states must not be that it became worse.
    let word = gain["comparison"]["judgement"]["word"].as_str().unwrap();
    assert!(matches!(word, "better" | "cannot_tell"), "{gain:#}");
}

#[test]
fn the_state_is_reported_before_and_put_back_after() {
    let Some(hosts) = hosts("the_state_is_reported") else { return };
    let url = Hosts::url("/bytes/100k");
    let ended = hosts.transfer(&[&url, "--mtu", "1400,2000", "-n", "2", "--json"]).code(0);
    assert_eq!(hosts.mtu(), 1500);
    let run = ended.json();
    assert_eq!(
        (&run["work"]["transfer"]["mtu_of"]["name"], &run["work"]["transfer"]["mtu_of"]["mtu"]),
        (&"eth0".into(), &1500.into())
    );
    let largest: Vec<u64> = rows(&run).iter().map(|row| row["mss"].as_u64().unwrap()).collect();
    assert_eq!(largest, [1348, 1948]);
    ended
        .prints("warning: the MTU of eth0 is 1500; it is set to 1400, 2000 in turn")
        .prints("ip link set eth0 mtu 1500");
    // The far end's interface takes 9000: packets of 9500 are not made.
    let text = hosts.transfer(&[&Hosts::url("/bytes/1M"), "--mtu", "9500", "-n", "1"]).code(0).stdout;
    assert!(text.contains("MTU 9500: packets stayed at 9000 bytes"), "{text}");
    // An error in between puts it back too.
    hosts.transfer(&[&Hosts::url("/nothing"), "--mtu", "1400"]).code(3).prints("HTTP 404");
    assert_eq!(hosts.mtu(), 1500);
}

#[test]
fn captured_packets_are_counted_for_each_mtu() {
    let Some(hosts) = hosts("captured_packets") else { return };
    let url = Hosts::url("/bytes/300k");
    let argv = [&url, "--mtu", "1400,2000", "-n", "2", "--capture", "--json"];
    let run = hosts.transfer(&argv).code(0).json();
    assert_eq!(run["summary"]["packets"]["complete"], true, "{run:#}");
    for (row, mtu) in rows(&run).iter().zip([1400, 2000]) {
        let observed = &row["packets"];
        assert_eq!((&observed["transfers"], &observed["largest_bytes"]), (&2.into(), &mtu.into()), "{row:#}");
        // All with payload, and those of the handshake and the end.
        let (down, data) = (observed["down"].as_f64().unwrap(), row["data_segments"].as_f64().unwrap());
        assert!((data + 1.0..=data + 8.0).contains(&down), "{row:#}");
    }
    let text = hosts.transfer(&[&url, "-n", "1", "--capture"]).code(0).stdout;
    assert!(text.contains("Packets of one transfer, captured (mean)"), "{text}");
}

#[test]
fn the_mtu_is_put_back_after_signals_and_after_a_kill() {
    let Some(hosts) = hosts("after_signals") else { return };
    let url = Hosts::url("/bytes/900000GB");
    for (signal, code) in [("INT", Some(0)), ("TERM", Some(0)), ("KILL", None)] {
        let run = Running::start(hosts.command(&[&url, "--mtu", "1333", "--json"]));
        hosts.wait_for_mtu(|mtu| mtu == 1333);
        run.signal(signal);
        let ended = run.end();
        if code.is_none() {
            assert_eq!(ended.code, None, "{}", ended.stderr);
        }
        hosts.wait_for_mtu(|mtu| mtu == 1500);
    }
}

/// A path that swallows large packets without a word: what fails at one MTU goes on at the others.
#[test]
fn an_mtu_that_the_path_swallows_is_reported_and_the_others_are_measured() {
    let Some(hosts) = hosts("path_swallows") else { return };
    for end in [&hosts.net.client, &hosts.net.server] {
        // Super-packets are no packets of the path.
        let off = ["netns", "exec", end, "ethtool", "-K", "eth0", "tso", "off", "gso", "off", "gro", "off"];
        assert!(Command::new("ip").args(off).status().is_ok_and(|done| done.success()));
    }
    let rules = "table netdev hole {\nchain arriving {\ntype filter hook ingress device eth0 priority 0;\n\
                 meta length > 1600 drop\n}\n}\n";
    hosts.net.nft(&hosts.net.server, rules);
    let argv = ["--size", "300k", "--mtu", "1280,2000", "--timeout", "1s", "-n", "2", "--json"];
    let run = hosts.transfer(&[&[Hosts::url("/x").as_str()], &argv[..]].concat()).code(0).json();
    let counts: Vec<_> =
        rows(&run).iter().map(|row| (row["count"].as_u64(), row["failed"].as_u64())).collect();
    assert_eq!(counts, [(Some(2), Some(0)), (Some(0), Some(2))]);
    let failed = transfers(&run).iter().find(|one| one["mtu"] == 2000).unwrap();
    assert!(failed["error"].as_str().unwrap().starts_with("stalled"), "{failed:#}");
    assert!(failed["bytes"].as_u64().unwrap() < 2000, "what was not acknowledged did not cross: {failed:#}");
    let text = run["verdict"]["text"].as_str().unwrap();
    assert!(text.contains("No transfer of MTU 2000 came to its end: `pathmeter mtu HOST`"), "{text}");
    assert_eq!((&run["verdict"]["status"], hosts.mtu()), (&"degraded".into(), 1500));
}

/// A guard that was killed itself does not leave the change behind.
#[test]
fn without_its_guard_the_run_puts_the_mtu_back() {
    let Some(hosts) = hosts("without_its_guard") else { return };
    let run = Running::start(hosts.command(&[&Hosts::url("/bytes/900000GB"), "--mtu", "1333", "--json"]));
    hosts.wait_for_mtu(|mtu| mtu == 1333);
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.pid())).unwrap();
    let guard: u32 = children.trim().parse().unwrap_or_else(|e| panic!("one child: {children:?}: {e}"));
    assert!(Command::new("kill").args(["-KILL", &guard.to_string()]).status().unwrap().success());
    run.signal("TERM");
    run.end();
    assert_eq!(hosts.mtu(), 1500);
}

#[test]
fn routes_are_made_for_the_run_alone() {
    let Some(hosts) = hosts("routes") else { return };
    let url = Hosts::url("/bytes/100k");
    let route = |argv: &[&str]| output(&[&["-n", hosts.net.client.as_str()], argv].concat());
    let before = route(&["route", "show"]);
    let run =
        hosts.transfer(&[&url, "--mtu", "1300,1400", "--mtu-route", "-n", "2", "--json"]).code(0).json();
    let largest: Vec<u64> = rows(&run).iter().map(|row| row["mss"].as_u64().unwrap()).collect();
    assert_eq!((largest, hosts.mtu()), (vec![1248, 1348], 1500));
    assert_eq!(route(&["route", "show"]), before);
    let running =
        Running::start(hosts.command(&[&Hosts::url("/bytes/900000GB"), "--mtu", "1300", "--mtu-route"]));
    let there = |is: bool| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while route(&["route", "show"]).contains("mtu lock 1300") != is {
            assert!(Instant::now() < deadline, "{}", route(&["route", "show"]));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    there(true);
    running.signal("KILL");
    assert_eq!(running.end().code, None);
    there(false);
    assert_eq!(route(&["route", "show"]), before);
    // A route of somebody else's is left alone.
    ip(&["-n", &hosts.net.client, "route", "add", &format!("{SERVER}/32"), "dev", "eth0", "mtu", "1450"]);
    let before = route(&["route", "show"]);
    hosts.transfer(&[&url, "--mtu", "1300", "--mtu-route"]).code(2).prints("host route of its own");
    assert_eq!(route(&["route", "show"]), before);
    hosts.transfer(&[&url, "--mtu", "1600", "--mtu-route"]).code(2).prints("takes 68 to 1500");
}

#[test]
fn an_mtu_that_is_refused_changes_nothing_in_the_end() {
    let Some(hosts) = hosts("refused") else { return };
    let client = hosts.net.client.as_str();
    // A macvlan takes what the interface below it has, and reports it only when it is set.
    ip(&["-n", client, "link", "set", "eth0", "mtu", "1500"]);
    let mac = ["-n", client, "link", "add", "mac0", "link", "eth0", "type", "macvlan", "mode", "bridge"];
    if !Command::new("ip").args(mac).status().is_ok_and(|done| done.success()) {
        return skip("refused", "it needs the kernel's macvlan");
    }
    ip(&["-n", client, "address", "del", "10.77.0.1/24", "dev", "eth0"]);
    ip(&["-n", client, "address", "add", "10.77.0.1/24", "dev", "mac0"]);
    ip(&["-n", client, "link", "set", "mac0", "up"]);
    let url = Hosts::url("/bytes/10k");
    let ended = hosts.transfer(&[&url, "--mtu", "1400,1600", "-n", "1", "--json"]).code(2);
    ended.prints("mac0 refuses an MTU of 1600").prints("old MTU is put back");
    assert_eq!((mtu_of(client, "mac0"), hosts.mtu()), (1500, 1500));
    // What the driver's range excludes is known before anything is set.
    ip(&["-n", client, "tuntap", "add", "tap0", "mode", "tap"]);
    let before = hosts.transfer(&[&url, "--mtu", "1400,65535", "--device", "tap0"]).code(2);
    assert!(!before.stderr.contains("warning"), "{}", before.stderr);
    before.prints("tap0 takes 68 to 65521");
    assert_eq!(mtu_of(client, "tap0"), 1500);
}

#[test]
fn ipv6_is_not_lost_and_its_least_is_reported() {
    let Some(hosts) = hosts("ipv6_is_not_lost") else { return };
    for (ns, address) in [(&hosts.net.client, "2001:db8::1/64"), (&hosts.net.server, "2001:db8::2/64")] {
        ip(&["-n", ns, "address", "add", address, "dev", "eth0", "nodad"]);
    }
    let url = Hosts::url("/bytes/10k");
    hosts.transfer(&[&url, "--mtu", "1200,1500"]).code(2).prints("2001:db8::1").prints("--mtu-route");
    hosts.transfer(&["http://[2001:db8::2]:8080/x", "--mtu", "1200", "--mtu-route"]).code(2).prints("1280");
    hosts.transfer(&[&url, "--mtu", "1200,1500", "--mtu-route", "-n", "1"]).code(0).prints("no IPv6");
    ip(&["-n", &hosts.net.client, "address", "del", "2001:db8::1/64", "dev", "eth0"]);
    hosts.transfer(&[&url, "--mtu", "1200,1500", "-n", "1"]).code(0).prints("no IPv6");
    assert_eq!(hosts.mtu(), 1500);
}

#[test]
fn over_ipv6_headers_are_larger() {
    let Some(hosts) = hosts("over_ipv6") else { return };
    for (ns, address) in [(&hosts.net.client, "2001:db8::1/64"), (&hosts.net.server, "2001:db8::2/64")] {
        ip(&["-n", ns, "address", "add", address, "dev", "eth0", "nodad"]);
    }
    let server = Server::at(Some(&hosts.net.server), "2001:db8::2", &["--http=8081"]);
    server.process.wait_for("pathmeter's own protocol");
    let url = "http://[2001:db8::2]:8081/bytes/300k";
    for direction in [&[][..], &["--mtu-route"]] {
        let argv = [&[url, "--mtu", "1280,1500", "-n", "1", "--json"], direction].concat();
        let run = hosts.transfer(&argv).code(0).json();
        let largest: Vec<u64> = rows(&run).iter().map(|row| row["mss"].as_u64().unwrap()).collect();
        assert_eq!(largest, [1208, 1428], "{direction:?}");
        let expected = rows(&run)[1]["gain"]["expected_percent"].as_f64().unwrap();
        let theory = packet_share(1500, 72, 14).unwrap() / packet_share(1280, 72, 14).unwrap();
        assert!((expected - (theory - 1.0) * 100.0).abs() < 1e-6, "{expected}");
    }
    assert_eq!(hosts.mtu(), 1500);
}

#[test]
fn without_privilege_nothing_is_done_and_the_remedy_is_reported() {
    let Some(hosts) = hosts("without_privilege") else { return };
    if Command::new("setpriv").arg("--version").output().is_err() {
        return skip("without_privilege", "it needs setpriv(1), of util-linux");
    }
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &hosts.net.client, "setpriv", "--bounding-set=-all", "--inh-caps=-all"]);
    command.args([env!("CARGO_BIN_EXE_pathmeter"), "transfer", &Hosts::url("/bytes/10k"), "--mtu", "1400"]);
    let ended = Running::start(command).end().code(2);
    assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    ended.prints("CAP_NET_ADMIN").prints("setcap cap_net_admin,cap_net_raw");
    assert_eq!(hosts.mtu(), 1500);
}

#[test]
fn all_foreign_protocols_include_http() {
    let Some(net) = Net::new("all_foreign_protocols") else { return };
    let server = net.serve(&["--all"]);
    server.process.wait_for("pathmeter's own protocol");
    assert!(
        server.process.output_so_far().contains(&format!("listening on {SERVER}:8080 (TCP), HTTP")),
        "{}",
        server.process.output_so_far()
    );
    net.client(&["transfer", &Hosts::url("/bytes/10k"), "-n", "1"]).code(0);
    server.stop();
}
