//! Every source of frames with every sink: over a cable, through devices and through a faulty one, with exact counts.
//!
//! Needs root (`CAP_BPF` in the first user namespace); without it each test here reports on stderr that it is skipped, which in
//! CI is a failure.

#[path = "../lab/mod.rs"]
mod lab;

mod devices;
mod edges;
mod links;
mod pacing;
mod shape;

use lab::{FEW, Lab, arrived, made, paced};
use linux::cpu::{affinity, pin_current_thread};
use linux::nic::{Offload, set_offload};
use model::dut::{SinkKind, SourceKind};
use pathmeter_frames::{Arrived, Burst, FrameSpec, Sent, Sink, Stop, Watch, open_sink, open_source};
use std::thread;
use units::Bytes;
use units::framing::{Imix, Network};

const SOURCES: [SourceKind; 3] = [SourceKind::LiveFrames, SourceKind::XskCopy, SourceKind::Packet];
const SINKS: [SinkKind; 5] =
    [SinkKind::Xdp, SinkKind::XdpGeneric, SinkKind::Xsk, SinkKind::PacketRing, SinkKind::Packet];

impl Lab {
    fn sink(&self, kind: SinkKind, spec: &FrameSpec, frames: u64) -> linux::Result<Box<dyn Sink>> {
        self.receiver.run(|| {
            // Otherwise a veth accepts live frames only with a program in its driver.
            set_offload("eth0", Offload::Gro, true)?;
            open_sink(kind, spec, frames, Watch::Times, self.arrival.index)
        })?
    }

    fn send(&self, kind: SourceKind, spec: &FrameSpec, burst: &Burst) -> linux::Result<Sent> {
        self.sender.run(|| {
            // A veth receives in the sender's context: on one CPU the order is that of sending.
            pin_current_thread(affinity()?[0])?;
            open_source(kind, spec, self.out.index)?.run(burst, &Stop::default())
        })?
    }

    /// Sends and counts, each in its namespace.
    fn count(
        &self,
        (source, sink): (SourceKind, SinkKind),
        spec: &FrameSpec,
        burst: &Burst,
    ) -> linux::Result<(Sent, Arrived)> {
        let sink = self.sink(sink, spec, burst.frames)?;
        let sent = self.send(source, spec, burst)?;
        Ok((sent, arrived(&*sink, sent.frames)))
    }
}

/// The same frames in a tunnel.
fn wrapped(spec: FrameSpec) -> FrameSpec {
    let [source, destination] = ["2001:2::a", "2001:2::b"].map(|text| text.parse().expect("an address"));
    FrameSpec { outer: Some((source, destination)), ..spec }
}

fn pairs() -> impl Iterator<Item = (SourceKind, SinkKind)> {
    SOURCES.iter().flat_map(|source| SINKS.iter().map(move |sink| (*source, *sink)))
}

#[test]
fn every_source_is_counted_by_every_sink() {
    let Some(lab) = made(Lab::cable()) else { return };
    let mix = |spec: FrameSpec| FrameSpec { sizes: Imix::simple(Network::V4).sequence().to_vec(), ..spec };
    let tagged = |spec| FrameSpec { vlan: Some(100), ..spec };
    let mut specs = vec![mix(lab.spec(4, 0)), tagged(lab.spec(4, 68)), tagged(lab.spec(6, 512))];
    for (family, least) in [(4, 64), (6, 84)] {
        specs.extend([least, 512, 1518].map(|size| lab.spec(family, size)));
    }
    let shorter = FrameSpec { sizes: [64, 1478, 570].map(Bytes).to_vec(), ..lab.spec(4, 0) };
    specs.extend([shorter, lab.spec(4, 64), tagged(lab.spec(4, 1478))].map(wrapped));
    for pair in pairs() {
        for spec in &specs {
            let Some((sent, arrived)) = made(lab.count(pair, spec, &paced(FEW))) else { return };
            let what = format!("{pair:?}, {spec:?}: {sent:?}");
            assert_eq!(sent.frames, FEW, "{what}");
            let sizes = spec.whole_sizes().map(|size| size.0 - 4).collect::<Vec<_>>();
            let bytes: u64 = sizes.iter().cycle().take(FEW as usize).sum();
            assert_eq!((arrived.frames, arrived.bytes), (FEW, bytes), "{what}");
            assert_eq!((arrived.duplicates, arrived.reordered, arrived.unchecked), (0, 0, 0), "{what}");
        }
    }
}

/// Each host sends and counts at once, as in a test of both directions.
#[test]
fn both_directions_at_once() {
    let Some(lab) = made(Lab::cable()) else { return };
    let there = lab.spec(4, 128);
    let back = FrameSpec {
        source_mac: there.destination_mac,
        destination_mac: there.source_mac,
        source: there.destination,
        destination: there.source,
        tag: there.tag + 1,
        ..there.clone()
    };
    // Source and sink of one interface cannot both be at its only queue.
    let shared = |(source, sink)| (source, sink) == (SourceKind::XskCopy, SinkKind::Xsk);
    for pair in pairs().filter(|pair| !shared(*pair)) {
        let sinks = lab.sink(pair.1, &there, FEW).and_then(|far| {
            let near = || {
                set_offload("eth0", Offload::Gro, true)?;
                open_sink(pair.1, &back, FEW, Watch::Counts, lab.out.index)
            };
            Ok((far, lab.sender.run(near)??))
        });
        let Some((far, near)) = made(sinks) else { return };
        let (sent, returned) = thread::scope(|scope| {
            let returned = scope.spawn(|| {
                let send =
                    || open_source(pair.0, &back, lab.arrival.index)?.run(&paced(FEW), &Stop::default());
                lab.receiver.run(send).and_then(|sent| sent)
            });
            (lab.send(pair.0, &there, &paced(FEW)), returned.join().expect("it does not panic"))
        });
        assert_eq!((sent.expect("it sends").frames, returned.expect("it sends").frames), (FEW, FEW));
        for sink in [far, near] {
            let arrived = arrived(&*sink, FEW);
            assert_eq!((arrived.frames, arrived.duplicates), (FEW, 0), "{pair:?}");
        }
    }
}
