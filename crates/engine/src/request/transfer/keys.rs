//! Keys of S3: from the environment, or from a profile in the files that Amazon's own tools use.

use crate::error::Failure;
use rusty_s3::Credentials;
use std::path::{Path, PathBuf};

/// The credentials that were found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) credentials: Credentials,
    /// The profile's region.
    pub(super) region: Option<String>,
}

/// Finds the keys: those of the environment, unless a profile is named.
///
/// # Errors
/// Code 2 when there are none; it names where was looked.
pub(super) fn find(profile: Option<&str>, var: &dyn Fn(&str) -> Option<String>) -> Result<Found, Failure> {
    let var = |name: &str| var(name).filter(|value| !value.trim().is_empty());
    let name = profile.map(str::to_owned).or_else(|| var("AWS_PROFILE")).unwrap_or_else(|| "default".into());
    let home = var("HOME").map(PathBuf::from).unwrap_or_default();
    let file = |variable: &str, place: &str| {
        var(variable).map_or_else(|| home.join(".aws").join(place), PathBuf::from)
    };
    let (secrets, config) =
        (file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), file("AWS_CONFIG_FILE", "config"));
    let section = if name == "default" { name.clone() } else { format!("profile {name}") };
    let region = read(&config, &section, "region");
    if let (None, Some(key), Some(secret)) = (profile, var("AWS_ACCESS_KEY_ID"), var("AWS_SECRET_ACCESS_KEY"))
    {
        return Ok(Found { credentials: credentials(key, secret, var("AWS_SESSION_TOKEN")), region });
    }
    let setting_of =
        |setting: &str| read(&secrets, &name, setting).or_else(|| read(&config, &section, setting));
    match (setting_of("aws_access_key_id"), setting_of("aws_secret_access_key")) {
        (Some(key), Some(secret)) => {
            let region = region.or_else(|| read(&secrets, &name, "region"));
            Ok(Found { credentials: credentials(key, secret, setting_of("aws_session_token")), region })
        }
        _ => Err(Failure::usage(
            format!("S3 needs keys, and there is no profile `{name}` with any in {}", secrets.display()),
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile with --profile",
        )),
    }
}

fn credentials(key: String, secret: String, token: Option<String>) -> Credentials {
    match token {
        Some(token) => Credentials::new_with_token(key, secret, token),
        None => Credentials::new(key, secret),
    }
}

/// A setting of a section; none when the file or the setting is not there.
fn read(file: &Path, section: &str, setting: &str) -> Option<String> {
    value(&std::fs::read_to_string(file).ok()?, section, setting)
}

fn value(text: &str, section: &str, setting: &str) -> Option<String> {
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            inside = name.split_whitespace().eq(section.split_whitespace());
        } else if let Some((name, value)) =
            line.split_once('=').filter(|_| inside && !line.starts_with(['#', ';']))
            && name.trim().eq_ignore_ascii_case(setting)
        {
            return Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=S=x\n\n\
                        [lab]\n; none\nregion = eu-1\n[profile  far]\nregion=far-1\n";

    #[test]
    fn settings_are_found_in_their_section() {
        assert_eq!(value(FILE, "default", "AWS_ACCESS_KEY_ID").as_deref(), Some("A"));
        assert_eq!(value(FILE, "default", "aws_secret_access_key").as_deref(), Some("S=x"));
        assert_eq!(value(FILE, "lab", "aws_access_key_id"), None);
        assert_eq!(value(FILE, "profile far", "region").as_deref(), Some("far-1"));
    }

    #[test]
    fn the_environment_comes_first_unless_a_profile_is_named() {
        let dir = std::env::temp_dir().join(format!("pathmeter-keys-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let file = dir.join("credentials");
        std::fs::write(&file, "[lab]\naws_access_key_id=L\naws_secret_access_key=T\naws_session_token=U\n")
            .expect("a file");
        let var = |name: &str| match name {
            "AWS_ACCESS_KEY_ID" => Some("E".to_owned()),
            "AWS_SECRET_ACCESS_KEY" => Some("F".to_owned()),
            "AWS_SHARED_CREDENTIALS_FILE" => Some(file.display().to_string()),
            _ => None,
        };
        assert_eq!(find(None, &var).expect("keys").credentials.key(), "E");
        let lab = find(Some("lab"), &var).expect("keys").credentials;
        assert_eq!((lab.key(), lab.token()), ("L", Some("U")));
        let missing = find(Some("far"), &var).expect_err("none");
        assert!(missing.message.contains("no profile `far`"), "{missing}");
        std::fs::remove_dir_all(&dir).expect("it goes");
    }
}
