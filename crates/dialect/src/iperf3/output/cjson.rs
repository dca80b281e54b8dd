//! JSON laid out as iPerf3's library lays it out: tabs, `"name":<tab>value`, whole numbers without a point.

use crate::units::significant;
use serde_json::{Number, Value};
use std::fmt::Write;

/// A document over several lines, without the last line feed.
pub fn print(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, Some(0));
    out
}

/// A document on one line, without the line feed.
pub fn print_line(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, None);
    out
}

/// `depth`: how far to indent; none: all on one line.
fn write_value(out: &mut String, value: &Value, depth: Option<usize>) {
    match value {
        Value::Number(number) => out.push_str(&number_text(number)),
        Value::Array(items) => write_array(out, items, depth),
        Value::Object(members) => write_object(out, members, depth),
        Value::Null | Value::Bool(_) | Value::String(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

fn write_array(out: &mut String, items: &[Value], depth: Option<usize>) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(if depth.is_some() { ", " } else { "," });
        }
        write_value(out, item, depth.map(|depth| depth + 1));
    }
    out.push(']');
}

fn write_object(out: &mut String, members: &serde_json::Map<String, Value>, depth: Option<usize>) {
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n('\t', depth));
    };
    out.push('{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if let Some(depth) = depth {
            line(out, depth + 1);
        }
        let _ = write!(out, "{}:", Value::from(name.as_str()));
        if depth.is_some() {
            out.push('\t');
        }
        write_value(out, value, depth.map(|depth| depth + 1));
    }
    if let Some(depth) = depth {
        // An empty object still takes two lines.
        line(out, depth);
    }
    out.push('}');
}

/// C's `%d` for whole numbers, else the shorter of `%1.15g` and `%1.17g` that reads back.
fn number_text(number: &Number) -> String {
    let Some(value) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    if value.fract() == 0.0 && value.abs() < 9.2e18 {
        return format!("{value:.0}");
    }
    let short = significant(value, 15);
    let reads_back =
        short.parse::<f64>().is_ok_and(|read| (read - value).abs() <= value.abs() * f64::EPSILON);
    if reads_back { short } else { significant(value, 17) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_as_the_library_prints_them() {
        for (value, text) in [
            (json!(1.0), "1"),
            (json!(0.0), "0"),
            (json!(1.000_189_065_933_227_5), "1.0001890659332275"),
            (json!(10_485_760.5), "10485760.5"),
            (json!(0.000_01), "1e-05"),
            (json!(12_345_678_901_234_567_u64), "12345678901234567"),
            (json!(-1), "-1"),
        ] {
            assert_eq!(print_line(&value), text);
        }
    }

    #[test]
    fn tabs_and_lines() {
        let value = json!({"a": {"b": [1, {"c": "x\"y"}]}, "d": {}});
        assert_eq!(
            print(&value),
            "{\n\t\"a\":\t{\n\t\t\"b\":\t[1, {\n\t\t\t\t\"c\":\t\"x\\\"y\"\n\t\t\t}]\n\t},\n\t\"d\":\t{\n\t}\n}"
        );
        assert_eq!(print_line(&value), r#"{"a":{"b":[1,{"c":"x\"y"}]},"d":{}}"#);
    }
}
