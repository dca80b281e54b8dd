//! Captures that may not be, that are stopped, that run out of disk.

#[path = "../peers/program.rs"]
mod program;

use super::hosts::{Hosts, V4, number, packets, tshark};
use super::support::{Running, Scratch};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn without_privilege_the_test_runs_and_states_how_to_allow_captures() {
    let Some(hosts) = Hosts::new("without_privilege") else { return };
    let (_server, scratch) = (hosts.serve(), Scratch::new("capture-unprivileged"));
    // A copy that everyone may run.
    let program = scratch.file("pathmeter", None);
    self::program::link_program(&program);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let unprivileged = |argv: &[&str]| {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &hosts.net.client, "setpriv", "--reuid", "65534", "--regid", "65534"]);
        command.args(["--clear-groups", &program]).args(argv).env("NO_COLOR", "1");
        Running::start(command).end()
    };
    let file = scratch.file("none.pcapng", None);
    let ended = unprivileged(&["throughput", V4, "-t", "300ms", "--capture", "--pcap", &file]).code(2);
    ended.prints("--pcap: packets cannot be captured").prints("setcap cap_net_admin,cap_net_raw");
    let ended = unprivileged(&["throughput", V4, "-t", "300ms", "--capture", "--json"]).code(0);
    let run = ended.json();
    assert!(number(&run["summary"]["up"]["received"]["bytes"]) > 0);
    assert!(run["summary"]["packets"].is_null());
    let warning = &run["summary"]["warnings"][0];
    assert_eq!(warning["id"], "capture-refused");
    assert!(warning["text"].as_str().unwrap().contains("setcap cap_net_admin,cap_net_raw"));
    assert!(!std::path::Path::new(&file).exists(), "no file is made of nothing");
    let ended = unprivileged(&["measure", V4, "--quick", "--capture"]).code(0);
    ended.prints("setcap cap_net_admin,cap_net_raw");
}

#[test]
fn what_cannot_be_captured_on_or_written_to_is_an_error_before_anything_runs() {
    let Some(hosts) = Hosts::new("what_cannot_be_captured_on") else { return };
    let client = |argv: &[&str]| hosts.net.client(&[&["throughput", V4, "-t", "1s"], argv].concat()).code(2);
    client(&["--capture", "--capture-interface", "nosuch0"]).prints("nosuch0").prints("ip link");
    client(&["--pcap", "/nonexistent/a.pcapng"]).prints("/nonexistent/a.pcapng");
    client(&["--pcap", "/dev/full"]).prints("No space left on device");
    client(&["--pcap-split"]).prints("--pcap <FILE>");
    client(&["--pcap", "/tmp/never.pcapng", "--snap", "20"]).prints("64 bytes");
    let argv = ["latency", V4, "127.0.0.1", "--capture"];
    hosts.net.client(&argv).code(2).prints("one host at a time");
}

#[test]
fn a_capture_that_is_stopped_leaves_a_whole_file_and_its_counts() {
    let Some(hosts) = Hosts::new("a_capture_that_is_stopped") else { return };
    let (_server, scratch) = (hosts.serve(), Scratch::new("capture-stopped"));
    let file = scratch.file("stopped.pcapng", None);
    let client = hosts.start(&["throughput", V4, "-t", "60s", "-b", "50M", "-i", "100ms", "--pcap", &file]);
    client.wait_for("bit/s");
    client.signal("INT");
    let ended = client.end().code(0);
    assert!(
        ended.stdout.contains("Packets on eth0") && ended.stdout.contains("stopped.pcapng"),
        "{}",
        ended.stdout
    );
    assert!(!tshark(&file, &["frame.number"]).is_empty());
    // Killed outright, it leaves what was written until then, in whole blocks.
    let file = scratch.file("killed.pcapng", None);
    let client = hosts.start(&["throughput", V4, "-t", "60s", "-b", "200M", "-i", "100ms", "--pcap", &file]);
    client.wait_for("bit/s");
    client.signal("KILL");
    assert_eq!(client.end().code, None);
    tshark(&file, &["frame.number"]);
}

#[test]
fn a_full_disk_ends_the_file_at_a_whole_packet_and_not_the_test() {
    let Some(hosts) = Hosts::new("a_full_disk") else { return };
    let (_server, scratch) = (hosts.serve(), Scratch::new("capture-full"));
    let directory = scratch.file("small", None);
    std::fs::create_dir(&directory).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=700k", "tmpfs", &directory]).status();
    assert!(mounted.unwrap().success(), "root may mount");
    let file = format!("{directory}/full.pcapng");
    let argv = ["throughput", V4, "-n", "10M", "-b", "200M", "--pcap", &file, "--pcap-split"];
    let ran = std::panic::catch_unwind(|| {
        let run = hosts.run(&argv);
        let packets = packets(&run);
        let error = packets["pcap"]["error"].as_str().expect("the disk was full");
        assert!(error.contains("No space left"), "{error}");
        assert_eq!(tshark(&file, &["frame.number"]).len() as u64, number(&packets["pcap"]["packets"]));
        assert!(number(&packets["up"]["payload"]) >= 10_000_000, "the counts go on: {packets:#}");
    });
    assert!(Command::new("umount").arg(&directory).status().unwrap().success());
    ran.unwrap();
}
