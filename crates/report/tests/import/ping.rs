//! ping.

use super::{exact, fixture, near, only, warned};
use model::finding::Status;
use model::path::{Bound, HopSource, PathDirection};
use model::units::Nanos;
use pathmeter_report::format::{RunDocument, Style, by_name, render};
use pathmeter_report::import::Imported;

fn only_direction(imported: &Imported) -> &PathDirection {
    imported.run.summary.path.as_ref().and_then(|path| path.up.as_ref()).expect("a path")
}

#[test]
fn sizes_that_cross_an_lte_line() {
    for (name, mtu) in [("ping-do-1402-mtu1430.txt", 1430), ("ping-do-1472-mtu1500.txt", 1500)] {
        let imported = exact(&fixture(name));
        assert_eq!(
            (only_direction(&imported).path_mtu, only_direction(&imported).bound),
            (Some(mtu), Bound::AtLeast)
        );
        let counted = imported.run.summary.egress_paths[0].counted;
        assert_eq!((counted.sent, counted.received, counted.lost), (4, 4, 0));
        assert!(warned(&imported, "crossed"));
    }
    let rtt = only(&fixture("ping-do-1402-mtu1430.txt")).run.summary.rtt.unwrap();
    assert_eq!([rtt.min, rtt.max], [51_500_000, 128_000_000].map(Nanos));
    near(rtt.p50.0 as f64, 53.8e6, 1e-3);
}

#[test]
fn sizes_that_do_not() {
    for (name, mtu) in [("ping-do-1403-mtu1430.txt", 1430), ("ping-do-1473-mtu1500.txt", 1500)] {
        let imported = exact(&fixture(name));
        let direction = only_direction(&imported);
        assert_eq!((direction.path_mtu, direction.bound), (Some(mtu), Bound::AtMost));
        assert_eq!(
            direction.limiting_hop.as_ref().map(|hop| (hop.ttl, hop.found_by)),
            Some((Some(0), HopSource::Sender))
        );
        let text = render(&RunDocument::from_run(&imported.run), by_name("text").unwrap(), &Style::default());
        let remarks: Vec<&str> = text.split_whitespace().collect();
        assert!(remarks.join(" ").contains(&format!("the path MTU is at most {mtu}.")), "{text}");
        // Nothing was sent, so nothing was lost.
        assert_eq!(imported.run.summary.lost, 0);
    }
}

#[test]
fn a_router_that_reports_its_mtu() {
    let text = "PING 10.9.0.2 (10.9.0.2) 1472(1500) bytes of data.\n\
        From 10.1.0.254 icmp_seq=1 Frag needed and DF set (mtu = 1400)\n\
        ping: local error: message too long, mtu=1400\n\
        \n--- 10.9.0.2 ping statistics ---\n\
        2 packets transmitted, 0 received, +2 errors, 100% packet loss, time 1001ms\n";
    let imported = exact(text);
    let direction = only_direction(&imported);
    assert_eq!((direction.path_mtu, direction.bound), (Some(1400), Bound::AtMost));
    assert_eq!(
        (direction.too_big[0].mtu, direction.too_big[0].from.unwrap().to_string()),
        (1400, "10.1.0.254".into())
    );
    let v6 = "PING fd00::2(fd00::2) 1452 data bytes\nFrom fd00::1 icmp_seq=1 Packet too big: mtu=1280\n";
    assert_eq!(self::only_direction(&only(v6)).path_mtu, Some(1280));
}

#[test]
fn other_forms() {
    let stamped = "PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.\n\
        [1795245247.056618] 64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0,014 ms\n\
        [1795245247.258463] 64 bytes from 127.0.0.1: icmp_seq=2 ttl=64 time=0,051 ms\n\
        [1795245247.258470] 64 bytes from 127.0.0.1: icmp_seq=2 ttl=64 time=0,058 ms (DUP!)\n";
    let imported = exact(stamped);
    let counted = imported.run.summary.egress_paths[0].counted;
    assert_eq!((counted.sent, counted.received, counted.duplicates), (2, 2, 1));
    assert!(warned(&imported, "no-summary"));
    let outlier = imported.run.summary.egress_paths[0].outliers[0];
    assert_eq!((outlier.at, outlier.rtt), (Nanos::from_micros(201_808), Nanos::from_micros(51)));

    let quiet = "PING localhost (127.0.0.1) 56(84) bytes of data.\n\n--- localhost ping statistics ---\n\
        5 packets transmitted, 4 received, 20% packet loss, time 64ms\nrtt min/avg/max/mdev = 0.015/0.030/0.037/0.008 ms\n";
    let imported = exact(quiet);
    assert_eq!(
        (imported.run.summary.lost, imported.run.summary.rtt.unwrap().mean),
        (1, Nanos::from_micros(30))
    );
    assert!(warned(&imported, "extremes-alone"));

    let busybox = "PING 1.1.1.1 (1.1.1.1): 56 data bytes\n64 bytes from 1.1.1.1: seq=0 ttl=58 time=9.712 ms\n\
        \n--- 1.1.1.1 ping statistics ---\n1 packets transmitted, 1 packets received, 0% packet loss\n\
        round-trip min/avg/max = 9.712/9.712/9.712 ms\n";
    assert_eq!(only(busybox).run.summary.rtt.unwrap().p50, Nanos::from_micros(9_712));
}

#[test]
fn what_the_installed_ping_prints() {
    let Ok(out) = std::process::Command::new("ping").args(["-c", "3", "-i", "0.2", "127.0.0.1"]).output()
    else {
        skip::skip("ping is not installed");
        return;
    };
    if !out.status.success() {
        skip::skip("ping has no permission here");
        return;
    }
    let text = String::from_utf8(out.stdout).unwrap();
    let imported = exact(&text);
    let rtt = imported.run.summary.rtt.unwrap();
    assert_eq!(rtt.count, 3);
    // The whole time shows how far apart they are, whatever the requested interval.
    let egress = &imported.run.summary.egress_paths[0];
    let time = text.rsplit_once(" time ").unwrap().1.split_once("ms").unwrap().0.parse::<u64>().unwrap();
    let mut at: Vec<Nanos> = egress.outliers.iter().map(|outlier| outlier.at).collect();
    at.sort_unstable();
    assert_eq!(
        (egress.elapsed, at),
        (Nanos::from_millis(time), [0, 1, 2].map(|n| Nanos(n * time * 500_000)).into())
    );
    let average = text.rsplit_once("= ").unwrap().1.split('/').nth(1).unwrap().parse::<f64>().unwrap();
    assert!((rtt.mean.0 as f64 / 1e6 - average).abs() <= 0.0011, "{text}");
}

/// Some hosts send back a part of a large packet alone: it is an answer, and has no time.
#[test]
fn a_truncated_reply_is_an_answer() {
    let text = "PING 8.8.8.8 (8.8.8.8) 1000(1028) bytes of data.\n\
        76 bytes from 8.8.8.8: icmp_seq=1 ttl=117 (truncated)\n";
    let imported = only(text);
    let counted = imported.run.summary.egress_paths[0].counted;
    assert_eq!((counted.sent, counted.received, counted.lost), (1, 1, 0));
    assert_eq!(imported.run.verdict.status, Status::Ok);
    assert!(imported.run.verdict.text.contains("1 of 1 messages"), "{}", imported.run.verdict.text);
    assert!(warned(&imported, "untimed-replies"));
}
