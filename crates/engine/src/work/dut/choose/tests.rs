use super::*;
use crate::error::tests::printed;
use crate::error::{Kind, Result, fault};
use crate::work::dut::fixture::{Between, Fixture, frames};
use crate::work::dut::port::Counted;
use frames::{Arrived, FrameSpec, Sent};
use model::dut::PortFacts;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

/// Delivery of a pair's frames: how many of a thousand arrive, and how many per second can be sent; or a refusal.
type Delivery = Result<(u64, u64), &'static str>;

/// A device without hardware: what it does to each pair.
#[derive(Clone)]
struct Device {
    delivery: fn(SourceKind, SinkKind) -> Delivery,
    /// The source that sends, the sink that counts, and what arrived.
    now: Arc<Mutex<(Option<SinkKind>, Sent, u64)>>,
    mtu: u32,
}

impl Port for Device {
    fn facts(&self) -> PortFacts {
        PortFacts { name: "eth7".into(), mtu: self.mtu, ..PortFacts::default() }
    }

    fn mac(&self) -> [u8; 6] {
        [2, 0, 0, 0, 0, 7]
    }

    fn addresses(&self) -> Vec<IpAddr> {
        Vec::new()
    }

    fn next_hop(&mut self, _: IpAddr) -> Result<[u8; 6]> {
        Ok(self.mac())
    }

    fn sources(&self) -> Vec<SourceKind> {
        vec![SourceKind::LiveFrames, SourceKind::XskCopy, SourceKind::Packet]
    }

    fn sinks(&self) -> Vec<SinkKind> {
        vec![SinkKind::Xdp, SinkKind::Packet]
    }

    fn count(&mut self, kind: SinkKind, _: &FrameSpec, _: u64, watch: Watch) -> Result<()> {
        assert_eq!(watch, Watch::Counts);
        let refused = self.sources().into_iter().find_map(|source| (self.delivery)(source, kind).err());
        match refused.filter(|why| why.starts_with("sink")) {
            Some(why) => return Err(fault(why)),
            None => self.now.lock().unwrap().0 = Some(kind),
        }
        Ok(())
    }

    fn arrived(&self) -> Option<u64> {
        Some(self.now.lock().unwrap().2)
    }

    fn counted(&mut self) -> Result<Counted> {
        let frames = self.now.lock().unwrap().2;
        Ok(Counted { arrived: Arrived { frames, ..Arrived::default() }, ..Counted::default() })
    }

    fn send(&mut self, kind: SourceKind, _: &FrameSpec, burst: &Burst) -> Result<()> {
        let mut now = self.now.lock().unwrap();
        now.2 = 0;
        let (per_mille, rate) = match (self.delivery)(kind, now.0.expect("counting begins before sending")) {
            Ok(delivery) => delivery,
            Err(why) => return Err(fault(why)),
        };
        let interval = burst.interval_ps.max(1_000_000_000_000 / rate);
        let frames = burst.all_frames().min(burst.time.0 * 1000 / interval);
        now.1 = Sent { frames, time: Nanos((frames - 1) * interval / 1000), ..Sent::default() };
        now.2 = frames * per_mille / 1000;
        Ok(())
    }

    fn sent(&mut self) -> Result<Sent> {
        Ok(self.now.lock().unwrap().1)
    }

    fn is_here(&self) -> bool {
        true
    }
}

fn traffic(sent: FrameSpec) -> Traffic {
    Traffic { sent, arrives_in: None }
}

fn spec() -> FrameSpec {
    FrameSpec {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 7],
        source: "198.18.0.2".parse().unwrap(),
        destination: "198.19.0.2".parse().unwrap(),
        hop_limit: 64,
        ports: None,
        vlan: None,
        outer: None,
        sizes: vec![Bytes(1518)],
        tag: 1,
    }
}

fn through(delivery: fn(SourceKind, SinkKind) -> Delivery) -> Result<Tools> {
    let mut device = Device { delivery, now: Arc::default(), mtu: 1500 };
    choose(&mut device.clone(), &mut device, &traffic(spec()), Direction::Up)
}

fn row(tools: &Tools, source: SourceKind) -> &Tried {
    tools.tried.iter().find(|row| row.source == source && row.sink == tools.sink).expect("it was tried")
}

#[test]
fn the_fastest_source_whose_frames_arrive_is_taken() {
    let tools = through(|source, _| match source {
        SourceKind::LiveFrames => Ok((1000, 1_000_000)),
        SourceKind::XskCopy => Ok((1000, 4_000_000)),
        _ => Ok((1000, 500_000)),
    });
    let tools = tools.unwrap();
    assert_eq!(
        (tools.source, tools.sink, tools.direction),
        (SourceKind::XskCopy, SinkKind::Xdp, Direction::Up)
    );
    let ceilings: Vec<Option<PacketRate>> = tools.tried.iter().map(|row| row.ceiling_pps).collect();
    assert_eq!(ceilings, [1_000_000, 4_000_000, 500_000].map(|rate| Some(PacketRate(rate))));
    for row in &tools.tried {
        assert_eq!((row.sent, row.received, row.frame, &row.refused), (2000, 2000, Bytes(1518), &None));
    }
}

