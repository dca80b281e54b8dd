//! The only `unsafe` and the only system calls of pathmeter: sockets, batches, rings, `TCP_INFO`, namespaces, CPU facts.
//!
//! Sockets are owned by the standard library's types (`TcpStream`, `TcpListener`, `UdpSocket`); the functions here
//! borrow them. Set-up calls return [`OsError`], which names the operation and the object; the calls of the data
//! path return the bare [`std::io::Error`], so that nothing is allocated where time is measured.
#![expect(unsafe_code, reason = "this crate exists to hold the system calls of pathmeter")]

pub mod arp;
pub mod batch;
pub mod boot;
pub mod buffer;
pub mod capture;
pub mod cgroup;
pub mod clock;
pub mod cmsg;
pub mod counters;
pub mod cpu;
pub mod errno;
pub mod error;
pub mod error_queue;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
pub mod icmp;
pub mod message;
pub mod module;
pub mod names;
pub mod namespace;
pub mod netlink;
pub mod nft;
pub mod nic;
pub mod options;
pub mod poll;
pub mod privilege;
pub mod process;
pub mod raw;
pub mod ring;
pub mod screen;
pub mod sendfile;
pub mod sockaddr;
pub mod socket;
pub mod spawn;
pub mod stream;
pub mod tap;
pub mod tcp_info;
pub mod timestamp;
pub mod tunnel;

pub use error::{OsError, Result};
