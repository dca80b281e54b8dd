//! The decoders of netlink for `fuzz/`, with what must hold of them.

use super::message::{Attributes, HEADER, Message, Reply};
use super::{address, link, neighbour, nl80211, pause, qdisc, route, verdict};

/// Reads a datagram by every decoder; `rule` reads the attributes of a rule of nf_tables.
pub(crate) fn netlink(datagram: &[u8], rule: impl Fn(&Attributes<'_>)) {
    let replies = Reply::parse_all(datagram);
    let taken: usize = replies.iter().map(|reply| HEADER + reply.payload.len()).sum();
    assert!(taken <= datagram.len(), "{taken} bytes of {}", datagram.len());
    for reply in &replies {
        let _ = verdict(reply);
        let _ = (address::parse(reply), neighbour::parse(reply));
        if let Some(link) = link::parse(reply) {
            assert!(!link.name.contains('\0') && link.lower != Some(link.index));
        }
        for body in [0, 4, 8, 12, 16, 20] {
            let attributes = reply.attributes(body);
            let _ = (route::parse(&attributes), qdisc::parse(&attributes));
            let _ = (nl80211::parse(&attributes), pause::parse(&attributes));
            rule(&attributes);
            again(&attributes, 0);
        }
        let message = Message::new(reply.kind, reply.flags.into(), &reply.payload).into_bytes(reply.sequence);
        let [read] = &Reply::parse_all(&message)[..] else { panic!("one message became several or none") };
        assert_eq!((read.kind, read.flags, read.sequence), (reply.kind, reply.flags | 1, reply.sequence));
        assert!(read.payload.starts_with(&reply.payload) && read.payload.len() < reply.payload.len() + 4);
    }
}

/// Attributes written anew are read as they were, at every depth.
fn again(attributes: &Attributes<'_>, depth: usize) {
    let mut message = Message::new(0, 0, &[]);
    for (kind, value) in attributes.clone() {
        message.attribute(kind, value);
    }
    let bytes = message.into_bytes(0);
    let written = Attributes::new(&bytes[HEADER..]);
    assert!(written.eq(attributes.clone()), "attributes changed");
    if depth < DEEPEST {
        attributes.clone().for_each(|(_, value)| again(&Attributes::new(value), depth + 1));
    }
}

/// A request with these attributes in a nest, among others, is read as it was built.
pub fn netlink_round_trip(kind: u16, sequence: u32, attributes: &[(u16, &[u8])]) {
    let mut request = Message::new(kind, 0, &[7; 8]);
    request.string(1, "eth0").nest(2, |nest| {
        for (kind, value) in attributes {
            nest.attribute(kind & PLAIN, value);
        }
    });
    request.attribute(3, &sequence.to_ne_bytes());
    let bytes = request.into_bytes(sequence);
    let [reply] = &Reply::parse_all(&bytes)[..] else { panic!("one message became several or none") };
    let read = reply.attributes(8);
    assert_eq!((reply.kind, reply.sequence), (kind, sequence));
    assert_eq!((read.string(1).as_deref(), read.u32(3)), (Some("eth0"), Some(sequence)));
    assert!(read.inside(2).eq(attributes.iter().map(|(kind, value)| (kind & PLAIN, *value))));
}

const DEEPEST: usize = 3;
/// A type without the flags of nests and byte order.
const PLAIN: u16 = 0x3fff;
