//! Transfer times of files: the request, and the plan, every URL with its address.

#[cfg(feature = "s3")]
mod keys;
mod mtu_of;

use super::Host;
use super::far::Origin;
use crate::error::{Context, Error, Failure, Result};
use crate::request::preflight;
use crate::run::{Plan, TransferWork};
use crate::work::transfer::mtu;
use crate::work::transfer::source::{Source, host_and_port};
use model::explain::DEFAULT_BUDGET;
use model::transfer::{S3Plan, TransferBody, TransferFile, TransferMethod, TransferPlan, Trust};
use model::units::{Bytes, Nanos};
#[cfg(feature = "s3")]
use rusty_s3::{Bucket, UrlStyle};
use std::collections::BTreeSet;
use std::path::PathBuf;
use url::Url;

/// Files transferred over HTTP, HTTPS and S3, repeated and compared.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The URLs to transfer: `http:`, `https:` or `s3:`.
    pub urls: Vec<String>,
    /// Names of the URLs, in their order; where there are fewer, the parts in which the others differ.
    pub labels: Vec<String>,
    /// Transfers of each URL at each MTU.
    pub repetitions: u32,
    /// The request; absent: a download, or an upload of `body`.
    pub method: Option<TransferMethod>,
    /// Data of an upload.
    pub body: Option<Body>,
    /// The transfer that the others are compared with: an MTU or a label; absent: the first.
    pub baseline: Option<String>,
    /// MTUs to set in turn.
    pub mtus: Vec<u32>,
    /// They are set on routes to the far ends, and not on the interface.
    pub by_route: bool,
    /// Bytes that a packet costs the link beyond IP.
    pub framing: u32,
    /// Where packets leave.
    pub origin: Origin,
    /// Longest time in which no byte moves.
    pub timeout: Nanos,
    /// Redirects followed in one transfer.
    pub redirects: u32,
    /// Largest TCP segment to ask for.
    pub mss: Option<u32>,
    /// TCP's congestion control.
    pub congestion: Option<String>,
    /// The certificates that are trusted.
    pub trust: Trust,
    /// How buckets of S3 are reached.
    pub s3: S3,
    /// How long the reasons of an unexpected result may be looked for, in each direction; zero: not at all.
    pub explain: Nanos,
}

/// The data to upload.
#[derive(Clone, Debug)]
pub enum Body {
    /// This many bytes that do not compress.
    Size(Bytes),
    /// A file.
    File(PathBuf),
}

/// How buckets of S3 are reached. Absent values come from the environment, as with Amazon's own tools.
#[derive(Clone, Debug, Default)]
pub struct S3 {
    /// The server.
    pub endpoint: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// The profile whose keys are used.
    pub profile: Option<String>,
    /// Where a bucket's name goes; absent: into the host for Amazon, else into the path.
    pub bucket_in: Option<BucketPlace>,
}

/// Where a bucket's name goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketPlace {
    /// `https://endpoint/bucket/key`.
    Path,
    /// `https://bucket.endpoint/key`.
    Host,
}

impl Transfer {
    /// Six downloads of each URL.
    #[must_use]
    pub fn from_urls(urls: &[&str]) -> Transfer {
        Transfer {
            urls: urls.iter().map(|url| (*url).to_owned()).collect(),
            labels: Vec::new(),
            repetitions: 6,
            method: None,
            body: None,
            baseline: None,
            mtus: Vec::new(),
            by_route: false,
            framing: 14,
            origin: Origin::default(),
            timeout: Nanos::from_secs(30),
            redirects: 10,
            mss: None,
            congestion: None,
            trust: Trust::System,
            s3: S3::default(),
            explain: DEFAULT_BUDGET,
        }
    }
}

pub(super) fn resolve(asked: &Transfer, host: &Host) -> Result<Plan> {
    let work = work(asked, host)?;
    let plan = &work.plan;
    preflight::transfer(plan)?;
    if let Some(of) = &plan.mtu_of {
        mtu::check(&plan.mtus, of, plan.files.iter().any(|file| file.address.is_ipv6()))?;
    }
    Ok(Plan::Transfer(Box::new(work)))
}

