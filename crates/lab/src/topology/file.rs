//! The form of a topology file: from TOML to a [`Topology`], of which only the words have been checked.

mod device;
mod link;
mod node;

use super::{Expect, Node, Tool, Topology};
use model::toml_file::{Faults, Table, Value};
use std::cell::RefCell;
use toml::Spanned;
use toml::de::DeTable;

/// Reads the file, and notes its faults.
pub(super) fn read(name: &str, document: &Spanned<DeTable<'_>>, faults: &RefCell<Faults>) -> Topology {
    let mut file = Table::new(document.get_ref(), 0..0, faults);
    let text = |value: Option<Value<'_>>| value.and_then(|value| value.text()).map(str::to_owned);
    let title = file.need("title", "title = \"A router between two hosts\"");
    let mut topology = Topology {
        name: name.to_owned(),
        title: text(title).unwrap_or_default(),
        about: text(file.get("about")).unwrap_or_default().trim().to_owned(),
        from: text(file.get("from")).unwrap_or_else(|| "client".to_owned()),
        to: text(file.get("to")).unwrap_or_else(|| "server".to_owned()),
        device_under_test: text(file.get("device-under-test")),
        nodes: Vec::new(),
        links: Vec::new(),
        tools: Vec::new(),
        expect: Expect::default(),
    };
    if let Some(nodes) = file.need("nodes", "[nodes.client]").and_then(|nodes| nodes.table()) {
        topology.nodes = nodes.all().filter_map(|(name, value)| node::read(name, value)).collect();
    }
    let links = file.need("links", "[[links]] with ends = [\"client:eth0\", \"server:eth0\"]");
    topology.links = links.iter().flat_map(Value::list).filter_map(|value| link::read(&value)).collect();
    topology.tools = list(&mut file, "tools").filter_map(|value| tool(&value)).collect();
    let own = [&topology.from, &topology.to].map(|end| families(&topology.nodes, end));
    topology.expect.reachable = [own[0][0] && own[1][0], own[0][1] && own[1][1]];
    if let Some(expected) = file.get("expect").and_then(|value| value.table()) {
        expect(&mut topology.expect, expected);
    }
    file.finish();
    topology
}

/// The values in a list, or the one that stands in its place; none where the key is missing.
fn list<'a>(table: &mut Table<'a>, key: &'static str) -> impl Iterator<Item = Value<'a>> + use<'a> {
    table.get(key).into_iter().flat_map(|value| value.list())
}

/// Whether a node has addresses of IPv4 and of IPv6.
fn families(nodes: &[Node], name: &str) -> [bool; 2] {
    let addresses = || nodes.iter().filter(|node| node.name == name).flat_map(|node| &node.addresses);
    [addresses().any(|own| own.address.is_ipv4()), addresses().any(|own| own.address.is_ipv6())]
}

fn tool(value: &Value<'_>) -> Option<Tool> {
    let mut table = value.table()?;
    let name = table.need("name", "name = \"iperf3\"").and_then(|name| name.text());
    let serve = table.get("serve").map(|value| args(&value));
    let run = table.need("run", "run = \"iperf3 -c {to}\"").and_then(|value| args(&value));
    table.finish();
    let serve = match serve {
        Some(read) => Some(read?),
        None => None,
    };
    Some(Tool { name: name?.to_owned(), serve, run: run? })
}

/// A command: a list of words, or a line with words apart by blanks and `'` or `"` around those with blanks in them.
fn args(value: &Value<'_>) -> Option<Vec<String>> {
    let args = if value.is_list() {
        value.list().iter().map(|word| word.text().map(str::to_owned)).collect::<Option<Vec<_>>>()?
    } else {
        match split(value.text()?) {
            Some(args) => args,
            None => return value.wrong("a quote is not closed: put the same `'` or `\"` behind the words"),
        }
    };
    if args.is_empty() { value.wrong("the command is empty") } else { Some(args) }
}

fn split(line: &str) -> Option<Vec<String>> {
    let (mut args, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match quote {
            Some(end) if end == letter => quote = None,
            None if letter == '\'' || letter == '"' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => args.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    args.extend(word);
    quote.is_none().then_some(args)
}

fn expect(expect: &mut Expect, mut table: Table<'_>) {
    if let Some(value) = table.get("path-mtu") {
        expect.path_mtu = path_mtu(&value);
    }
    expect.rate = table.get("rate").and_then(|value| value.two(|value| value.parsed("100M")));
    expect.delay = table.get("delay").and_then(|value| value.parsed("20ms"));
    expect.loss = table.get("loss").and_then(|value| value.two(link::share));
    if let Some(value) = table.get("reachable") {
        expect.reachable = [false, false];
        for value in value.list() {
            match value.text() {
                Some("ipv4") => expect.reachable[0] = true,
                Some("ipv6") => expect.reachable[1] = true,
                Some(other) => {
                    value.wrong::<()>(format!("`{other}` is not a family: write \"ipv4\" or \"ipv6\""));
                }
                None => {}
            }
        }
    }
    let ids = |value: Value<'_>| value.list().iter().filter_map(|id| id.text().map(str::to_owned)).collect();
    expect.findings = table.get("findings").map(ids).unwrap_or_default();
    expect.absent = table.get("absent").map(ids).unwrap_or_default();
    table.finish();
}

/// One for both families, or a table with one for each.
fn path_mtu(value: &Value<'_>) -> [Option<[u32; 2]>; 2] {
    if !value.is_table() {
        return [value.two(link::mtu); 2];
    }
    let Some(mut table) = value.table() else { return [None, None] };
    let found = ["ipv4", "ipv6"].map(|family| table.get(family).and_then(|value| value.two(link::mtu)));
    table.finish();
    found
}
