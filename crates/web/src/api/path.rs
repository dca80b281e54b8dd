//! A path: every figure of it over days, when its level changed and what was known to change, what limits it, its hops then and now,
//! how often it is measured and what was reported of it.

use super::alerts;
use super::paths::{options_of, trends};
use super::request::query;
use super::runs::get;
use super::{App, answer, schedules};
use crate::again::again;
use crate::backend::Backend;
use crate::failed::Failed;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use model::history::{Entry, Sample};
use model::limit::Limit;
use model::plan::Direction;
use model::run::Run;
use report::format::trend::{Series, Trends};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use store::{Filter, Store};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    target: String,
}

#[derive(Serialize)]
struct FigureTrend<'a> {
    #[serde(flatten)]
    series: &'a Series,
    /// The command and the options of each point, as a place in `options`.
    of: Vec<usize>,
    options: Vec<&'a str>,
}

/// The hops of a run.
#[derive(Serialize)]
struct Trace {
    run: String,
    started: String,
    hops: Vec<HopRow>,
}

#[derive(Debug, PartialEq, Serialize)]
struct HopRow {
    ttl: u8,
    far_end: bool,
    /// Addresses and names, the one with the most answers first.
    routers: Vec<String>,
    rtt_ns: Option<u64>,
}

/// The limit of the rate in a direction, from the latest run that found it.
#[derive(Serialize)]
struct Limited {
    run: String,
    started: String,
    direction: Direction,
    limit: Box<Limit>,
}

pub(super) async fn show(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let Wanted { target } = query(&uri)?;
    let path = answer(&app, move |store, backend| {
        let filter = Filter { target: Some(target.clone()), limit: Some(LOOKED_AT), ..Filter::default() };
        let entries = store.list(&filter)?;
        if entries.is_empty() {
            return Err(Failed::new(StatusCode::NOT_FOUND, format!("no run to `{target}` is kept"))
                .advised("the view Paths lists the far ends"));
        }
        let (samples, trends) = trends(store, &target)?;
        let options = options_of(&samples);
        let figures: Vec<FigureTrend<'_>> =
            trends.series.iter().map(|series| figure_trend(series, &options)).collect();
        Ok(serde_json::json!({
            "target": target,
            "runs": store.count(&filter)?,
            "latest": entries.first(),
            "conclusion": trends.conclusion,
            "is_worse": Trends::is_worse(&trends),
            "marks": trends.marks,
            "figures": figures,
            "states": states(&samples),
            "limits": limits(store, backend, &entries),
            "host": host(store, backend, &entries),
            "hops": traces(store, backend, &target)?,
            "schedules": schedules::of_path(store, &target, &entries)?,
            "alerts": store.alerts(Some(&target), alerts::MOST)?,
        }))
    });
    path.await
}

fn figure_trend<'a>(series: &'a Series, options: &'a HashMap<&str, String>) -> FigureTrend<'a> {
    let mut named: Vec<&str> = Vec::new();
    let places = series.points.iter().map(|point| {
        let own = options.get(point.run.as_str()).map_or(series.kind.as_str(), String::as_str);
        named.iter().position(|name| *name == own).unwrap_or_else(|| {
            named.push(own);
            named.len() - 1
        })
    });
    FigureTrend { series, of: places.collect(), options: named }
}

/// The verdict of each run, the earliest first: those without figures stand in none of them.
fn states(samples: &[Sample]) -> Vec<(String, String, Option<&str>)> {
    samples.iter().rev().map(|run| (run.id.clone(), run.started.to_string(), run.status.as_deref())).collect()
}

/// The limit of each direction. Documents are large: few are looked into.
fn limits(store: &Store, backend: &Backend, entries: &[Entry]) -> Vec<Limited> {
    let mut found: Vec<Limited> = Vec::new();
    let has_rate = |entry: &&Entry| entry.figures.iter().any(|figure| figure.name.ends_with("goodput"));
    for entry in entries.iter().filter(has_rate).take(OPENED) {
        let Ok((_, kept)) = get(store, backend, &entry.id) else { continue };
        for run in kept.run().into_iter().flat_map(|run| std::iter::once(run).chain(&run.tests)) {
            for direction in Direction::BOTH {
                let is_known = found.iter().any(|one| one.direction == direction);
                let limit = run.summary.direction(direction).and_then(|summary| summary.limit.clone());
                found.extend(limit.filter(|_| !is_known).map(|limit| Limited {
                    run: entry.id.clone(),
                    started: entry.started.to_string(),
                    direction,
                    limit,
                }));
            }
        }
        if found.len() == 2 {
            break;
        }
    }
    found
}

/// The far end as the form takes it, from the latest run that the form could measure again: paths are kept without a port.
fn host(store: &Store, backend: &Backend, entries: &[Entry]) -> Option<String> {
    let again = |entry: &Entry| {
        let (entry, kept) = get(store, backend, &entry.id).ok()?;
        Some(again(kept.run()?, &entry)?.host)
    };
    entries.iter().take(OPENED).find_map(again)
}

/// The latest trace, and the latest before it with other routers.
fn traces(store: &Store, backend: &Backend, target: &str) -> Result<Vec<Trace>, Failed> {
    let filter = Filter {
        target: Some(target.to_owned()),
        kind: Some("hops".into()),
        limit: Some(TRACES),
        ..Filter::default()
    };
    let mut traces: Vec<Trace> = Vec::new();
    for id in store.ids(&filter)? {
        let Ok((entry, kept)) = get(store, backend, &id) else { continue };
        let hops = kept.run().map(hops).unwrap_or_default();
        let routes = |hops: &[HopRow]| hops.iter().map(|hop| hop.routers.clone()).collect::<Vec<_>>();
        let differs = traces.first().is_none_or(|now| routes(&now.hops) != routes(&hops));
        if !hops.is_empty() && differs {
            traces.push(Trace { run: entry.id, started: entry.started.to_string(), hops });
        }
        if traces.len() == 2 {
            break;
        }
    }
    Ok(traces)
}

fn hops(run: &Run) -> Vec<HopRow> {
    let found = run.summary.hops.as_ref().map(|found| found.hops.as_slice()).unwrap_or_default();
    let row = |hop: &model::hops::Hop| HopRow {
        ttl: hop.ttl,
        far_end: hop.far_end,
        routers: hop
            .routers
            .iter()
            .map(|router| match &router.name {
                Some(name) => format!("{name} ({})", router.address),
                None => router.address.to_string(),
            })
            .collect(),
        rtt_ns: hop.rtt.and_then(|rtt| rtt.median()).map(|rtt| rtt.0),
    };
    found.iter().map(row).collect()
}

/// Runs of a path that are looked at, the latest.
const LOOKED_AT: u64 = 2_000;
/// Documents that are opened for the limit, and for the far end's port.
const OPENED: usize = 6;
/// Traces that are compared with the latest.
const TRACES: u64 = 30;
