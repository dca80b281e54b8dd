//! Settings of this host that explain why another cannot be reached, read where the kernel keeps them, with the command that changes
//! each.

use super::{HopToward, Reason};
use linux::counters::Counters;
use linux::netlink::Network;
use linux::socket::{TcpOptions, tcp_connect};
use model::reach::NeighbourState;
use model::units::Nanos;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Answers that this host drops since they arrive by another interface than packets to their sender leave by (`rp_filter`, RFC 3704):
/// one more attempt shows it in the kernel's counter.
pub(super) fn reverse_path(address: IpAddr, egress: &str) -> Option<Reason> {
    let strict = strict_interfaces(Path::new(IPV4_SETTINGS));
    if address.is_ipv6() || strict.is_empty() {
        return None;
    }
    let dropped = || Counters::snapshot().ok()?.by_kernel_name("TcpExt.IPReversePathFilter");
    let before = dropped()?;
    tcp_connect(SocketAddr::new(address, ANY_PORT), &TcpOptions::default(), REPEATED).ok();
    let count = dropped()?.saturating_sub(before);
    let others: Vec<&str> = strict.iter().map(String::as_str).filter(|name| *name != egress).collect();
    let named = if others.is_empty() { egress.to_owned() } else { others.join(" or ") };
    (count > 0).then(|| Reason {
        what: format!(
            "this host drops what comes by {named}, as packets to {address} leave by {egress} (rp_filter is 1, strict: {count} dropped \
             during one more attempt)"
        ),
        advice: Some(
            "let packets come by either interface, `sudo sysctl -w net.ipv4.conf.all.rp_filter=2`, or route both directions by the \
             same one (`ip route`, `ip rule`)"
                .into(),
        ),
    })
}

/// Interfaces on which the kernel drops packets whose sender it would reach by another one: the larger of `all` and its own counts.
fn strict_interfaces(settings: &Path) -> Vec<String> {
    let filter = |name: &str| -> u8 {
        let text = fs::read_to_string(settings.join(name).join("rp_filter"));
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    };
    let all = filter("all");
    let entries = fs::read_dir(settings).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_strict =
        |name: &String| !matches!(name.as_str(), "all" | "default" | "lo") && filter(name).max(all) == 1;
    let mut strict: Vec<String> = names.filter(is_strict).collect();
    strict.sort_unstable();
    strict
}

/// Another neighbour on the link has the hardware address that answers for this host.
pub(super) fn shared_address(hop: &HopToward) -> Option<Reason> {
    let mut network = Network::open().ok()?;
    let all = network.neighbours().ok()?;
    let (link, address) = hop.place;
    let mac = all.iter().find(|known| (known.link, known.address) == (link, address))?.mac?;
    let same = |known: &&linux::netlink::Neighbour| {
        known.link == link
            && known.mac == Some(mac)
            && known.address != address
            && known.address.is_ipv4() == address.is_ipv4()
            && known.state.is_usable()
    };
    let other = all.iter().find(same)?.address;
    let [a, b, c, d, e, f] = mac;
    let interface = &hop.interface;
    Some(Reason {
        what: format!(
            "{address} and {other} have one hardware address on {interface} ({a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}): {other} answers \
             in its stead (proxy ARP), or is the same host, and what is sent there is silently dropped"
        ),
        advice: Some(format!(
            "at {other} look at `sysctl net.ipv4.conf.all.proxy_arp` and at its route to {address}; where {address} is on this link, turn proxy \
             ARP off there (`sudo sysctl -w net.ipv4.conf.all.proxy_arp=0`) and forget it here (`sudo ip neigh flush dev {interface}`)"
        )),
    })
}

