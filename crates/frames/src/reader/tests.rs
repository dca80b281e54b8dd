//! A sink whose thread does not run while frames arrive: it reports its losses and gives no count.

use super::Reader;
use crate::{Burst, FrameSpec, Sink, Stop, Watch, open_source};
use crate::{af_packet, xsk};
use linux::error::Result;
use linux::namespace::Namespace;
use linux::netlink::{Link, Network};
use linux::nic::{Offload, set_offload};
use model::dut::{SinkKind, SourceKind};
use units::{Bytes, Nanos};

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
            ports: None,
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
                SinkKind::PacketRing => af_packet::ring_sink(&spec, NUMBERS, Watch::Times, interface),
                SinkKind::Packet => af_packet::sink(&spec, NUMBERS, Watch::Times, interface),
                SinkKind::Xdp | SinkKind::XdpGeneric => unreachable!("it counts in the kernel"),
            }
        })?
    }
}

#[test]
fn a_sink_that_cannot_keep_up_reports_it() {
    let cable = match Cable::new() {
        Err(error) if error.errno() == Some(libc::EPERM) => {
            return skip::skip(format!("needs root: {error}"));
        }
        cable => cable.unwrap(),
    };
    for kind in [SinkKind::Xsk, SinkKind::PacketRing, SinkKind::Packet] {
        let sink = cable.sink(kind).unwrap();
        let burst = Burst { frames: FRAMES, interval_ps: 0, then: None, time: Nanos::from_secs(30) };
        // The lock of the state keeps the thread from reading frames.
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

mod receiving {
    use super::super::*;
    use crate::tally::Taken;
    use crate::{FrameSpec, Watch};
    use std::net::UdpSocket;
    use units::Bytes;
    use units::time::MonoTime;

    /// Returns configured values: first a number of frames at once, and then statistics.
    struct Fake {
        socket: UdpSocket,
        frames: u64,
        is_joined: bool,
        statistics: Statistics,
        error: Option<i32>,
    }

    impl Receive for Fake {
        fn sockets(&self) -> Vec<BorrowedFd<'_>> {
            vec![self.socket.as_fd()]
        }

        fn take(&mut self, tally: &mut Tally) -> io::Result<u64> {
            if let Some(errno) = self.error {
                return Err(io::Error::from_raw_os_error(errno));
            }
            let bytes = &spec().template().unwrap().bytes[..];
            let (length, time) = (bytes.len() as u64, MonoTime(1));
            for _ in 0..self.frames {
                tally.count(&Taken {
                    bytes,
                    length,
                    tag: None,
                    is_joined: self.is_joined,
                    time,
                    queue_tally: 0,
                });
            }
            Ok(std::mem::take(&mut self.frames))
        }

        fn statistics(&mut self) -> Result<Statistics> {
            Ok(self.statistics)
        }
    }

    fn spec() -> FrameSpec {
        FrameSpec {
            source_mac: [2, 0, 0, 0, 0, 1],
            destination_mac: [2, 0, 0, 0, 0, 2],
            source: [198, 18, 0, 1].into(),
            destination: [198, 19, 0, 1].into(),
            hop_limit: 64,
            ports: None,
            vlan: None,
            outer: None,
            sizes: vec![Bytes(64)],
            tag: 0x1234_5678,
        }
    }

    fn reader(frames: u64, statistics: Statistics, change: impl FnOnce(&mut Fake)) -> Reader {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut fake = Fake { socket, frames, is_joined: false, statistics, error: None };
        change(&mut fake);
        let tally = Tally::new(&spec(), 100, Watch::Times, 1);
        Reader::start(SinkKind::Packet, 7, Box::new(fake), tally).unwrap()
    }

    #[test]
    fn arrivals_are_reported() {
        let reader = reader(3, Statistics { frames: 3, dropped: 0 }, |_| ());
        let arrived = reader.arrived().unwrap();
        assert_eq!((arrived.frames, arrived.duplicates), (3, 2));
        let last = [5, 4, 3, 2, 1, 0].map(|frames| reader.last_missing(frames).unwrap());
        assert_eq!(last, [Some(4), Some(3), Some(2), Some(1), None, None]);
    }

    #[test]
    fn what_the_sink_lost_itself_is_no_count() {
        let error_of = |reader: &Reader| reader.arrived().unwrap_err().to_string();
        let lossy = reader(3, Statistics { frames: 5, dropped: 2 }, |_| ());
        let why = "count frames on interface 7, AF_PACKET: it could not keep up and lost 2 of them itself: \
                   send fewer per second";
        assert_eq!(error_of(&lossy), why);
        assert!(lossy.last_missing(5).is_err());
        let joined = reader(1, Statistics { frames: 1, dropped: 0 }, |fake| fake.is_joined = true);
        assert!(
            error_of(&joined).ends_with("the interface joins frames: switch off its rx-udp-gro-forwarding")
        );
        let withheld = reader(1, Statistics { frames: 2, dropped: 0 }, |_| ());
        assert!(error_of(&withheld).ends_with("the kernel counted some that it never handed over"));
        let broken = reader(0, Statistics::default(), |fake| fake.error = Some(libc::EIO));
        assert!(error_of(&broken).contains("Input/output error"));
    }
}
