//! The schemas of documents that the program alone knows; `tests/schemas.rs` has the others.

use schemars::{Schema, schema_for};
use std::path::Path;

#[test]
fn published_schemas_are_those_of_the_code() {
    holds("doctor", &schema_for!(Vec<super::doctor::Check>));
    holds("linerate", &super::linerate::schema());
    #[cfg(feature = "lab")]
    holds("lab-list", &super::lab::list::schema());
    #[cfg(feature = "lab")]
    holds("lab-show", &super::lab::show::schema());
}

fn holds(name: &str, schema: &Schema) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.json"));
    let text = serde_json::to_string_pretty(schema).expect("a schema is JSON") + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&path, text).expect("write the schema");
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == text,
        "{} is stale: UPDATE_SCHEMAS=1 cargo test --bin pathmeter schemas",
        path.display()
    );
}