#[test]
fn frames_that_vanish_in_silence_are_noticed() {
    let tools = through(|source, _| match source {
        SourceKind::LiveFrames => Ok((0, 6_000_000)),
        SourceKind::XskCopy => Ok((500, 3_000_000)),
        _ => Ok((1000, 500_000)),
    });
    let tools = tools.unwrap();
    assert_eq!(tools.source, SourceKind::Packet);
    let why = |source| row(&tools, source).refused.clone().unwrap_or_default();
    assert!(why(SourceKind::LiveFrames).contains("ethtool -K INTERFACE gro on"));
    assert!(why(SourceKind::XskCopy).contains("of 2000 frames 1000 arrived"));
    assert_eq!(why(SourceKind::Packet), "");
}

#[test]
fn a_sink_that_is_refused_or_blind_is_not_taken() {
    let refused = through(|_, sink| match sink {
        SinkKind::Xdp => Err("sink: another program is there"),
        _ => Ok((1000, 500_000)),
    });
    let refused = refused.unwrap();
    assert_eq!(refused.sink, SinkKind::Packet);
    assert_eq!(refused.tried[0].refused.as_deref(), Some("sink: another program is there"));

    let blind = through(|_, sink| Ok((if sink == SinkKind::Xdp { 300 } else { 1000 }, 500_000))).unwrap();
    assert_eq!(blind.sink, SinkKind::Packet);
    assert!(blind.tried[0].refused.as_ref().unwrap().contains("another counter counts more"));
}

/// A device that loses some of everything is measured, not refused.
#[test]
fn a_device_that_loses_frames_is_no_reason_against_the_tools() {
    let tools =
        through(|source, _| Ok((900, if source == SourceKind::LiveFrames { 2_000_000 } else { 1_000_000 })));
    let tools = tools.unwrap();
    assert_eq!((tools.source, tools.sink), (SourceKind::LiveFrames, SinkKind::Xdp));
    assert!(
        tools.tried.iter().all(|row| row.refused.is_none()),
        "what the device lost is no sink's fault: {tools:?}"
    );
}

#[test]
fn nothing_at_all_states_where_it_ended() {
    let reply = |delivery| {
        let error = through(delivery).unwrap_err();
        assert_eq!(error.kind(), Kind::Unreachable);
        printed(&error)
    };
    let lost = reply(|_, _| Ok((0, 1_000_000)));
    assert!(
        lost.contains("2000 frames to 198.19.0.2 (next hop 02:00:00:00:00:07) were sent out of eth7"),
        "{lost}"
    );
    assert!(lost.contains("none came out of the device") && lost.contains("forwarding on"), "{lost}");
    let mute = reply(|_, _| Err("Operation not permitted"));
    assert!(mute.contains("nothing can be sent out of eth7") && mute.contains("not permitted"), "{mute}");
    let deaf = reply(|_, _| Err("sink: not permitted"));
    assert!(deaf.contains("sink: not permitted") && deaf.contains("root"), "{deaf}");
}

#[test]
fn frames_longer_than_the_mtu_are_refused_before_anything_is_sent() {
    let mut device = Device { delivery: |_, _| Err("never asked"), now: Arc::default(), mtu: 1499 };
    let error = choose(&mut device.clone(), &mut device, &traffic(spec()), Direction::Up).unwrap_err();
    assert_eq!(error.kind(), Kind::Usage);
    assert!(
        printed(&error)
            .to_string()
            .contains("frames of 1518 bytes need an MTU of 1500, and that of eth7 is 1499")
    );
    device.mtu = 1500;
    assert!(
        super::messages::check_size(
            &device,
            &FrameSpec { vlan: Some(7), sizes: vec![Bytes(1522)], ..spec() }
        )
        .is_ok()
    );
}

/// A router of the kernel's: with its ports as they are live frames vanish, and with GRO they do not.
#[test]
fn through_a_real_router_what_arrives_is_taken() {
    let Some(fixture) = Fixture::new(Between::Router) else { return };
    let (mut one, mut two) = fixture.ports();
    let spec = frames(&mut one, &two, true, 64);
    let plain = choose(&mut one, &mut two, &traffic(spec.clone()), Direction::Up).unwrap();
    assert_ne!(plain.source, SourceKind::LiveFrames);
    let why = row(&plain, SourceKind::LiveFrames).refused.clone().unwrap_or_default();
    assert!(why.contains("gro on"), "{plain:?}");
    fixture.take_live_frames();
    let repaired = choose(&mut one, &mut two, &traffic(spec.clone()), Direction::Up).unwrap();
    assert_eq!(row(&repaired, SourceKind::LiveFrames).refused, None, "{repaired:?}");
    assert!(row(&repaired, repaired.source).ceiling_pps.is_some());
}
