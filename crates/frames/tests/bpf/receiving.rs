//! Receiving on chosen CPUs: the device between the ends gets one of its own.

use super::{FEW, Lab, Middle, arrived, made, paced};
use linux::cpu::affinity;
use linux::namespace::Namespace;
use linux::nic::{Offload, set_offload};
use pathmeter_frames::napi::NapiThreads;
use std::fs;
use std::process::Command;

/// A setting in a `/sys` of the namespace, as other processes see it.
fn sysfs(namespace: &Namespace, file: &str) -> String {
    let show = format!("mount -t sysfs none /sys && cat /sys/class/net/{file}");
    let mut command = Command::new("unshare");
    namespace.spawn_inside(command.args(["--mount", "sh", "-c", &show])).expect("the namespace opens");
    let output = command.output().expect("unshare is installed");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn a_router_receives_in_a_thread_on_its_own_cpu() {
    let Some(lab) = made(Lab::through(Middle::Router)) else { return };
    let middle = lab.middle.as_ref().expect("there is a router");
    // An interface of the same name in another namespace is not touched.
    let other = Lab::through(Middle::Router).expect("one could be made");
    let namesake = other.middle.as_ref().expect("there is a router");
    let cpu = *affinity().expect("it can be read").last().expect("there is one");
    let Some(elsewhere) = made(NapiThreads::start(namesake, "near", &[])) else { return };
    let Some(threads) = made(NapiThreads::start(middle, "near", &[cpu])) else { return };
    assert_eq!((elsewhere.threads().count(), threads.threads().count()), (0, 1));
    for thread in threads.threads() {
        let name = fs::read_to_string(format!("/proc/{thread}/comm")).expect("it runs");
        assert!(name.starts_with("napi/near-"), "{name}");
        let status = fs::read_to_string(format!("/proc/{thread}/status")).expect("it runs");
        assert!(status.contains(&format!("Cpus_allowed_list:\t{cpu}\n")), "{status}");
    }
    assert_eq!(sysfs(middle, "near/threaded"), "1");
    let spec = lab.spec(4, 64);
    let sink = lab.sink(&spec, FEW).expect("it attaches");
    assert_eq!(lab.send(&spec, &paced(FEW)).expect("it sends").frames, FEW);
    // The last frames may be in flight in the thread.
    assert_eq!(arrived(&sink, FEW).distinct(), FEW);
    drop(threads);
    assert_eq!(sysfs(middle, "near/threaded"), "0");
    assert_eq!(sysfs(namesake, "near/threaded"), "1");
}

#[test]
fn an_interface_without_threads_is_reported_and_left_unchanged() {
    let Some(lab) = made(Lab::cable()) else { return };
    let start = |interface, cpus: &[usize]| NapiThreads::start(&lab.receiver, interface, cpus);
    let none = start("eth0", &[0]).expect_err("neither GRO nor a program is there");
    assert!(none.is_unsupported(), "{none}");
    let expected = "write threaded of interface eth0: it has no NAPI instance now: turn GRO on or attach an XDP program first";
    assert_eq!(none.to_string(), expected);
    let missing = start("eth1", &[0]).expect_err("there is no such interface");
    assert_eq!(missing.errno(), Some(libc::ENODEV), "{missing}");
    lab.receiver.run(|| set_offload("eth0", Offload::Gro, true)).expect("it opens").expect("it is set");
    let nowhere = start("eth0", &[4711]).expect_err("there is no such CPU").to_string();
    assert!(nowhere.starts_with("pin thread ") && nowhere.contains(" to CPU 4711: "), "{nowhere}");
    assert_eq!(sysfs(&lab.receiver, "eth0/threaded"), "0");
}