fn work(asked: &Transfer, host: &Host) -> Result<TransferWork> {
    check(asked)?;
    let body = asked.body.as_ref().map(body).transpose()?;
    let method = method(asked.method, body.is_some())?;
    let mut s3 = None;
    let sources: Vec<Source> =
        asked.urls.iter().map(|url| source(url, &asked.s3, &mut s3)).collect::<Result<_>>()?;
    if method == TransferMethod::Post && s3.is_some() {
        return Err(Failure::usage("--method post: S3 takes uploads by PUT", "drop --method").into());
    }
    let family = asked.origin.family();
    let labels = labels(&asked.labels, &sources)?;
    let file = |(source, label): (&Source, &String)| {
        let (name, port) = host_and_port(&source.place())?;
        let address = host.address(&name, port, family)?;
        Ok::<_, Error>(TransferFile { label: label.clone(), url: source.shown(), address })
    };
    let files: Vec<TransferFile> = sources.iter().zip(&labels).map(file).collect::<Result<_>>()?;
    let plan = TransferPlan {
        mtu_of: mtu_of::mtu_of(asked, &files)?,
        files,
        method,
        body,
        repetitions: asked.repetitions,
        mtus: asked.mtus.clone(),
        baseline: baseline(asked, &labels)?,
        framing: asked.framing,
        timeout: asked.timeout,
        connect_timeout: asked.origin.connect_timeout,
        redirects: asked.redirects,
        trust: asked.trust.clone(),
        s3,
        bind: asked.origin.bind,
        device: asked.origin.device.clone(),
        mss: asked.mss,
        congestion: asked.congestion.clone(),
        explain: asked.explain,
    };
    Ok(TransferWork { plan, sources, family })
}

fn check(asked: &Transfer) -> Result<(), Failure> {
    asked.origin.check()?;
    if asked.timeout == Nanos::ZERO {
        return Err(Failure::usage("--timeout 0: there would be no time at all", "give --timeout 30s"));
    }
    let mtus = &asked.mtus;
    match mtus.iter().collect::<BTreeSet<_>>().len() == mtus.len() {
        true => Ok(()),
        false => Err(Failure::usage("--mtu names one MTU twice", "give each once; -n repeats them")),
    }
}

fn body(asked: &Body) -> Result<TransferBody> {
    let path = match asked {
        Body::Size(size) => return Ok(TransferBody::Size(*size)),
        Body::File(path) => path,
    };
    let facts = std::fs::metadata(path).with_context(|| format!("read {}", path.display()))?;
    if !facts.is_file() {
        let message = format!("--file {}: this is not a plain file", path.display());
        return Err(Failure::usage(message, "name a file whose size is known").into());
    }
    Ok(TransferBody::File { path: path.to_string_lossy().into_owned(), size: Bytes(facts.len()) })
}

fn method(asked: Option<TransferMethod>, has_body: bool) -> Result<TransferMethod, Failure> {
    match (asked, has_body) {
        (None, true) => Ok(TransferMethod::Put),
        (None, false) => Ok(TransferMethod::Get),
        (Some(TransferMethod::Get), true) => {
            Err(Failure::usage("--method get: a download takes no --size and no --file", "drop one of them"))
        }
        (Some(TransferMethod::Get), false) => Ok(TransferMethod::Get),
        (Some(method), true) => Ok(method),
        (Some(method), false) => {
            let message = format!("--method {}: what shall go up?", method.to_string().to_lowercase());
            Err(Failure::usage(message, "give --size 10MB or --file FILE"))
        }
    }
}

fn source(text: &str, asked: &S3, s3: &mut Option<S3Plan>) -> Result<Source> {
    let wrong = |why: &str| {
        let advice = "write http://HOST/FILE, https://HOST/FILE or s3://BUCKET/KEY";
        Error::from(Failure::usage(format!("`{text}`: {why}"), advice))
    };
    let url = Url::parse(text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => wrong("not a URL: it has no http:// or https://"),
        error => wrong(&format!("not a URL ({error})")),
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("a name and password in a URL are not sent; the server must do without"));
    }
    match url.scheme() {
        "http" | "https" => Ok(Source::Web(url)),
        "s3" => {
            let (bucket, key) = text["s3://".len().min(text.len())..].split_once('/').unwrap_or_default();
            let empty = key.split('/').any(|part| matches!(part, "." | ".."));
            if bucket.is_empty() || key.is_empty() || empty {
                return Err(wrong("an object has a bucket and a key"));
            }
            object(bucket, key, asked, s3)
        }
        other => Err(wrong(&format!("{other}: is not supported"))),
    }
}

