//! The document of iPerf3's `-J` as types: keys that say nothing here are skipped, and a value of another kind than is meant is none.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;

/// The whole document.
#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct Results {
    pub(super) start: Object<Start>,
    pub(super) intervals: List<Object<Interval>>,
    pub(super) end: Object<End>,
    pub(super) error: Text,
    pub(super) server_output_json: Nested,
    pub(super) server_output_text: Text,
}

impl Results {
    /// Those of a value.
    pub(super) fn of_value(value: &Value) -> Results {
        Results::deserialize(value).unwrap_or_default()
    }

    /// Those of the document at the begin of a text, and its length; `None` where it is none, or has faults.
    pub(super) fn at_begin(text: &str) -> Option<(Box<Results>, usize)> {
        let first = text.strip_prefix('{')?.trim_start();
        if !first.starts_with("\"start\"") {
            return None;
        }
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Box<Results>>();
        let results = values.next()?.ok().filter(|results| results.is_document())?;
        Some((results, values.byte_offset()))
    }

    /// The same as `is_document`, of values.
    fn is_document(&self) -> bool {
        self.start.is_there && self.intervals.0.is_some() || self.start.version.0.is_some()
    }

    /// A number that equal documents share, and others hardly ever.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// The name of the test, which both ends have.
    pub(super) fn cookie(&self) -> Option<&str> {
        self.start.cookie.as_str()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct Start {
    pub(super) connected: List<Object<Connection>>,
    pub(super) version: Text,
    pub(super) system_info: Text,
    pub(super) timestamp: Object<Timestamp>,
    pub(super) connecting_to: Object<Host>,
    pub(super) accepted_connection: Object<Host>,
    pub(super) cookie: Text,
    pub(super) tcp_mss: Figure,
    pub(super) tcp_mss_default: Figure,
    pub(super) target_bitrate: Figure,
    pub(super) test_start: Object<TestStart>,
}

#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct Connection {
    pub(super) socket: Figure,
    pub(super) local_host: Text,
    pub(super) local_port: Figure,
    pub(super) remote_host: Text,
    pub(super) remote_port: Figure,
}

#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct Timestamp {
    pub(super) timesecs: Figure,
    pub(super) timemillisecs: Figure,
}

#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct Host {
    pub(super) host: Text,
}

/// The options of the test.
#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct TestStart {
    pub(super) protocol: Text,
    pub(super) num_streams: Figure,
    pub(super) bidir: Figure,
    pub(super) reverse: Figure,
    pub(super) duration: Figure,
    pub(super) bytes: Figure,
    pub(super) blocks: Figure,
    pub(super) omit: Figure,
    pub(super) blksize: Figure,
    pub(super) tos: Figure,
    pub(super) target_bitrate: Figure,
}

#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct Interval {
    pub(super) streams: List<Object<StreamFigures>>,
}

/// The figures of a stream, of one end of it, or of a sum.
#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct StreamFigures {
    pub(super) socket: Figure,
    pub(super) start: Figure,
    pub(super) end: Figure,
    pub(super) bytes: Figure,
    pub(super) bits_per_second: Figure,
    pub(super) retransmits: Figure,
    pub(super) snd_cwnd: Figure,
    pub(super) max_snd_cwnd: Figure,
    pub(super) snd_wnd: Figure,
    pub(super) max_snd_wnd: Figure,
    pub(super) rtt: Figure,
    pub(super) rttvar: Figure,
    pub(super) min_rtt: Figure,
    pub(super) mean_rtt: Figure,
    pub(super) max_rtt: Figure,
    pub(super) pmtu: Figure,
    pub(super) packets: Figure,
    pub(super) lost_packets: Figure,
    pub(super) jitter_ms: Figure,
    pub(super) out_of_order: Figure,
    pub(super) omitted: Flag,
    pub(super) sender: Flag,
}

#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct End {
    pub(super) streams: List<Object<Ends>>,
    pub(super) sum: Object<StreamFigures>,
    pub(super) sum_sent: Object<StreamFigures>,
    pub(super) sum_received: Object<StreamFigures>,
    pub(super) sum_sent_bidir_reverse: Object<StreamFigures>,
    pub(super) sum_received_bidir_reverse: Object<StreamFigures>,
    pub(super) cpu_utilization_percent: Object<Cpu>,
    pub(super) sender_tcp_congestion: Text,
    pub(super) receiver_tcp_congestion: Text,
}

/// The figures of both ends of a stream.
#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct Ends {
    pub(super) udp: Object<StreamFigures>,
    pub(super) sender: Object<StreamFigures>,
    pub(super) receiver: Object<StreamFigures>,
}

#[derive(Clone, Debug, Default, PartialEq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct Cpu {
    pub(super) host_total: Figure,
    pub(super) host_user: Figure,
    pub(super) host_system: Figure,
    pub(super) remote_total: Figure,
    pub(super) remote_user: Figure,
    pub(super) remote_system: Figure,
}

/// A number.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct Figure(Option<Number>);

