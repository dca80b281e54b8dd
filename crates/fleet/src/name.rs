//! Names of runs.

use uuid::Uuid;

/// The name of a run, made of what it is: the same parts make the same name, on every host and after every restart.
#[must_use]
pub fn run_name(parts: &[&str]) -> String {
    // The lengths keep ["a", "bc"] and ["ab", "c"] apart.
    let text: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_their_parts() {
        assert_eq!(run_name(&["mesh", "ams", "fra"]), run_name(&["mesh", "ams", "fra"]));
        assert_ne!(run_name(&["mesh", "ams", "fra"]), run_name(&["mesh", "fra", "ams"]));
        assert_ne!(run_name(&["a", "bc"]), run_name(&["ab", "c"]));
    }
}
