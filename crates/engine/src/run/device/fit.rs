//! Fits the request to the ports of a device: the link's speed, and the largest frame.

use model::dut::{DeviceReport, PortFacts, Setup, Stream};
use model::units::{BitRate, Bytes};

/// The setup of this device. Omitted parts are named in its notes.
pub(super) fn fit(asked: &Setup, device: &mut DeviceReport, tagged: bool) -> Setup {
    let mut setup = asked.clone();
    let speeds: Option<Vec<BitRate>> = device.ports.iter().map(|port| port.link).collect();
    let slower = speeds.and_then(|speeds| speeds.into_iter().min());
    setup.link_is_nominal = asked.link.is_some() && slower.is_none();
    setup.link = asked.link.or(slower);
    setup.departures = setup.find_departures();
    let known = device.ports.iter().filter(|port| port.mtu > 0);
    let Some((room, port)) = known.map(|port| (room(port), port)).min_by_key(|(room, _)| *room) else {
        return setup;
    };
    let largest = room + ETHERNET + if tagged { TAG } else { Bytes::ZERO };
    let fits = |stream: &Stream| stream.frames.sizes.iter().all(|size| *size <= largest);
    let (small, large): (Vec<Stream>, Vec<Stream>) = setup.streams.into_iter().partition(fits);
    setup.streams = small;
    if !large.is_empty() {
        let names: Vec<String> = large.iter().map(ToString::to_string).collect();
        device.notes.push(format!(
            "Left out, as they are larger than the frames of {} bytes that the MTU of {} ({} bytes{}) allows: {}.",
            largest.0,
            port.name,
            port.mtu,
            if port.tunnel.is_some() { ", 40 of them the tunnel's" } else { "" },
            names.join(", ")
        ));
    }
    setup
}

/// The largest packet of a port, without the header of its tunnel.
fn room(port: &PortFacts) -> Bytes {
    let header = if port.tunnel.is_some() { TUNNEL } else { 0 };
    Bytes(u64::from(port.mtu).saturating_sub(header))
}

/// The header of IPv6.
const TUNNEL: u64 = 40;
/// Addresses, type and FCS.
const ETHERNET: Bytes = Bytes(18);
const TAG: Bytes = Bytes(4);

#[cfg(test)]
mod tests {
    use super::*;
    use model::dut::{Frames, PortFacts, Test};
    use model::framing::Network;
    use model::plan::Directions;

    fn fitted(
        asked: &Setup,
        mtu: [u32; 2],
        link: [Option<u64>; 2],
    ) -> (Vec<u64>, Option<BitRate>, bool, Vec<String>) {
        let port = |at: usize| PortFacts {
            name: format!("eth{at}"),
            link: link[at].map(BitRate),
            mtu: mtu[at],
            ..PortFacts::default()
        };
        let mut device = DeviceReport { ports: vec![port(0), port(1)], ..DeviceReport::default() };
        let setup = fit(asked, &mut device, false);
        let sizes = setup.streams.iter().map(|stream| stream.frames.sizes[0].0).collect();
        (sizes, setup.link, setup.link_is_nominal, device.notes)
    }

    fn stream(size: u64) -> Stream {
        let frames = Frames::for_payload(Bytes(size));
        Stream { network: Network::V4, frames, directions: Directions::Up }
    }

    #[test]
    fn frames_above_the_mtu_are_left_out_and_reported() {
        let streams = [64, 1518, 1519].map(stream).into();
        let setup = Setup::quick(&[Test::Mrr], streams);
        let (sizes, link, nominal, notes) = fitted(&setup, [1500, 9000], [None, None]);
        assert_eq!((sizes, link, nominal), (vec![64, 1518], None, false));
        assert!(notes[0].contains("MTU of eth0 (1500 bytes) allows: IPv4 1519"), "{notes:?}");
        assert_eq!(fitted(&setup, [9000, 9000], [None, None]).0, [64, 1518, 1519]);
    }

    #[test]
    fn the_link_is_as_fast_as_the_slower_port_unless_given_otherwise() {
        let setup = Setup::quick(&[Test::Mrr], vec![stream(64)]);
        let fit = |asked: &Setup, link| {
            let (_, link, nominal, _) = fitted(asked, [1500; 2], link);
            (link.map(|rate| rate.0), nominal)
        };
        assert_eq!(fit(&setup, [Some(10), Some(25)]), (Some(10), false));
        assert_eq!(fit(&setup, [Some(10), None]), (None, false));
        let given = Setup { link: Some(BitRate(7)), ..setup };
        assert_eq!(fit(&given, [Some(10), Some(25)]), (Some(7), false));
        assert_eq!(fit(&given, [None, None]), (Some(7), true));
    }
}
