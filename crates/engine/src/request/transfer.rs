//! From the command line to what will be transferred: every default filled, every name resolved.

use super::{keys, way};
use crate::cli::{BucketIn, S3Args, TransferArgs};
use crate::planner::{self, Family, resolve};
use anyhow::Context;
use engine::error::Failure;
use engine::run::TransferWork;
use engine::transfer::source::{Source, host_and_port};
use model::transfer::{S3Plan, TransferBody, TransferFile, TransferMethod, TransferPlan, Trust};
use model::units::{Bytes, Nanos};
use rusty_s3::{Bucket, UrlStyle};
use std::collections::BTreeSet;
use std::path::Path;
use url::Url;

/// Plans.
///
/// # Errors
/// `Kind::Usage` when the command line asks for what cannot be; `Kind::Unreachable` when a host is not found.
pub(super) fn plan(args: &TransferArgs) -> anyhow::Result<TransferWork> {
    exclusions(args)?;
    let body = body(args)?;
    let method = method(args, body.is_some())?;
    let mut s3 = None;
    let sources: Vec<Source> =
        args.urls.iter().map(|url| source(url, &args.s3, &mut s3)).collect::<anyhow::Result<_>>()?;
    if method == TransferMethod::Post && s3.is_some() {
        return Err(Failure::usage("--method post: S3 takes uploads by PUT", "drop --method").into());
    }
    let connection = &args.connection;
    let family = Family::from(&connection.origin);
    let labels = labels(args, &sources)?;
    let file = |(source, label): (&Source, &String)| {
        let (host, port) = host_and_port(&source.place())?;
        let address = resolve(&host, port, family)?;
        anyhow::Ok(TransferFile { label: label.clone(), url: source.shown(), address })
    };
    let files: Vec<TransferFile> = sources.iter().zip(&labels).map(file).collect::<anyhow::Result<_>>()?;
    let hosts: BTreeSet<_> = files.iter().map(|file| file.address.ip()).collect();
    if args.capture.options(None).is_wanted() && hosts.len() > 1 {
        let message = "--capture: it sees the packets of one far host, and the URLs have several";
        return Err(Failure::usage(message, "give the URLs of one host, or drop --capture").into());
    }
    let trust = match &connection.cacert {
        _ if connection.insecure => Trust::Everybody,
        Some(path) => Trust::File(text_of(path)),
        None => Trust::System,
    };
    let plan = TransferPlan {
        mtu_of: way::mtu_of(args, &files)?,
        files,
        method,
        body,
        repetitions: args.repeat,
        mtus: args.mtu.mtu.clone(),
        baseline: baseline(args, &labels)?,
        framing: args.mtu.framing,
        timeout: connection.timeout,
        connect_timeout: connection.origin.connect_timeout,
        redirects: connection.redirects,
        trust,
        s3,
        bind: connection.origin.bind,
        device: connection.origin.device.clone(),
        mss: connection.mss,
        congestion: connection.congestion.clone(),
    };
    Ok(TransferWork { plan, sources, family })
}

fn exclusions(args: &TransferArgs) -> Result<(), Failure> {
    let connection = &args.connection;
    planner::check::origin(&connection.origin)?;
    if connection.timeout == Nanos::ZERO {
        return Err(Failure::usage("--timeout 0: there would be no time at all", "give --timeout 30s"));
    }
    let mtus = &args.mtu.mtu;
    match mtus.iter().collect::<BTreeSet<_>>().len() == mtus.len() {
        true => Ok(()),
        false => Err(Failure::usage("--mtu names one MTU twice", "give each once; -n repeats them")),
    }
}

fn body(args: &TransferArgs) -> anyhow::Result<Option<TransferBody>> {
    if let Some(size) = args.size {
        return Ok(Some(TransferBody::Size(size)));
    }
    let Some(path) = &args.file else { return Ok(None) };
    let facts = std::fs::metadata(path).with_context(|| format!("read {}", path.display()))?;
    if !facts.is_file() {
        let message = format!("--file {}: this is no plain file", path.display());
        return Err(Failure::usage(message, "name a file whose size is known").into());
    }
    Ok(Some(TransferBody::File { path: text_of(path), size: Bytes(facts.len()) }))
}

fn method(args: &TransferArgs, has_body: bool) -> Result<TransferMethod, Failure> {
    match (args.method.map(TransferMethod::from), has_body) {
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

fn source(text: &str, args: &S3Args, s3: &mut Option<S3Plan>) -> anyhow::Result<Source> {
    let wrong = |why: &str| {
        let advice = "write http://HOST/FILE, https://HOST/FILE or s3://BUCKET/KEY";
        anyhow::Error::from(Failure::usage(format!("`{text}`: {why}"), advice))
    };
    let url = Url::parse(text).map_err(|e| wrong(&format!("this is no URL ({e})")))?;
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
            object(bucket, key, args, s3)
        }
        other => Err(wrong(&format!("{other}: is no kind of transfer known here"))),
    }
}

