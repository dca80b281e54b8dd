//! Sizes and addresses that are refused, and the contents of a template.

use super::*;
use crate::checksum::Sum;

impl FrameSpec {
    /// The same frames in a tunnel between two addresses for benchmarks.
    pub(super) fn wrapped(self) -> FrameSpec {
        let [source, destination] = [0xa, 0xb].map(|host| Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, host));
        FrameSpec { outer: Some((source, destination)), ..self }
    }

    /// Test frames between addresses that are reserved for benchmarks (RFC 2544, RFC 5180), of family 4 or 6.
    pub(super) fn example(family: u8, vlan: Option<u16>, sizes: &[u64]) -> FrameSpec {
        let [source, destination] = match family {
            4 => [18, 19].map(|net| IpAddr::from([198, net, 0, 1])),
            _ => [0, 1].map(|net| Ipv6Addr::new(0x2001, 2, 0, net, 0, 0, 0, 1).into()),
        };
        FrameSpec {
            source_mac: [2, 0, 0, 0, 0, 1],
            destination_mac: [2, 0, 0, 0, 0, 2],
            source,
            destination,
            hop_limit: 64,
            ports: None,
            vlan,
            outer: None,
            sizes: sizes.iter().copied().map(Bytes).collect(),
            tag: 0x1234_5678,
        }
    }
}

fn spec(family: u8, size: u64) -> FrameSpec {
    FrameSpec::example(family, None, &[size])
}

#[test]
fn sizes_and_families_are_checked() {
    let (four, six) = (|size| spec(4, size), |size| spec(6, size));
    assert_eq!(four(64).template().unwrap().bytes.len(), 60);
    assert!(four(64).is_timed() && !six(78).is_timed() && six(84).is_timed());
    assert_eq!(six(78).template().unwrap().bytes.len(), 74);
    let Err(error) = six(77).template() else { panic!("there is no room") };
    assert!(error.to_string().starts_with("too small: "), "{error}");
    assert!(four(63).template().is_err() && four(66_000).template().is_err());
    assert!(FrameSpec { source: six(64).source, ..four(64) }.template().is_err());
    let tagged = |size| FrameSpec { vlan: Some(7), ..four(size) };
    assert!(tagged(64).template().is_ok() && !tagged(64).is_timed() && tagged(68).is_timed());
    assert!(FrameSpec { vlan: Some(4095), ..four(128) }.template().is_err());
    assert!(FrameSpec { sizes: vec![], ..four(64) }.template().is_err());
    assert!(FrameSpec { sizes: vec![Bytes(1518), Bytes(63)], ..four(64) }.template().is_err());
}

#[test]
fn a_tunnel_adds_a_header_of_ipv6() {
    let wrapped = spec(4, 64).wrapped();
    let (plain, frame) = (spec(4, 64).template().unwrap().bytes, wrapped.template().unwrap().bytes);
    assert_eq!((frame.len(), wrapped.is_timed()), (100, true));
    assert_eq!((&frame[..12], &frame[54..]), (&plain[..12], &plain[14..]));
    assert_eq!(frame[12..22], [0x86, 0xdd, 0x60, 0, 0, 0, 0, 46, 4, 64]);
    assert_eq!((frame[37], frame[53]), (0xa, 0xb));
    assert_eq!(wrapped.whole_sizes().collect::<Vec<_>>(), [Bytes(104)]);
    assert!(spec(4, 63).wrapped().template().is_err() && spec(6, 128).wrapped().template().is_err());
    let tagged = FrameSpec { vlan: Some(7), ..wrapped };
    assert!(tagged.template().is_ok() && !tagged.is_timed());
    assert!(FrameSpec { sizes: vec![Bytes(65_520)], ..tagged }.template().is_err());
}

/// RFC 791's checksum of a header: the sum of all its words with it is all ones.
#[test]
fn the_ip_header_has_its_checksum() {
    let frame = spec(4, 64).template().unwrap().bytes;
    assert_eq!(Sum::over(&frame[14..34]).folded(), 0xffff);
    // The datagram is whole, and no router may fragment it.
    assert_eq!(frame[16..22], [0, 46, 0, 0, 0x40, 0]);
    assert_eq!(frame[38..40], [0, 26]);
    assert_eq!(frame[42..46], [0x12, 0x34, 0x56, 0x78]);
}
