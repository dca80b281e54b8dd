//! Rows of a document as columns: `[{"a": 1}, {"a": 2}]` becomes `{"a": [1, 2]}`, counters become differences, and a value common
//! to all rows is stored once. The encoding is lossless; a list that does not fit is left unchanged.
//!
//! A list is written as itself, or as an object of `rows` and one of: `same` (the value of all), `steps` (whole numbers, each the
//! difference from the one before), `columns` (of objects with the same keys in the same order), `lists` (the lengths of lists,
//! and their values concatenated).

use serde_json::{Map, Value, json};

/// Lists with these names hold rows.
const ROWS: [&str; 2] = ["intervals", "latency_intervals"];

/// Writes the rows of a document, and of its parts, as columns.
pub(crate) fn pack(document: &mut Value) {
    visit(document, &mut |value| {
        if let Value::Array(rows) = value {
            *value = packed(rows);
        }
    });
}

/// The inverse of [`pack`].
///
/// # Errors
/// The fault in the columns.
pub(crate) fn unpack(document: &mut Value) -> Result<(), String> {
    let mut wrong = None;
    visit(document, &mut |value| {
        if value.is_object() {
            match unpacked(value) {
                Ok(rows) => *value = Value::Array(rows),
                Err(error) => wrong = Some(error),
            }
        }
    });
    wrong.map_or(Ok(()), Err)
}

fn visit(document: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    let Value::Object(fields) = document else { return };
    for name in ROWS {
        fields.get_mut(name).map(&mut *change);
    }
    if let Some(Value::Array(parts)) = fields.get_mut("tests") {
        parts.iter_mut().for_each(|part| visit(part, change));
    }
}

fn packed(rows: &[Value]) -> Value {
    let count = rows.len();
    let Some(first) = rows.first().filter(|_| count > 1) else { return Value::Array(rows.into()) };
    if rows.iter().all(|row| row == first) {
        return json!({ "rows": count, "same": first });
    }
    if let Some(steps) = steps(rows) {
        return json!({ "rows": count, "steps": steps });
    }
    if let Some(columns) = columns(rows) {
        return json!({ "rows": count, "columns": columns });
    }
    if rows.iter().all(Value::is_array) {
        let lists: Vec<&Vec<Value>> = rows.iter().filter_map(Value::as_array).collect();
        let lengths: Vec<Value> = lists.iter().map(|list| list.len().into()).collect();
        let values: Vec<Value> = lists.into_iter().flatten().cloned().collect();
        return json!({ "rows": count, "lists": [packed(&lengths), packed(&values)] });
    }
    Value::Array(rows.into())
}

/// Whole numbers as differences.
fn steps(rows: &[Value]) -> Option<Vec<i64>> {
    let mut before = 0_i64;
    let step = |row: &Value| {
        let value = row.as_i64()?;
        let step = value.checked_sub(before)?;
        before = value;
        Some(step)
    };
    rows.iter().map(step).collect()
}

/// Objects with the same keys in the same order, by key.
fn columns(rows: &[Value]) -> Option<Map<String, Value>> {
    let objects: Vec<&Map<String, Value>> = rows.iter().map(Value::as_object).collect::<Option<_>>()?;
    let keys: Vec<&String> = objects.first()?.keys().collect();
    let is_alike = |object: &&Map<String, Value>| object.keys().eq(keys.iter().copied());
    if keys.is_empty() || !objects.iter().all(is_alike) {
        return None;
    }
    let column = |key: &String| {
        let values: Vec<Value> = objects.iter().filter_map(|object| object.get(key)).cloned().collect();
        (key.clone(), packed(&values))
    };
    Some(keys.into_iter().map(column).collect())
}

/// A list, from either form.
fn list(value: &Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(rows) => Ok(rows.clone()),
        other => unpacked(other),
    }
}

