//! `devices.NAME = { KIND = …, mtu = … }`: what is made in a node beside the ends of its links.

use super::super::{Device, DeviceKind};
use super::link::{self, mtu};
use model::toml_file::{Table, Value};
use std::net::SocketAddr;

pub(super) fn read(name: &str, value: Value<'_>) -> Option<Device> {
    let mut table = value.table()?;
    let mtu = table.get("mtu").and_then(|value| mtu(&value));
    let mut kinds = Vec::new();
    for (key, read) in KINDS {
        kinds.extend(table.get(key).map(|value| read(&value)));
    }
    let kind = match kinds.len() {
        1 => kinds.pop().flatten(),
        0 => value.wrong(format!("`{name}` is of no kind: give it one of {}", names())),
        _ => value.wrong(format!("`{name}` is of several kinds: give it one of {}", names())),
    };
    table.finish();
    Some(Device { name: name.to_owned(), kind: kind?, mtu })
}

fn names() -> String {
    KINDS.map(|(name, _)| name).join(", ")
}

type Read = for<'a, 'b> fn(&'a Value<'b>) -> Option<DeviceKind>;

/// One row for each kind of device.
const KINDS: [(&str, Read); 6] = [
    ("bridge", bridge),
    ("vlan", vlan),
    ("vxlan", vxlan),
    ("ipip6", ipip6),
    ("wireguard", wireguard),
    ("macvtap", macvtap),
];

fn bridge(value: &Value<'_>) -> Option<DeviceKind> {
    let ports = value.list().iter().map(|port| port.text().map(str::to_owned)).collect::<Option<_>>()?;
    Some(DeviceKind::Bridge { ports })
}

fn vlan(value: &Value<'_>) -> Option<DeviceKind> {
    let mut table = value.table()?;
    let on = on(&mut table);
    let id = table.need("id", "id = 100").and_then(|id| id.number(1, 4094));
    table.finish();
    Some(DeviceKind::Vlan { on: on?, id: id? as u16 })
}

fn vxlan(value: &Value<'_>) -> Option<DeviceKind> {
    let mut table = value.table()?;
    let id = table.need("id", "id = 42").and_then(|id| id.number(0, (1 << 24) - 1));
    let local = table.need("local", "local = \"192.0.2.1\"").and_then(|value| value.parsed("192.0.2.1"));
    let remote = table.need("remote", "remote = \"192.0.2.2\"").and_then(|value| value.parsed("192.0.2.2"));
    let port = port(&mut table, 4789);
    table.finish();
    Some(DeviceKind::Vxlan { id: id? as u32, local: local?, remote: remote?, port })
}

fn ipip6(value: &Value<'_>) -> Option<DeviceKind> {
    let mut table = value.table()?;
    let local = table.need("local", "local = \"2001:db8::1\"").and_then(|value| value.parsed("2001:db8::1"));
    let remote =
        table.need("remote", "remote = \"2001:db8::2\"").and_then(|value| value.parsed("2001:db8::2"));
    table.finish();
    Some(DeviceKind::Ipip6 { local: local?, remote: remote? })
}

/// The port of its endpoint is the peer's, which is known once every node has been read.
fn wireguard(value: &Value<'_>) -> Option<DeviceKind> {
    let mut table = value.table()?;
    let peer = table.need("peer", "peer = \"right:wg0\"").and_then(|value| link::end(&value));
    let remote = table.need("remote", "remote = \"192.0.2.2\"").and_then(|value| value.parsed("192.0.2.2"));
    let port = port(&mut table, 51_820);
    table.finish();
    Some(DeviceKind::Wireguard { port, peer: peer?, endpoint: SocketAddr::new(remote?, port) })
}

fn macvtap(value: &Value<'_>) -> Option<DeviceKind> {
    let mut table = value.table()?;
    let on = on(&mut table);
    table.finish();
    Some(DeviceKind::Macvtap { on: on? })
}

fn on(table: &mut Table<'_>) -> Option<String> {
    table.need("on", "on = \"eth0\"").and_then(|on| on.text()).map(str::to_owned)
}

fn port(table: &mut Table<'_>, usual: u16) -> u16 {
    table.get("port").and_then(|port| port.number(1, 65_535)).map_or(usual, |port| port as u16)
}
