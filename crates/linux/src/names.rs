//! The name of an address (getnameinfo(3)).
//!
//! Through libc, whose resolver it is.

use crate::sockaddr::RawAddress;
use std::ffi::CStr;
use std::net::{IpAddr, SocketAddr};

/// Asks the system's resolver for the name of an address; `None` when it has none. Blocks for as long as the resolver does.
#[must_use]
pub fn name_of(address: IpAddr) -> Option<String> {
    let raw = RawAddress::new(SocketAddr::new(address, 0));
    let (address, length) = raw.as_parts();
    let mut name = [0_u8; NI_MAXHOST];
    let room = libc::socklen_t::try_from(name.len()).ok()?;
    // SAFETY: `raw` and `name` are of the stated lengths and outlive the call; no service name is requested.
    let failed = unsafe {
        libc::getnameinfo(
            address,
            length,
            name.as_mut_ptr().cast(),
            room,
            std::ptr::null_mut(),
            0,
            libc::NI_NAMEREQD,
        )
    };
    let name = CStr::from_bytes_until_nul(&name).ok()?.to_str().ok()?;
    // A name comes from an untrusted server: no character in it may control a terminal.
    (failed == 0 && !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic())).then(|| name.to_owned())
}

/// netdb.h.
const NI_MAXHOST: usize = 1025;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_its_name_and_documentation_none() {
        assert_eq!(name_of([127, 0, 0, 1].into()).as_deref(), Some("localhost"));
    }
}
