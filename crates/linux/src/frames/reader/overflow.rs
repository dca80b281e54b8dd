//! A sink whose thread does not run while frames arrive: it reports what it lost and gives no count.

use super::Reader;
use crate::error::Result;
use crate::frames::{Burst, FrameSpec, Ports, Sink, Stop, Watch, open_source};
use crate::frames::{packet, xsk};
use crate::namespace::Namespace;
use crate::netlink::{Link, Network};
use crate::nic::{Offload, set_offload};
use model::dut::{SinkKind, SourceKind};
use model::units::{Bytes, Nanos};

/// Two namespaces and a cable between them: the interfaces that send and receive.
struct Cable {
    sender: Namespace,
    receiver: Namespace,
    out: Link,
    arrival: Link,
}

impl Cable {
    fn new() -> Result<Cable> {
        let (sender, receiver) = (Namespace::new()?, Namespace::new()?);
        let mut near = sender.run(Network::open)??;
        near.add_veth("eth0", "eth0", &receiver)?;
        near.set_up("eth0")?;
        let mut far = receiver.run(Network::open)??;
        far.set_up("eth0")?;
        let (out, arrival) = (near.link("eth0")?, far.link("eth0")?);
        Ok(Cable { sender, receiver, out, arrival })
    }

    fn spec(&self) -> FrameSpec {
        FrameSpec {
            source_mac: self.out.mac.unwrap(),
            destination_mac: self.arrival.mac.unwrap(),
            source: [198, 18, 0, 1].into(),
            destination: [198, 19, 0, 1].into(),
            hop_limit: 64,
            ports: Ports::Random,
            vlan: None,
            outer: None,
            sizes: vec![Bytes(64)],
            tag: 0x706d_0001,
        }
    }

    fn sink(&self, kind: SinkKind) -> Result<Reader> {
        let (spec, interface) = (self.spec(), self.arrival.index);
        self.receiver.run(|| {
            set_offload("eth0", Offload::Gro, true)?;
            match kind {
                SinkKind::Xsk => xsk::sink(&spec, NUMBERS, Watch::Times, interface),
                SinkKind::PacketRing => packet::ring_sink(&spec, NUMBERS, Watch::Times, interface),
                SinkKind::Packet => packet::sink(&spec, NUMBERS, Watch::Times, interface),
                SinkKind::Xdp | SinkKind::XdpGeneric => unreachable!("it counts in the kernel"),
            }
        })?
    }
}

#[test]
fn a_sink_that_cannot_keep_up_says_so() {
    let cable = match Cable::new() {
        Err(error) if error.errno() == Some(libc::EPERM) => {
            return skip::skip(format!("needs root: {error}"));
        }
        cable => cable.unwrap(),
    };
    for kind in [SinkKind::Xsk, SinkKind::PacketRing, SinkKind::Packet] {
        let sink = cable.sink(kind).unwrap();
        let burst = Burst { frames: FRAMES, interval_ps: 0, then: None, time: Nanos::from_secs(30) };
        // Whoever holds the state keeps the thread from taking frames.
        let held = sink.shared.lock();
        let sent = cable.sender.run(|| {
            open_source(SourceKind::LiveFrames, &cable.spec(), cable.out.index)?.run(&burst, &Stop::default())
        });
        assert_eq!(sent.unwrap().unwrap().frames, FRAMES);
        drop(held);
        let Err(lost) = sink.arrived() else { panic!("{kind}: {FRAMES} frames were kept for it") };
        let lost = lost.to_string();
        let start = format!(
            "count frames on interface {}, {kind}: it could not keep up and lost ",
            cable.arrival.index
        );
        assert!(lost.starts_with(&start), "{lost}");
    }
}

/// More than any of the sinks has memory for.
const FRAMES: u64 = 700_000;
const NUMBERS: u64 = 1 << 20;