/// Explains why a neighbour solicitation, which goes to a multicast address, is not answered where ARP, which is broadcast, is.
pub(super) fn multicast(hop: &HopToward) -> Option<String> {
    let (link, address) = hop.place;
    let mut network = Network::open().ok()?;
    let all = network.neighbours().ok()?;
    let answers = |known: &&linux::netlink::Neighbour| {
        known.link == link
            && known.address.is_ipv4()
            && matches!(known.state, NeighbourState::Reachable | NeighbourState::Stale)
    };
    let works = all.iter().find(answers).filter(|_| address.is_ipv6())?.address;
    let name = &hop.interface;
    Some(match snooping_bridge(Path::new("/sys/class/net"), name) {
        Some(bridge) => format!(
            "ARP for {works} on {name} is answered, and the bridge {bridge} of this host snoops multicast without asking for members (no \
             querier), so that solicitations may not reach their port: `sudo ip link set dev {bridge} type bridge mcast_snooping 0`, or \
             mcast_querier 1"
        ),
        None => format!(
            "ARP for {works} on {name} is answered, which is broadcast; solicitations are multicast, so look for what filters it: of a \
             virtual machine the macvtap (`trustGuestRxFilters='yes'`) or the bridge (`ip link set dev BRIDGE type bridge mcast_snooping \
             0`) at either end; `sudo ip link set dev {name} allmulticast on` at the end that does not answer shows whether it is that"
        ),
    })
}

/// The interface itself, or the bridge that it is a port of, snoops multicast and is no querier.
fn snooping_bridge(interfaces: &Path, name: &str) -> Option<String> {
    let master = fs::read_link(interfaces.join(name).join("master"));
    let master = master.ok().and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let reads = |bridge: &str, setting: &str| {
        let text = fs::read_to_string(interfaces.join(bridge).join("bridge").join(setting));
        text.ok().map(|text| text.trim().to_owned())
    };
    let snoops = |bridge: &String| {
        reads(bridge, "multicast_snooping").as_deref() == Some("1")
            && reads(bridge, "multicast_querier").as_deref() == Some("0")
    };
    [Some(name.to_owned()), master].into_iter().flatten().find(snoops)
}

const IPV4_SETTINGS: &str = "/proc/sys/net/ipv4/conf";
/// An answer comes, whether something listens there or not.
const ANY_PORT: u16 = 9;
/// The kernel repeats a SYN after a second.
const REPEATED: Nanos = Nanos::from_millis(1_300);

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of settings, removed on drop.
    struct Tree(std::path::PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Tree {
            let root = std::env::temp_dir().join(format!("pathmeter-settings-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Tree(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn the_larger_of_both_settings_counts() {
        let with = |all| {
            let files = [("all/rp_filter", all), ("default/rp_filter", "1"), ("lo/rp_filter", "1")];
            let own = [("eth0/rp_filter", "1\n"), ("eth1/rp_filter", "0\n"), ("eth2/rp_filter", "2\n")];
            strict_interfaces(&Tree::new(&format!("rp{all}"), &[files, own].concat()).0)
        };
        assert_eq!(
            (with("0"), with("1"), with("2")),
            (vec!["eth0".into()], vec!["eth0".into(), "eth1".into()], vec![])
        );
    }

    #[test]
    fn a_bridge_that_snoops_without_a_querier_is_named() {
        let files =
            |querier| [("br0/bridge/multicast_snooping", "1\n"), ("br0/bridge/multicast_querier", querier)];
        let tree = Tree::new("bridge", &[&files("0\n")[..], &[("eth0/address", "")]].concat());
        assert_eq!(snooping_bridge(&tree.0, "br0").as_deref(), Some("br0"));
        assert_eq!(snooping_bridge(&tree.0, "eth0"), None);
        std::os::unix::fs::symlink(tree.0.join("br0"), tree.0.join("eth0/master")).unwrap();
        assert_eq!(snooping_bridge(&tree.0, "eth0").as_deref(), Some("br0"));
        let asks = Tree::new("querier", &files("1\n"));
        assert_eq!(snooping_bridge(&asks.0, "br0"), None);
    }
}
