//! Devices with a fault that is known to the frame: what they lose, double and hold back is measured as it is.

use super::device::{Device, Kind, steps};
use super::net::nft;
use serde_json::Value;

#[test]
fn a_device_that_drops_one_in_ten_loses_just_these() {
    let test = "a_device_that_drops_one_in_ten_loses_just_these";
    let Some(router) = Device::new(test, Kind::Router) else { return };
    // Any other sender through it would shift which ones.
    router.forwards_with("meta l4proto udp numgen inc mod 10 == 0 drop");
    let device = router.routed(&["--frame", "64", "--tests", "loss,throughput"]);
    let row = &device["rows"][0];
    let most = [200, 180, 160, 140, 120, 100, 80, 60, 40, 20];
    assert_eq!(steps(row), most.map(|sent| (sent, sent / 10 * 9)), "{row:#}");
    for rate in row["rates"].as_array().unwrap() {
        assert_eq!(rate["lower_pps"], Value::Null, "{rate:#}");
        assert!(rate["irregular"].to_string().contains("no-lower-bound"), "{rate:#}");
    }
    let found = device["findings"].to_string();
    assert!(found.contains("device-loses-at-low-rate"), "{found}");
    assert_eq!(device["verdict"]["status"], "problem");
}

#[test]
fn a_device_that_doubles_frames_is_caught() {
    let Some(router) = Device::new("a_device_that_doubles_frames_is_caught", Kind::Router) else { return };
    let rule = "iifname \"near\" udp dport != 0 dup to 198.19.0.2 device \"far\"";
    nft(
        &router.device,
        &format!(
            "table ip faults {{\nchain coming {{\ntype filter hook prerouting priority 0\n{rule}\n}}\n}}\n"
        ),
    );
    let device = router.routed(&["--frame", "64", "--tests", "loss"]);
    let row = &device["rows"][0];
    assert_eq!(steps(row), [(200, 400), (180, 360)], "{row:#}");
    for step in row["loss"]["rows"].as_array().unwrap() {
        let result = &step["result"];
        assert_eq!(result["duplicates"], result["sent"], "{step:#}");
    }
    assert!(row["loss"]["irregular"].to_string().contains("duplicates"), "{row:#}");
    assert!(device["findings"].to_string().contains("\"duplicates\""), "{device:#}");
    assert_eq!(device["verdict"]["status"], "degraded");
}

#[test]
fn a_device_that_forwards_nothing_ends_with_the_reason() {
    let test = "a_device_that_forwards_nothing_ends_with_the_reason";
    let Some(router) = Device::new(test, Kind::Router) else { return };
    router.forwards_with("drop");
    let args = ["--frame", "64", "--tests", "throughput,loss"];
    let ended = router.start_routed(&args).end().code(3).prints("none came out of the device");
    let ended = ended.prints("look whether the device forwards between these two interfaces");
    assert!(ended.stdout.contains("Nothing was measured"), "{}", ended.stdout);
}

#[test]
fn of_a_device_without_ipv6_the_rest_is_measured() {
    let test = "of_a_device_without_ipv6_the_rest_is_measured";
    let Some(router) = Device::new(test, Kind::Router) else { return };
    router.forwards_with("meta nfproto ipv6 drop");
    let device = router.routed(&["--frame", "128", "--tests", "loss", "-4", "-6"]);
    let rows = device["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{device:#}");
    assert_eq!(steps(&rows[0]), [(200, 200), (180, 180)]);
    assert_eq!((&rows[1]["stream"]["network"], &rows[1]["loss"]), (&"v6".into(), &Value::Null));
    assert!(rows[1]["left_out"].to_string().contains("none came out of the device"), "{device:#}");
    assert_ne!(device["verdict"]["status"], "ok", "{device:#}");
}
