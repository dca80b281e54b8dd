//! `[nodes.NAME]`: a host, router or switch.

use super::super::{Address, Filter, Machine, Neighbour, Node, NodePlace, Route};
use super::device;
use super::link::mac;
use super::list;
use model::toml_file::{Table, Value};
use model::units::Bytes;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(super) fn read(name: &str, value: Value<'_>) -> Option<Node> {
    let mut table = value.table()?;
    let node = Node {
        name: name.to_owned(),
        place: place(&mut table),
        forwards: table.get("forwards").and_then(|value| value.boolean()).unwrap_or_default(),
        cpus: list(&mut table, "cpus").filter_map(|cpu| cpu.number(0, 8191).map(|cpu| cpu as u32)).collect(),
        settings: table.get("settings").map(settings).unwrap_or_default(),
        devices: table.get("devices").map(devices).unwrap_or_default(),
        addresses: table.get("addresses").map(addresses).unwrap_or_default(),
        routes: list(&mut table, "routes").filter_map(|value| route(&value)).collect(),
        neighbours: list(&mut table, "neighbours").filter_map(|value| neighbour(&value)).collect(),
        filters: filters(&mut table),
    };
    table.finish();
    Some(node)
}

fn place(table: &mut Table<'_>) -> NodePlace {
    let places = ["vm", "external", "remote"].into_iter().filter(|key| table.has(key)).count();
    if places > 1 {
        table.wrong("a node is one of `vm`, `external` and `remote`: keep one");
    }
    let machine = table.get("vm").and_then(|value| machine(&value)).map(NodePlace::Machine);
    let external = table.get("external").and_then(|value| value.text());
    let external = external.map(|text| NodePlace::External { instructions: text.trim().to_owned() });
    let remote = table.get("remote").and_then(|value| value.parsed("192.0.2.9:5210"));
    let remote = remote.map(|address| NodePlace::Remote { address });
    machine.or(external).or(remote).unwrap_or(NodePlace::Namespace)
}

fn machine(value: &Value<'_>) -> Option<Machine> {
    let usual = Machine { cpus: 1, memory: Bytes(512 << 20) };
    if !value.is_table() {
        return value.boolean()?.then_some(usual);
    }
    let mut table = value.table()?;
    let cpus = table.get("cpus").and_then(|value| value.number(1, 64)).map(|cpus| cpus as u32);
    let memory: Option<Bytes> = table.get("memory").and_then(|value| {
        let memory = value.parsed("512MiB")?;
        if (Bytes(128 << 20)..=Bytes(64 << 30)).contains(&memory) {
            return Some(memory);
        }
        value.wrong(format!("memory of {memory:#}: a machine has from 128 MiB to 64 GiB"))
    });
    table.finish();
    Some(Machine { cpus: cpus.unwrap_or(usual.cpus), memory: memory.unwrap_or(usual.memory) })
}

/// `net.ipv4.tcp_mtu_probing = 1`, whether the key is quoted or not.
fn settings(value: Value<'_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Some(table) = value.table() else { return found };
    gather(table, "", &mut found);
    found
}

fn gather(table: Table<'_>, before: &str, found: &mut Vec<(String, String)>) {
    for (key, value) in table.all() {
        let name = if before.is_empty() { key.to_owned() } else { format!("{before}.{key}") };
        if value.is_table() {
            if let Some(table) = value.table() {
                gather(table, &name, found);
            }
        } else if !name.starts_with("net.") || name.contains('/') || name.contains("..") {
            value.wrong::<()>(format!(
                "`{name}` is not a setting of a network: write such as net.ipv4.tcp_mtu_probing = 1"
            ));
        } else if let Some(value) = value.setting() {
            found.push((name, value));
        }
    }
}

fn devices(value: Value<'_>) -> Vec<super::super::Device> {
    let table = value.table();
    table.into_iter().flat_map(Table::all).filter_map(|(name, value)| device::read(name, value)).collect()
}

