//! Virtual machines: booted, given requests, nodes of a lab, and gone with the process that booted them.
//!
//! They need qemu and a kernel, which `scripts/test` fetches, and the right to make a tap.

// `cable` is shared with the tests of that crate, which know it by this name.
extern crate linux as pathmeter_linux;

mod vm {
    #[path = "../../../linux/tests/cable/mod.rs"]
    mod cable;
    mod devices;
}

use lab::topology::Machine;
use lab::vm::{Kernel, QemuProgram, Vm, VmOutput, VmSpec};
use model::units::Bytes;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_machine_takes_orders_and_loads_what_its_network_needs() {
    if cannot_boot() {
        return;
    }
    let vm = Vm::boot(spec()).unwrap();
    let notes = vm.notes().join("\n");
    assert!(
        notes.contains("1 CPU, Linux ") && (notes.contains("KVM") || notes.contains("emulated")),
        "{notes}"
    );

    let out = run(&vm, "pathmeter --version");
    assert_eq!(
        String::from_utf8_lossy(&out.stdout).trim(),
        format!("pathmeter {}", env!("CARGO_PKG_VERSION"))
    );
    // Each has the kernel ask for modules: veth, sch_netem, ip6_tunnel and what it needs.
    for line in [
        "ip link add one type veth peer name other",
        "tc qdisc add dev one root netem delay 10ms",
        "ip link add tunnel type ip6tnl mode ipip6 local 2001:db8::1 remote 2001:db8::2",
    ] {
        let out = run(&vm, line);
        assert_eq!(code(&out), Some(0), "{line}: {}", String::from_utf8_lossy(&out.stderr));
    }
    let (counters, fragments) = vm.counters(&["lo".into(), "one".into()]).unwrap();
    assert_eq!(counters.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["lo", "one"]);
    assert_eq!(fragments, None);

    // Our own messages of netlink run as well, in the tests that this file leaves out elsewhere.
    let this = std::env::current_exe().unwrap();
    let tests = format!("{} vm::devices --ignored --test-threads=1", this.display());
    let out = vm.run(&argv(&tests), LONG).unwrap();
    let [stdout, stderr] = [&out.stdout, &out.stderr].map(|text| String::from_utf8_lossy(text));
    assert_eq!(code(&out), Some(0), "{stdout}\n{stderr}");
    assert!(stdout.contains("4 passed; 0 failed") && !stderr.contains("SKIPPED"), "{stdout}\n{stderr}");

    let missing = run(&vm, "no-such-program").ended.unwrap();
    assert!(missing.error.unwrap().starts_with("no-such-program: "));
    let late = vm.run(&argv("ping 127.0.0.1"), Duration::from_secs(1)).unwrap_err();
    assert!(late.to_string().contains("did not end ping within 1s"), "{late}");

    let pid = vm.pid();
    assert!(exists(pid));
    drop(vm);
    assert!(!exists(pid));
}

#[test]
fn a_router_in_a_machine_keeps_what_its_topology_expects() {
    if cannot_boot() {
        return;
    }
    let output = pathmeter("lab run vm-ipip6 --tests latency,mtu --quick -t 300ms --json");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    assert!(output.status.success(), "{}\n{report:#}", String::from_utf8_lossy(&output.stderr));
    let variant = &report["variants"][0];
    let held = variant["expectations"].as_array().unwrap().iter().filter(|one| one["held"] == true);
    assert!(held.count() >= 6, "{report:#}");
    assert!(variant["notes"].to_string().contains("b4 is a virtual machine"), "{report:#}");
}

/// Results that depend on the speed of its CPUs are not checked: whether a rate is reached, and how late a round trip is at
/// most.
#[test]
fn whole_labs_run_inside_a_machine() {
    if cannot_boot() {
        return;
    }
    let output = pathmeter("lab run wireguard lossy long-fat --in-vm -4 --tests udp,latency -t 200ms --json");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let variants = report["variants"].as_array().unwrap_or_else(|| panic!("{stderr}"));
    let release = Kernel::find().unwrap().release;
    assert!(report["notes"][0].as_str().unwrap().contains(&release), "{report:#}");
    let names: Vec<_> = variants.iter().map(|variant| variant["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["wireguard", "lossy", "long-fat"]);
    let mut broken = false;
    for variant in variants {
        assert!(variant["unavailable"].is_null(), "{report:#}");
        assert_eq!(expectation(variant, "the far end, IPv4")["held"], true, "{report:#}");
        broken |= variant["expectations"].as_array().unwrap().iter().any(|one| one["held"] == false);
    }
    assert_eq!(output.status.code(), Some(broken.into()), "{stderr}\n{report:#}");

    for direction in ["up", "down"] {
        let counted = repetition(&variants[1], "loss", direction);
        let judged = expectation(&variants[1], &format!("loss {direction}, IPv4"));
        let (sent, lost) = match counted["sent"].as_f64() {
            Some(sent) => (sent, counted["lost"].as_f64().unwrap()),
            // Beside busy neighbours the emulated CPU may send nothing in that time.
            None => {
                assert_eq!(counted["goodput_bps"], 0, "{counted:#}");
                assert!(judged["held"].is_null(), "nothing was sent: {judged:#}");
                continue;
            }
        };
        assert_eq!(judged["found"], format!("{:.2} % of {sent}", lost / sent.max(1.0) * 100.0), "{judged:#}");
        assert!(judged["expected"].as_str().unwrap().starts_with("1.00 % ± "), "{judged:#}");
        // A slow machine may send nothing in that time, and nothing is judged then.
        assert_eq!(judged["held"].is_boolean(), sent > 0.0, "{judged:#}");
        expectation(&variants[2], &format!("rate of the link {direction}, UDP over IPv4"));
    }
    let trips = &variants[2]["series"].as_array().unwrap().iter().find(|one| one["test"] == "latency");
    let least = trips.expect("round trips")["runs"][0]["rtt_min_ns"].as_u64().unwrap();
    assert!(least >= 99_800_000, "each link holds a packet for 50 ms: {least}");
    assert!(expectation(&variants[2], "delay, IPv4")["found"].as_str().unwrap().ends_with(" ms"));
}

/// The expectation of a topology by its name.
#[track_caller]
fn expectation<'a>(variant: &'a serde_json::Value, what: &str) -> &'a serde_json::Value {
    let found = variant["expectations"].as_array().expect("a list").iter().find(|one| one["what"] == what);
    found.unwrap_or_else(|| panic!("no {what}: {variant:#}"))
}

