//! Verdicts of the doctor on hosts that are made up, and on this one.

use super::*;
use linux::netlink::Link;
use linux::nic::PacketClock;
use model::units::Nanos;

fn healthy() -> Facts {
    Facts {
        program: Some("/usr/bin/pathmeter".into()),
        is_root: true,
        capabilities: Capability::ALL.to_vec(),
        rmem_max: Some(WANTED_BUFFER),
        wmem_max: Some(WANTED_BUFFER),
        udp_gso: Ok(()),
        udp_gro: Ok(()),
        io_uring: Ok(()),
        capture: Ok(()),
        clock_source: Some("tsc".into()),
        clock_sources: vec!["tsc".into(), "hpet".into()],
        usable_cpus: 4,
        online_cpus: 8,
        governor: Some("performance".into()),
        deepest_sleep: Some(Nanos::from_micros(2)),
        congestion: Some("cubic".into()),
        congestions: vec!["cubic".into(), "bbr".into()],
        user_namespace: Ok(()),
        nf_tables: NfTables::Works,
        ipv6: Ok(()),
        has_ipv6_route: true,
        nic: Ok(Nic {
            link: Link { name: "eth0".into(), mtu: 1500, ..Link::default() },
            addresses: Vec::new(),
            driver: Some("ice".into()),
            mode: linux::nic::LinkMode::default(),
            speed: None,
            offloads: vec![Offload::Tso, Offload::Gso, Offload::Gro],
            packet_clock: PacketClock::InterfaceOn,
            coalescing: Some(Nanos::ZERO),
            is_virtual: false,
        }),
    }
}

/// A host on which everything is wrong at once.
fn ailing() -> Facts {
    let mut nic = healthy().nic.expect("the healthy host has one");
    nic.offloads = vec![Offload::Gso];
    (nic.packet_clock, nic.coalescing) = (PacketClock::InterfaceOff, Some(Nanos::from_micros(50)));
    Facts {
        program: Some("/home/a user/pathmeter".into()),
        is_root: false,
        capabilities: vec![],
        rmem_max: Some(Bytes(212_992)),
        wmem_max: None,
        udp_gso: Err("Protocol not available".into()),
        udp_gro: Err("Protocol not available".into()),
        io_uring: Err("Operation not permitted".into()),
        capture: Err("Operation not permitted".into()),
        clock_source: Some("hpet".into()),
        clock_sources: vec!["tsc".into(), "hpet".into()],
        usable_cpus: 1,
        online_cpus: 8,
        governor: Some("powersave".into()),
        deepest_sleep: Some(Nanos::from_micros(133)),
        congestion: Some("cubic".into()),
        congestions: vec!["cubic".into()],
        user_namespace: Err("Operation not permitted".into()),
        nf_tables: NfTables::Missing("Protocol not supported".into()),
        ipv6: Err("Address family not supported".into()),
        has_ipv6_route: false,
        nic: Ok(nic),
    }
}

fn named<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    checks.iter().find(|check| check.name == name).expect("every check is always there")
}

#[test]
fn a_healthy_host_needs_no_repair() {
    for check in judge(&healthy()) {
        assert_eq!((check.status, &check.fix), (Status::Ok, &None), "{check:?}");
    }
}

#[test]
fn an_ailing_host_is_reported_what_and_how() {
    let checks = judge(&ailing());
    assert!(checks.iter().all(|check| check.status != Status::Ok), "{checks:#?}");
    let fix = |name| named(&checks, name).fix.clone().expect("there is a remedy");
    assert_eq!(
        fix("privileges"),
        "sudo install -m 750 -g $(id -gn) '/home/a user/pathmeter' /usr/local/bin/pathmeter-privileged && \
         sudo setcap cap_net_admin,cap_net_raw,cap_sys_nice,cap_bpf,cap_perfmon+ep /usr/local/bin/pathmeter-privileged && \
         pathmeter-privileged doctor"
    );
    assert_eq!(fix("receive-buffer"), "sudo sysctl -w net.core.rmem_max=268435456");
    assert_eq!(fix("interface"), "sudo ethtool -K eth0 tso on gro on");
    assert!(fix("clock-source").starts_with("echo tsc |"));
    assert_eq!(named(&checks, "cpus").fix, None);
    assert_eq!(named(&checks, "user-namespaces").status, Status::Fail);
}

#[test]
fn a_right_makes_up_for_a_limit() {
    let facts = Facts { capabilities: vec![Capability::NetAdmin, Capability::SysAdmin], ..ailing() };
    let checks = judge(&facts);
    assert_eq!(named(&checks, "receive-buffer").status, Status::Ok);
    assert_eq!(named(&checks, "user-namespaces").status, Status::Ok);
    assert!(named(&checks, "receive-buffer").found.contains("208 KiB"), "{checks:#?}");
}

#[test]
fn this_host_is_examined_whole() {
    let checks = examine();
    assert_eq!(checks.len(), judge(&healthy()).len());
    for check in &checks {
        assert!(!check.found.is_empty() && !check.why_it_matters.is_empty(), "{check:?}");
    }
    let mut names: Vec<_> = checks.iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), checks.len(), "a name is given twice");
}

#[test]
fn a_path_is_one_word_of_a_shell() {
    assert_eq!(quoted("/usr/bin/pathmeter"), "/usr/bin/pathmeter");
    assert_eq!(quoted("it's"), r"'it'\''s'");
    assert_eq!(quoted(""), "''");
}
