//! Methods of sending, each at its largest rate.

use super::common::lab::{LINK, Lab};
use super::common::options::Options;
use super::common::turns::{Entrant, Measured, Plan, alone, ratio};
use super::run::{Link, PORT, RECEIVER, Run, TAG, cpu_of, settled, spec, watched};
use super::{sockets, tools};
use anyhow::bail;
use frames::napi::NapiThreads;
use frames::{Burst, open_source};
use model::dut::SourceKind;
use model::units::Nanos;

#[derive(Clone, Copy)]
enum OneWay {
    Source(SourceKind),
    Sendmmsg,
    Segments,
    Iperf3,
    Sockperf,
}

/// A contender for each path; what is ours is held against the best of those that any program may use.
pub(crate) fn plan<'a>(lab: &'a Lab, options: &'a Options) -> Plan<'a> {
    let sockets = CONTENDERS.iter().filter(|contender| !matches!(contender.direction, OneWay::Source(_)));
    let sockets: Vec<&str> = sockets.map(|contender| contender.label).collect();
    let entrant = |contender: &'static Contender| Entrant {
        label: contender.label.into(),
        run: Box::new(move || contender.run(lab, options)),
    };
    Plan {
        name: "senders".into(),
        essential: true,
        goals: vec![
            alone("mpps", LIVE, 4.0),
            ratio("mpps", LIVE, &sockets, 3.0),
            ratio("mpps", COPY, &sockets, 1.0),
        ],
        entrants: CONTENDERS.iter().map(entrant).collect(),
    }
}

struct Contender {
    label: &'static str,
    direction: OneWay,
    /// The far end receives in a thread on a CPU of its own.
    own_cpu: bool,
}

impl Contender {
    fn run(&self, lab: &Lab, options: &Options) -> anyhow::Result<Measured> {
        let link = Link { near: &lab.near, far: &lab.far, names: [LINK, LINK] };
        let (run, foreign) = watched(|| match self.direction {
            OneWay::Iperf3 => tools::iperf3(lab, &link, options.time),
            OneWay::Sockperf => tools::sockperf(lab, &link, options.time),
            _ => self.once(lab, &link, Nanos(options.time.as_nanos() as u64)),
        })?;
        if run.received == 0 {
            bail!("nothing came");
        }
        Ok(Measured { figures: run.into(), foreign })
    }

    /// Into a sink in the far end's driver, which sees every frame by itself.
    fn once(&self, lab: &Lab, link: &Link, time: Nanos) -> anyhow::Result<(Run, Nanos)> {
        let spec = spec(&lab.near, &lab.far)?;
        let numbers = (time.as_secs_f64() * MOST) as u64;
        let sink = link.sink(&spec, numbers)?;
        let threads = self.own_cpu.then(|| NapiThreads::start(&lab.far, LINK, &[RECEIVER])).transpose()?;
        let before = cpu_of(threads.as_ref());
        let (sent, time) = match self.direction {
            OneWay::Source(kind) => {
                let out = link.out()?;
                let burst = Burst { frames: u64::MAX, interval_ps: 0, then: None, time };
                let sent = link.send(|| open_source(kind, &spec, out), &burst)?;
                (sent.frames, sent.time)
            }
            OneWay::Segments => lab.near.run(|| sockets::segments(PORT, TAG, time))??,
            _ => lab.near.run(|| sockets::sendmmsg(PORT, TAG, time))??,
        };
        let received = settled(sink.as_ref(), sent)?.frames;
        let used = cpu_of(threads.as_ref()) - before;
        Ok((Run { sent, received, time }, used))
    }
}

static CONTENDERS: [Contender; 10] = [
    Contender::new(LIVE, OneWay::Source(SourceKind::LiveFrames), false),
    Contender::new("pathmeter, live frames, receiver on CPU 1", OneWay::Source(SourceKind::LiveFrames), true),
    Contender::new(COPY, OneWay::Source(SourceKind::XskCopy), false),
    Contender::new("pathmeter, AF_XDP copy, receiver on CPU 1", OneWay::Source(SourceKind::XskCopy), true),
    Contender::new("pathmeter, AF_XDP zero-copy", OneWay::Source(SourceKind::XskZeroCopy), false),
    Contender::new("pathmeter, AF_PACKET", OneWay::Source(SourceKind::Packet), false),
    Contender::new("sendmmsg", OneWay::Sendmmsg, false),
    Contender::new("UDP_SEGMENT, cut by the kernel", OneWay::Segments, false),
    Contender::new("iperf3 -u -l 18 -b 0", OneWay::Iperf3, false),
    Contender::new("sockperf tp --mps=max -m 18", OneWay::Sockperf, false),
];

impl Contender {
    const fn new(label: &'static str, direction: OneWay, own_cpu: bool) -> Contender {
        Contender { label, direction, own_cpu }
    }
}

/// Frames/s, more than any of these sends: the number of sequence numbers that are distinguished.
const MOST: f64 = 20e6;
const LIVE: &str = "pathmeter, live frames";
const COPY: &str = "pathmeter, AF_XDP copy";
