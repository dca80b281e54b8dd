//! Sending: the pace, a second pace, the end.

use super::{Lab, arrived, made};
use pathmeter_frames::bpf::Generator;
use pathmeter_frames::{Burst, FrameSpec, Pace, Sink, Source, Stop};
use stats::search::{Load, Trial};
use std::thread;
use units::{Bytes, Nanos};

#[test]
fn a_trial_is_sent_at_its_load() {
    let trial = Trial::new(Load(2000.0), Nanos::from_millis(100));
    let burst = Burst::from_trial(&trial, Nanos::from_millis(1));
    assert_eq!((burst.frames, burst.interval_ps, burst.time), (200, 500_000_000, Nanos::from_millis(101)));
    let Some(lab) = made(Lab::cable()) else { return };
    let burst = Burst::from_trial(&trial, Nanos::from_secs(30));
    let Some((sent, arrived)) = made(lab.count(&lab.spec(4, 64), &burst)) else { return };
    assert_eq!((sent.frames, arrived.distinct()), (200, 200));
    // The last frame is due 199 intervals after the first, never earlier.
    assert!(sent.time >= Nanos::from_micros(99_500), "{sent:?}");
}

#[test]
fn the_time_ends_a_burst() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    let burst =
        Burst { frames: u64::MAX, interval_ps: 1_000_000_000, then: None, time: Nanos::from_millis(50) };
    let Some(sink) = made(lab.sink(&spec, 100)) else { return };
    let sent = lab.send(&spec, &burst).expect("it sends");
    // One frame per millisecond, from the first on: never more, however late they are.
    assert!((1..=51).contains(&sent.frames), "{sent:?}");
    assert!(sent.time <= Nanos::from_millis(50), "{sent:?}");
    assert_eq!(arrived(&sink, sent.frames).frames, sent.frames);
    let none = lab.send(&spec, &Burst { frames: 0, ..burst }).expect("it sends");
    assert_eq!(none.frames, 0);
}

#[test]
fn a_second_pace_follows_the_first() {
    let Some(lab) = made(Lab::cable()) else { return };
    let then = Some(Pace { frames: 50, interval_ps: 1_000_000_000 });
    let burst = Burst { frames: 150, interval_ps: 20_000_000, then, time: Nanos::from_secs(30) };
    let Some((sent, arrived)) = made(lab.count(&lab.spec(4, 64), &burst)) else { return };
    assert_eq!((sent.frames, arrived.distinct(), arrived.reordered), (200, 200, 0));
    // The last frame is due 150 short intervals and 49 long ones after the first, and was sent then or later by the delay.
    let due = Nanos(burst.due_ps(199) / 1000) + sent.held;
    assert_eq!(due, Nanos::from_millis(3 + 49) + sent.held);
    assert!(sent.time >= due && sent.time <= due + sent.late + Nanos::from_nanos(1), "{sent:?}");
}

#[test]
fn a_running_burst_is_stopped() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    let Some(sink) = made(lab.sink(&spec, 1000)) else { return };
    // Ten minutes, unless stopped.
    let burst =
        Burst { frames: u64::MAX, interval_ps: 1_000_000_000, then: None, time: Nanos::from_secs(600) };
    let stop = Stop::default();
    let send = || Generator::new(&spec, lab.out.index)?.run(&burst, &stop);
    let sent = thread::scope(|scope| {
        let sender = scope.spawn(|| lab.sender.run(send));
        while sink.arrived().expect("the counters can be read").frames < 20 {
            assert!(!sender.is_finished(), "it ended by itself");
            thread::yield_now();
        }
        stop.raise();
        sender.join().expect("it does not panic")
    });
    let sent = made(sent.and_then(|sent| sent)).expect("it was sending");
    assert!(stop.is_raised() && sent.frames >= 20 && sent.time < Nanos::from_secs(600), "{sent:?}");
    assert!(sink.arrived().expect("the counters can be read").frames <= sent.frames);
    // A burst that begins after the stop sends nothing.
    let after = lab.sender.run(|| Generator::new(&spec, lab.out.index)?.run(&burst, &stop));
    assert_eq!(after.expect("it opens").expect("it runs").frames, 0);
}

#[test]
fn frames_that_no_page_holds_are_refused() {
    let Some(lab) = made(Lab::cable()) else { return };
    let make = |size| {
        let spec = FrameSpec { sizes: vec![Bytes(size)], ..lab.spec(4, 0) };
        lab.sender.run(|| Generator::new(&spec, lab.out.index)).expect("it opens")
    };
    if made(make(3200)).is_some() {
        let refused = make(3201).expect_err("it is too long").to_string();
        assert_eq!(
            refused,
            "make live frames of 3201 bytes: the kernel makes no live frames above 3200 bytes"
        );
    }
}
