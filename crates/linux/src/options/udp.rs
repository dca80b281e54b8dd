//! Options of UDP: letting the kernel cut and join datagrams (udp(7)).

use super::{Opt, get_int, set_int};
use crate::error::Result;
use std::net::UdpSocket;

/// Lets one send call carry many datagrams of `len` bytes each, the last one shorter (`UDP_SEGMENT`, Linux 4.18);
/// zero switches it off.
///
/// # Errors
/// The errors of `setsockopt(2)`; `ENOPROTOOPT` on older kernels.
pub fn set_udp_segment(socket: &UdpSocket, len: u16) -> Result<()> {
    set_int(socket, UDP_SEGMENT, len.into())
}

/// Lets one receive call return many joined datagrams and their size (`UDP_GRO`, Linux 5.0).
///
/// # Errors
/// The errors of `setsockopt(2)`; `ENOPROTOOPT` on older kernels.
pub fn set_udp_gro(socket: &UdpSocket, on: bool) -> Result<()> {
    set_int(socket, UDP_GRO, u32::from(on))
}

/// Does one receive call return many joined datagrams?
///
/// # Errors
/// The errors of `getsockopt(2)`; `ENOPROTOOPT` on older kernels.
pub fn udp_gro(socket: &UdpSocket) -> Result<bool> {
    Ok(get_int(socket, UDP_GRO)? != 0)
}

const UDP_SEGMENT: Opt = Opt(libc::SOL_UDP, libc::UDP_SEGMENT, "UDP_SEGMENT");
const UDP_GRO: Opt = Opt(libc::SOL_UDP, libc::UDP_GRO, "UDP_GRO");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_taken() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        set_udp_segment(&socket, 1472).unwrap();
        set_udp_gro(&socket, true).unwrap();
        assert_eq!(get_int(&socket, UDP_SEGMENT).unwrap(), 1472);
        assert_eq!(get_int(&socket, UDP_GRO).unwrap(), 1);
    }
}