#[track_caller]
fn repetition<'a>(variant: &'a serde_json::Value, test: &str, direction: &str) -> &'a serde_json::Value {
    let mut series = variant["series"].as_array().expect("a list").iter();
    let found = series.find(|one| one["test"] == test && one["direction"] == direction);
    &found.unwrap_or_else(|| panic!("no {test} {direction}: {variant:#}"))["runs"][0]
}

#[test]
fn what_cannot_run_in_a_machine_is_refused() {
    for (line, message) in [
        ("lab run vm --in-vm", "vm cannot run in a virtual machine: server is a virtual machine itself"),
        ("lab run direct --in-vm --capture client:eth0 --pcap x.pcapng", "the links are inside the machine"),
    ] {
        let output = pathmeter(line);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(message), "{stderr}");
    }
}

#[test]
fn a_machine_ends_with_a_process_that_is_killed() {
    if cannot_boot() {
        return;
    }
    let mut child =
        command("lab run direct --in-vm --tests latency -t 60s").stderr(Stdio::null()).spawn().unwrap();
    let qemu = wait_for(|| children(child.id()).into_iter().find(|child| is_qemu(*child))).expect("a qemu");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(wait_for(|| (!exists(qemu)).then_some(())).is_some(), "qemu {qemu} outlives its parent");
}

#[test]
fn commands_reach_the_machines_of_a_lab_that_stays() {
    if cannot_boot() {
        return;
    }
    let directory = std::env::temp_dir().join(format!("pathmeter-vm-{}", std::process::id()));
    let lab = |line: &str| {
        let mut command = command(line);
        command.env("PATHMETER_LAB_DIR", &directory).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let up = lab("lab up vm --name one").output().unwrap();
    assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
    let file = std::fs::read_to_string(directory.join("one.json")).unwrap();
    let holder: serde_json::Value = serde_json::from_str(&file).unwrap();
    let holder = u32::try_from(holder["pid"].as_u64().unwrap()).unwrap();
    let qemu = wait_for(|| children(holder).into_iter().find(|child| is_qemu(*child))).expect("a qemu");
    what_commands_say_comes_out(&lab);

    // A client that is killed takes its command along.
    let pings = || {
        let counted = lab("lab exec server -- sh -c").arg(COUNT_PINGS).output();
        String::from_utf8(counted.unwrap().stdout).unwrap().trim().to_owned()
    };
    let mut client = lab("lab exec server -- ping 127.0.0.1").spawn().unwrap();
    assert!(wait_for(|| (pings() == "1").then_some(())).is_some(), "{}", pings());
    client.kill().unwrap();
    client.wait().unwrap();
    assert!(wait_for(|| (pings() == "0").then_some(())).is_some(), "{}", pings());

    // A holder that is killed takes its machine along, and waiting clients are notified.
    let client = lab("lab exec server -- ping 127.0.0.1").spawn().unwrap();
    assert!(wait_for(|| (pings() == "1").then_some(())).is_some(), "{}", pings());
    linux::process::Process::find(holder, linux::process::started_at(holder).unwrap())
        .unwrap()
        .expect("it holds the lab")
        .signal(linux::process::Signal::Kill)
        .unwrap();
    let reported = client.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&reported.stderr);
    assert_eq!(reported.status.code(), Some(128 + 9), "{text}");
    assert!(text.contains("the lab one has gone, and the command with it"), "{text}");
    assert!(wait_for(|| (!exists(qemu)).then_some(())).is_some(), "qemu {qemu} outlives its parent");

    let swept = lab("lab sweep").output().unwrap();
    let swept = String::from_utf8_lossy(&swept.stdout);
    assert!(swept.contains("one.json") && swept.contains("one.socket"), "{swept}");
    std::fs::remove_file(directory.join("lock")).unwrap();
    // Nothing else is in it.
    std::fs::remove_dir(&directory).unwrap();
}

