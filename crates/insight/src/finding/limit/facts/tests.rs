//! Each fact at its threshold, alone and beneath a kind. The figures are made by hand; the counters' names are those of the drivers.

use super::super::limit_of;
use super::super::tests::{capped, clean, step, tcp, unsteady};
use super::*;
use model::limit::{Evidence, Purpose};
use model::units::Nanos;

fn with(mut evidence: Evidence, end: End, facts: &[HostFact]) -> Limit {
    let host = &mut evidence.host;
    let own = if end == End::Sender { &mut host.sender } else { &mut host.receiver };
    own.extend(facts.iter().cloned());
    limit_of(&evidence)
}

fn fact(name: FactName, of: &str, value: f64, whole: Option<f64>) -> HostFact {
    HostFact { name, of: of.into(), value, whole }
}

/// TCP at 40 Mbit/s that lost 400 of 20,000 segments, and a policer.
fn losing() -> Evidence {
    let mut evidence = capped(Nanos::from_micros(1));
    tcp(&mut evidence).lost = 400;
    evidence
}

#[test]
fn a_quota_names_the_end_it_holds_back_whatever_the_path_seems_to_be() {
    let throttled = |share| [fact(FactName::CpuQuota, "/system.slice/a.service", share, Some(0.2))];
    for (end, kind) in [(End::Sender, LimitKind::SenderCpu), (End::Receiver, LimitKind::ReceiverCpu)] {
        let found = with(losing(), end, &throttled(0.97));
        assert_eq!((found.kind, found.confidence), (kind, Confidence::High));
        let cause = found.cause.expect("a cause");
        assert!(cause.contains("/system.slice/a.service of the ") && cause.contains("0.20 CPUs"), "{cause}");
        assert!(found.fix.is_some_and(|fix| fix.contains("cpu.max")));
        assert_eq!(with(losing(), end, &throttled(0.3)).kind, LimitKind::Policer, "seldom throttled");
    }
}

#[test]
fn a_full_cpu_has_the_reason_that_the_host_knows() {
    let full = |facts: &[HostFact]| {
        let mut evidence = clean();
        evidence.host.receiver_full = Some("its thread used 99 % of a CPU".into());
        with(evidence, End::Receiver, facts)
    };
    let plain = full(&[]);
    assert_eq!((plain.kind, plain.fix), (LimitKind::ReceiverCpu, None));
    for (name, of, value, whole, words) in [
        (FactName::CpuShared, "", 0.0, None, "CPU 0 of the receiver takes the packets"),
        (FactName::CpuSteal, "", 0.5, Some(2.0), "the hypervisor took 25.0 %"),
        (FactName::CpuThrottled, "", 3.0, None, "heat slowed"),
        (FactName::CpuFrequency, "powersave", 0.8e9, Some(3.2e9), "the governor powersave held a CPU"),
        (FactName::OffloadsOff, "gro of eth0", 1.0, None, "offloads are off at the receiver: gro of eth0"),
    ] {
        let found = full(&[fact(name, of, value, whole)]);
        let cause = found.cause.expect("a cause");
        assert!(cause.starts_with("its thread used 99 % of a CPU; ") && cause.contains(words), "{cause}");
        assert!(found.fix.is_some(), "{name:?}");
    }
    for quiet in [
        fact(FactName::CpuSteal, "", 0.02, Some(2.0)),
        fact(FactName::CpuFrequency, "schedutil", 3.1e9, Some(3.2e9)),
    ] {
        assert_eq!(full(&[quiet]).fix, None);
    }
    let fix = full(&[fact(FactName::OffloadsOff, "tso, gro of eth0", 2.0, None)]).fix;
    assert_eq!(fix.as_deref(), Some("`ethtool -K eth0 tso on gro on`"));
    let mut of_sender = clean();
    of_sender.host.receiver_full = Some("full".into());
    let found = with(of_sender, End::Sender, &[fact(FactName::CpuThrottled, "", 3.0, None)]);
    assert_eq!(found.fix, None, "the other end's heat is no reason");
}

