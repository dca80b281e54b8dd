//! One file with all that the host of an agent needs: the server, the agent's key, the mesh's token and the authority.

use super::seed;
use crate::error::{FleetError, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The contents of `NAME.agent`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinFile {
    /// Always `pathmeter/join/1`.
    pub schema: String,
    /// The agent, or `coordinator`.
    pub name: String,
    /// The server's URL; absent: `mesh init` was given no name of it.
    pub coordinator: Option<String>,
    /// The seed of its key.
    pub key: String,
    /// The token by which agents let each other test.
    pub token: String,
    /// The certificate of the mesh's authority, PEM; absent: the server speaks without TLS.
    pub authority: Option<String>,
}

impl Default for JoinFile {
    fn default() -> JoinFile {
        let (name, key, token) = (String::new(), String::new(), String::new());
        JoinFile { schema: SCHEMA.to_owned(), name, coordinator: None, key, token, authority: None }
    }
}

impl JoinFile {
    /// Reads the bytes of this file.
    ///
    /// # Errors
    /// They are no such file, or its key is none.
    pub fn parse(file: &Path, bytes: &[u8]) -> Result<JoinFile> {
        let unusable = |why: String| FleetError::unusable("part in a mesh", file, why);
        let join: JoinFile = serde_json::from_slice(bytes).map_err(|error| unusable(error.to_string()))?;
        if join.schema != SCHEMA {
            return Err(unusable(format!("its schema is {}, and {SCHEMA} is known", join.schema)));
        }
        seed(file, join.key.as_bytes())?;
        Ok(join)
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

const SCHEMA: &str = "pathmeter/join/1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_such_file_is_named() {
        let file = Path::new("ams.agent");
        let key = super::super::new_key().expect("a key").0;
        let good = JoinFile { name: "ams".into(), key, ..JoinFile::default() };
        assert_eq!(JoinFile::parse(file, good.text().as_bytes()).expect("its own"), good);
        for text in
            ["", "{}", "SUAxyz", &good.text().replace("join/1", "join/9"), &good.text().replace("SU", "XX")]
        {
            let error = JoinFile::parse(file, text.as_bytes()).expect_err(text);
            assert!(error.to_string().contains("ams.agent"), "{error}");
        }
    }
}
