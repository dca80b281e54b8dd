//! The kernel's error numbers by name (errno(3)), as [`std::io::Error::raw_os_error`] gives them.

pub use libc::{
    EACCES, ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, EMSGSIZE, ENETUNREACH, ENOBUFS, ENODEV, ENOENT,
    ENOPROTOOPT, EOPNOTSUPP, EPERM, EPROTO,
};