#[test]
fn packets_that_a_host_dropped_are_its_own_where_they_are_most_of_what_was_lost() {
    for (name, end) in [
        (FactName::RingDrops, End::Receiver),
        (FactName::BacklogDrops, End::Receiver),
        (FactName::ConntrackDrops, End::Receiver),
        (FactName::FirewallDrops, End::Receiver),
        (FactName::DriverDrops, End::Receiver),
        (FactName::ConntrackDrops, End::Sender),
    ] {
        let found = with(losing(), end, &[fact(name, "eth0", 390.0, Some(20_000.0))]);
        assert_eq!((found.kind, found.rate), (LimitKind::HostDrop, Some(BitRate(42_000_000))), "{name:?}");
        assert!(found.cause.is_some() && found.fix.is_some(), "{name:?}");
        let few = with(losing(), end, &[fact(name, "eth0", 50.0, Some(20_000.0))]);
        assert_eq!(few.kind, LimitKind::Policer, "{name:?}: 50 of 400");
    }
    let mut whole = losing();
    tcp(&mut whole).lost = 0;
    let found = with(whole, End::Receiver, &[fact(FactName::RingDrops, "eth0", 5.0, None)]);
    assert_eq!(found.kind, LimitKind::Policer, "five of 20,000 are too few");
}

#[test]
fn what_spoils_packets_is_an_offload_and_what_damages_frames_a_link() {
    let wrong = |name| with(losing(), End::Receiver, &[fact(name, "eth0", 380.0, None)]);
    assert_eq!(wrong(FactName::TcpChecksums).kind, LimitKind::Offload);
    assert_eq!(wrong(FactName::LineErrors).kind, LimitKind::Link);
    assert_eq!(
        with(losing(), End::Sender, &[fact(FactName::TcpChecksums, "", 380.0, None)]).kind,
        LimitKind::Policer
    );
    let found = with(losing(), End::Sender, &[fact(FactName::HalfDuplex, "eth0", 3_000.0, None)]);
    assert_eq!(found.kind, LimitKind::Link);
    assert!(found.cause.is_some_and(|cause| cause.contains("half duplex")));
}

#[test]
fn a_queue_of_the_sender_is_named_where_its_rate_is_what_tcp_reached() {
    let queue = |rate: f64, held: f64| {
        let facts = [
            fact(FactName::QueueHeld, "tbf of eth0", held, Some(20_000.0)),
            fact(FactName::QueueRate, "tbf of eth0", rate, None),
        ];
        with(capped(Nanos::from_millis(50)), End::Sender, &facts)
    };
    let found = queue(42e6, 18_000.0);
    assert_eq!((found.kind, found.rate), (LimitKind::HostQueue, Some(BitRate(42_000_000))));
    assert_eq!(found.queue, Some(Nanos::from_millis(50)));
    assert!(found.fix.is_some_and(|fix| fix.contains("tc qdisc del dev eth0 root")));
    assert_eq!(queue(900e6, 18_000.0).kind, LimitKind::Shaper, "its rate is far above");
    assert_eq!(queue(42e6, 20.0).kind, LimitKind::Shaper, "it seldom held packets back");
    let of_receiver = fact(FactName::QueueHeld, "tbf of eth0", 18_000.0, Some(20_000.0));
    let found = with(capped(Nanos::from_millis(50)), End::Receiver, &[of_receiver]);
    assert_eq!(found.kind, LimitKind::Shaper, "the receiver's queue has the acknowledgements");
}

#[test]
fn a_clouds_allowance_is_named_with_what_to_buy() {
    for (counter, words) in [
        ("bw_out_allowance_exceeded of ens5 (ena)", "ENA Express"),
        ("pps_allowance_exceeded of ens5 (ena)", "larger packets"),
        ("conntrack_allowance_exceeded of ens5 (ena)", "security group"),
        ("linklocal_allowance_exceeded of ens5 (ena)", "DNS"),
    ] {
        let exceeded = |packets| fact(FactName::CloudAllowance, counter, packets, None);
        let found = with(capped(Nanos::from_millis(20)), End::Sender, &[exceeded(946.0)]);
        assert_eq!(found.kind, LimitKind::HostDrop, "{counter}");
        assert!(found.fix.as_deref().is_some_and(|fix| fix.contains(words)), "{found:?}");
        assert_eq!(
            with(capped(Nanos::from_millis(20)), End::Sender, &[exceeded(3.0)]).kind,
            LimitKind::Shaper
        );
    }
}

