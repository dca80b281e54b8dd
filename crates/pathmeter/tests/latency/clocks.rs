//! A far end whose clock is set during the test: round trips are ours and stay right, one-way delays are withheld.

use super::common::{count, measured, number, only_egress};
use linux::clock::{mono_now, wall_now};
use model::units::Nanos;
use std::net::UdpSocket;
use std::time::Duration;
use wire::echo::{Arrival, Reflect};
use wire::stamp::{Clock, Format, Reflector, ReflectorOptions};

#[test]
fn a_far_clock_that_is_set_in_the_middle_is_noticed() {
    for step in [Some(Nanos::from_secs(3600)), Some(Nanos::from_millis(200)), None] {
        let host = reflector(step);
        let run = measured(&host, &["--protocol", "stamp", "-n", "400", "--rate", "800", "--no-wire-times"]);
        let egress = only_egress(&run);
        assert_eq!((count(egress, "received"), count(egress, "lost")), (400, 0), "{step:?}");
        let note = egress["one_way"]["note"].as_str().unwrap();
        assert_eq!(note == "stepped", step.is_some(), "{step:?}: {:#}", egress["one_way"]);
        if step.is_some() {
            assert!(
                egress["one_way"]["up_ns"].is_null() && egress["one_way"]["down_ns"].is_null(),
                "{:#}",
                egress["one_way"]
            );
        }
        // An hour's step would show in a round trip that rested on the far clock.
        assert!(number(&egress["rtt_ns"], "max") < 60_000_000_000, "{:#}", egress["rtt_ns"]);
    }
}

/// A STAMP reflector whose clock goes forward by `step` after 200 messages.
fn reflector(step: Option<Nanos>) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let address = socket.local_addr().unwrap();
    let clock = Clock { mono: mono_now(), wall: wall_now() };
    let options = ReflectorOptions {
        clock,
        format: Format::Ntp,
        synced: false,
        error: Nanos::ZERO,
        stateful: true,
        key: None,
    };
    let mut reflector = Reflector::new(options);
    std::thread::spawn(move || {
        let mut buf = [0; 2048];
        let mut answered = 0;
        while let Ok((length, from)) = socket.recv_from(&mut buf) {
            let received = mono_now();
            if let Some(reply) = reflector.reflect(Arrival::new(from, received), mono_now(), &mut buf, length)
            {
                socket.send_to(&buf[..reply], from).unwrap();
                answered += 1;
            }
            if let (200, Some(step)) = (answered, step) {
                reflector.set_clock(Clock { wall: clock.wall + step, ..clock });
            }
        }
    });
    address.to_string()
}
