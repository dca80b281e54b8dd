//! `[[tests]]`: what is measured, a row for each key of each kind. A key with a list of values is a variable.

use super::texts;
use crate::plan::{Against, Test, Variant};
use crate::request::{HOST, refused};
use engine::host::host_port::HostPort;
use engine::request::{
    Body, FarEnd, Frames, Hops, Latency, LatencyLoad, Measure, Path, Request, Throughput, Transfer,
};
use model::experiment::Setting;
use model::hops::HopProtocol;
use model::latency::LatencyProtocol;
use model::marks::Dscp;
use model::path::PathMethod;
use model::plan::{Direction, Directions, End, ProtocolName, Transport};
use model::toml_file::{Table, Value};
use report::expect::Expectation;

/// A test as it is read.
pub(super) struct Read {
    pub(super) test: Test,
    /// Its paths start together.
    pub(super) is_together: bool,
}

/// Whether keys of this host's account would sign it.
fn spends_keys(request: &Request) -> bool {
    let is_object =
        |url: &String| url.trim_start().get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("s3:"));
    matches!(request, Request::Transfer(asked) if asked.urls.iter().any(is_object))
}

/// Whether the agent that carries it out can wait for a common start, and report its transfer over time.
fn may_start_together(request: &Request) -> bool {
    matches!(request, Request::Throughput(asked)
        if asked.protocol == ProtocolName::Native && matches!(asked.end, End::Time(_)) && asked.pairs.is_none())
}

/// Reads one.
pub(super) fn read(value: &Value<'_>, is_job: bool) -> Option<Read> {
    let mut table = value.table()?;
    let kind = table.need("test", "test = \"latency\"").and_then(|value| {
        let names: Vec<(&str, usize)> = KINDS.iter().enumerate().map(|(at, kind)| (kind.name, at)).collect();
        value.word(&names)
    })?;
    let Kind { name: kind, read, .. } = KINDS[kind];
    let name = table.get("name").map(|value| value.text());
    let paths = texts(table.get("paths"));
    let against = table.get("against").and_then(|value| value.word(&AGAINST));
    let together = table.get("start").and_then(|value| value.word(&[("together", true), ("alone", false)]));
    let expect = table.get("expect");
    for one in expect.iter().flat_map(Value::list) {
        one.parsed::<Expectation>("rtt.p99<5ms");
    }
    let variants = read(&mut table);
    table.finish();
    if is_job && variants.iter().any(|variant| spends_keys(&variant.request)) {
        return value.wrong("`s3:` is not for jobs: the keys of an agent's account are its own");
    }
    // A refusal by the engine that is independent of the path is a fault of the file, reported once.
    if let Some(failure) = variants.iter().find_map(|variant| refused(&variant.request)) {
        let advice = failure.advice.map(|advice| format!("; {advice}")).unwrap_or_default();
        value.wrong::<()>(format!("{}{advice}", failure.message));
    }
    let is_together = together.unwrap_or_default();
    if is_together && !variants.iter().all(|variant| may_start_together(&variant.request)) {
        value.wrong::<()>("`start = \"together\"` is of throughput by the native protocol, for a time");
    }
    let name = name.map_or(Some(kind), |name| name)?.to_owned();
    let against = against.unwrap_or_default();
    Some(Read {
        test: Test { name, kind, paths, together: None, against, expect: texts(expect), variants },
        is_together,
    })
}

/// The kinds of tests, and the keys of each.
#[must_use]
pub fn keys() -> Vec<(&'static str, Vec<&'static str>)> {
    KINDS.iter().map(|kind| (kind.name, (kind.keys)())).collect()
}

/// A kind of test.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    keys: fn() -> Vec<&'static str>,
    read: fn(&mut Table<'_>) -> Vec<Variant>,
}

/// A key: reads one value into a request.
struct Key<T> {
    name: &'static str,
    read: fn(&Value<'_>, &mut T) -> Option<()>,
}

const fn key<T>(name: &'static str, read: fn(&Value<'_>, &mut T) -> Option<()>) -> Key<T> {
    Key { name, read }
}