#[test]
fn the_counters_of_drivers_are_known_by_their_names() {
    for (driver, counter, wanted) in [
        ("ena", "bw_in_allowance_exceeded", Some((FactName::CloudAllowance, "bw_in_allowance_exceeded"))),
        ("ena", "queue_13_tx_queue_stop", Some((FactName::DriverStops, "queue_N_tx_queue_stop"))),
        ("ena", "queue_0_rx_empty_rx_ring", Some((FactName::DriverDrops, "queue_N_rx_empty_rx_ring"))),
        ("ena", "queue_0_rx_cnt", None),
        ("ena", "conntrack_allowance_available", None),
        ("gve", "rx_queue_drop_cnt[31]", Some((FactName::DriverDrops, "rx_queue_drop_cnt[N]"))),
        ("gve", "tx_stop[0]", Some((FactName::DriverStops, "tx_stop[N]"))),
        ("mana", "stop_queue", Some((FactName::DriverStops, "stop_queue"))),
        ("hv_netvsc", "rx_no_memory", Some((FactName::DriverDrops, "rx_no_memory"))),
        ("virtio_net", "rx0_drops", Some((FactName::DriverDrops, "rxN_drops"))),
        // The sum of the above, which would count them twice.
        ("virtio_net", "rx_drops", None),
        ("mlx5_core", "rx_out_of_buffer", Some((FactName::DriverDrops, "rx_out_of_buffer"))),
        ("e1000e", "rx_out_of_buffer", None),
        ("", "", None),
    ] {
        let found = driver_counter(driver, counter);
        assert_eq!(found, wanted.map(|(fact, name)| (fact, name.to_owned())), "{driver} {counter}");
    }
}

#[test]
fn pause_frames_and_a_tunnels_program_are_named_where_nothing_else_is_full() {
    let pauses = |packets| [fact(FactName::PauseReceived, "eth0", packets, None)];
    assert_eq!(with(clean(), End::Sender, &pauses(900.0)).kind, LimitKind::Pause);
    assert_ne!(with(clean(), End::Sender, &pauses(2.0)).kind, LimitKind::Pause);
    assert_ne!(
        with(clean(), End::Receiver, &pauses(900.0)).kind,
        LimitKind::Pause,
        "they brake the other direction"
    );
    assert_eq!(with(losing(), End::Sender, &pauses(900.0)).kind, LimitKind::Policer, "packets were lost");
    let sent = [fact(FactName::PauseSent, "eth0", 900.0, None)];
    assert_eq!(with(clean(), End::Receiver, &sent).kind, LimitKind::Pause);
    let mut full = clean();
    full.host.receiver_full = Some("a full CPU".into());
    assert_eq!(with(full, End::Receiver, &sent).kind, LimitKind::ReceiverCpu);
    let tunnel = |share| [fact(FactName::Tunnel, "tun0 (tun)", share, None)];
    assert_eq!(with(clean(), End::Receiver, &tunnel(0.97)).kind, LimitKind::Tunnel);
    assert_ne!(with(clean(), End::Receiver, &tunnel(0.4)).kind, LimitKind::Tunnel);
}

#[test]
fn a_bus_is_named_where_the_test_fills_it_and_the_link_could_do_more() {
    let bus = |megabits: u64, speed: f64| {
        let mut evidence = clean();
        evidence.rate = BitRate(megabits * 1_000_000);
        let facts = [
            fact(FactName::Bus, "USB 480 Mbit/s of eth0", 480e6, None),
            fact(FactName::LinkSpeed, "eth0", speed, Some(speed)),
        ];
        with(evidence, End::Sender, &facts)
    };
    let found = bus(320, 1e9);
    assert_eq!(found.kind, LimitKind::Bus);
    assert!(found.cause.is_some_and(|cause| cause.contains("USB 480 Mbit/s of eth0, at the sender")));
    assert_ne!(bus(320, 100e6).kind, LimitKind::Bus, "the link is slower");
    assert_ne!(bus(40, 1e9).kind, LimitKind::Bus, "far from full");
}

#[test]
fn a_full_link_that_runs_below_what_both_ends_offer_has_its_command() {
    let mut evidence = clean();
    evidence.host.line_share = Some(0.98);
    let slow = [fact(FactName::LinkSpeed, "eth0", 1e8, Some(1e9))];
    let found = with(evidence.clone(), End::Sender, &slow);
    assert_eq!(found.kind, LimitKind::LineRate);
    assert!(
        found.cause.as_deref().is_some_and(|cause| cause.contains("both ends of its link offer 1.00 Gbit/s")),
        "{found:?}"
    );
    assert_eq!(with(evidence, End::Sender, &[fact(FactName::LinkSpeed, "eth0", 1e9, Some(1e9))]).cause, None);
    let bond = [fact(FactName::BondMember, "bond0 (layer2)", 990.0, Some(1000.0))];
    let found = with(capped(Nanos::from_millis(3)), End::Sender, &bond);
    assert_eq!(found.kind, LimitKind::Shaper);
    assert!(
        found.fix.is_some_and(|fix| fix.contains("ip link set bond0 type bond xmit_hash_policy layer3+4"))
    );
}