/// `addresses.eth0 = ["192.0.2.2/24", "2001:db8:1::2/64"]`.
fn addresses(value: Value<'_>) -> Vec<Address> {
    let mut found = Vec::new();
    for (device, value) in value.table().into_iter().flat_map(Table::all) {
        for value in value.list() {
            let Some(text) = value.text() else { continue };
            match network(text) {
                Ok((address, prefix)) => found.push(Address { device: device.to_owned(), address, prefix }),
                Err(why) => drop(value.wrong::<()>(why)),
            }
        }
    }
    found
}

/// An address with the length of its network's prefix.
fn network(text: &str) -> Result<(IpAddr, u8), String> {
    let (address, length) = text.split_once('/').ok_or_else(|| {
        format!("`{text}` has no length of its network: write such as 192.0.2.2/24 or 2001:db8::2/64")
    })?;
    let address = address.parse::<IpAddr>().map_err(|_| {
        format!("`{address}` is not an address: write such as 192.0.2.2/24 or 2001:db8::2/64")
    })?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = length.parse::<u8>().ok().filter(|length| (1..=most).contains(length));
    let length =
        length.ok_or_else(|| format!("`{text}`: the length of its network must be from 1 to {most}"))?;
    Ok((address, length))
}

/// A route in the notation of ip-route(8): `default via 192.0.2.1`, `198.51.100.0/24 via 192.0.2.1 dev eth0 mtu 1400`.
fn route(value: &Value<'_>) -> Option<Route> {
    let mut tokens = value.text()?.split_whitespace();
    let first = tokens.next();
    let to = match first {
        Some("default") => None,
        Some("0.0.0.0/0") => Some((Ipv4Addr::UNSPECIFIED.into(), 0)),
        Some("::/0") => Some((Ipv6Addr::UNSPECIFIED.into(), 0)),
        Some(text) => match network(text) {
            Ok(network) => Some(network),
            Err(why) => return value.wrong(format!("{why}; for every address: default")),
        },
        None => return value.wrong(ROUTE),
    };
    let mut route = Route { to, via: None, device: None, mtu: None };
    while let Some(word) = tokens.next() {
        let Some(argument) = tokens.next() else { return value.wrong(ROUTE) };
        let known = match word {
            "via" => argument.parse().map(|via| route.via = Some(via)).is_ok(),
            "dev" => {
                route.device = Some(argument.to_owned());
                true
            }
            "mtu" => argument.parse().map(|mtu| route.mtu = Some(mtu)).is_ok(),
            _ => return value.wrong(format!("`{word}` is not a word of a route: {ROUTE}")),
        };
        if !known {
            return value.wrong(format!("`{word} {argument}` cannot be read: {ROUTE}"));
        }
    }
    if route.via.is_none() && route.device.is_none() {
        return value.wrong(format!("the route leads nowhere: {ROUTE}"));
    }
    Some(route)
}

/// A neighbour in the notation of ip-neighbour(8): `192.0.2.9 lladdr 02:00:00:00:00:09 dev eth0`.
fn neighbour(value: &Value<'_>) -> Option<Neighbour> {
    let tokens: Vec<&str> = value.text()?.split_whitespace().collect();
    if let [address, "lladdr", hardware, "dev", device] | [address, "dev", device, "lladdr", hardware] =
        tokens[..]
        && let (Ok(address), Some(mac)) = (address.parse(), mac(hardware))
    {
        return Some(Neighbour { device: device.to_owned(), address, mac });
    }
    value.wrong("write a neighbour such as \"192.0.2.9 lladdr 02:00:00:00:00:09 dev eth0\"")
}

fn filters(table: &mut Table<'_>) -> Vec<Filter> {
    let fragments = table.get("drop-fragments").and_then(|value| value.boolean()) == Some(true);
    let rules = list(table, "rules").filter_map(|rules| rules.text().map(str::to_owned));
    fragments.then_some(Filter::Fragments).into_iter().chain(rules.map(Filter::Rules)).collect()
}

const ROUTE: &str =
    "write it such as \"198.51.100.0/24 via 192.0.2.1\", with dev NAME and mtu BYTES where needed";
