//! Times of arrival: delays, their variation, silence.

use super::{FEW, Lab, all, arrived, made, paced};
use linux::clock::{mono_now, sleep_until};
use linux::cpu::affinity;
use pathmeter_frames::bpf::assembler::{Assembler, Helper, Op, Reg};
use pathmeter_frames::bpf::{Mode, Program, XdpSink};
use pathmeter_frames::{FrameSpec, Sink, Watch};
use units::{Bytes, Nanos};

#[test]
fn delays_of_all_frames_are_known_and_how_they_vary() {
    let Some(lab) = made(Lab::cable()) else { return };
    let Some((sent, arrived)) = made(lab.count(&lab.spec(4, 64), &paced(FEW))) else { return };
    let delays = arrived.delays.expect("the frames carry their time");
    let (min, mean, max) = (delays.min().unwrap(), delays.mean().unwrap(), delays.max().unwrap());
    assert_eq!((sent.frames, arrived.frames, delays.count()), (FEW, FEW, FEW));
    assert!(min > 0 && min as f64 <= mean && mean <= max as f64, "{min} {mean} {max}");
    assert!(max < Nanos::from_secs(1).0, "{max}");
    // The buckets agree with the exact sum, to their width.
    let middles: f64 =
        delays.buckets().map(|(v, n)| u64::midpoint(*v.start(), *v.end()) as f64 * n as f64).sum();
    assert!((middles / (mean * FEW as f64) - 1.0).abs() < 0.01, "{middles} {mean}");
    let (less, more) = arrived.variation.expect("the frames carry their time");
    // A CPU's first frame has none before it; the host may let a second CPU take some of the frames.
    let cpus = affinity().expect("it can be read").len();
    assert!((FEW - cpus as u64..FEW).contains(&(less.count() + more.count())));
    // All steps on a CPU together lead from its first delay to its last.
    let sum = |steps: &stats::histogram::Histogram| steps.mean().unwrap_or(0.0) * steps.count() as f64;
    assert!(
        (sum(&more) - sum(&less)).abs() <= ((max - min) * cpus as u64) as f64 + 1.0,
        "{} {}",
        sum(&more),
        sum(&less)
    );
    assert!(less.min().is_none_or(|least| least > 0) && more.max().is_none_or(|most| most <= max - min));
}

#[test]
fn only_what_is_watched_is_known() {
    let Some(lab) = made(Lab::cable()) else { return };
    let untimed = lab.spec(6, 78);
    let Some((_, without)) = made(lab.count(&untimed, &all(100))) else { return };
    assert!(without.delays.is_none() && without.variation.is_none() && without.silence.is_some());
    let spec = lab.spec(4, 64);
    let count = || XdpSink::attach(&spec, 100, Watch::Counts, lab.arrival.index, Mode::Driver);
    let sink = lab.receiver.run(count).expect("it opens").expect("it attaches");
    lab.send(&spec, &all(100)).expect("it sends");
    let arrived = arrived(&sink, 100);
    assert_eq!(arrived.distinct(), 100);
    assert!(arrived.delays.is_none() && arrived.variation.is_none() && arrived.silence.is_none());
}

#[test]
fn a_pause_is_the_silence() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = FrameSpec { sizes: vec![Bytes(64), Bytes(1518)], ..lab.spec(4, 0) };
    let Some(sink) = made(lab.sink(&spec, 200)) else { return };
    assert_eq!(sink.arrived().expect("the counters can be read").silence, None);
    let begin = mono_now();
    lab.send(&spec, &all(100)).expect("it sends");
    assert_eq!(arrived(&sink, 100).frames, 100);
    let end = mono_now();
    // Longer than the pause that the first call may have had.
    sleep_until(end + (end - begin) + Nanos::from_millis(20));
    let again = mono_now();
    lab.send(&spec, &all(1)).expect("it sends");
    let silence = arrived(&sink, 101).silence.expect("frames came");
    assert!((begin..=end).contains(&silence.last), "{silence:?} {begin:?} {end:?}");
    assert!((again..=mono_now()).contains(&silence.first), "{silence:?} {again:?}");
    assert!(silence.time() >= Nanos::from_millis(20));
}

/// Frames that were written long ago, or by a clock that is ahead.
#[test]
fn every_delay_falls_into_its_bucket() {
    let Some(lab) = made(Lab::cable()) else { return };
    let spec = lab.spec(4, 64);
    for age in [1_000_000, 3_000_000_000, 250_000_000_000, 300_000_000_000] {
        let Some(sink) = made(lab.sink(&spec, 100)) else { return };
        let written = mono_now().0.wrapping_sub(age);
        send_again(&lab, &frame(&spec, written)).expect("it sends");
        let delays = arrived(&sink, 10).delays.expect("they are watched");
        let gone = mono_now().0.wrapping_sub(written);
        assert_eq!(delays.count(), 10);
        let (min, max) = (delays.min().unwrap(), delays.max().unwrap());
        assert!(age <= min && min <= max && max <= gone, "{age} {min} {max} {gone}");
        let (first, _) = delays.buckets().next().expect("there are some");
        let (last, _) = delays.buckets().last().expect("there are some");
        if age < 1 << 38 {
            assert!(first.contains(&min) && last.contains(&max), "{first:?} {min} {max} {last:?}");
            assert!((first.end() - first.start()) * 100 < min, "{first:?}");
        } else {
            assert_eq!((first.end(), last.end()), (&((1 << 38) - 1), &((1 << 38) - 1)));
        }
    }
    let Some(sink) = made(lab.sink(&spec, 100)) else { return };
    send_again(&lab, &frame(&spec, mono_now().0 + 60_000_000_000)).expect("it sends");
    let delays = arrived(&sink, 10).delays.expect("they are watched");
    assert_eq!((delays.count(), delays.min(), delays.max()), (10, Some(0), Some(0)));
}

/// The part of a frame that the sink reads, written at this time.
fn frame(spec: &FrameSpec, time: u64) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&spec.destination_mac);
    frame[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
    frame[23] = 17;
    frame[42..46].copy_from_slice(&spec.tag.to_be_bytes());
    frame[54..60].copy_from_slice(&time.to_be_bytes()[2..]);
    frame
}

/// Sends the same frame ten times.
fn send_again(lab: &Lab, frame: &[u8]) -> linux::Result<()> {
    let mut code = Assembler::default();
    code.op_value(Op::Mov, Reg::R1, lab.out.index as i32);
    code.op_value(Op::Mov, Reg::R2, 0);
    code.call(Helper::Redirect);
    code.exit();
    let program = Program::load_xdp("again", code)?;
    lab.sender.run(|| program.run_live(frame, 10, 10))?
}