impl Figure {
    pub(super) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn float(&self) -> Option<f64> {
        self.0.as_ref()?.as_f64()
    }

    /// A count, also where it is written as a float; none below zero.
    pub(super) fn count(&self) -> Option<u64> {
        let whole = self.0.as_ref()?.as_u64();
        whole.or_else(|| self.float().filter(|float| (0.0..1.8e19).contains(float)).map(|float| float as u64))
    }

    pub(super) fn signed(&self) -> Option<i64> {
        self.0.as_ref()?.as_i64().or_else(|| self.float().map(|float| float as i64))
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(number) => number.fmt(f),
            None => f.write_str("null"),
        }
    }
}

/// A string.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct Text(Option<String>);

impl Text {
    pub(super) fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// A truth value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Flag(pub(super) Option<bool>);

/// A list.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct List<T>(Option<Vec<T>>);

impl<T> List<T> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().flatten()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(Vec::is_empty)
    }
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(None)
    }
}

/// An object; one that is absent has no figure.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct Object<T> {
    pub(super) is_there: bool,
    value: T,
}

impl<T> Deref for Object<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A document in a document.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct Nested(pub(super) Option<Box<Results>>);

/// A kind of values. One of another kind is as if it were absent.
trait Kind<'de>: Default {
    fn of_number(_: Number) -> Self {
        Self::default()
    }

    fn of_text(_: &str) -> Self {
        Self::default()
    }

    fn of_flag(_: bool) -> Self {
        Self::default()
    }

    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn of_object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl Kind<'_> for Figure {
    fn of_number(number: Number) -> Figure {
        Figure(Some(number))
    }
}

impl Kind<'_> for Text {
    fn of_text(text: &str) -> Text {
        Text(Some(text.to_owned()))
    }
}

impl Kind<'_> for Flag {
    fn of_flag(flag: bool) -> Flag {
        Flag(Some(flag))
    }
}

impl<'de, T: Deserialize<'de>> Kind<'de> for List<T> {
    fn of_list<A: SeqAccess<'de>>(mut list: A) -> Result<List<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(List(Some(values)))
    }
}

impl<'de, T: Default + Deserialize<'de>> Kind<'de> for Object<T> {
    fn of_object<A: MapAccess<'de>>(object: A) -> Result<Object<T>, A::Error> {
        let value = T::deserialize(MapAccessDeserializer::new(object))?;
        Ok(Object { is_there: true, value })
    }
}

impl<'de> Kind<'de> for Nested {
    fn of_object<A: MapAccess<'de>>(object: A) -> Result<Nested, A::Error> {
        Results::deserialize(MapAccessDeserializer::new(object))
            .map(|results| Nested(Some(Box::new(results))))
    }
}

/// Takes a value of any kind.
struct Any<T>(PhantomData<T>);

fn any<'de, T: Kind<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(Any(PhantomData))
}

impl<'de, T: Kind<'de>> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::of_flag(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<T, E> {
        Ok(T::of_number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<T, E> {
        Ok(T::of_number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<T, E> {
        Ok(Number::from_f64(value).map_or_else(T::default, T::of_number))
    }

    fn visit_str<E>(self, value: &str) -> Result<T, E> {
        Ok(T::of_text(value))
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::of_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::of_object(object)
    }
}

macro_rules! deserialize_any {
    ($($kind:ident),*) => {$(
        impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<$kind, D::Error> {
                any(from)
            }
        }
    )*};
}

deserialize_any!(Figure, Text, Flag, Nested);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<List<T>, D::Error> {
        any(from)
    }
}

impl<'de, T: Default + Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Object<T>, D::Error> {
        any(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Values of other kinds than are meant neither end the reading nor count.
    #[test]
    fn values_of_other_kinds_are_none() {
        let odd = [
            json!(null),
            json!(true),
            json!(-3),
            json!(1.5),
            json!("text"),
            json!([1, [2]]),
            json!({"a": {}}),
        ];
        for value in &odd {
            let document = json!({
                "start": {"version": "iperf 3.12", "cookie": value, "connected": value, "test_start": {"duration": value}},
                "intervals": [value, {"streams": value}, {"streams": [value, {"bytes": value, "sender": value}]}],
                "end": {"streams": value, "sum": value},
                "server_output_json": value,
                "unknown": value,
            });
            let text = document.to_string();
            let (results, length) = Results::at_begin(&text).expect("a document");
            assert_eq!((&*results, length), (&Results::of_value(&document), text.len()));
            assert_eq!(results.fingerprint(), Results::of_value(&document).fingerprint());
            assert_eq!(results.cookie(), value.as_str());
            assert_eq!(results.start.test_start.duration.float(), value.as_f64());
        }
        assert_eq!(Results::at_begin("{\"start\": {}, \"start\": {}, \"intervals\": []}"), None);
        assert_eq!(Results::at_begin("{\"start\": {\"version\": \"x\"}, \"end\": {"), None);
        assert_eq!(Results::at_begin("{\"start\": 1, \"end\": 2}"), None);
    }
}
