//! Ways of sending, each as fast as it can.

use super::common::lab::{LINK, Lab};
use super::common::options::Options;
use super::run::{Link, PORT, RECEIVER, Run, TAG, cpu_of, settled, spec, undisturbed};
use super::{sockets, tools};
use anyhow::bail;
use linux::frames::{Burst, open_source};
use linux::napi::NapiThreads;
use model::dut::SourceKind;
use model::units::Nanos;
use serde::Serialize;

/// A way of sending with every run of it.
#[derive(Debug, Serialize)]
pub(crate) struct Sender {
    pub(crate) label: &'static str,
    /// Sends each frame by itself through a UDP socket: what ours is compared with.
    pub(crate) is_socket: bool,
    pub(crate) runs: Vec<Run>,
    /// Why there are none.
    pub(crate) left_out: Option<String>,
}

#[derive(Clone, Copy)]
enum Way {
    Source(SourceKind),
    Sendmmsg,
    Segments,
    Iperf3,
    Sockperf,
}

/// Runs all in turns: A B C A B C …
pub(crate) fn measure(lab: &Lab, options: &Options) -> Vec<Sender> {
    let mut senders: Vec<Sender> = CONTENDERS.iter().map(|contender| contender.not_run()).collect();
    for turn in 0..options.runs {
        for (contender, sender) in CONTENDERS.iter().zip(&mut senders) {
            if sender.left_out.is_some() {
                continue;
            }
            match contender.run(lab, options) {
                Ok(run) => {
                    let (mpps, lost) = (run.rate() / 1e6, run.lost() * 100.0);
                    eprintln!("senders {} {}: {mpps:.3} Mpps, {lost:.2} % lost", turn + 1, contender.label);
                    sender.runs.push(run);
                }
                Err(error) => {
                    eprintln!("senders {} {}: {error}", turn + 1, contender.label);
                    sender.left_out = Some(format!("{error}"));
                }
            }
        }
    }
    senders
}

struct Contender {
    label: &'static str,
    way: Way,
    /// The far end receives in a thread on a CPU of its own.
    own_cpu: bool,
}

impl Contender {
    fn not_run(&self) -> Sender {
        let is_socket = matches!(self.way, Way::Sendmmsg | Way::Iperf3 | Way::Sockperf);
        Sender { label: self.label, is_socket, runs: Vec::new(), left_out: None }
    }

    fn run(&self, lab: &Lab, options: &Options) -> anyhow::Result<Run> {
        let link = Link { near: &lab.near, far: &lab.far, names: [LINK, LINK] };
        let (run, foreign) = undisturbed(options.patience, || match self.way {
            Way::Iperf3 => tools::iperf3(lab, &link, options.time),
            Way::Sockperf => tools::sockperf(lab, &link, options.time),
            _ => self.once(lab, &link, Nanos(options.time.as_nanos() as u64)),
        })?;
        if run.received == 0 {
            bail!("nothing came");
        }
        Ok(Run { foreign, ..run })
    }

    /// Into a sink in the far end's driver, which sees every frame by itself.
    fn once(&self, lab: &Lab, link: &Link, time: Nanos) -> anyhow::Result<(Run, Nanos)> {
        let spec = spec(&lab.near, &lab.far)?;
        let numbers = (time.as_secs_f64() * MOST) as u64;
        let sink = link.sink(&spec, numbers)?;
        let threads = self.own_cpu.then(|| NapiThreads::start(&lab.far, LINK, &[RECEIVER])).transpose()?;
        let before = cpu_of(threads.as_ref());
        let (sent, time) = match self.way {
            Way::Source(kind) => {
                let out = link.out()?;
                let burst = Burst { frames: u64::MAX, interval_ps: 0, then: None, time };
                let sent = link.send(|| open_source(kind, &spec, out), &burst)?;
                (sent.frames, sent.time)
            }
            Way::Segments => lab.near.run(|| sockets::segments(PORT, TAG, time))??,
            _ => lab.near.run(|| sockets::sendmmsg(PORT, TAG, time))??,
        };
        let received = settled(sink.as_ref(), sent)?.frames;
        let used = cpu_of(threads.as_ref()) - before;
        Ok((Run { sent, received, time, foreign: 0.0 }, used))
    }
}

const CONTENDERS: [Contender; 10] = [
    Contender::new("live frames", Way::Source(SourceKind::LiveFrames), false),
    Contender::new("live frames, receiver on CPU 1", Way::Source(SourceKind::LiveFrames), true),
    Contender::new("AF_XDP copy", Way::Source(SourceKind::XskCopy), false),
    Contender::new("AF_XDP copy, receiver on CPU 1", Way::Source(SourceKind::XskCopy), true),
    Contender::new("AF_XDP zero-copy", Way::Source(SourceKind::XskZeroCopy), false),
    Contender::new("AF_PACKET", Way::Source(SourceKind::Packet), false),
    Contender::new("sendmmsg", Way::Sendmmsg, false),
    Contender::new("UDP_SEGMENT, cut by the kernel", Way::Segments, false),
    Contender::new("iperf3 -u -l 18 -b 0", Way::Iperf3, false),
    Contender::new("sockperf tp --mps=max -m 18", Way::Sockperf, false),
];

impl Contender {
    const fn new(label: &'static str, way: Way, own_cpu: bool) -> Contender {
        Contender { label, way, own_cpu }
    }
}

/// Frames a second, more than any of these sends: so many numbers are told apart.
const MOST: f64 = 20e6;
