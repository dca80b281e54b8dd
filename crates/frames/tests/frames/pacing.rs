//! Frames that the host delayed are not sent at once afterwards.

use super::SOURCES;
use super::lab::{Lab, decode, made};
use linux::capture::Capture;
use linux::clock::{mono_now, sleep_until};
use linux::cpu::{Usage, affinity, pin_current_thread, set_nice};
use linux::nic::{Offload, set_offload};
use model::dut::SourceKind;
use pathmeter_frames::{Burst, Sent, Stop, open_source};
use std::collections::BTreeMap;
use std::hint::spin_loop;
use std::thread;
use units::{Bytes, Nanos};

/// 20,000 frames per second: a millisecond, which is caught up, is 20 frames.
const HALF_A_SECOND: Burst =
    Burst { frames: 10_000, interval_ps: 50_000_000, then: None, time: Nanos::from_secs(60) };

#[test]
fn what_was_held_up_keeps_its_pace() {
    let Some(lab) = made(Lab::cable()) else { return };
    for source in SOURCES {
        let Some((sent, times)) = made(held_up(&lab, source)) else { return };
        assert_eq!(sent.frames, 10_000, "{source:?}");
        assert!(sent.held >= Nanos::from_millis(40), "{source:?}: {sent:?}");
        assert!(sent.time >= Nanos::from_micros(499_950) + sent.held, "{source:?}: {sent:?}");
        // Frames of a millisecond, those that were late by as much, and those that became due while a call took as long.
        let most = 3 * 20 + 1;
        let mut compared = 0;
        for (number, first) in &times {
            // The capture of a busy host may lack frames; those captured carry their time of writing.
            let Some((_, last)) = times.range(number + most..).next() else { break };
            let time = last.saturating_sub(*first);
            assert!(time > 999_000, "{source:?}: {most} frames from {number} on in {time} ns, {sent:?}");
            compared += 1;
        }
        assert!(compared > 1000, "{source:?}: {} frames were captured", times.len());
    }
}

/// The frames sent while a thread of higher priority had the CPU for a while, and the time of writing of each frame, by number.
fn held_up(lab: &Lab, source: SourceKind) -> linux::Result<(Sent, BTreeMap<u64, u64>)> {
    let spec = lab.spec(4, 64);
    let cpu = affinity()?[0];
    let listen = || {
        // Otherwise a veth does not accept live frames.
        set_offload("eth0", Offload::Gro, true)?;
        Capture { interface: "eth0".into(), peer: spec.source, snap: 100, memory: Bytes(16 << 20) }.start()
    };
    let mut captor = lab.receiver.run(listen)??;
    let send = || {
        pin_current_thread(cpu)?;
        open_source(source, &spec, lab.out.index)?.run(&HALF_A_SECOND, &Stop::default())
    };
    let mut times = BTreeMap::new();
    let mut take = |enough: usize, seconds| {
        let deadline = mono_now() + Nanos::from_secs(seconds);
        while times.len() < enough && mono_now() < deadline {
            let taken = captor.frames(deadline, &mut |frame| {
                let time = [&[0; 2], &frame.bytes[54..60]].concat().try_into().expect("eight bytes");
                let number = decode(frame.bytes, 4).0;
                assert!(times.insert(number, u64::from_be_bytes(time)).is_none(), "{number} came twice");
            });
            taken.expect("the capture goes on");
        }
    };
    let sent = thread::scope(|scope| {
        let sender = scope.spawn(|| lab.sender.run(send));
        take(500, 20);
        let hog = scope.spawn(move || hog(cpu));
        let sent = sender.join().expect("it does not panic");
        hog.join().expect("it does not panic").and(sent)
    })??;
    take(sent.frames as usize, 1);
    Ok((sent, times))
}

/// Keeps a CPU busy for 60 ms, with a higher priority than ordinary threads.
fn hog(cpu: usize) -> linux::Result<()> {
    pin_current_thread(cpu)?;
    set_nice(-20)?;
    sleep_until(mono_now() + Nanos::from_millis(1));
    let begin = Usage::of_thread();
    while Usage::of_thread().since(&begin).cpu() < Nanos::from_millis(60) {
        spin_loop();
    }
    Ok(())
}
