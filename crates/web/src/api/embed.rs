//! Charts for pages of other sites: a link shows one chart to all who have it, and opens nothing else.

use super::request::query;
use super::{App, ask, paths, runs};
use crate::backend::Backend;
use crate::blocks;
use crate::failed::{Failed, json};
use crate::guard::EMBEDDED;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use linux::clock::wall_now;
use model::finding::Status;
use model::time::WallTime;
use model::units::Nanos;
use report::document::{Document, picture};
use report::format::document as document_of;
use report::plot::Figure;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Store;

/// The chart that is wanted: one of a run, or a figure of a path over days.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct Wanted {
    run: Option<String>,
    /// The place among the charts of the run, from 0.
    chart: Option<u16>,
    target: Option<String>,
    figure: Option<String>,
    /// The command that measured the figure; absent: each.
    kind: Option<String>,
    /// The latest so many days; absent: all.
    days: Option<u32>,
    /// The signature of all others.
    #[serde(skip_serializing)]
    key: Option<String>,
}

impl Wanted {
    /// The text that is signed.
    fn signed(&self) -> Result<String, Failed> {
        serde_json::to_string(self).map_err(|_| Failed::internal())
    }

    /// A chart is named by a run and a number, or by a far end and a figure.
    fn check(&self) -> Result<(), Failed> {
        let of_run = self.run.is_some() && self.chart.is_some();
        let of_path = self.target.is_some() && self.figure.is_some();
        let is_mixed = self.run.is_some() == self.target.is_some();
        if is_mixed || !(of_run || of_path) {
            return Err(Failed::bad(
                "a chart is that of a run and its number, or of a target and its figure",
            )
            .advised("give run=ID&chart=0, or target=HOST&figure=tcp.up.goodput&days=30"));
        }
        Ok(())
    }
}

/// The address of the chart with its key.
pub(super) async fn link(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let wanted: Wanted = query(&uri)?;
    if wanted.days.is_some_and(|days| !(1..=MOST_DAYS).contains(&days)) {
        return Err(Failed::bad(format!("days is to be from 1 to {MOST_DAYS}")));
    }
    let key = app.logins.sign(&wanted.signed()?).ok_or_else(|| {
        Failed::new(
            StatusCode::CONFLICT,
            "links to charts need a token for looking, by which they are signed",
        )
        .advised("start the server with --read-token-file FILE")
    })?;
    wanted.check()?;
    // A chart that cannot be drawn has no link.
    ask(&app, move |store, backend| drawn(store, backend, &wanted).map(drop)).await?;
    let named = uri.query().unwrap_or_default();
    Ok(json(StatusCode::OK, &json!({ "path": format!("{EMBEDDED}?{named}&key={key}") })))
}

/// The chart, for all who have its key.
pub(super) async fn chart(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let wanted: Wanted = query(&uri)?;
    let given = wanted.key.clone().unwrap_or_default();
    if !app.logins.is_signed(&wanted.signed()?, &given) {
        return Err(Failed::new(
            StatusCode::FORBIDDEN,
            "the key of this link is wrong, or not valid any more",
        )
        .advised("`Embed` on the page makes a link: it lasts as long as the token of --read-token-file"));
    }
    let svg = ask(&app, move |store, backend| Ok(drawn(store, backend, &wanted)?.svg())).await?;
    let headers = [
        (CONTENT_TYPE, "image/svg+xml"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        (CACHE_CONTROL, "private, max-age=30"),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ];
    Ok((headers, svg).into_response())
}

fn drawn(store: &Store, backend: &Backend, wanted: &Wanted) -> Result<Figure, Failed> {
    match (&wanted.run, &wanted.target) {
        (Some(run), _) => of_run(store, backend, run, usize::from(wanted.chart.unwrap_or_default())),
        (None, Some(target)) => of_path(store, target, wanted),
        (None, None) => Err(Failed::unknown()),
    }
}

fn of_run(store: &Store, backend: &Backend, run: &str, number: usize) -> Result<Figure, Failed> {
    let (entry, kept) = runs::get(store, backend, run)?;
    let document = document_of(&kept);
    let blocks = document.blocks();
    let charts = blocks::charts(&blocks);
    let chart = charts.get(number).ok_or_else(|| runs::no_chart(charts.len()))?;
    Ok(Figure {
        heading: None,
        drawings: vec![chart.drawing()],
        footer: vec![document.provenance()],
        void: entry.status.as_deref() == Some(Status::Void.word()),
    })
}

fn of_path(store: &Store, target: &str, wanted: &Wanted) -> Result<Figure, Failed> {
    let (_, mut trends) = paths::trends(store, target)?;
    let is_wanted = |figure: &str, kind: &str| {
        wanted.figure.as_deref() == Some(figure) && wanted.kind.as_deref().is_none_or(|own| own == kind)
    };
    trends.series.retain(|series| is_wanted(&series.figure, &series.kind));
    if let Some(days) = wanted.days {
        let since = WallTime(wall_now().0.saturating_sub(Nanos::from_secs(u64::from(days) * 86_400).0));
        let is_recent = |at: &str| at.parse::<WallTime>().is_ok_and(|at| at >= since);
        for series in &mut trends.series {
            series.points.retain(|point| is_recent(&point.at));
        }
    }
    if !trends.series.iter().any(|series| series.points.len() > 1) {
        let what = format!("no two runs to `{target}` have this figure in this time");
        return Err(Failed::new(StatusCode::NOT_FOUND, what).advised("/api/path lists the figures of a path"));
    }
    Ok(picture(&[&trends as &dyn Document], ""))
}

const MOST_DAYS: u32 = 3650;
