//! The object of a URL: a file of a web server, or an object of S3, whose requests are signed anew each time.

use crate::error::Failure;
use model::transfer::TransferMethod;
#[cfg(feature = "s3")]
use rusty_s3::actions::{GetObject, PutObject, S3Action};
#[cfg(feature = "s3")]
use rusty_s3::{Bucket, Credentials};
#[cfg(feature = "s3")]
use std::time::Duration;
use url::Url;

/// One thing to transfer.
#[derive(Clone, Debug)]
pub enum Source {
    /// `http:` or `https:`.
    Web(Url),
    /// `s3:`.
    #[cfg(feature = "s3")]
    Object {
        /// Where it is.
        bucket: Bucket,
        /// Its name.
        key: String,
        /// The credentials that sign requests.
        credentials: Credentials,
    },
}

impl Source {
    /// The URL to ask for it now; a signature holds for an hour.
    #[cfg_attr(not(feature = "s3"), expect(unused_variables, reason = "a signature is of one method"))]
    pub(super) fn url(&self, method: TransferMethod) -> Url {
        match self {
            Source::Web(url) => url.clone(),
            #[cfg(feature = "s3")]
            Source::Object { bucket, key, credentials } => match method {
                TransferMethod::Get => GetObject::new(bucket, Some(credentials), key).sign(SIGNED_FOR),
                TransferMethod::Put | TransferMethod::Post => {
                    PutObject::new(bucket, Some(credentials), key).sign(SIGNED_FOR)
                }
            },
        }
    }

    /// The URL as it may be shown and stored, without a signature.
    pub fn shown(&self) -> String {
        match self {
            Source::Web(url) => shown(url),
            #[cfg(feature = "s3")]
            Source::Object { bucket, key, .. } => format!("s3://{}/{key}", bucket.name()),
        }
    }

    /// The URL whose host is connected to.
    pub fn place(&self) -> Url {
        match self {
            Source::Web(url) => url.clone(),
            #[cfg(feature = "s3")]
            Source::Object { bucket, .. } => bucket.base_url().clone(),
        }
    }

    /// An object of S3.
    pub(super) fn is_object(&self) -> bool {
        !matches!(self, Source::Web(_))
    }
}

/// A URL without what may be secret: whatever follows its question mark.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    if url.query().is_some() {
        url.set_query(Some("…"));
        return url.as_str().replace("?%E2%80%A6", "?…");
    }
    url.into()
}

/// Host and port of a URL.
pub fn host_and_port(url: &Url) -> Result<(String, u16), Failure> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    match (host.is_empty(), url.port_or_known_default()) {
        (false, Some(port)) => Ok((host, port)),
        _ => Err(Failure::usage(format!("{url} names no host"), "write http://HOST/FILE")),
    }
}

#[cfg(feature = "s3")]
const SIGNED_FOR: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let url = |text: &str| Url::parse(text).expect("it is a URL");
        assert_eq!(shown(&url("https://far/a?X-Amz-Signature=1")), "https://far/a?…");
        assert_eq!(shown(&url("https://far/a")), "https://far/a");
        assert_eq!(host_and_port(&url("https://[::1]/")), Ok(("::1".into(), 443)));
    }
}
