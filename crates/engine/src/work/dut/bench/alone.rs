//! The generator by itself: what it reaches over a cable of its own, two virtual interfaces with nothing between them. Held against
//! it, what it reaches through the device shows what the device takes of it.

use super::super::choose::rate;
use super::super::connect;
use super::super::port::Port;
use super::super::testbed::Testbed;
use super::options::{BenchOptions, Device, SideOptions};
use super::sides::Sides;
use crate::error::{Result, fault};
use frames::{Burst, Stop, Watch};
use lab::shipped;
use model::dut::{Alone, SinkKind, SourceKind, Stream};
use model::plan::Direction;
use model::units::{Nanos, PacketRate};

/// Measures the rate of a source over a cable with the frames of a stream, and with frames of one flow.
///
/// # Errors
/// The cable cannot be built, or the kernel refuses to send or to count there.
pub(super) fn alone(
    options: &BenchOptions,
    source: SourceKind,
    stream: &Stream,
    stop: &Stop,
) -> Result<Alone> {
    let cable = shipped::find("direct").map_err(|error| fault(error.to_string()))?;
    let places = options.cpus.on_this_host(options.device.topology(), options.both_directions)?;
    let options = BenchOptions {
        device: Device::Lab(Box::new(cable.clone())),
        sides: [SideOptions::default(), SideOptions::default()],
        vlan: None,
        ..options.clone()
    };
    let testbed = Testbed::build(&cable, &places)?;
    let mut ports = connect::ends(&testbed, &options, &places, stop)?.ports;
    let mut with = |frames: Option<(u16, u16)>| -> Result<PacketRate> {
        let mut sides = Sides::new(&BenchOptions { ports: frames, ..options.clone() });
        let mut reached = || flood(&mut ports, &mut sides, source, stream);
        (0..FLOODS).try_fold(PacketRate(0), |most, _| Ok(most.max(reached()?)))
    };
    let same = with(options.ports)?;
    let one_flow = match options.ports {
        None => with(ONE_FLOW)?,
        Some(_) => same,
    };
    let frame = stream.frames.sizes.iter().max().copied().unwrap_or_default();
    Ok(Alone { frame, same, one_flow })
}

/// Sends at the largest rate.
fn flood(
    ports: &mut [Box<dyn Port>; 2],
    sides: &mut Sides,
    source: SourceKind,
    stream: &Stream,
) -> Result<PacketRate> {
    let traffic = sides.frames(ports, Direction::Up, stream.network, &stream.frames.sizes)?;
    ports[1].count(SinkKind::Xdp, &traffic.arriving(), FLOOD.frames, Watch::Counts)?;
    let sent = ports[0].send(source, &traffic.sent, &FLOOD).and_then(|()| ports[0].sent());
    // Also where nothing was sent, so that the sink goes.
    ports[1].counted()?;
    let sent = sent?;
    Ok(rate(sent.frames, sent.time).unwrap_or_default())
}

/// The best of some: what others take of a CPU is no limit of the generator.
const FLOODS: u32 = 3;
const FLOOD: Burst = Burst { frames: 5_000_000, interval_ps: 0, then: None, time: Nanos::from_millis(100) };
const ONE_FLOW: Option<(u16, u16)> = Some((5210, 5210));
