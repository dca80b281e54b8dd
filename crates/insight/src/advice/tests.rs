//! Advice: the numbers agree with the framing to the byte, and are given only where they help.

use super::*;
use crate::run_of_events;
use model::event::Event;
use model::framing::{Framing, Network, Transport};
use model::path::{BlackHole, BlackHoleCause, Bound, Discovery, headers};
use model::units::Bytes;
use proptest::prelude::*;

fn path_direction(ipv6: bool, mtu: u32) -> PathDirection {
    PathDirection {
        ipv6,
        interface_mtu: Some(1500),
        path_mtu: Some(mtu),
        bound: Bound::Exact,
        max_udp_payload: mtu.checked_sub(headers(ipv6)),
        discovery: if mtu == 1500 { Discovery::NotNeeded } else { Discovery::Works },
        ..PathDirection::default()
    }
}

fn advice(up: PathDirection, down: Option<PathDirection>, named: Option<&str>) -> Vec<Advice> {
    let result = PathResult { up: Some(up), down, ..PathResult::default() };
    Path { result: &result, named, here: None, there: None }.advice()
}

fn value(all: &[Advice], wanted: impl Fn(&Setting) -> bool) -> Option<u32> {
    all.iter().find(|one| wanted(&one.setting)).map(|one| one.value)
}

fn tunnel(all: &[Advice], encap: &str) -> Option<u32> {
    value(all, |setting| matches!(setting, Setting::TunnelMtu(encaps) if encaps.to_string() == encap))
}

#[test]
fn a_clean_path_needs_no_clamp_and_no_interface() {
    let all = advice(path_direction(false, 1500), Some(path_direction(false, 1500)), None);
    let names: Vec<&Setting> = all.iter().map(|one| &one.setting).collect();
    assert!(matches!(names.as_slice(), [Setting::UdpPayload, Setting::TunnelMtu(_), ..]), "{names:?}");
    assert_eq!(value(&all, |setting| *setting == Setting::UdpPayload), Some(1472));
    let tunnels = ["wireguard", "ipip", "gre", "vxlan"].map(|encap| tunnel(&all, encap));
    assert_eq!(tunnels, [Some(1440), Some(1480), Some(1476), Some(1450)]);
}

#[test]
fn an_ipv6_path_carries_tunnels_over_ipv6() {
    let all = advice(path_direction(true, 1500), Some(path_direction(true, 1500)), None);
    let tunnels = ["wireguard6", "ipip6", "gre6", "vxlan6"].map(|encap| tunnel(&all, encap));
    assert_eq!(tunnels, [Some(1420), Some(1460), Some(1456), Some(1430)]);
}

#[test]
fn an_encapsulation_that_is_named_goes_over_the_family_of_the_path() {
    let over = |ipv6, named: &'static str| {
        let all = advice(path_direction(ipv6, 1431), Some(path_direction(ipv6, 1431)), Some(named));
        let tunnel = all.iter().find(|one| matches!(one.setting, Setting::TunnelMtu(_))).cloned().unwrap();
        (tunnel.value, tunnel.why)
    };
    assert_eq!([over(false, "wireguard").0, over(true, "wireguard").0], [1371, 1351]);
    assert_eq!([over(false, "gre").0, over(true, "gre").0], [1407, 1387]);
    assert_eq!([over(false, "vxlan").0, over(true, "vxlan").0], [1381, 1361]);
    let esp = [over(false, "esp-gcm").0, over(true, "esp-gcm").0, over(true, "esp6-gcm").0];
    assert!(esp[1] < esp[0] && esp[1] == esp[2], "{esp:?}");
    assert!(over(true, "wireguard").1.contains("WireGuard over IPv6"), "{}", over(true, "wireguard").1);
    assert!(!over(true, "wireguard").1.contains("the path was looked at with"));
    // IPv4 in IPv4 is nothing else over IPv6, and a request with IPv6 means it.
    assert!(over(true, "ipip").1.contains("the path was looked at with IPv6"), "{}", over(true, "ipip").1);
    assert_eq!(over(false, "wireguard6").0, 1351);
}