/// The CPU of an emulated router is full long before those of the ends.
#[test]
fn a_router_whose_cpu_is_full_is_the_limit_where_it_is_observed() {
    if cannot_boot() {
        return;
    }
    let directory = std::env::temp_dir().join(format!("pathmeter-vm-full-{}", std::process::id()));
    let lab = |line: &str| {
        let mut command = command(line);
        command.env("PATHMETER_LAB_DIR", &directory).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    assert!(lab("lab up vm-forward --name full").status().unwrap().success());
    let program = env!("CARGO_BIN_EXE_pathmeter");
    let mut servers = [
        lab(&format!("lab exec server -- {program} serve")).spawn().unwrap(),
        lab("lab exec router -- pathmeter serve").spawn().unwrap(),
    ];
    let measure =
        format!("lab exec client -- {program} throughput 198.51.100.2 --observe 192.0.2.1 -t 4 --json");
    let observed = || {
        let run: serde_json::Value = serde_json::from_slice(&lab(&measure).output().unwrap().stdout).ok()?;
        let router = run["summary"]["observed"][0].clone();
        router["note"].is_null().then(|| (router, run["summary"]["up"]["limit"].clone()))
    };
    let found: Vec<_> = (0..3).map(|_| wait_for(observed).expect("both servers listen")).collect();
    for (router, _) in &found {
        assert!(router["is_this_host"].is_null(), "its kernel is another: {router:#}");
        assert!(router["busiest_cpu"].as_f64() > Some(0.9), "{router:#}");
    }
    assert!(found.iter().any(|(_, limit)| limit["kind"] == "forwarder-cpu"), "{found:#?}");
    assert!(lab("lab down full").status().unwrap().success());
    servers.iter_mut().for_each(|server| drop(server.wait()));
    std::fs::remove_dir_all(&directory).unwrap();
}

fn what_commands_say_comes_out(lab: &impl Fn(&str) -> Command) {
    for (line, exit, stdout, stderr) in [
        ("read name </proc/sys/kernel/hostname; echo $name", 0, "vm\n", ""),
        ("echo so >&2; exit 7", 7, "", "so\n"),
        ("kill -TERM $$", 128 + 15, "", ""),
    ] {
        let ran = lab("lab exec server -- sh -c").arg(line).output().expect("it was built");
        let message = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(exit), "{line}: {message}");
        assert!(message.contains(stderr), "{line}: {message}");
        assert_eq!(String::from_utf8_lossy(&ran.stdout), stdout, "{line}: {message}");
    }

    for (line, exit, message) in [
        ("lab exec server -- no-such-program", 127, "node server: no-such-program: "),
        ("lab exec server", 2, "name a command"),
    ] {
        let refused = lab(line).output().expect("it was built");
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(exit), "{line}: {stderr}");
        assert!(stderr.contains(message), "{line}: {stderr}");
    }
}

/// Where the packages cannot be had the tests are skipped, but never where `scripts/test` runs as root.
fn cannot_boot() -> bool {
    let missing = QemuProgram::find().err().or_else(|| Kernel::find().err());
    let Some(missing) = missing else { return false };
    skip::skip(missing);
    true
}

fn spec() -> VmSpec {
    let this = std::env::current_exe().expect("a running program has a file");
    VmSpec {
        name: "vm".into(),
        machine: Machine { cpus: 1, memory: Bytes(512 << 20) },
        host_cpus: Vec::new(),
        nics: Vec::new(),
        executable: env!("CARGO_BIN_EXE_pathmeter").into(),
        tools: vec!["ip".into(), "tc".into(), "ping".into(), this.to_str().expect("a plain path").into()],
        files: Vec::new(),
    }
}

fn run(vm: &Vm, line: &str) -> VmOutput {
    vm.run(&argv(line), LIMIT).expect("it is up")
}

fn code(output: &VmOutput) -> Option<i32> {
    output.ended.as_ref()?.code
}

fn argv(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathmeter"));
    command.args(argv(line)).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn pathmeter(line: &str) -> Output {
    command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).output().expect("it was built")
}

fn exists(pid: u32) -> bool {
    linux::process::started_at(pid).is_some()
}

fn is_qemu(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("qemu"))
}

/// The processes that this one and its threads have started.
fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")) else {
        return Vec::new();
    };
    let lists = tasks
        .filter_map(Result::ok)
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|child| child.parse().ok()).collect::<Vec<u32>>())
        .collect()
}

fn wait_for<T>(mut find: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + LIMIT;
    while Instant::now() < until {
        if let Some(found) = find() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

const COUNT_PINGS: &str = "n=0; for file in /proc/[0-9]*/comm; do read name <$file; \
                           [ $name = ping ] && n=$((n+1)); done; echo $n";
const LIMIT: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(300);
