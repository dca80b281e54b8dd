//! One run: frames sent out of the near end of a link and counted at the far one.

use super::common::lab::{FAR, LINK, NEAR};
use super::common::machine::Watch;
use frames::napi::NapiThreads;
use frames::{Arrived, Burst, FrameSpec, Sent, Sink, Source, Stop, Watch as Watched, open_sink};
use linux::cpu::pin_current_thread;
use linux::namespace::Namespace;
use linux::netlink::Network;
use model::dut::SinkKind;
use model::units::{Bytes, Nanos};
use std::fs;
use std::time::{Duration, Instant};

/// The result of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Frames handed to the interface, as far as that is known: for other tools what it counted.
    pub(crate) sent: u64,
    /// Frames that came to the far end.
    pub(crate) received: u64,
    /// Between the first and the last.
    pub(crate) time: Nanos,
}

impl Run {
    /// Frames that came, a second.
    pub(crate) fn rate(&self) -> f64 {
        self.received as f64 / self.time.as_secs_f64()
    }

    /// The share of those sent that did not come.
    pub(crate) fn lost(&self) -> f64 {
        1.0 - self.received.min(self.sent) as f64 / self.sent.max(1) as f64
    }
}

impl From<Run> for Vec<(&'static str, f64)> {
    fn from(run: Run) -> Self {
        let sent = run.sent as f64 / run.time.as_secs_f64() / 1e6;
        vec![("mpps", run.rate() / 1e6), ("lost", run.lost() * 100.0), ("sent", sent)]
    }
}

/// Measures, with what others used of one CPU meanwhile, as a share.
pub(crate) fn watched<T>(once: impl FnOnce() -> anyhow::Result<(T, Nanos)>) -> anyhow::Result<(T, f64)> {
    let watch = Watch::start()?;
    let (value, tools) = once()?;
    Ok((value, watch.foreign(tools)?))
}

/// Two ends between which frames are sent.
pub(crate) struct Link<'a> {
    pub(crate) near: &'a Namespace,
    pub(crate) far: &'a Namespace,
    /// The names of the interfaces at which frames leave and arrive.
    pub(crate) names: [&'a str; 2],
}

impl Link<'_> {
    /// The index of the interface at which frames leave.
    pub(crate) fn out(&self) -> anyhow::Result<u32> {
        Ok(self.near.run(|| Network::open()?.link(self.names[0]))??.index)
    }

    /// Counts in the driver of the far end.
    pub(crate) fn sink(&self, spec: &FrameSpec, frames: u64) -> anyhow::Result<Box<dyn Sink>> {
        let open = || {
            let index = Network::open()?.link(self.names[1])?.index;
            open_sink(SinkKind::Xdp, spec, frames, Watched::Counts, index)
        };
        Ok(self.far.run(open)??)
    }

    /// Counts of the near interface's sent and the far one's received frames.
    pub(crate) fn both(&self) -> anyhow::Result<[u64; 2]> {
        let near = self.near.run(|| Network::open()?.link(self.names[0]))??.statistics;
        let far = self.far.run(|| Network::open()?.link(self.names[1]))??.statistics;
        Ok([near.tx_packets, far.rx_packets])
    }

    /// Sends from the generator's CPU.
    pub(crate) fn send(
        &self,
        open: impl FnOnce() -> linux::Result<Box<dyn Source>> + Send,
        burst: &Burst,
    ) -> anyhow::Result<Sent> {
        Ok(self.near.run(|| {
            pin_current_thread(GENERATOR)?;
            open()?.run(burst, &Stop::default())
        })??)
    }
}

/// Frames of 64 bytes, of one flow, over the benchmarks' link.
pub(crate) fn spec(near: &Namespace, far: &Namespace) -> anyhow::Result<FrameSpec> {
    let mac = |namespace: &Namespace| -> anyhow::Result<[u8; 6]> {
        let link = namespace.run(|| Network::open()?.link(LINK))??;
        link.mac.ok_or_else(|| anyhow::anyhow!("{LINK} has no address"))
    };
    Ok(FrameSpec {
        source_mac: mac(near)?,
        destination_mac: mac(far)?,
        source: NEAR,
        destination: FAR,
        hop_limit: 64,
        ports: Some((49_152, PORT)),
        vlan: None,
        outer: None,
        sizes: vec![Bytes(64)],
        tag: TAG,
    })
}

/// The received frames, once all have come or none has come for a moment.
pub(crate) fn settled(sink: &dyn Sink, sent: u64) -> anyhow::Result<Arrived> {
    let mut arrived = sink.arrived()?;
    let deadline = Instant::now() + LAST;
    loop {
        if arrived.frames >= sent || Instant::now() >= deadline {
            return Ok(arrived);
        }
        std::thread::sleep(MOMENT);
        let later = sink.arrived()?;
        if later.frames == arrived.frames {
            return Ok(later);
        }
        arrived = later;
    }
}

/// CPU time of the kernel's threads so far: others do not use it, though this process does not either.
pub(crate) fn cpu_of(threads: Option<&NapiThreads>) -> Nanos {
    let ticks = |thread: i32| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{thread}/stat")).ok()?;
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        // proc_pid_stat(5), fields 14 and 15, counted from the third.
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    let all: u64 = threads.into_iter().flat_map(NapiThreads::threads).filter_map(ticks).sum();
    Nanos(all * NANOS_PER_TICK)
}

/// The CPU that sends.
pub(crate) const GENERATOR: usize = 0;
/// The CPU that receives, in cases that name one.
pub(crate) const RECEIVER: usize = 1;
/// To which port our own senders send.
pub(crate) const PORT: u16 = 5301;
/// Distinguishes our frames from others.
pub(crate) const TAG: u32 = 0x706d_6265;
const MOMENT: Duration = Duration::from_millis(30);
const LAST: Duration = Duration::from_secs(2);
/// USER_HZ is 100 on every Linux of today.
const NANOS_PER_TICK: u64 = 10_000_000;
