//! Network interfaces whose far end is a file: taps and macvtaps, for a virtual machine's NIC.
//!
//! libc is left for requests of `ioctl` that rustix does not have. Sources: `linux/if_tun.h`, the kernel's
//! `Documentation/networking/tuntap.rst`; reads and writes transfer Ethernet frames, with a virtio header before each where
//! requested.

use crate::error::{Named, OsError, Result, check};
use crate::namespace::on_a_thread;
use crate::netlink::Network;
use crate::sockaddr::interface_request;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The file behind an interface.
#[derive(Debug)]
pub struct Tap {
    file: File,
}

impl Tap {
    /// Makes a tap of this name in the network namespace of the calling thread; it goes when the file is closed.
    ///
    /// `virtio_header`: every frame has a `struct virtio_net_hdr` of 12 bytes before it (virtio 1.0 §5.1.6), by which
    /// whole TCP segments and unsummed packets pass.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN` or `/dev/net/tun`, when the name is taken or longer than 15 bytes; a kernel without taps
    /// is [`OsError::is_unsupported`].
    pub fn open(name: &str, virtio_header: bool) -> Result<Self> {
        let file = open_device(Path::new(TUN))?;
        Self { file }.set_up("make tap", name, IFF_TUN_EXCL, virtio_header)
    }

    /// The file behind a macvtap of the calling thread's namespace.
    ///
    /// # Errors
    /// When there is no such macvtap, or without the right to open its device file; making one for a macvtap that is in
    /// another namespace than `/dev` needs root.
    pub fn of_macvtap(name: &str, virtio_header: bool) -> Result<Self> {
        let index = Network::open()?.link(name)?.index;
        // Mounting changes the thread's view of the files for good, so that it is one of its own.
        let file = on_a_thread(|| open_macvtap(name, index))?;
        Self { file }.set_up("set up macvtap", name, 0, virtio_header)
    }

    /// Gives the file away; the interface lives as long as it does.
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.file.into()
    }

    fn set_up(self, operation: &str, name: &str, flags: libc::c_short, virtio_header: bool) -> Result<Self> {
        let flags = flags | IFF_TAP | IFF_NO_PI;
        self.set(name, if virtio_header { flags | IFF_VNET_HDR } else { flags })
            .named(operation, || name.into())?;
        if virtio_header {
            let length = VIRTIO_HEADER;
            // SAFETY: the kernel reads one int, which lives through the call.
            let set = unsafe { libc::ioctl(self.file.as_raw_fd(), TUNSETVNETHDRSZ, &raw const length) };
            check(set).named("set the header of tap", || name.into())?;
        }
        Ok(self)
    }

    fn set(&self, name: &str, flags: libc::c_short) -> io::Result<()> {
        if name.len() >= libc::IFNAMSIZ {
            return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
        }
        let mut interface = interface_request(name.as_bytes());
        interface.ifr_ifru.ifru_flags = flags;
        // SAFETY: the kernel reads and writes one ifreq, which lives through the call.
        check(unsafe { libc::ioctl(self.file.as_raw_fd(), TUNSETIFF, &raw mut interface) }).map(drop)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Opens `/dev/tapN`, if it is this macvtap's: another namespace may have a macvtap of the same number. Else makes the
/// device file in a place only this thread sees.
fn open_macvtap(name: &str, index: u32) -> Result<File> {
    let device = macvtap_device(name, index)?;
    let usual = format!("/dev/tap{index}");
    if fs::metadata(&usual).is_ok_and(|file| file.rdev() == device) {
        return open_device(Path::new(&usual));
    }
    let object = || format!("device file of macvtap {name}");
    mount("tmpfs", "/sys", "tmpfs", MountFlags::empty(), None).named("make room for the", object)?;
    let (kind, mode) = (FileType::CharacterDevice, Mode::RUSR | Mode::WUSR);
    mknodat(CWD, "/sys/tap", kind, mode, device).named("make the", object)?;
    open_device(Path::new("/sys/tap"))
}

/// The number of a macvtap's device file, from a `/sys` of this thread's network namespace.
fn macvtap_device(name: &str, index: u32) -> Result<u64> {
    let object = || "/sys of this network namespace".to_owned();
    // SAFETY: no table of descriptors is left behind; only this short-lived thread gets its own mounts.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.named("unshare", object)?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).named("keep to itself", object)?;
    mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None).named("mount", object)?;
    let path = format!("/sys/class/net/{name}/tap{index}/dev");
    let text = fs::read_to_string(&path).named("read", || path.clone())?;
    let numbers = text
        .trim()
        .split_once(':')
        .and_then(|(major, minor)| Some(makedev(major.parse().ok()?, minor.parse().ok()?)));
    numbers.ok_or_else(|| OsError::new("understand", path, io::ErrorKind::InvalidData.into()))
}

fn open_device(path: &Path) -> Result<File> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened
        .map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
                io::Error::new(io::ErrorKind::Unsupported, format!("no such device here: {error}"))
            }
            _ => error,
        })
        .named("open", || path.display().to_string())
}

const TUN: &str = "/dev/net/tun";
/// `_IOW('T', 202, int)` and `_IOW('T', 216, int)`, as on every architecture but three (Alpha, MIPS, PowerPC).
const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
const TUNSETVNETHDRSZ: libc::Ioctl = 0x4004_54d8;
const IFF_TAP: libc::c_short = 0x0002;
const IFF_NO_PI: libc::c_short = 0x1000;
const IFF_VNET_HDR: libc::c_short = 0x4000;
const IFF_TUN_EXCL: libc::c_short = i16::MIN;
/// `struct virtio_net_hdr_v1`.
const VIRTIO_HEADER: libc::c_int = 12;
