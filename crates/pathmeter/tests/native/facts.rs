//! Facts of hosts behind a limit, each made by a real kernel: a CPU quota, a queue of the sending host, a firewall of the receiving one.

use super::net::{Net, SERVER};
use super::support::{Running, Server, skip};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// A cgroup with a CPU quota, in either version; removed on drop, once it is empty.
struct Quota(PathBuf);

impl Quota {
    /// `share` of one CPU in hundredths. Absent, after saying why, where there is no CPU controller.
    fn new(test: &str, share: u32) -> Option<Quota> {
        let name = format!("pathmeter-quota-{}", std::process::id());
        let v1 =
            [("cpu.cfs_period_us", "100000".to_owned()), ("cpu.cfs_quota_us", (share * 1000).to_string())];
        let v2 = [("cpu.max", format!("{} 100000", share * 1000))];
        let versions = [("/sys/fs/cgroup/cpu", v1.as_slice()), ("/sys/fs/cgroup", v2.as_slice())];
        for (root, files) in versions {
            let group = PathBuf::from(root).join(&name);
            if std::fs::create_dir(&group).is_err() {
                continue;
            }
            // Where no hierarchy is mounted a folder can be made, too.
            let is_group = group.join("cgroup.procs").exists();
            let set =
                is_group && files.iter().all(|(file, value)| std::fs::write(group.join(file), value).is_ok());
            if set {
                return Some(Quota(group));
            }
            std::fs::remove_dir(&group).ok();
        }
        skip(test, "it needs root and the CPU controller of cgroups");
        None
    }

    /// The program with these words, within the quota.
    fn start(&self, argv: &[&str]) -> Running {
        let mut command = Command::new("sh");
        let enter = r#"echo $$ > "$0" && exec "$@""#;
        command.args(["-c", enter]).arg(self.0.join("cgroup.procs")).arg(env!("CARGO_BIN_EXE_pathmeter"));
        command.args(argv);
        Running::start(command)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while std::fs::remove_dir(&self.0).is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn facts<'a>(side: &'a Value, name: &str) -> Vec<&'a Value> {
    let facts = side["facts"].as_array().map_or(&[][..], Vec::as_slice);
    facts.iter().filter(|fact| fact["name"] == name).collect()
}

#[test]
fn a_quota_of_its_cgroup_is_what_limits_a_sender() {
    let test = "a_quota_of_its_cgroup_is_what_limits_a_sender";
    let Some(quota) = Quota::new(test, 5) else { return };
    let server = Server::start(&[]);
    let address = format!("127.0.0.1:{}", server.port);
    let run = quota.start(&["throughput", &address, "-t", "3s", "--json"]).end().code(0).json();
    let (limit, local) = (&run["summary"]["up"]["limit"], &run["summary"]["local"]);
    let [fact] = facts(local, "cpu-quota")[..] else { panic!("{:#}", local["facts"]) };
    assert!(fact["object"].as_str().is_some_and(|group| group.contains("pathmeter-quota-")), "{fact:#}");
    assert!((fact["whole"].as_f64().unwrap() - 0.05).abs() < 1e-6, "{fact:#}");
    assert_eq!(limit["kind"], "sender-cpu", "{limit:#}");
    // High, or one less where other work disturbed this machine, too.
    assert_ne!(limit["confidence"], "low", "{limit:#}");
    assert!(limit["cause"].as_str().is_some_and(|cause| cause.contains("was throttled in")), "{limit:#}");
    assert!(
        limit["fix"].as_str().is_some_and(|fix| fix.starts_with("raise the CPU quota of cgroup")),
        "{limit:#}"
    );
    let findings = run["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["id"] == "sender-limited"), "{findings:#?}");
    server.stop();
    assert!(
        facts(&run["summary"]["peer"], "cpu-quota").is_empty(),
        "the far end has none: {:#}",
        run["summary"]["peer"]
    );
}

#[test]
fn a_token_bucket_of_the_sender_is_its_own_queue() {
    let Some(net) = Net::new("a_token_bucket_of_the_sender_is_its_own_queue") else { return };
    let argv = ["netns", "exec", &net.client, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf"];
    let tbf = ["rate", "40mbit", "burst", "32k", "limit", "200k"];
    if !Command::new("ip").args(argv).args(tbf).status().is_ok_and(|status| status.success()) {
        return skip("a_token_bucket_of_the_sender_is_its_own_queue", "this kernel has no sch_tbf");
    }
    let server = net.serve(&[]);
    let run = net.client(&["throughput", SERVER, "-t", "3s", "--json"]).code(0).json();
    let local = &run["summary"]["local"];
    let [rate] = facts(local, "queue-rate")[..] else { panic!("{:#}", local["facts"]) };
    assert_eq!(
        (rate["object"].as_str(), rate["value"].as_f64()),
        (Some("tbf of eth0"), Some(4e7)),
        "{rate:#}"
    );
    let limit = &run["summary"]["up"]["limit"];
    assert_eq!(
        (limit["kind"].as_str(), limit["rate_bps"].as_u64()),
        (Some("host-queue"), Some(40_000_000)),
        "{limit:#}"
    );
    assert!(limit["fix"].as_str().is_some_and(|fix| fix.contains("tc qdisc show dev eth0")), "{limit:#}");
    server.stop();
}

#[test]
fn a_firewall_of_the_receiver_drops_what_seems_lost_on_the_path() {
    let test = "a_firewall_of_the_receiver_drops_what_seems_lost_on_the_path";
    let Some(net) = Net::new(test) else { return };
    for rule in [
        "add table inet lw",
        "add chain inet lw in { type filter hook input priority 0; }",
        "add rule inet lw in iifname eth0 limit rate over 3000/second burst 50 packets counter drop",
    ] {
        // The test is the client's: it receives with the rights that reading the rules takes.
        let argv = ["netns", "exec", &net.client, "nft", rule];
        if !Command::new("ip").args(argv).status().is_ok_and(|status| status.success()) {
            return skip(test, "it needs nft");
        }
    }
    // With GRO a rule counts one packet where many segments are dropped.
    for ns in [&net.client, &net.server] {
        let argv = ["netns", "exec", ns, "ethtool", "-K", "eth0", "tso", "off", "gso", "off", "gro", "off"];
        if !Command::new("ip").args(argv).status().is_ok_and(|status| status.success()) {
            return skip(test, "it needs ethtool");
        }
    }
    let server = net.serve(&[]);
    let run = net.client(&["throughput", SERVER, "-R", "-t", "3s", "--json"]).code(0).json();
    let local = &run["summary"]["local"];
    let [fact] = facts(local, "firewall-drops")[..] else { panic!("{:#}", local["facts"]) };
    assert!(
        fact["object"] == "lw in" && fact["value"].as_f64().is_some_and(|dropped| dropped > 50.0),
        "{fact:#}"
    );
    let limit = &run["summary"]["down"]["limit"];
    assert_eq!(limit["kind"], "host-drop", "{limit:#}");
    assert!(
        limit["cause"].as_str().is_some_and(|cause| cause.contains("the firewall of the receiver dropped")),
        "{limit:#}"
    );
    server.stop();
}
