//! The CSV rows of packet sizes: one per direction, per size tried, per test of fragments, and of a service.

use super::{CsvPart, Start};
use crate::document::{Csv, field};
use model::path::{
    Bound, Discovery, FragmentTest, PathDirection, PathMethod, PathResult, ServiceLimit, SizeProbe,
};
use model::plan::Direction;
use serde::Serialize;
use std::net::IpAddr;

#[derive(Default, Serialize)]
struct Sizes {
    method: Option<PathMethod>,
    size_bytes: Option<u32>,
    sent: Option<u32>,
    datagrams: Option<u32>,
    lost: Option<u32>,
    path_mtu_bytes: Option<u32>,
    bound: Option<Bound>,
    max_udp_payload_bytes: Option<u32>,
    interface_mtu_bytes: Option<u32>,
    cached_mtu_bytes: Option<u32>,
    hop: Option<u8>,
    hop_address: Option<IpAddr>,
    discovery: Option<Discovery>,
    black_hole_first_bytes: Option<u32>,
    black_hole_last_bytes: Option<u32>,
    fragments: Option<String>,
    mss_sent_bytes: Option<u32>,
    mss_received_bytes: Option<u32>,
    largest_segment_bytes: Option<u32>,
    retransmits: Option<u64>,
    fragmented_from_bytes: Option<u32>,
}

pub(super) fn rows(path: &PathResult, place: &CsvPart) -> Csv {
    let line = |row, direction: Option<Direction>, sizes: Sizes| -> (Start, Sizes) {
        (place.start(row, direction), Sizes { method: Some(path.method), ..sizes })
    };
    let mut rows = Vec::new();
    for direction in Direction::BOTH {
        let Some(found) = path.in_direction(direction) else { continue };
        rows.push(line("path", Some(direction), sizes_of(found)));
        rows.extend(found.sizes.iter().map(|probe| line("path_size", Some(direction), size(probe))));
        let tests = found.fragments.tests.iter();
        rows.extend(tests.map(|test| line("path_fragments", Some(direction), fragments(test))));
    }
    if let Some(found) = &path.service {
        rows.push(line("service", None, service(found)));
        rows.extend(found.sizes.iter().map(|probe| line("service_size", None, size(probe))));
    }
    Csv::from_rows(rows)
}

fn sizes_of(direction: &PathDirection) -> Sizes {
    let (tcp, hop) = (direction.tcp.as_ref(), direction.limiting_hop.as_ref());
    Sizes {
        bound: Some(direction.bound),
        discovery: Some(direction.discovery),
        fragments: Some(field(&direction.fragments.delivery)),
        path_mtu_bytes: direction.path_mtu,
        max_udp_payload_bytes: direction.max_udp_payload,
        interface_mtu_bytes: direction.interface_mtu,
        cached_mtu_bytes: direction.cached_mtu,
        hop: hop.and_then(|hop| hop.ttl),
        hop_address: hop.and_then(|hop| hop.address),
        black_hole_first_bytes: direction.black_hole.map(|hole| hole.first),
        black_hole_last_bytes: direction.black_hole.map(|hole| hole.last),
        mss_sent_bytes: tcp.and_then(|tcp| tcp.mss_sent),
        mss_received_bytes: tcp.and_then(|tcp| tcp.mss_received),
        largest_segment_bytes: tcp.and_then(|tcp| tcp.largest_segment),
        retransmits: tcp.and_then(|tcp| tcp.retransmits),
        ..Sizes::default()
    }
}

fn size(probe: &SizeProbe) -> Sizes {
    counted(probe.size, probe.sent, probe.received)
}

fn fragments(test: &FragmentTest) -> Sizes {
    Sizes { fragments: Some(field(&test.shape)), ..counted(test.payload, test.sent, test.received) }
}

fn counted(size: u32, sent: u32, received: u32) -> Sizes {
    Sizes {
        size_bytes: Some(size),
        sent: Some(sent),
        datagrams: Some(received),
        lost: Some(sent.saturating_sub(received)),
        ..Sizes::default()
    }
}

fn service(limit: &ServiceLimit) -> Sizes {
    Sizes {
        max_udp_payload_bytes: limit.payload,
        fragmented_from_bytes: Some(limit.fragmented_from),
        ..Sizes::default()
    }
}
