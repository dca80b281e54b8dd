//! Command lines of `pathmeter rfc2544`, and the requests or errors that they give.

use crate::arguments::{Cli, Command};
use crate::request;
use clap::Parser;
use engine::error::{Kind, Result, fault, sentence};
use engine::run::{DevicePlan, Plan};
use model::dut::{Setup, Test};
use model::plan::Directions;
use model::units::{BitRate, Bytes, Nanos, PacketRate};

fn plan(line: &str) -> Result<DevicePlan> {
    let argv = ["pathmeter", "rfc2544"].into_iter().chain(line.split_whitespace());
    let Command::Rfc2544(args) =
        Cli::try_parse_from(argv).map_err(|refused| fault(refused.to_string()))?.command
    else {
        panic!("it is rfc2544")
    };
    match request::plan(&*args)? {
        Plan::Device(plan) => Ok(*plan),
        other => panic!("another plan: {other:?}"),
    }
}

fn setup(line: &str) -> Setup {
    plan(line).unwrap_or_else(|error| panic!("{line}: {}", sentence(&error))).setup
}

fn sizes(setup: &Setup) -> Vec<u64> {
    setup.streams.iter().map(|stream| stream.frames.sizes[0].0).collect()
}

#[test]
fn the_standards_have_their_tests_frames_and_directions() {
    let plain = setup("eth1 eth2");
    assert_eq!(sizes(&plain), [64, 128, 256, 512, 1024, 1280, 1518]);
    assert_eq!(plain.tests.first(), Some(&Test::Throughput));
    // No option gives a command that resets the device.
    assert!(!plain.tests.contains(&Test::Reset) && plain.tests.contains(&Test::Recovery));
    assert!(setup("--lab forward").tests.contains(&Test::Reset));
    assert!(setup("eth1 eth2 --reset-command reboot").tests.contains(&Test::Reset));
    let six = setup("eth1 eth2 --standard rfc5180");
    assert_eq!(sizes(&six)[..2], [84, 128]);
    assert_eq!(six.streams.len(), 12);
    let tunnel = setup("eth1 eth2 --standard rfc8219");
    assert!(tunnel.tests.contains(&Test::DelayVariation));
    assert!(tunnel.streams.iter().all(|stream| stream.directions == Directions::Both));
    assert_eq!(setup("eth1 eth2 --standard rfc2889 -R").streams[0].directions, Directions::Down);
    let service = setup("eth1 eth2 --standard y1564 --cir 200M --eir 50M --max-delay 5ms");
    assert_eq!((service.tests.as_slice(), sizes(&service).as_slice()), (&[Test::Service][..], &[512][..]));
    assert!(service.goals.is_empty(), "no rate is searched for");
    let profile = service.service.expect("a profile");
    assert_eq!((profile.committed, profile.excess), (BitRate(200_000_000), BitRate(50_000_000)));
}

#[test]
fn a_look_is_short() {
    let quick = setup("eth1 eth2 --quick");
    assert_eq!(sizes(&quick), [64, 512, 1518]);
    assert!(quick.plan().most() < Nanos::from_secs(300), "{}", quick.plan().most());
    assert!(!quick.departures.is_empty());
    let quick = setup("eth1 eth2 --quick --time 2s --repeat 3 --goals ndr,pdr,ndr --loss-ratio 1%");
    let names: Vec<&str> = quick.goals.iter().map(|named| named.name.as_str()).collect();
    assert_eq!((names.as_slice(), quick.times.search_repeats), (&["ndr", "pdr"][..], 3));
    assert_eq!((quick.goals[1].goal.loss_ratio, quick.times.trial), (0.01, Nanos::from_secs(2)));
    assert!(quick.goals.iter().all(|named| named.goal.final_duration == Nanos::from_secs(2)));
}

#[test]
fn frames_are_what_was_asked_for_as_far_as_they_hold_the_signature() {
    let both = plan("eth1 eth2 -4 -6 --frame 1518,64,64 --tests throughput,latency").expect("a plan");
    assert_eq!(sizes(&both.setup), [64, 1518, 84, 1518]);
    assert!(both.notes[0].starts_with("IPv6 frames of 64 bytes are sent with 84"), "{:?}", both.notes);
    assert_eq!(sizes(&setup("eth1 eth2 -6 --frame 64 --tests mrr")), [78]);
    assert_eq!(sizes(&setup("eth1 eth2 --vlan 7 --frame 64 --tests mrr")), [64]);
    assert_eq!(sizes(&setup("eth1 eth2 --vlan 7 --frame 64 --tests latency")), [68]);
    let mix = setup("eth1 eth2 --imix simple --tests throughput");
    assert_eq!((mix.streams.len(), mix.streams[0].frames.name.as_str()), (1, "imix"));
    assert_eq!(mix.streams[0].frames.sizes.len(), 12);
    let genome = setup("eth1 eth2 --imix 7(a)4(d)g --frame 64 --tests mrr");
    assert_eq!(genome.streams[1].frames.sizes[11], Bytes(1518));
    assert!(!setup("eth1 eth2 --imix simple").tests.contains(&Test::BackToBack));
}

