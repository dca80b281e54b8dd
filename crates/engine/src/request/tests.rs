//! Requests against a host whose facts are known: neither the resolver nor the network is used.

use super::*;
use crate::error::{Kind, Result};
use crate::host::address::Family;
use crate::run;
use model::latency::{LatencyMode, WaitMode};
use model::plan::{End, ProtocolName, TestSpec, Transport};
use model::units::{BitRate, Nanos, PacketRate};
use std::net::IpAddr;

/// `far.example` has both families, and the path to it an MTU of 1400.
fn host() -> Host {
    let addresses: [IpAddr; 2] = ["127.0.0.9".parse().unwrap(), "::1".parse().unwrap()];
    Host::here()
        .with_addresses("far.example", &addresses)
        .with_path_mtu(1400)
        .with_wait(WaitMode::Block, "as requested")
}

fn throughput(asked: Throughput) -> Result<model::plan::Plan> {
    match resolve(&Request::Throughput(Box::new(asked)), &host())? {
        Plan::Throughput(plan) => Ok(*plan),
        other => panic!("another plan: {other:?}"),
    }
}

fn far() -> FarEnd {
    FarEnd::named("far.example")
}

#[test]
fn a_measurement_has_four_tests_of_one_address() {
    let Plan::Measure(plan) = resolve(&Request::measure("far.example:99"), &host()).unwrap() else {
        panic!("it measures")
    };
    assert_eq!(plan.target.address.to_string(), "127.0.0.9:99");
    assert_eq!((plan.target.host.as_str(), plan.tests.len(), plan.one_family), ("far.example", 4, false));
    assert_eq!(plan.local.connect_timeout, Some(Nanos::from_secs(5)));
}

#[test]
fn a_plain_test_is_tcp_for_ten_seconds() {
    let plan = throughput(Throughput::to(far())).unwrap();
    assert_eq!(plan.test, TestSpec { end: End::Time(Nanos::from_secs(10)), ..TestSpec::new(Transport::Tcp) });
    assert_eq!((plan.protocol, plan.target.address.port()), (ProtocolName::Native, 5210));
}

#[test]
fn a_datagram_fits_the_path_and_what_the_protocol_reads() {
    let udp = |protocol, family, length| {
        let mut far = far();
        far.origin.family = family;
        let test = TestSpec { length, ..TestSpec::new(Transport::Udp) };
        let request = Throughput { protocol, test, ..Throughput::to(far) };
        throughput(request).unwrap().test.length.unwrap()
    };
    let (native, iperf2) = (ProtocolName::Native, ProtocolName::Iperf2);
    assert_eq!(udp(native, Family::Any, None), 1400 - 28);
    assert_eq!(udp(native, Family::V6("the test"), None), 1400 - 48);
    assert_eq!(udp(native, Family::Any, Some(8192)), 8192, "what was asked for goes in fragments");
    assert_eq!(udp(iperf2, Family::Any, None), 1372);
}

#[test]
fn paced_tcp_of_iperf3_has_the_length_of_a_millisecond() {
    let request = |bitrate| Throughput {
        protocol: ProtocolName::Iperf3,
        test: TestSpec { bitrate, ..TestSpec::default() },
        ..Throughput::to(FarEnd::named("far.example"))
    };
    assert_eq!(throughput(request(None)).unwrap().test.length, None);
    assert_eq!(throughput(request(Some(BitRate(1_000_000_000)))).unwrap().test.length, Some(125_000));
}

#[test]
fn more_hosts_than_one_make_pairs() {
    let mut request = Throughput::to(far());
    request.more = vec!["127.0.0.1:7".parse().unwrap()];
    let Plan::Pairs(pairs) = resolve(&Request::Throughput(Box::new(request.clone())), &host()).unwrap()
    else {
        panic!("two hosts are pairs")
    };
    assert_eq!((pairs.plans.len(), pairs.count), (2, run::PairCount::Fixed(2)));
    request.pairs = Some(run::PairCount::Fixed(1));
    let error = resolve(&Request::Throughput(Box::new(request)), &host()).unwrap_err();
    assert_eq!(error.kind(), Kind::Usage, "{error}");
}