#[test]
fn the_smaller_direction_counts() {
    let all = advice(path_direction(false, 1400), Some(path_direction(false, 1300)), Some("wireguard6"));
    assert_eq!(value(&all, |setting| *setting == Setting::UdpPayload), Some(1272));
    assert_eq!(value(&all, |setting| *setting == Setting::MssClampIpv4), Some(1260));
    assert_eq!(value(&all, |setting| *setting == Setting::MssClampIpv6), Some(1240));
    assert_eq!(tunnel(&all, "wireguard6"), Some(1220));
    assert!(all.iter().any(|one| one.why.contains("1372 up, 1272 down")), "{all:#?}");
    assert!(all.iter().any(|one| one.why.contains("its outer header is IPv6")), "{all:#?}");
}

#[test]
fn a_black_hole_asks_for_the_interface_and_for_probing() {
    let hole = BlackHole { first: 1401, last: 1500, cause: BlackHoleCause::IcmpFiltered };
    let silent =
        PathDirection { black_hole: Some(hole), discovery: Discovery::Silent, ..path_direction(false, 1400) };
    let all = advice(path_direction(false, 1500), Some(silent.clone()), None);
    let first = &all[0];
    assert_eq!(
        (&first.setting, first.value, first.place.as_str()),
        (&Setting::InterfaceMtu, 1400, "the far host")
    );
    assert_eq!(first.commands, ["ip link set dev INTERFACE mtu 1400"]);
    assert_eq!(value(&all, |setting| *setting == Setting::MtuProbing), Some(1));
    let tcp = model::path::TcpDirection { mtu_probing: Some(1), ..Default::default() };
    let all = advice(PathDirection { tcp: Some(tcp), ..silent }, None, None);
    assert_eq!(value(&all, |setting| *setting == Setting::MtuProbing), None);
    assert!(all.iter().any(|one| one.why.contains("the other direction is not known")), "{all:#?}");
}

#[test]
fn nothing_is_advised_of_what_is_not_known() {
    let unsure = PathDirection { bound: Bound::AtMost, ..path_direction(false, 1400) };
    assert_eq!(advice(unsure.clone(), None, None), []);
    assert_eq!(advice(PathDirection { path_mtu: None, bound: Bound::Unknown, ..unsure }, None, None), []);
}

#[test]
fn a_run_about_packet_sizes_carries_its_advice() {
    let result = PathResult { up: Some(path_direction(false, 1500)), ..PathResult::default() };
    let events = [Event::Path(Box::new(result))];
    assert!(!run_of_events("1", "mtu", &events).advice.is_empty());
    assert!(run_of_events("1", "measure", &events).advice.is_empty());
}

proptest! {
    /// An advised MTU crosses unfragmented with the encapsulation around it; one byte more does not.
    #[test]
    fn tunnels_fit_to_the_byte(
        mtu in 400_u32..9217,
        encap in prop::sample::select(vec![
            "wireguard", "wireguard6", "gre", "gre6:key", "vxlan", "geneve:8", "esp-gcm", "esp-gcm:natt", "esp-cbc",
            "esp6-cbc", "ipip", "sit", "ipip6", "pppoe", "vlan", "pppoe,wireguard", "mpls:2", "srv6:2",
        ]),
    ) {
        let all = advice(path_direction(false, mtu), None, Some(encap));
        let found = all.iter().find(|one| matches!(one.setting, Setting::TunnelMtu(_))).unwrap();
        let Setting::TunnelMtu(encaps) = &found.setting else { unreachable!() };
        let network = if encap == "sit" { Network::V6 } else { Network::V4 };
        let link_mtu = Some(Bytes(u64::from(mtu)));
        let framing = Framing { network, transport: Transport::Raw, encaps: encaps.clone(), link_mtu };
        let over = |size: u32| framing.of_packet(Bytes(u64::from(size))).unwrap().over_mtu;
        prop_assert_eq!(over(found.value), Bytes(0));
        prop_assert!(over(found.value + 1) > Bytes(0));
    }

    #[test]
    fn no_size_is_too_odd(up in 0_u32..=u32::MAX, down in proptest::option::of(0_u32..=u32::MAX), ipv6: bool) {
        let all = advice(path_direction(ipv6, up), down.map(|mtu| path_direction(ipv6, mtu)), None);
        prop_assert!(all.iter().all(|one| one.value > 0 && !one.commands.is_empty()));
    }
}