/// This build has no S3.
#[cfg(not(feature = "s3"))]
fn object(_bucket: &str, _key: &str, _asked: &S3, _s3: &mut Option<S3Plan>) -> Result<Source> {
    Err(Failure::usage("this build has no S3", "build it with the feature s3").into())
}

#[cfg(feature = "s3")]
fn object(bucket: &str, key: &str, asked: &S3, s3: &mut Option<S3Plan>) -> Result<Source> {
    let found = keys::find(asked.profile.as_deref(), &|name| std::env::var(name).ok())?;
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let region = asked.region.clone().or_else(|| var("AWS_REGION")).or_else(|| var("AWS_DEFAULT_REGION"));
    let region = region.or(found.region).unwrap_or_else(|| "us-east-1".into());
    let given =
        asked.endpoint.clone().or_else(|| var("AWS_ENDPOINT_URL_S3")).or_else(|| var("AWS_ENDPOINT_URL"));
    let path_style = match asked.bucket_in {
        Some(place) => place == BucketPlace::Path,
        // Amazon's certificates hold for one label before the host.
        None => given.is_some() || bucket.contains('.'),
    };
    let endpoint = given.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
    let wrong =
        |why: String| Failure::usage(format!("--endpoint {endpoint}: {why}"), "write https://HOST[:PORT]");
    let url = Url::parse(&endpoint).map_err(|e| wrong(format!("this is no URL ({e})")))?;
    let style = if path_style { UrlStyle::Path } else { UrlStyle::VirtualHost };
    let bucket =
        Bucket::new(url, style, bucket.to_owned(), region.clone()).map_err(|e| wrong(e.to_string()))?;
    let access_key = found.credentials.key().to_owned();
    *s3 = Some(S3Plan { endpoint, region, path_style, access_key });
    Ok(Source::Object { bucket, key: key.to_owned(), credentials: found.credentials })
}

/// A name for each URL: as given, or the part in which they differ.
fn labels(asked: &[String], sources: &[Source]) -> Result<Vec<String>, Failure> {
    if asked.len() > sources.len() {
        let message = format!("--label: {} names for {} URLs", asked.len(), sources.len());
        return Err(Failure::usage(message, "give one for each URL, in their order"));
    }
    let host = |source: &Source| source.place().host_str().unwrap_or_default().to_owned();
    let file = |source: &Source| {
        let shown = source.shown();
        shown.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default().to_owned()
    };
    let distinct = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let kinds: [&dyn Fn(&Source) -> String; 3] = [&host, &file, &Source::shown];
    let found = kinds.iter().map(|kind| sources.iter().map(kind).collect::<Vec<_>>());
    let numbered = || (1..=sources.len()).map(|number| format!("URL {number}")).collect();
    let mut labels: Vec<String> = found.into_iter().find(|names| distinct(names)).unwrap_or_else(numbered);
    labels.iter_mut().zip(asked).for_each(|(label, given)| label.clone_from(given));
    match distinct(&labels) {
        true => Ok(labels),
        false => Err(Failure::usage("--label: two URLs have the same name", "give each a name of its own")),
    }
}

fn baseline(asked: &Transfer, labels: &[String]) -> Result<String, Failure> {
    let known: Vec<String> = match asked.mtus.as_slice() {
        [] => labels.to_vec(),
        mtus => mtus.iter().map(u32::to_string).collect(),
    };
    match &asked.baseline {
        None => Ok(known.into_iter().next().unwrap_or_default()),
        Some(baseline) if known.contains(baseline) => Ok(baseline.clone()),
        Some(baseline) => Err(Failure::usage(
            format!("--baseline {baseline}: there is no such row"),
            format!("give one of {}", known.join(", ")),
        )),
    }
}
