//! The frames to send: a stream for each IP version and frame size, and for a mix.

use super::{Device, Standard, Traffic};
use crate::error::Failure;
use model::dut::{Frames, Stream, Test};
use model::framing::{Imix, Network, RFC2544_SIZES, RFC8219_FURTHER_SIZES};
use model::plan::Directions;
use model::units::Bytes;

/// The streams in order, IPv4 first, and notes on sizes that are too small for the test's signature.
///
/// # Errors
/// `Kind::Usage` when the mix is none.
pub(super) fn streams(asked: &Device, tests: &[Test]) -> Result<(Vec<Stream>, Vec<String>), Failure> {
    let sizes = sizes(asked);
    let (mut streams, mut notes) = (Vec::new(), Vec::new());
    for network in networks(asked) {
        let least = least(network, asked.traffic.vlan.is_some(), is_timed(tests));
        let small: Vec<String> =
            sizes.iter().filter(|size| **size < least).map(|size| size.0.to_string()).collect();
        if !small.is_empty() {
            notes.push(format!(
                "{network} frames of {} bytes are sent with {}: the least that holds the headers and the test's signature.",
                small.join(" and "),
                least.0
            ));
        }
        let mut raised: Vec<Bytes> = sizes.iter().map(|size| (*size).max(least)).collect();
        raised.dedup();
        let mixes = asked.traffic.imix.as_deref().map(|text| mix(text, network, least)).transpose()?;
        let frames = raised.into_iter().map(Frames::for_payload).chain(mixes);
        streams.extend(frames.map(|frames| Stream { network, frames, directions: directions(asked) }));
    }
    Ok((streams, notes))
}

/// Sizes ascending, each once; none where only a mix is requested.
fn sizes(asked: &Device) -> Vec<Bytes> {
    let further = [&RFC2544_SIZES[..], &RFC8219_FURTHER_SIZES].concat();
    let mut sizes = match (&asked.traffic, asked.standard) {
        (Traffic { frames, .. }, _) if !frames.is_empty() => frames.clone(),
        (Traffic { imix: Some(_), .. }, _) => Vec::new(),
        (_, Standard::Y1564) => vec![SERVICE_FRAME],
        _ if asked.quick => QUICK_FRAMES.to_vec(),
        (_, Standard::Rfc2544 | Standard::Rfc2889) => RFC2544_SIZES.to_vec(),
        // RFC 8219's without 768.
        (_, Standard::Rfc5180) => further.into_iter().filter(|size| *size != Bytes(768)).collect(),
        (_, Standard::Rfc8219) => further,
    };
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn networks(asked: &Device) -> Vec<Network> {
    match (asked.traffic.ipv4, asked.traffic.ipv6, asked.standard) {
        (true, true, _) => vec![Network::V4, Network::V6],
        (false, true, _) | (false, false, Standard::Rfc5180) => vec![Network::V6],
        _ => vec![Network::V4],
    }
}

fn directions(asked: &Device) -> Directions {
    asked.traffic.directions.unwrap_or(match asked.standard {
        Standard::Rfc2889 | Standard::Rfc8219 => Directions::Both,
        _ => Directions::Up,
    })
}

/// A test that needs the time of sending in every frame.
fn is_timed(tests: &[Test]) -> bool {
    let timed = [Test::Latency, Test::DelayVariation, Test::Service];
    tests.iter().any(|test| timed.contains(test))
}

/// The least frame that holds the signature, with the time of sending or without (`frames::FrameSpec`).
fn least(network: Network, tagged: bool, timed: bool) -> Bytes {
    let least = match (network, timed) {
        (Network::V4, _) => 64,
        (Network::V6, false) => 78,
        (Network::V6, true) => 84,
    };
    // The least frame of IPv4 has room to spare for a tag, but not for the time too.
    let tag = if tagged && (timed || network == Network::V6) { 4 } else { 0 };
    Bytes(least + tag)
}

fn mix(text: &str, network: Network, least: Bytes) -> Result<Frames, Failure> {
    let (name, mix) = match text {
        "simple" => ("imix", Imix::simple(network)),
        genome => {
            let read = Imix::genome(genome, None, &[]);
            let advice = "write simple, or letters of RFC 6985 such as 7(a)4(d)g";
            (genome, read.map_err(|error| Failure::usage(format!("--imix {genome}: {error}"), advice))?)
        }
    };
    let mut frames = Frames::mix(name, &mix);
    frames.sizes.iter_mut().for_each(|size| *size = (*size).max(least));
    Ok(frames)
}

const QUICK_FRAMES: [Bytes; 3] = [Bytes(64), Bytes(512), Bytes(1518)];
/// A service is tested with one size; by default a medium one.
const SERVICE_FRAME: Bytes = Bytes(512);
