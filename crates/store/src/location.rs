//! The location of a store: a file of this host, or a database of a PostgreSQL server.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

/// The location of a store. Text that begins with `postgres://` or `postgresql://` names a server's database, any other a file.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A file (SQLite).
    File(PathBuf),
    /// A database of a server (PostgreSQL), as a URL.
    Server(String),
}

impl Location {
    /// The file, where it is one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        let Location::File(file) = self else { return None };
        Some(file)
    }

    /// The store exists, or may exist: a server is queried later.
    #[must_use]
    pub fn may_exist(&self) -> bool {
        self.file().is_none_or(Path::exists)
    }
}

impl From<&str> for Location {
    fn from(text: &str) -> Location {
        let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        if is_url { Location::Server(text.into()) } else { Location::File(text.into()) }
    }
}

impl From<String> for Location {
    fn from(text: String) -> Location {
        Location::from(text.as_str())
    }
}

impl From<&Path> for Location {
    fn from(file: &Path) -> Location {
        Location::File(file.into())
    }
}

impl From<&PathBuf> for Location {
    fn from(file: &PathBuf) -> Location {
        Location::File(file.clone())
    }
}

impl From<PathBuf> for Location {
    fn from(file: PathBuf) -> Location {
        Location::File(file)
    }
}

impl From<&Location> for Location {
    fn from(location: &Location) -> Location {
        location.clone()
    }
}

/// Prints the location without the password, which must never be printed.
impl Display for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::File(file) => write!(f, "{}", file.display()),
            Location::Server(url) => match url::Url::parse(url) {
                Ok(mut url) => {
                    // A URL without a host has neither; then there is nothing to hide.
                    let _ = url.set_password(None);
                    url.set_query(None);
                    write!(f, "{url}")
                }
                Err(_) => f.write_str("the PostgreSQL store"),
            },
        }
    }
}

impl std::fmt::Debug for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_server_and_its_password_is_not_printed() {
        let location =
            Location::from("postgres://net:secret@db.example:5432/runs?sslmode=require&password=secret");
        assert!(matches!(location, Location::Server(_)));
        for text in [location.to_string(), format!("{location:?}")] {
            assert_eq!(text, "postgres://net@db.example:5432/runs");
        }
        assert!(!Location::from("postgres://a:se cret@[:/x").to_string().contains("cret"));
        assert_eq!(Location::from("runs.db").file(), Some(Path::new("runs.db")));
    }
}