#[test]
fn addresses_belong_to_the_ports_in_turn() {
    let line =
        "eth1 eth2 --address 198.18.0.1,2001:2::1,198.19.0.1,2001:2:0:1::1 --gateway 198.18.0.9,198.19.0.9";
    let sides = plan(line).expect("a plan").benches.remove(0).sides;
    let texts = sides.map(|side| side.addresses.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(texts, [["198.18.0.1", "2001:2::1"], ["198.19.0.1", "2001:2:0:1::1"]]);
}

#[test]
fn the_second_port_speaks_for_the_end_of_a_tunnel() {
    let planned = plan("eth1 eth2 --tunnel 2001:db8:12::2,2001:db8:12::1 --both").expect("a plan");
    let [first, second] = planned.benches[0].sides.clone();
    let ends = second.tunnel.expect("it is the end");
    assert_eq!(
        (first.tunnel, ends.local, ends.remote),
        (None, "2001:db8:12::2".parse().unwrap(), "2001:db8:12::1".parse().unwrap())
    );
    assert_eq!(planned.setup.encaps.to_string(), "ipip6");
    assert_eq!(setup("eth1 eth2 --tunnel ::2,::1 --encap pppoe,ipip6").encaps.to_string(), "pppoe,ipip6");
    let labs = plan("--lab forward,ipip6,b4").expect("a plan").benches;
    let tunnels: Vec<_> =
        labs.iter().map(|bench| bench.sides.clone().map(|side| side.tunnel.is_some())).collect();
    assert_eq!(tunnels, [[false, false], [false, false], [false, true]]);
}

#[test]
fn impossible_requests_are_refused() {
    for (line, part) in [
        ("", "nothing to test"),
        ("eth1", "one port, eth1"),
        ("eth1 eth1", "eth1 twice"),
        ("ns/eth1 ns/eth1", "ns/eth1 twice"),
        ("--lab nothing", "no topology is called `nothing`"),
        ("--lab forward --gateway 10.0.0.1,10.0.1.1", "--gateway cannot be used with --lab"),
        ("eth1 eth2 --gateway 10.0.0.1", "--gateway takes two addresses"),
        ("--lab b4 --tunnel ::2,::1", "--tunnel cannot be used with --lab"),
        ("eth1 eth2 --tunnel ::2", "--tunnel takes two addresses of IPv6"),
        ("eth1 eth2 --tunnel ::2,::2", "both ends of the tunnel have one address"),
        ("eth1 eth2 --tunnel ::2,::1 -4 -6", "--tunnel carries IPv4"),
        ("eth1 eth2 --tunnel ::2,::1 --standard rfc5180", "--tunnel carries IPv4"),
        ("eth1 eth2 --frame 60", "--frame 60"),
        ("eth1 eth2 --frame 70000", "--frame 70000"),
        ("eth1 eth2 --min-rate 2M --max-rate 1M", "--min-rate 2.00 Mpps is not below --max-rate 1.00 Mpps"),
        ("eth1 eth2 --max-rate 0", "--max-rate 0: a load is above 0"),
        ("eth1 eth2 --link 1M --min-rate 2M", "above what the link carries"),
        ("eth1 eth2 --goals ndr,pdr --loss-ratio 0", "--loss-ratio 0 makes pdr the same"),
        ("eth1 eth2 --tests service", "--cir is not given"),
        ("eth1 eth2 --standard y1564", "--cir is not given"),
        ("eth1 eth2 --cir 1M", "--cir is for the test of a service"),
        ("eth1 eth2 --tests reset", "no option gives the command that resets the device"),
        ("eth1 eth2 --tests mrr --reset-command reboot", "--reset-command is for the test of reset"),
        ("eth1 eth2 --time 0", "--time 0"),
        ("eth1 eth2 --link 0", "--link 0"),
        ("eth1 eth2 --imix 7(a", "--imix 7(a"),
        ("eth1 eth2 --imix simple --tests back-to-back", "back-to-back frames are of one size"),
    ] {
        let error = plan(line).err().unwrap_or_else(|| panic!("{line} is refused"));
        assert!(sentence(&error).contains(part), "{line}: {}", sentence(&error));
        assert_eq!(error.kind(), Kind::Usage, "{line}");
    }
}

#[test]
fn bounds_of_the_load_are_rates() {
    let bounded = setup("eth1 eth2 --min-rate 10kpps --max-rate 1Mpps");
    assert_eq!((bounded.min, bounded.max), (Some(PacketRate(10_000)), Some(PacketRate(1_000_000))));
}