fn object(bucket: &str, key: &str, args: &S3Args, s3: &mut Option<S3Plan>) -> anyhow::Result<Source> {
    let found = keys::find(args.profile.as_deref(), &|name| std::env::var(name).ok())?;
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let region = args.region.clone().or_else(|| var("AWS_REGION")).or_else(|| var("AWS_DEFAULT_REGION"));
    let region = region.or(found.region).unwrap_or_else(|| "us-east-1".into());
    let given =
        args.endpoint.clone().or_else(|| var("AWS_ENDPOINT_URL_S3")).or_else(|| var("AWS_ENDPOINT_URL"));
    let path_style = match args.bucket_in {
        Some(place) => place == BucketIn::Path,
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

/// A name for each URL: as given, or what tells them apart.
fn labels(args: &TransferArgs, sources: &[Source]) -> Result<Vec<String>, Failure> {
    if args.label.len() > sources.len() {
        let message = format!("--label: {} names for {} URLs", args.label.len(), sources.len());
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
    labels.iter_mut().zip(&args.label).for_each(|(label, given)| label.clone_from(given));
    match distinct(&labels) {
        true => Ok(labels),
        false => Err(Failure::usage("--label: two URLs have the same name", "give each a name of its own")),
    }
}

fn baseline(args: &TransferArgs, labels: &[String]) -> Result<String, Failure> {
    let known: Vec<String> = match args.mtu.mtu.as_slice() {
        [] => labels.to_vec(),
        mtus => mtus.iter().map(u32::to_string).collect(),
    };
    match &args.baseline {
        None => Ok(known.into_iter().next().unwrap_or_default()),
        Some(baseline) if known.contains(baseline) => Ok(baseline.clone()),
        Some(baseline) => Err(Failure::usage(
            format!("--baseline {baseline}: there is no such row"),
            format!("give one of {}", known.join(", ")),
        )),
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn args(words: &str) -> TransferArgs {
        let words = ["pathmeter", "transfer"].into_iter().chain(words.split_whitespace());
        match Cli::parse_from(words).command {
            Command::Transfer(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    fn refusal(words: &str) -> String {
        plan(&args(words)).expect_err("it cannot be").to_string()
    }

    #[test]
    fn defaults_are_filled() {
        let planned = plan(&args("http://127.0.0.1:8080/bytes/1M")).expect("it can be");
        let plan = planned.plan;
        assert_eq!(
            (plan.method, plan.repetitions, plan.baseline.as_str()),
            (TransferMethod::Get, 6, "127.0.0.1")
        );
        assert_eq!(plan.files[0].address, ([127, 0, 0, 1], 8080).into());
        let up = self::plan(&args("http://[::1]/x --size 1MB")).expect("it can be").plan;
        assert_eq!((up.method, up.files[0].address.port()), (TransferMethod::Put, 80));
    }

    #[test]
    fn urls_are_named_by_what_tells_them_apart() {
        let names = |words: &str| {
            let files = plan(&args(words)).expect("it can be").plan.files;
            files.into_iter().map(|file| file.label).collect::<Vec<_>>()
        };
        assert_eq!(names("http://127.0.0.1/a http://127.0.0.2/a"), ["127.0.0.1", "127.0.0.2"]);
        assert_eq!(names("http://127.0.0.1/a http://127.0.0.1/b"), ["a", "b"]);
        assert_eq!(names("http://127.0.0.1/a http://127.0.0.1/a"), ["URL 1", "URL 2"]);
        assert_eq!(names("http://127.0.0.1/a http://127.0.0.1/b --label old"), ["old", "b"]);
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (words, said) in [
            ("ftp://127.0.0.1/x", "no kind of transfer"),
            ("127.0.0.1/x", "no URL"),
            ("http://u:p@127.0.0.1/x", "password"),
            ("http://127.0.0.1/x --method put", "what shall go up"),
            ("http://127.0.0.1/x --method get --size 1", "takes no --size"),
            ("http://127.0.0.1/x --file /dev/null", "no plain file"),
            ("http://127.0.0.1/x --baseline far", "no such row"),
            ("http://127.0.0.1/x --timeout 0", "no time at all"),
            ("http://127.0.0.1/x --mtu 1500,1500", "twice"),
            ("http://127.0.0.1/x --label a --label b", "2 names for 1 URLs"),
            ("http://127.0.0.1/x -6", "no IPv6 address"),
            ("http://127.0.0.1/x http://127.0.0.2/x --capture", "one far host"),
            ("s3://bucket", "a bucket and a key"),
            ("s3://bucket/../x", "a bucket and a key"),
        ] {
            assert!(refusal(words).contains(said), "{words}: {}", refusal(words));
        }
    }

    #[test]
    fn signatures_are_not_in_the_plan() {
        let planned = plan(&args("http://127.0.0.1/x?X-Amz-Signature=secret")).expect("it can be");
        let text = serde_json::to_string(&planned.plan).expect("it is JSON");
        assert!(!text.contains("secret"), "{text}");
    }
}
