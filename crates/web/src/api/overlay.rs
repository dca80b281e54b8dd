//! Several runs over one another: their lines over time from their begin on, and the distributions of their round trips.

use super::request::query;
use super::runs::{get, points};
use super::{App, answer};
use crate::failed::Failed;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use model::history::{Kept, histograms};
use model::stats::histogram::Histogram;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    runs: String,
}

/// The runs whose names stand there with commas between them.
pub(super) async fn overlay(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let wanted: Wanted = query(&uri)?;
    let ids: Vec<String> =
        wanted.runs.split(',').map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned).collect();
    if !(1..=MOST).contains(&ids.len()) {
        return Err(Failed::bad(format!("{} runs are named", ids.len()))
            .advised(format!("name from 1 to {MOST} runs")));
    }
    let overlay = answer(&app, move |store, backend| {
        let overlaid = |id: &String| {
            let (entry, kept) = get(store, backend, id)?;
            let (series, distributions) = (points(&kept), distributions(&kept));
            Ok(json!({ "entry": entry, "series": series, "distributions": distributions }))
        };
        let runs = ids.iter().map(overlaid).collect::<Result<Vec<_>, Failed>>()?;
        Ok(json!({ "runs": runs }))
    });
    overlay.await
}

/// The round trips of each egress path: how great a share took no longer than so many seconds.
fn distributions(kept: &Kept) -> Vec<Value> {
    let known = kept.run().map(histograms).unwrap_or_default();
    let read = |(name, text): (String, &str)| {
        let histogram = Histogram::from_v2_base64(text).ok().filter(|histogram| histogram.count() > 0)?;
        let (mut at, mut share) = (Vec::new(), Vec::new());
        for step in 0..=STEPS {
            let quantile = f64::from(step) / f64::from(STEPS);
            at.push(histogram.value_at_quantile(quantile)? as f64 / 1e9);
            share.push(quantile);
        }
        Some(json!({ "name": name, "at": at, "share": share }))
    };
    known.into_iter().filter_map(read).collect()
}

/// Most runs that one chart shows distinctly.
const MOST: usize = 8;
/// Points of a distribution.
const STEPS: u32 = 200;
