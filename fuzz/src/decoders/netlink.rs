//! Messages of the kernel over netlink: links, addresses, routes, neighbours, queues, rules, refusals.

/// One input.
pub(crate) fn run(data: &[u8]) {
    linux::fuzzing::netlink(data);
    let Some((&[high, low, kind, count], mut rest)) = data.split_first_chunk() else { return };
    let mut attributes = Vec::new();
    while let ([kind, length, after @ ..], true) = (rest, attributes.len() < usize::from(count % 16)) {
        let (value, after) = after.split_at(after.len().min(usize::from(*length)));
        attributes.push((u16::from(*kind), value));
        rest = after;
    }
    linux::fuzzing::netlink_round_trip(u16::from_be_bytes([high, low]), kind.into(), &attributes);
}
