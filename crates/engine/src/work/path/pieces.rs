//! Into how many fragments a datagram is cut on the path.

use packet::header;

/// Pieces of a datagram, UDP's header included, that leaves in fragments of at most `own` bytes, whole packets, on a path
/// whose largest packet is `mtu`. Routers of IPv4 cut each fragment once more, those of IPv6 cut nothing.
pub(super) fn pieces(ipv6: bool, datagram: u32, own: u32, mtu: u32) -> u32 {
    let own = room(ipv6, own);
    if ipv6 {
        return datagram.div_ceil(own);
    }
    let direction = room(ipv6, mtu).min(own);
    (datagram / own) * own.div_ceil(direction) + (datagram % own).div_ceil(direction)
}

/// The bytes of the datagram that a fragment of at most `mtu` bytes holds: a multiple of eight (RFC 791 section 3.2, RFC 8200
/// section 4.5).
pub(super) fn room(ipv6: bool, mtu: u32) -> u32 {
    let headers = header::of_fragment(ipv6);
    (mtu.saturating_sub(headers) & !7).max(8)
}
