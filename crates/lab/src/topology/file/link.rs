//! `[[links]]`: a cable, and what happens to packets that leave by its ends.

use super::super::{End, Link, Queue, Shape, Side};
use model::path::from_hex;
use model::toml_file::{Table, Value};
use model::units::{Bytes, Nanos};

/// Every key but `ends` is one value for both ends, or a list of two in the order of `ends`.
pub(super) fn read(value: &Value<'_>) -> Option<Link> {
    let mut table = value.table()?;
    let ends = table.need("ends", "ends = [\"client:eth0\", \"server:eth0\"]").and_then(|value| ends(&value));
    let mtu = both(&mut table, "mtu", mtu);
    let mac = table.get("mac").and_then(|value| macs(&value));
    let offload = both(&mut table, "offload", Value::boolean);
    let real = both(&mut table, "real", |value| value.text().map(str::to_owned));
    let [down, up] = shapes(&mut table);
    table.finish();
    let [one, other] = ends?;
    let side = |end, shape, place: usize| Side {
        end,
        mtu: mtu[place].unwrap_or(1500),
        mac: mac.map(|mac| mac[place]),
        offload: offload[place],
        shape,
        real: real[place].clone(),
    };
    Some(Link { sides: [side(one, down, 0), side(other, up, 1)] })
}

fn shapes(table: &mut Table<'_>) -> [Shape; 2] {
    let rate = both(table, "rate", |value| value.parsed("100M"));
    let delay = both(table, "delay", |value| value.parsed("10ms"));
    let jitter = both(table, "jitter", |value| value.parsed("1ms"));
    let loss = both(table, "loss", share);
    let duplicate = both(table, "duplicate", share);
    let reorder = both(table, "reorder", share);
    let queue = both(table, "queue", queue);
    [0, 1].map(|place| Shape {
        rate: rate[place],
        delay: delay[place],
        jitter: jitter[place],
        loss: loss[place].unwrap_or_default(),
        duplicate: duplicate[place].unwrap_or_default(),
        reorder: reorder[place].unwrap_or_default(),
        queue: queue[place],
    })
}

fn both<'a, T: Clone>(
    table: &mut Table<'a>,
    key: &'static str,
    read: impl Fn(&Value<'a>) -> Option<T>,
) -> [Option<T>; 2] {
    table.get(key).and_then(|value| value.two(read)).map_or([None, None], |two| two.map(Some))
}

fn ends(value: &Value<'_>) -> Option<[End; 2]> {
    match value.list().as_slice() {
        [one, other] => Some([end(one)?, end(other)?]),
        _ => value.wrong("a link has two ends: write such as [\"client:eth0\", \"server:eth0\"]"),
    }
}

/// `node:device`. A colon is what no interface has in its name.
pub(super) fn end(value: &Value<'_>) -> Option<End> {
    match value.text()?.split_once(':') {
        Some((node, device)) if !node.is_empty() && !device.is_empty() => {
            Some(End { node: node.to_owned(), device: device.to_owned() })
        }
        _ => value.wrong("write a node and its interface, such as \"client:eth0\""),
    }
}

pub(super) fn mtu(value: &Value<'_>) -> Option<u32> {
    value.number(68, 65_535).map(|mtu| mtu as u32)
}

/// Two hardware addresses; one for both ends would be a fault.
fn macs(value: &Value<'_>) -> Option<[[u8; 6]; 2]> {
    let read = |value: &Value<'_>| {
        mac(value.text()?).or_else(|| value.wrong("write a hardware address such as \"02:00:00:00:00:01\""))
    };
    match value.list().as_slice() {
        [one, other] if value.is_list() => Some([read(one)?, read(other)?]),
        _ => value.wrong("give two hardware addresses, one for each end"),
    }
}

pub(super) fn mac(text: &str) -> Option<[u8; 6]> {
    let byte = |part: &str| <[u8; 1]>::try_from(from_hex(part)?).ok().map(|[byte]| byte);
    text.split(':').map(byte).collect::<Option<Vec<u8>>>()?.try_into().ok()
}

/// `1%`, `0.5%`: a share from 0 to 1.
pub(super) fn share(value: &Value<'_>) -> Option<f64> {
    let text = value.text_as("0.5%")?;
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match number {
        Some(percent) if (0.0..=100.0).contains(&percent) => Some(percent / 100.0),
        Some(percent) => value.wrong(format!("{percent} % is not a share: it must be from 0% to 100%")),
        None => value.wrong(format!("`{text}` is not a share: write it in percent, such as \"0.5%\"")),
    }
}

/// `50ms`, `64KiB` or `100 packets`.
fn queue(value: &Value<'_>) -> Option<Queue> {
    let text = value.text_as("50ms")?.trim();
    let packets = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"));
    if let Some(packets) = packets.and_then(|number| number.trim().parse().ok()) {
        return Some(Queue::Packets(packets));
    }
    let bare = text.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    let time = text.parse::<Nanos>().ok().map(Queue::Time);
    let found = time.or_else(|| text.parse::<Bytes>().ok().map(Queue::Bytes)).filter(|_| !bare);
    found.or_else(|| {
        value.wrong(format!("`{text}` is not a queue limit: write a time, bytes or packets, such as \"50ms\", \"64KiB\" or \"100 packets\""))
    })
}
