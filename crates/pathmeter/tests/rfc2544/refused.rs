//! An impossible test is refused before a frame is sent, with its name and advice.

#[path = "../peers/program.rs"]
mod program;

use super::device::{Device, Kind, LITTLE, turn};
use super::net::{ip, may_make_networks};
use super::support::{Ended, Running, Scratch, pathmeter, run};
use std::process::Command;

const LOSS: [&str; 4] = ["--frame", "128", "--tests", "loss"];

#[test]
fn ports_that_are_not_there_or_down_are_named() {
    let test = "ports_that_are_not_there_or_down_are_named";
    let Some(device) = Device::new(test, Kind::Bridge) else { return };
    let [near, far] = device.ports();
    let refused =
        |one: &str, other: &str, code| -> Ended { run(&["rfc2544", one, other, "--quick"]).code(code) };
    let missing = format!("{}/eth7", device.near);
    refused(&missing, &far, 2)
        .prints(&format!("there is no interface eth7 in {}", device.near))
        .prints("eth0");
    refused("no-such-netns/eth0", &far, 2)
        .prints("no network namespace no-such-netns")
        .prints("ip netns list");
    refused(&format!("{}/lo", device.near), &far, 2).prints("is the loopback interface");
    refused(&near, &near, 2).prints(&format!("{near} twice"));
    ip(&["-n", &device.far, "link", "set", "eth0", "down"]);
    refused(&near, &far, 3).prints(&format!("{far} is down")).prints("ip link set eth0 up");
    ip(&["-n", &device.far, "link", "set", "eth0", "up"]);
    device.inside(&["link", "set", "near", "down"]);
    refused(&near, &far, 3).prints(&near).prints("carrier");
}

#[test]
fn a_port_with_the_default_route_is_refused_without_the_flag() {
    let test = "a_port_with_the_default_route_is_refused_without_the_flag";
    let Some(device) = Device::new(test, Kind::Bridge) else { return };
    ip(&["-n", &device.near, "address", "add", "198.18.0.2/24", "dev", "eth0"]);
    ip(&["-n", &device.near, "route", "add", "default", "via", "198.18.0.1"]);
    let far = format!("/var/run/netns/{}/eth0", device.far);
    let argv = [&["rfc2544", "eth0", &far], &LITTLE[..], &LOSS].concat();
    let inside = |more: &[&str]| Running::start(pathmeter(Some(&device.near), &[&argv, more].concat())).end();
    let refused = inside(&["--address", "198.18.0.2,198.18.0.3"]).code(2);
    refused.prints("the default route of this host leaves by eth0").prints("--allow-live-network");
    let allowed = inside(&["--address", "198.18.0.2,198.18.0.3", "--allow-live-network", "--json"]).code(0);
    let notes = allowed.json()["devices"][0]["notes"].to_string();
    assert!(notes.contains("by --allow-live-network: the default route"), "{notes}");
}

#[test]
fn without_privilege_it_states_what_is_needed() {
    let test = "without_privilege_it_states_what_is_needed";
    let Some(device) = Device::new(test, Kind::Bridge) else { return };
    let [near, far] = device.ports();
    // The program is read by another user: what leads to it need not be open to all.
    let scratch = Scratch::new("rfc2544-unprivileged");
    let binary = scratch.file("pathmeter", None);
    program::link_program(&binary);
    let unprivileged = |ns: &[&str], ports: [&str; 2]| {
        let argv =
            [&["ip", "netns"], ns, &["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]];
        let argv = argv.concat();
        let mut command = Command::new(argv[0]);
        command.args(&argv[1..]).arg(&binary).arg("rfc2544").args(ports).args(LITTLE).args(LOSS);
        Running::start(command).end().code(2)
    };
    let inside = ["exec", device.near.as_str()];
    unprivileged(&inside, ["eth0", &far])
        .prints("frames on eth0 need the capability CAP_NET_RAW")
        .prints("sudo");
    let path = format!("/var/run/netns/{}/eth0", device.far);
    unprivileged(&["exec", device.device.as_str()], [&near, &path])
        .prints(&near)
        .prints("Operation not permitted")
        .prints("sudo");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let ports = ["rfc2544", "no-such-netns/a", "no-such-netns/b"];
    let refused = |argv: &[&str]| run(&[&ports, argv].concat()).code(2);
    refused(&["--min-rate", "5kpps", "--max-rate", "1kpps"]).prints("is not below --max-rate 1.00 kpps");
    refused(&["--tests", "speed"]).prints("invalid value 'speed'").prints("back-to-back");
    refused(&["--frame", "63"]).prints("--frame 63: Ethernet has no such frame").prints("64 to");
    refused(&["--tests", "service"]).prints("--cir");
    refused(&["--tests", "reset"]).prints("--reset-command");
    refused(&["--chart", "x.gif"]).prints("neither an .svg nor a .png");
    refused(&["--expect", "speed>=1"]).prints("no figure `speed`").prints("throughput");
    refused(&["--address", "198.18.0.2"]).prints("two addresses");
    refused(&["--against", "/no/such/file"]).prints("/no/such/file");
    let scratch = Scratch::new("rfc2544-wrong");
    let wrong = scratch.file("wrong.json", Some("{\"schema\":\"pathmeter/result/1\"}"));
    refused(&["--against", &wrong]).prints("pathmeter/rfc2544/1").prints("--json -o FILE");
    refused(&["--against", &scratch.file("text", Some("no JSON"))]).prints("--against");
    run(&["rfc2544"]).code(2).prints("nothing to test");
    run(&["rfc2544", "eth1"]).code(2).prints("one port, eth1");
    run(&["rfc2544", "--lab", "no-such-topology"]).code(2).prints("pathmeter lab list");
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    if !may_make_networks("a_cpu_that_is_not_there_is_refused") {
        return;
    }
    let _turn = turn();
    run(&["rfc2544", "--lab", "direct", "--quick", "--cpus", "4095"]).code(2).prints("CPU 4095 is not there");
}