fn unpacked(value: &Value) -> Result<Vec<Value>, String> {
    let wrong = || format!("not a list by columns: {:.60}", value.to_string());
    let count = value.get("rows").and_then(Value::as_u64).filter(|count| *count <= MOST).ok_or_else(wrong)?;
    let count = count as usize;
    let rows = if let Some(same) = value.get("same") {
        vec![same.clone(); count]
    } else if let Some(Value::Array(steps)) = value.get("steps") {
        let mut before = 0_i64;
        let number = |step: &Value| {
            before = before.checked_add(step.as_i64()?)?;
            Some(Value::from(before))
        };
        steps.iter().map(number).collect::<Option<_>>().ok_or_else(wrong)?
    } else if let Some(Value::Object(columns)) = value.get("columns") {
        of_columns(columns, count)?
    } else if let Some([lengths, values]) = value.get("lists").and_then(|of| of.as_array()?.first_chunk()) {
        of_lists(&list(lengths)?, list(values)?).ok_or_else(wrong)?
    } else {
        return Err(wrong());
    };
    if rows.len() == count { Ok(rows) } else { Err(wrong()) }
}

fn of_columns(columns: &Map<String, Value>, count: usize) -> Result<Vec<Value>, String> {
    let mut rows = vec![Map::new(); count];
    for (key, column) in columns {
        let values = list(column)?;
        if values.len() != count {
            return Err(format!("the column {key:.40} has {} of {count} rows", values.len()));
        }
        for (row, value) in rows.iter_mut().zip(values) {
            row.insert(key.clone(), value);
        }
    }
    Ok(rows.into_iter().map(Value::Object).collect())
}

fn of_lists(lengths: &[Value], values: Vec<Value>) -> Option<Vec<Value>> {
    let mut values = values.into_iter();
    let list = |length: &Value| {
        let length = usize::try_from(length.as_u64()?).ok()?;
        let list: Vec<Value> = values.by_ref().take(length).collect();
        (list.len() == length).then_some(Value::Array(list))
    };
    lengths.iter().map(list).collect()
}

/// A run of a year has fewer intervals.
const MOST: u64 = 50_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(rows: Value) -> Value {
        let mut document = json!({ "id": "a", "intervals": rows, "tests": [{ "latency_intervals": rows }] });
        let before = document.clone();
        pack(&mut document);
        let packed = document["intervals"].clone();
        assert_eq!(document["tests"][0]["latency_intervals"], packed);
        unpack(&mut document).unwrap();
        assert_eq!(document, before);
        packed
    }

    #[test]
    fn nothing_is_lost() {
        for rows in [
            json!([]),
            json!([1]),
            json!([{ "a": 1 }]),
            json!([{ "a": 1 }, { "b": 1 }]),
            json!([{ "a": 1, "b": 2 }, { "b": 2, "a": 1 }]),
            json!([{}, {}, { "a": null }]),
            json!([null, 1, "two", 3.5, [], {}]),
            json!([u64::MAX, 1, 0]),
            json!([i64::MIN, i64::MAX]),
            json!([[1, 2], [3], []]),
            json!([{ "rows": 2, "same": 1 }, { "rows": 3, "same": 1 }]),
            json!([[[1, 2], [3]], [[4]], []]),
        ] {
            there_and_back(rows);
        }
    }

    #[test]
    fn rows_become_columns_and_counters_steps() {
        let rows: Vec<Value> = (0..4)
            .map(|n| json!({ "start_ns": n * 1_000_000_000_u64, "side": "local", "streams": [{ "bytes": n * n }] }))
            .collect();
        let packed = there_and_back(rows.into());
        assert_eq!(packed["columns"]["side"], json!({ "rows": 4, "same": "local" }));
        assert_eq!(
            packed["columns"]["start_ns"]["steps"],
            json!([0, 1_000_000_000, 1_000_000_000, 1_000_000_000])
        );
        let streams = &packed["columns"]["streams"]["lists"];
        assert_eq!(streams[0], json!({ "rows": 4, "same": 1 }));
        assert_eq!(streams[1]["columns"]["bytes"]["steps"], json!([0, 1, 3, 5]));
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for rows in [
            json!({}),
            json!({ "rows": u64::MAX, "same": 1 }),
            json!({ "rows": 2, "steps": [1] }),
            json!({ "rows": 2, "steps": [i64::MAX, 1] }),
            json!({ "rows": 2, "columns": { "a": [1] } }),
            json!({ "rows": 1, "lists": [[2], [1]] }),
            json!({ "rows": 1, "lists": [[-1], [1]] }),
            json!({ "rows": 1, "lists": [1] }),
        ] {
            let mut document = json!({ "intervals": rows });
            assert!(unpack(&mut document).is_err(), "{document}");
        }
    }
}
