//! The certificates of a mesh's server. They end: the server's after a year, the authority's after ten. The authority's key stays
//! in the folder, so that the server's can be renewed without a new `ca.pem` for every agent.

use super::{make_new, write_new};
use crate::clock::{Clock, SystemClock};
use crate::error::{FleetError, Result};
use chrono::{DateTime, Datelike, NaiveDate};
use model::units::Nanos;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SigningKey,
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Which server a certificate is of, and until when it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validity {
    /// Names and addresses of the server.
    pub names: Vec<String>,
    /// The day on which it ends: `2027-11-25`.
    pub until: String,
}

impl Validity {
    /// Whether it has ended, or ends within a month.
    #[must_use]
    pub fn ends_soon(&self) -> bool {
        self.ends_before(day_after(Nanos::from_secs(30 * DAY)))
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ends_before(day_after(Nanos::ZERO))
    }

    fn ends_before(&self, day: NaiveDate) -> bool {
        self.until.parse::<NaiveDate>().is_ok_and(|until| until <= day)
    }
}

/// Writes an authority of this mesh alone, and a certificate of its server; returns the authority's file.
pub(super) fn write(folder: &Path, names: &[String]) -> Result<PathBuf> {
    let key = KeyPair::generate().map_err(fault)?;
    let issuer = CertifiedIssuer::self_signed(authority()?, key).map_err(fault)?;
    let file = folder.join("ca.pem");
    write_new(&file, &issuer.pem(), 0o644)?;
    write_new(&folder.join(AUTHORITY_KEY), &issuer.key().serialize_pem(), 0o600)?;
    sign(folder, names, &issuer)?;
    Ok(file)
}

/// Writes a new certificate and key of the server, signed by the authority that is there. `names`: those that the server has from now
/// on; empty: those that it has.
///
/// # Errors
/// The folder has no authority whose key is kept; a file cannot be read or written.
pub(super) fn renew(folder: &Path, names: &[String]) -> Result<Validity> {
    let file = folder.join(AUTHORITY_KEY);
    let text = std::fs::read_to_string(&file).map_err(FleetError::file("read the authority's key", &file))?;
    let unusable = |error| FleetError::unusable("key of an authority", &file, error);
    let key = KeyPair::from_pem(&text).map_err(unusable)?;
    let known = if names.is_empty() { validity(folder)?.names } else { names.to_vec() };
    sign(folder, &known, &Issuer::new(authority()?, key))
}

/// Until when the server's certificate holds.
///
/// # Errors
/// The folder has no such file.
pub fn validity(folder: &Path) -> Result<Validity> {
    let file = folder.join(VALIDITY);
    let text = std::fs::read(&file).map_err(FleetError::file("read", &file))?;
    let unusable = |error| FleetError::unusable("names and end of a certificate", &file, error);
    serde_json::from_slice(&text).map_err(unusable)
}

fn sign(folder: &Path, names: &[String], issuer: &Issuer<'_, impl SigningKey>) -> Result<Validity> {
    let mut server = CertificateParams::new(names.to_vec()).map_err(fault)?;
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let until = lasting(&mut server, SERVER_DAYS);
    let key = KeyPair::generate().map_err(fault)?;
    let certificate = server.signed_by(&key, issuer).map_err(fault)?;
    let validity = Validity { names: names.to_vec(), until: until.to_string() };
    make_new(&folder.join("server.key"), &key.serialize_pem(), 0o600)?;
    make_new(&folder.join("server.pem"), &certificate.pem(), 0o644)?;
    make_new(&folder.join(VALIDITY), &serde_json::to_string(&validity).unwrap_or_default(), 0o644)?;
    Ok(validity)
}

/// The contents of an authority's certificate: the same key makes the same authority.
fn authority() -> Result<CertificateParams> {
    let mut ours = CertificateParams::new(Vec::new()).map_err(fault)?;
    ours.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    ours.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    ours.distinguished_name.push(rcgen::DnType::CommonName, "pathmeter mesh");
    lasting(&mut ours, AUTHORITY_DAYS);
    Ok(ours)
}

/// From yesterday on, as clocks differ, for so many days; returns the last one.
fn lasting(params: &mut CertificateParams, days: u64) -> NaiveDate {
    let last = day_after(Nanos::from_secs(days * DAY));
    let on = |day: NaiveDate| rcgen::date_time_ymd(day.year(), day.month() as u8, day.day() as u8);
    let today = day_after(Nanos::ZERO);
    params.not_before = on(today.pred_opt().unwrap_or(today));
    params.not_after = on(last);
    last
}

/// In UTC, so long from now.
fn day_after(span: Nanos) -> NaiveDate {
    let seconds = (SystemClock.wall().0.saturating_add(span.0)) / 1_000_000_000;
    let then = i64::try_from(seconds).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    then.map_or(NaiveDate::MAX, |then| then.date_naive())
}

fn fault(error: rcgen::Error) -> FleetError {
    FleetError::malformed("the server's names", error)
}

const AUTHORITY_KEY: &str = "ca.key";
const VALIDITY: &str = "certificate.json";
const DAY: u64 = 86_400;
const SERVER_DAYS: u64 = 397;
const AUTHORITY_DAYS: u64 = 3_653;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_certificate_ends_and_is_renewed_by_the_same_authority() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
        let authority = write(folder.path(), &["localhost".to_owned()]).expect("written");
        let first = validity(folder.path()).expect("known");
        let (certificate, key) = (read("server.pem"), read("server.key"));
        assert!(
            !first.ends_soon()
                && first.until.parse::<NaiveDate>().expect("a day") < day_after(Nanos::from_secs(500 * DAY))
        );
        for secret in ["ca.key", "server.key"] {
            let mode = std::fs::metadata(folder.path().join(secret)).expect(secret).permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{secret}");
        }
        let before = std::fs::read(&authority).expect("an authority");
        assert_eq!(renew(folder.path(), &[]).expect("renewed").names, ["localhost"]);
        assert!(read("server.pem") != certificate && read("server.key") != key);
        assert_eq!(std::fs::read(&authority).expect("an authority"), before, "agents keep theirs");
        let named = renew(folder.path(), &["hub.example".to_owned()]).expect("renewed");
        assert_eq!(
            (named.names, validity(folder.path()).expect("known").names),
            (vec!["hub.example".to_owned()], vec!["hub.example".to_owned()])
        );
        let ended = Validity { names: Vec::new(), until: "2020-01-01".into() };
        assert!(ended.ends_soon() && ended.has_ended() && !first.has_ended());
        std::fs::remove_file(folder.path().join("ca.key")).expect("removed");
        assert!(renew(folder.path(), &[]).expect_err("no key").to_string().contains("ca.key"));
    }
}