#[test]
fn a_host_is_observed_beside_one_session() {
    let router: crate::host::host_port::HostPort = "127.0.0.1:7".parse().unwrap();
    let single = Throughput { observe: vec![router.clone()], ..Throughput::to(far()) };
    let observed = throughput(single.clone()).unwrap().local.observe;
    assert_eq!(observed.iter().map(|target| target.address.port()).collect::<Vec<_>>(), [7]);
    let more = Throughput { more: vec![router], ..single.clone() };
    let pairs = Throughput { pairs: Some(run::PairCount::Fixed(2)), ..single };
    for asked in [more, pairs] {
        let error = resolve(&Request::Throughput(Box::new(asked)), &host()).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage, "{error}");
    }
}

#[test]
fn a_host_is_observed_beside_the_load_of_round_trips() {
    let load = LatencyLoad { streams: 1, congestion: None };
    let observe = vec!["127.0.0.1:7".parse().unwrap()];
    let request = Latency { observe, load: Some(load), ..Latency::to(far()) };
    let Plan::Latency(work) = resolve(&Request::Latency(Box::new(request.clone())), &host()).unwrap() else {
        panic!("round trips are asked for");
    };
    assert_eq!(work.observe.iter().map(|target| target.address.port()).collect::<Vec<_>>(), [7]);
    let printed = serde_json::to_value(&*work).unwrap();
    assert_eq!(
        (&printed["observe"][0]["host"], &printed["protocol"]),
        (&"127.0.0.1".into(), &"native".into())
    );
    let idle = Latency { load: None, ..request };
    let error = resolve(&Request::Latency(Box::new(idle)), &host()).unwrap_err();
    assert_eq!(error.kind(), Kind::Usage, "{error}");
}

#[test]
fn round_trips_wait_as_the_host_can() {
    let plan = |change: fn(&mut Latency)| {
        let mut request = Latency::to(far());
        change(&mut request);
        match resolve(&Request::Latency(Box::new(request)), &host()).unwrap() {
            Plan::Latency(work) => work.plan,
            other => panic!("another plan: {other:?}"),
        }
    };
    let plain = plan(|_| {});
    assert_eq!((plain.wait, plain.wait_reason.as_str()), (WaitMode::Block, "as requested"));
    assert_eq!((plain.size, plain.end, plain.rate), (64, End::Time(Nanos::from_secs(5)), None));
    assert_eq!(plan(|asked| asked.wait = LatencyWait::As(WaitMode::Spin)).wait, WaitMode::Spin);
    let loaded = plan(|asked| {
        asked.load = Some(LatencyLoad { streams: 4, congestion: None });
        asked.time = Some(Nanos::from_secs(40));
    });
    assert_eq!((loaded.mode, loaded.rate), (LatencyMode::UnderLoad, Some(PacketRate(100))));
    assert_eq!(loaded.end, End::Time(Nanos::from_secs(5)), "of the idle phase");
    let egress_paths = plan(|asked| asked.via = vec![Via::named("home=127.0.0.1").unwrap()]).egress_paths;
    assert_eq!(
        (egress_paths[0].label.as_str(), egress_paths[0].bind),
        ("home", Some("127.0.0.1".parse().unwrap()))
    );
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let refused = |request: Request| {
        let error = resolve(&request, &host()).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage, "{error:#}");
        assert!(error.advice().is_some(), "{error:#}");
        error.to_string()
    };
    let mut far_by_two_ports = FarEnd::named("far.example:1");
    far_by_two_ports.port = Some(2);
    assert!(refused(Request::Path(Box::new(Path::to(far_by_two_ports)))).contains("different ports"));
    let mut other = far();
    other.origin.family = Family::V6("the test");
    other.origin.bind = Some("127.0.0.1".parse().unwrap());
    assert!(refused(Request::Frames(Box::new(Frames::to(other)))).contains("the other family"));
    let slow = Measure { link: Some(BitRate(0)), ..Measure::to(far()) };
    assert!(refused(Request::Measure(Box::new(slow))).contains("--link 0"));
    let small = Path { largest: Some(20), ..Path::to(far()) };
    assert!(refused(Request::Path(Box::new(small))).contains("--largest 20"));
    assert!(refused(Request::Device(Box::default())).contains("nothing to test"));
    assert!(
        refused(Request::Transfer(Box::new(Transfer::from_urls(&["ftp://far.example/x"])))).contains("ftp")
    );
}

#[test]
fn a_name_without_an_address_of_the_family_is_reported() {
    let mut far = FarEnd::named("only-six");
    far.origin.family = Family::V4("the test");
    let host = Host::here().with_addresses("only-six", &["::1".parse().unwrap()]);
    let error = resolve(&Request::Measure(Box::new(Measure::to(far))), &host).unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
    assert!(error.to_string().contains("no IPv4 address"), "{error}");
}
