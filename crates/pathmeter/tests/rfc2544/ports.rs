//! Ports as they are named, with addresses of their own, given ones, or none.

use super::device::{Device, Kind, device, steps};
use super::net::ip;
use super::support::{Running, pathmeter};

const LOSS: [&str; 4] = ["--frame", "128", "--tests", "loss"];

#[test]
fn a_switch_needs_no_addresses_and_is_tested_both_directions() {
    let test = "a_switch_needs_no_addresses_and_is_tested_both_directions";
    let Some(switch) = Device::new(test, Kind::Bridge) else { return };
    let args = [&LOSS[..], &["--both", "-4", "-6", "--json"]].concat();
    let device = device(&switch.start(&args).end().code(0));
    let rows = device["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{device:#}");
    for row in rows {
        assert_eq!(steps(row), [(400, 400), (360, 360)], "{row:#}");
    }
    let [near, far] = switch.ports();
    for (port, addresses) in [(near, ["198.18.0.2", "2001:2::2"]), (far, ["198.18.0.3", "2001:2::3"])] {
        for address in addresses {
            let note = format!("{port} was given {address}/");
            assert!(device["notes"].to_string().contains(&note), "{note} {:#}", device["notes"]);
        }
    }
    // The given addresses are taken away.
    for ns in [&switch.near, &switch.far] {
        let left = super::device::shown(ns, &["address", "show", "dev", "eth0", "scope", "global"]);
        assert_eq!(left, "", "{ns}");
    }
}

#[test]
fn a_router_is_reached_by_the_routes_of_the_ports() {
    let test = "a_router_is_reached_by_the_routes_of_the_ports";
    let Some(router) = Device::new(test, Kind::Router) else { return };
    for (ns, own, gateway, far) in [
        (&router.near, "198.18.0.2/24", "198.18.0.1", "198.19.0.0/24"),
        (&router.far, "198.19.0.2/24", "198.19.0.1", "198.18.0.0/24"),
    ] {
        ip(&["-n", ns, "address", "add", own, "dev", "eth0"]);
        ip(&["-n", ns, "route", "add", far, "via", gateway]);
    }
    let device = device(&router.start(&[&LOSS[..], &["--reverse", "--json"]].concat()).end().code(0));
    let row = &device["rows"][0];
    assert_eq!(
        (&row["stream"]["ways"], steps(row)),
        (&"down".into(), vec![(200, 200), (180, 180)]),
        "{row:#}"
    );
}

/// A namespace by its path, and the other port in the caller's own.
#[test]
fn a_port_is_in_the_callers_namespace_or_in_one_by_its_path() {
    let test = "a_port_is_in_the_callers_namespace_or_in_one_by_its_path";
    let Some(switch) = Device::new(test, Kind::Bridge) else { return };
    let far = format!("/var/run/netns/{}/eth0", switch.far);
    let args = [&["rfc2544", "eth0", &far], &super::device::LITTLE[..], &LOSS, &["--flows", "one", "--json"]];
    let device = device(&Running::start(pathmeter(Some(&switch.near), &args.concat())).end().code(0));
    assert_eq!((&device["ports"][0]["name"], &device["ports"][1]["name"]), (&"eth0".into(), &far.into()));
    assert_eq!(steps(&device["rows"][0]), [(200, 200), (180, 180)], "{device:#}");
}

/// Veth reports a nominal 10 Gbit/s; the user's value counts, and bounds the loads.
#[test]
fn line_rate_is_of_the_link_that_was_given_alone() {
    let test = "line_rate_is_of_the_link_that_was_given_alone";
    let Some(switch) = Device::new(test, Kind::Bridge) else { return };
    let [near, far] = switch.ports();
    let args = [
        "rfc2544", &near, &far, "--quick", "--time", "200ms", "--frame", "1518", "--tests", "loss", "--json",
    ];
    // 1538 bytes with preamble and gap: 812.7 a second.
    let argv = Running::start(pathmeter(None, &[&args[..], &["--link", "10M"]].concat()));
    let row = &device(&argv.end().code(0))["rows"][0];
    let line_rate = row["line_rate_pps"].as_f64().unwrap();
    assert!((line_rate - 10e6 / (1538.0 * 8.0)).abs() < 0.01, "{row:#}");
    assert_eq!((&row["limit"], row["most_pps"].as_f64()), (&"line-rate".into(), Some(line_rate)), "{row:#}");
    assert!(steps(row).iter().all(|(sent, came)| sent == came), "{row:#}");
    let device = device(&switch.start(&[&LOSS[..], &["--json"]].concat()).end().code(0));
    assert_eq!(
        (&device["rows"][0]["line_rate_pps"], &device["ports"][0]["link_bps"]),
        (&().into(), &().into())
    );
}
