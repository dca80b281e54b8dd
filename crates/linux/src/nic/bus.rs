//! The bus between an interface and the memory: what it can carry, and what it could.
//!
//! Sources: `Documentation/ABI/testing/sysfs-bus-pci` and `sysfs-bus-usb` of the kernel; PCI Express Base Specification for the coding.

use std::fs;
use std::path::Path;
use units::BitRate;

/// Capacity of the bus of an interface in one direction, coding subtracted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bus {
    /// Its current mode, in the bus's own terms: `PCIe 8.0 GT/s x4`, `USB 480 Mbit/s`.
    pub name: String,
    /// Its rate in that mode.
    pub rate: BitRate,
    /// The rate of the device at its full width and speed; absent: not known.
    pub best: Option<BitRate>,
}

/// The bus of an interface; `None` where it has none, or is of another network namespace than the mounted `/sys`.
#[must_use]
pub fn bus(name: &str, index: u32) -> Option<Bus> {
    let folder = Path::new("/sys/class/net").join(name);
    let shown: u32 = read(&folder, "ifindex")?.parse().ok()?;
    (shown == index).then(|| read_bus(&folder.join("device")))?
}

fn read_bus(device: &Path) -> Option<Bus> {
    pcie(device).or_else(|| usb(device))
}

fn pcie(device: &Path) -> Option<Bus> {
    let width_of =
        |file: &str| read(device, file)?.parse::<u64>().ok().filter(|width| (1..=32).contains(width));
    let speed = read(device, "current_link_speed")?;
    let (each, width) = (bits_per_link(&speed)?, width_of("current_link_width")?);
    let best =
        || Some(BitRate(bits_per_link(&read(device, "max_link_speed")?)? * width_of("max_link_width")?));
    Some(Bus {
        name: format!("PCIe {} x{width}", speed.trim_end_matches(" PCIe")),
        rate: BitRate(each * width),
        best: best(),
    })
}

/// Bits per second at a width of one: `8.0 GT/s PCIe`, without what the coding takes.
fn bits_per_link(speed: &str) -> Option<u64> {
    let transfers: f64 = speed.split(' ').next()?.parse().ok()?;
    let tenths = [(2.5, 20.0), (5.0, 40.0), (8.0, 78.77), (16.0, 157.54), (32.0, 315.08), (64.0, 605.0)];
    let (_, tenths) = tenths.into_iter().find(|(wanted, _)| (transfers - wanted).abs() < 0.1)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "six positive numbers")]
    Some((tenths * 1e8) as u64)
}

/// The device above the interface of USB has its speed in Mbit/s: 12, 480, 5000 …
fn usb(device: &Path) -> Option<Bus> {
    let above = fs::canonicalize(device).ok()?;
    let above = above.parent()?;
    // A device of USB has its release number.
    read(above, "bcdDevice")?;
    let megabits: u64 = read(above, "speed")?.parse().ok()?;
    Some(Bus { name: format!("USB {megabits} Mbit/s"), rate: BitRate(megabits * 1_000_000), best: None })
}

fn read(folder: &Path, file: &str) -> Option<String> {
    fs::read_to_string(folder.join(file)).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder with these files, removed at the end. The texts are written by hand in the form that the kernel's documents give.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[(&str, &str)]) -> Folder {
            let root = std::env::temp_dir().join(format!("pathmeter-bus-{}-{name}", std::process::id()));
            for (file, text) in files {
                let path = root.join(file);
                fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
                fs::write(path, text).expect("it can be written");
            }
            Folder(root)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn a_card_in_a_narrower_slot_is_found() {
        let folder = Folder::new(
            "slot",
            &[
                ("current_link_speed", "8.0 GT/s PCIe\n"),
                ("current_link_width", "4\n"),
                ("max_link_speed", "8.0 GT/s PCIe\n"),
                ("max_link_width", "16\n"),
            ],
        );
        let bus = read_bus(&folder.0).expect("a bus");
        assert_eq!((bus.name.as_str(), bus.rate), ("PCIe 8.0 GT/s x4", BitRate(31_508_000_000)));
        assert_eq!(bus.best, Some(BitRate(126_032_000_000)));
    }

    #[test]
    fn an_adapter_of_usb_has_the_speed_of_the_device_above_it() {
        let folder =
            Folder::new("usb", &[("1-1/speed", "480\n"), ("1-1/bcdDevice", "3000\n"), ("1-1/1-1:1.0/x", "")]);
        let bus = read_bus(&folder.0.join("1-1/1-1:1.0")).expect("a bus");
        assert_eq!((bus.name.as_str(), bus.rate, bus.best), ("USB 480 Mbit/s", BitRate(480_000_000), None));
    }

    #[test]
    fn devices_without_a_bus_have_none() {
        let unknown = [("current_link_speed", "Unknown\n"), ("current_link_width", "0\n")];
        let folder = Folder::new("unknown", &unknown);
        assert_eq!(read_bus(&folder.0), None);
        assert_eq!((bus("lo", 1), bus("lo", 77)), (None, None));
    }
}
