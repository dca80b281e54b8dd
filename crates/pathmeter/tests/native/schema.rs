//! Documents held against the published schemas: as much of JSON Schema as `schemas/` uses, and nothing passed over.

use serde_json::{Map, Value};
use std::path::Path;

/// One of `schemas/`.
pub(super) struct Schema(Value);

impl Schema {
    /// Reads `result`, `plan` or `event`.
    pub(super) fn named(name: &str) -> Schema {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.json"));
        let text = std::fs::read_to_string(&path).expect("the schema is published");
        Schema(serde_json::from_str(&text).expect("it is JSON"))
    }

    /// Fails, with the place, unless the document conforms to the schema, with no key that it does not name.
    #[track_caller]
    pub(super) fn accept(&self, document: &Value) {
        if let Err(what) = self.check(&self.0, document, "$") {
            panic!("{what}\n{document:#}");
        }
    }

    fn check(&self, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        let rules = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Object(rules) => rules,
            other => return Err(format!("{place}: {other} is not a schema")),
        };
        rules.iter().try_for_each(|(rule, operand)| self.hold(rules, rule, operand, value, place))
    }

    fn hold(
        &self,
        rules: &Map<String, Value>,
        rule: &str,
        operand: &Value,
        value: &Value,
        place: &str,
    ) -> Result<(), String> {
        let number = |wanted: fn(f64, f64) -> bool| match (value.as_f64(), operand.as_f64()) {
            (Some(value), Some(limit)) => wanted(value, limit),
            _ => true,
        };
        let held = match rule {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
            "$ref" => return self.check(self.definition(operand)?, value, place),
            "const" => operand == value,
            "enum" => list(operand)?.contains(value),
            "minimum" => number(|value, limit| value >= limit),
            "maximum" => number(|value, limit| value <= limit),
            "type" => is_of(operand, value)?,
            "anyOf" => list(operand)?.iter().any(|one| self.check(one, value, place).is_ok()),
            "oneOf" => list(operand)?.iter().filter(|one| self.check(one, value, place).is_ok()).count() == 1,
            "required" => {
                let has = |key: &Value| key.as_str().is_some_and(|key| value.get(key).is_some());
                !value.is_object() || list(operand)?.iter().all(has)
            }
            "properties" => return self.properties(rules, operand, value, place),
            "additionalProperties" => return self.additional(rules, operand, value, place),
            "items" => {
                let mut rows = value.as_array().into_iter().flatten().enumerate();
                return rows.try_for_each(|(i, row)| self.check(operand, row, &format!("{place}[{i}]")));
            }
            other => return Err(format!("the check of schemas does not know {other}")),
        };
        if held { Ok(()) } else { Err(format!("{place}: {rule} {operand} does not hold for {value}")) }
    }

    fn properties(
        &self,
        rules: &Map<String, Value>,
        operand: &Value,
        value: &Value,
        place: &str,
    ) -> Result<(), String> {
        let Some(fields) = value.as_object() else { return Ok(()) };
        for (key, field) in fields {
            let place = format!("{place}.{key}");
            match operand.get(key) {
                Some(schema) => self.check(schema, field, &place)?,
                // A part of an object may be described elsewhere, by `oneOf` beside it.
                None if ["oneOf", "anyOf", "$ref", "additionalProperties"]
                    .iter()
                    .any(|k| rules.contains_key(*k)) => {}
                // The tags of events, described beside the `$ref` that led here.
                None if ["event", "probe", "wall_at"].contains(&key.as_str()) => {}
                None => return Err(format!("{place}: the schema does not name it")),
            }
        }
        Ok(())
    }

    fn additional(
        &self,
        rules: &Map<String, Value>,
        operand: &Value,
        value: &Value,
        place: &str,
    ) -> Result<(), String> {
        let named = |key: &str| rules.get("properties").is_some_and(|p| p.get(key).is_some());
        let mut rest = value.as_object().into_iter().flatten().filter(|(key, _)| !named(key));
        rest.try_for_each(|(key, field)| self.check(operand, field, &format!("{place}.{key}")))
    }

    fn definition(&self, reference: &Value) -> Result<&Value, String> {
        if reference == "#" {
            return Ok(&self.0);
        }
        let name = reference.as_str().and_then(|text| text.strip_prefix("#/$defs/"));
        name.and_then(|name| self.0["$defs"].get(name)).ok_or_else(|| format!("{reference} leads nowhere"))
    }
}

fn list(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| format!("{value} is not a list"))
}

fn is_of(kinds: &Value, value: &Value) -> Result<bool, String> {
    if let Some(kinds) = kinds.as_array() {
        return kinds.iter().map(|kind| is_of(kind, value)).try_fold(false, |any, one| Ok(any || one?));
    }
    Ok(match kinds.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => return Err(format!("{kinds} is not a type")),
    })
}

#[test]
fn the_check_finds_what_is_wrong() {
    let schema = Schema::named("plan");
    let wrong = serde_json::json!({"target": {"host": "h", "address": 5}});
    assert!(schema.check(&schema.0, &wrong, "$").is_err());
    let extra = serde_json::json!({"host": "h", "address": "1.2.3.4:5", "mood": "good"});
    let target = &schema.0["$defs"]["Target"];
    assert!(schema.check(target, &extra, "$").unwrap_err().contains("mood"));
}
