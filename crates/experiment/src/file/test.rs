//! `[[tests]]`: what is measured, in the keys of a command ([`cli::keys`]). A key with a list of values is a variable.

use super::texts;
use crate::plan::{Against, Test, Variant};
use crate::request::refused;
use cli::keys::{Given, KEYED, Keyed};
use engine::error::Failure;
use engine::request::Request;
use model::experiment::Setting;
use model::plan::{End, ProtocolName};
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
        if asked.protocol == ProtocolName::Native && matches!(asked.test.end, End::Time(_)) && asked.pairs.is_none())
}

/// Reads one.
pub(super) fn read(value: &Value<'_>, is_job: bool) -> Option<Read> {
    let mut table = value.table()?;
    let kind = table.need("test", "test = \"latency\"").and_then(|value| {
        let names: Vec<(&str, &Keyed)> = KEYED.iter().map(|keyed| (keyed.command, keyed)).collect();
        value.word(&names)
    })?;
    let name = table.get("name").map(|value| value.text());
    let paths = texts(table.get("paths"));
    let against = table.get("against").and_then(|value| value.word(&AGAINST));
    let together = table.get("start").and_then(|value| value.word(&[("together", true), ("alone", false)]));
    let expect = table.get("expect");
    for one in expect.iter().flat_map(Value::list) {
        one.parsed::<Expectation>("rtt.p99<5ms");
    }
    let variants = variants(&mut table, kind);
    table.finish();
    if is_job && variants.iter().any(|variant| spends_keys(&variant.request)) {
        return value.wrong("`s3:` is not for jobs: the keys of an agent's account are its own");
    }
    // A refusal by the engine that is independent of the path is a fault of the file, reported once.
    if let Some(failure) = variants.iter().find_map(|variant| refused(&variant.request)) {
        value.wrong::<()>(with_advice(failure));
    }
    let is_together = together.unwrap_or_default();
    if is_together && !variants.iter().all(|variant| may_start_together(&variant.request)) {
        value.wrong::<()>("`start = \"together\"` is of throughput by the native protocol, for a time");
    }
    let kind = kind.command;
    let name = name.map_or(Some(kind), |name| name)?.to_owned();
    let against = against.unwrap_or_default();
    Some(Read {
        test: Test { name, kind, paths, together: None, against, expect: texts(expect), variants },
        is_together,
    })
}

/// A refusal as one sentence.
fn with_advice(failure: Failure) -> String {
    let advice = failure.advice.map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("{}{advice}", failure.message)
}

/// Every combination of the values of the keys of a command. The first one that the command line refuses is a fault of the
/// table.
fn variants(table: &mut Table<'_>, keyed: &'static Keyed) -> Vec<Variant> {
    let mut reader = keyed.reader();
    if let Some((name, example)) = keyed.needed {
        table.need(name, example);
    }
    let mut all = vec![(Vec::new(), String::new(), Given::default())];
    let mut are_read = true;
    for key in keyed.keys {
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
        let mut read = |one: &Value<'_>| {
            let given = reader.given(key, &one.scalar_text()?);
            given.map_err(|fault| one.wrong::<()>(fault)).ok()
        };
        let given: Vec<Option<Given>> = values.iter().map(&mut read).collect();
        are_read &= given.iter().all(Option::is_some);
        let with = |(settings, text, before): &(Vec<Setting>, String, Given)| {
            let combined = |(one, given): (&Value<'_>, &Option<Given>)| {
                let mut settings = settings.clone();
                let text = format!("{text}{} = {}\n", key.name, one.literal());
                if value.is_list() {
                    settings.push(Setting { name: key.name.to_owned(), value: one.written() });
                }
                (settings, text, given.as_ref().map_or_else(|| before.clone(), |given| before.and(given)))
            };
            values.iter().zip(&given).map(combined).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let mut refusal = None;
    let mut variant =
        |(settings, text, given): (Vec<Setting>, String, Given)| match reader.request(ANY, &given) {
            Ok(request) => Some(Variant { settings, text, request }),
            Err(error) => {
                refusal.get_or_insert(error);
                None
            }
        };
    let variants = all.into_iter().filter_map(&mut variant).collect();
    // The fault of a value is reported already.
    if let Some(error) = refusal.filter(|_| are_read) {
        table
            .wrong(error.failure().map_or_else(|| error.to_string(), |failure| with_advice(failure.clone())));
    }
    variants
}

const AGAINST: [(&str, Against); 2] = [("paths", Against::Paths), ("values", Against::Values)];
/// A far end, until the path is known.
const ANY: &str = "any";
const MOST: usize = 10_000;