#[test]
fn a_window_has_the_setting_that_makes_it_small() {
    let window = |setting: &str, largest: f64| {
        let mut evidence = clean();
        tcp(&mut evidence).receive_window = 0.9;
        with(evidence, End::Receiver, &[fact(FactName::BufferLimit, setting, largest, None)])
    };
    let found = window("net.ipv4.tcp_rmem", 212_992.0);
    assert_eq!(found.kind, LimitKind::ReceiverWindow);
    let fix = found.fix.expect("a command");
    assert_eq!(fix, "`sudo sysctl -w net.ipv4.tcp_rmem=\"4096 131072 2097152\"`");
    assert_eq!(window("net.ipv4.tcp_rmem", 6_291_456.0).fix, None, "it allows far more than the window");
    assert_eq!(window("net.ipv4.tcp_wmem", 212_992.0).fix, None);
}

#[test]
fn a_variable_rate_is_wifis_where_the_interface_reports_so() {
    let mut evidence = capped(Nanos::from_millis(50));
    let steps = &mut evidence.load.as_mut().expect("a load").steps;
    for (one, rate) in steps.iter_mut().skip(1).zip([30, 55, 38, 60, 44]) {
        *one = step(one.purpose, 90, rate, Nanos::from_millis(50));
    }
    unsteady(&mut evidence);
    assert_eq!(limit_of(&evidence).kind, LimitKind::VariableRate);
    let facts = [
        fact(FactName::WifiSignal, "wlan0", -71.0, None),
        fact(FactName::WifiRate, "wlan0", 86e6, None),
        fact(FactName::WifiRetries, "wlan0", 3_000.0, Some(10_000.0)),
    ];
    let found = with(evidence, End::Receiver, &facts);
    assert_eq!(found.kind, LimitKind::Wifi);
    let cause = found.cause.expect("a cause");
    assert_eq!(
        cause,
        "signal -71 dBm, 30 retries for each 100 frames sent; Wi-Fi wlan0 of the receiver sent at 86.0 Mbit/s"
    );
    assert_eq!(with(capped(Nanos::from_millis(50)), End::Receiver, &facts).kind, LimitKind::Shaper);
}

#[test]
fn packets_that_vanish_by_their_size_and_udp_that_is_held_have_their_kinds() {
    let mut evidence = clean();
    evidence.host.lost_by_size = Some(1500);
    evidence.host.sender = vec![fact(FactName::MtuProbesFailed, "", 2.0, None)];
    let found = limit_of(&evidence);
    assert_eq!(found.kind, LimitKind::Mtu);
    assert!(found.cause.is_some_and(|cause| {
        cause.starts_with("packets of 1500 bytes vanish on the path; TCP of the sender")
    }));
    let mtu = |bytes| vec![fact(FactName::InterfaceMtu, "eth0", bytes, None)];
    (evidence.host.sender, evidence.host.receiver) = (mtu(9000.0), mtu(1500.0));
    assert!(limit_of(&evidence).fix.is_some_and(|fix| fix.contains("ip link set dev eth0 mtu")));
    evidence.host.receiver = mtu(9000.0);
    assert_eq!(limit_of(&evidence).fix, None);
    let mut held = capped(Nanos::from_micros(1));
    held.rate = BitRate(80_000_000);
    let found = limit_of(&held);
    let also = found.also.expect("the next limit");
    assert_eq!(
        (found.kind, also.kind, also.rate),
        (LimitKind::NotKnown, LimitKind::Treatment, Some(BitRate(42_000_000)))
    );
    assert_eq!(held.load.as_ref().map(|load| load.for_purpose(Purpose::Hot).count()), Some(3));
}

/// The page has every fact with its source, and nothing else stands there.
#[test]
fn the_page_has_the_same_table() {
    let page = include_str!("../../../../../../docs/methods/limit.md");
    for row in FACTS {
        let name = serde_json::to_value(row.name).expect("a word");
        let name = name.as_str().expect("a text");
        assert!(page.contains(&format!("| `{name}` |")), "{name} is missing in docs/methods/limit.md");
        assert!(page.contains(row.source), "{}", row.source);
    }
}

#[test]
fn every_fact_has_its_words_and_its_remedy() {
    let some = fact(FactName::CpuSteal, "eth0", 1.0, Some(2.0));
    for row in FACTS {
        assert!((row.sentence)(&some, "the sender").contains("the sender"), "{:?}", row.name);
        assert!(!(row.fix)(&some).is_empty(), "{:?}", row.name);
    }
}