/// Every combination of the values of these keys.
fn variants<T: Clone>(
    table: &mut Table<'_>,
    keys: &[Key<T>],
    base: T,
    request: fn(T) -> Request,
) -> Vec<Variant> {
    let mut all = vec![(Vec::new(), String::new(), base)];
    for key in keys {
        let Some(value) = table.get(key.name) else { continue };
        let values = value.list();
        let written: Vec<String> = values.iter().map(Value::written).collect();
        if let Some(twice) = written.iter().enumerate().find(|(at, one)| written[..*at].contains(one)) {
            value.wrong::<()>(format!("`{}` has the value {} twice", key.name, twice.1));
        }
        if values.is_empty() || all.len().saturating_mul(values.len()) > MOST {
            value.wrong::<()>(format!("`{}`: give 1 value or more, {MOST} combinations at most", key.name));
            continue;
        }
        let with = |(settings, text, base): &(Vec<Setting>, String, T)| {
            let combined = |one: &Value<'_>| {
                let (mut settings, mut asked) = (settings.clone(), base.clone());
                (key.read)(one, &mut asked);
                let text = format!("{text}{} = {}\n", key.name, one.literal());
                if value.is_list() {
                    settings.push(Setting { name: key.name.to_owned(), value: one.written() });
                }
                (settings, text, asked)
            };
            values.iter().map(combined).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let variant = |(settings, text, asked)| Variant { settings, text, request: request(asked) };
    all.into_iter().map(variant).collect()
}

/// A placeholder until the path is known.
fn nowhere() -> FarEnd {
    FarEnd::named(HOST)
}

fn names<T>(keys: &[Key<T>]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

const KINDS: [Kind; 7] = [
    Kind {
        name: "throughput",
        keys: || names(&THROUGHPUT),
        read: |table| {
            let both = ["time", "bytes"].map(|key| table.has(key)) == [true, true];
            if both {
                table.wrong("`time` and `bytes`: a test ends by time or by amount");
            }
            let request = |asked| Request::Throughput(Box::new(asked));
            variants(table, &THROUGHPUT, Throughput::to(nowhere()), request)
        },
    },
    Kind {
        name: "latency",
        keys: || names(&LATENCY),
        read: |table| {
            variants(table, &LATENCY, Latency::to(nowhere()), |asked| Request::Latency(Box::new(asked)))
        },
    },
    Kind {
        name: "mtu",
        keys: || names(&MTU),
        read: |table| variants(table, &MTU, Path::to(nowhere()), |asked| Request::Path(Box::new(asked))),
    },
    Kind {
        name: "hops",
        keys: || names(&HOPS),
        read: |table| variants(table, &HOPS, Hops::to(nowhere()), |asked| Request::Hops(Box::new(asked))),
    },
    Kind {
        name: "frames",
        keys: || names(&FRAMES),
        read: |table| {
            if !table.has("frame") {
                table.wrong("`frame` is missing: write it such as frame = [64, 512, 1518]");
            }
            let frames = Frames { transports: vec![Transport::Udp], ..Frames::to(nowhere()) };
            variants(table, &FRAMES, frames, |asked| Request::Frames(Box::new(asked)))
        },
    },
    Kind {
        name: "transfer",
        keys: || names(&TRANSFER),
        read: |table| {
            if !table.has("url") {
                table.wrong("`url` is missing: write it such as url = \"http://{host}:8080/bytes/10MB\"");
            }
            let transfer = Transfer { repetitions: 1, ..Transfer::from_urls(&["http://{host}/"]) };
            variants(table, &TRANSFER, transfer, |asked| Request::Transfer(Box::new(asked)))
        },
    },
    Kind {
        name: "measure",
        keys: || names(&MEASURE),
        read: |table| {
            variants(table, &MEASURE, Measure::to(nowhere()), |asked| Request::Measure(Box::new(asked)))
        },
    },
];

const THROUGHPUT: [Key<Throughput>; 17] = [
    key("protocol", |value, asked| set(&mut asked.protocol, word(value, ProtocolName::WORDS))),
    key("transport", |value, asked| set(&mut asked.transport, value.word(&TRANSPORTS))),
    key("direction", |value, asked| {
        let directions = [("up", Directions::Up), ("down", Directions::Down), ("both", Directions::Both)];
        set(&mut asked.directions, value.word(&directions))
    }),
    key("port", |value, asked| port(value, &mut asked.far)),
    key("time", |value, asked| set(&mut asked.end, value.parsed("10s").map(End::Time))),
    key("bytes", |value, asked| set(&mut asked.end, value.scalar("100MB").map(End::Bytes))),
    key("omit", |value, asked| set(&mut asked.omit, value.parsed("1s"))),
    key("streams", |value, asked| set(&mut asked.streams, value.number(1, 128).map(|number| number as u32))),
    key("pairs", |value, asked| set(&mut asked.pairs, value.scalar("4").map(Some))),
    key("length", |value, asked| set(&mut asked.length, value.scalar("1472").map(Some))),
    key("bitrate", |value, asked| set(&mut asked.bitrate, value.parsed("1G").map(Some))),
    key("mss", |value, asked| set(&mut asked.sockets.mss, value.scalar("1400").map(Some))),
    key("window", |value, asked| set(&mut asked.sockets.window, value.scalar("4MiB").map(Some))),
    key("congestion", |value, asked| set(&mut asked.sockets.congestion, text(value).map(Some))),
    key("dscp", |value, asked| set(&mut asked.sockets.tos, value.scalar("ef").map(Dscp::tos))),
    key("interval", |value, asked| set(&mut asked.interval, value.parsed("1s"))),
    key("observe", |value, asked| set(&mut asked.observe, hosts(value))),
];

const LATENCY: [Key<Latency>; 11] = [
    key("protocol", |value, asked| set(&mut asked.protocol, word(value, LatencyProtocol::WORDS))),
    key("transport", |value, asked| set(&mut asked.transport, value.word(&TRANSPORTS))),
    key("port", |value, asked| set(&mut asked.port, value.number(1, 65_535).map(|port| Some(port as u16)))),
    key("time", |value, asked| set(&mut asked.time, value.parsed("5s").map(Some))),
    key("count", |value, asked| set(&mut asked.count, value.number(1, 1_000_000_000).map(Some))),
    key("size", |value, asked| set(&mut asked.size, value.scalar("64").map(Some))),
    key("rate", |value, asked| set(&mut asked.rate, value.parsed("1kpps").map(Some))),
    key("loaded", |value, asked| {
        let load = LatencyLoad { streams: 1, congestion: None };
        set(&mut asked.load, value.boolean().map(|loaded| loaded.then_some(load)))
    }),
    key("warm-up", |value, asked| set(&mut asked.warm_up, value.parsed("100ms").map(Some))),
    key("dscp", |value, asked| set(&mut asked.tos, value.scalar("ef").map(Dscp::tos))),
    key("observe", |value, asked| set(&mut asked.observe, hosts(value))),
];

const MTU: [Key<Path>; 3] = [
    key("protocol", |value, asked| set(&mut asked.method, word(value, PathMethod::WORDS))),
    key("port", |value, asked| port(value, &mut asked.far)),
    key("largest", |value, asked| set(&mut asked.largest, value.scalar("9000").map(Some))),
];

const HOPS: [Key<Hops>; 3] = [
    key("protocol", |value, asked| set(&mut asked.protocol, word(value, HopProtocol::WORDS))),
    key("port", |value, asked| port(value, &mut asked.far)),
    key("count", |value, asked| {
        set(&mut asked.probes, value.number(1, 1000).map(|number| Some(number as u32)))
    }),
];

const FRAMES: [Key<Frames>; 7] = [
    key("frame", |value, asked| set(&mut asked.sizes, value.scalar("512").map(|frame| vec![frame]))),
    key("transport", |value, asked| set(&mut asked.transports, value.word(&TRANSPORTS).map(|one| vec![one]))),
    key("direction", |value, asked| {
        set(&mut asked.direction, value.word(&[("up", Direction::Up), ("down", Direction::Down)]))
    }),
    key("port", |value, asked| port(value, &mut asked.far)),
    key("time", |value, asked| set(&mut asked.time, value.parsed("2s").map(Some))),
    key("streams", |value, asked| set(&mut asked.streams, value.number(1, 128).map(|number| number as u32))),
    key("pairs", |value, asked| set(&mut asked.pairs, value.scalar("4").map(Some))),
];

const TRANSFER: [Key<Transfer>; 6] = [
    key("url", |value, asked| set(&mut asked.urls, text(value).map(|url| vec![url]))),
    key("mtu", |value, asked| set(&mut asked.mtus, value.number(68, 65_535).map(|mtu| vec![mtu as u32]))),
    key("size", |value, asked| set(&mut asked.body, value.scalar("10MB").map(|size| Some(Body::Size(size))))),
    key("count", |value, asked| {
        set(&mut asked.repetitions, value.number(1, 1000).map(|number| number as u32))
    }),
    key("mss", |value, asked| set(&mut asked.mss, value.scalar("1400").map(Some))),
    key("congestion", |value, asked| set(&mut asked.congestion, text(value).map(Some))),
];

const MEASURE: [Key<Measure>; 3] = [
    key("port", |value, asked| port(value, &mut asked.far)),
    key("quick", |value, asked| set(&mut asked.quick, value.boolean())),
    key("observe", |value, asked| set(&mut asked.observe, hosts(value))),
];

const AGAINST: [(&str, Against); 2] = [("paths", Against::Paths), ("values", Against::Values)];
const TRANSPORTS: [(&str, Transport); 2] = [("tcp", Transport::Tcp), ("udp", Transport::Udp)];

fn port(value: &Value<'_>, far: &mut FarEnd) -> Option<()> {
    set(&mut far.port, value.number(1, 65_535).map(|port| Some(port as u16)))
}

/// The value of a word of a table that the command line reads, too.
fn word<T: Copy, const N: usize>(value: &Value<'_>, words: [(&str, T, &str); N]) -> Option<T> {
    value.word(&words.map(|(word, meaning, _)| (word, meaning)))
}

/// Hosts between commas: a list would be a variable.
fn hosts(value: &Value<'_>) -> Option<Vec<HostPort>> {
    let names = value.text_as("10.0.0.1, router.example")?.split(',').map(|name| name.trim().parse());
    let read = names.collect::<Result<Vec<HostPort>, String>>();
    read.or_else(|error| value.wrong(format!("`observe`: {error}")).ok_or(())).ok()
}

fn text(value: &Value<'_>) -> Option<String> {
    value.text().map(str::to_owned)
}

fn set<T>(place: &mut T, read: Option<T>) -> Option<()> {
    *place = read?;
    Some(())
}

const MOST: usize = 10_000;
