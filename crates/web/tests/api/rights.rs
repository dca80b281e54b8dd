//! Several tokens, and users who may look and change nothing.

use crate::common::{Page, run};
use pathmeter_web::{Limits, Tokens};
use serde_json::Value;

const OWNER: &str = "a token of the owner";
const SECOND: &str = "a token of another one";
const READER: &str = "a token to look with";

fn page() -> Page {
    let tokens = Tokens { full: vec![OWNER.into(), SECOND.into()], read: vec![READER.into()] };
    let page = Page::with(Vec::new(), tokens, Limits::default());
    page.keep(&run("01a-one", 0, 3), "far.example", "before");
    page
}

/// Every operation of the description that changes something, with a path that is there.
fn changes(page: &Page) -> Vec<(String, String)> {
    let description: Value = page.get("/api/openapi.json").json();
    let paths = description["paths"].as_object().unwrap().iter();
    let methods = paths.flat_map(|(path, methods)| {
        methods
            .as_object()
            .unwrap()
            .keys()
            .map(move |method| (method.to_uppercase(), path.replace("{id}", "01a-one")))
    });
    methods.filter(|(method, _)| ["POST", "PUT", "DELETE"].contains(&method.as_str())).collect()
}

fn is_of_session(path: &str) -> bool {
    ["/api/login", "/api/logout"].contains(&path)
}

#[test]
fn a_token_to_read_changes_nothing() {
    let page = page();
    let bearer = format!("Authorization: Bearer {READER}");
    for path in ["/api/runs", "/api/runs/01a-one", "/api/export?format=csv", "/metrics", "/api/live/standing"]
    {
        assert_eq!(page.request("GET", path, &[&bearer], "").status, 200, "{path}");
    }
    let all = changes(&page);
    assert!(all.len() > 8, "{all:?}");
    for (method, path) in all.iter().filter(|(_, path)| !is_of_session(path)) {
        let refused = page.request(method, path, &[&bearer], "");
        assert_eq!(refused.status, 403, "{method} {path}: {refused:?}");
        assert!(refused.body.contains("for looking only"), "{method} {path}: {refused:?}");
    }
    assert_eq!(page.request("GET", "/api/runs/01a-one", &[&bearer], "").json()["entry"]["label"], "before");
}

#[test]
fn a_session_has_the_rights_of_its_token() {
    let page = page();
    for (token, may_change, status) in [(READER, false, 403), (OWNER, true, 204), (SECOND, true, 204)] {
        let entered = page.change("POST", "/api/login", &format!(r#"{{"token":"{token}"}}"#));
        assert_eq!(entered.status, 204, "{entered:?}");
        let cookie = format!("Cookie: {}", entered.header("set-cookie").unwrap().split(';').next().unwrap());
        let session = page.request("GET", "/api/session", &[&cookie], "").json();
        assert_eq!((&session["logged_in"], &session["may_change"]), (&true.into(), &may_change.into()));
        let csrf = page.csrf(&[&cookie]);
        let labelled =
            page.request("PUT", "/api/runs/01a-one/label", &[&cookie, &csrf], r#"{"label":"new"}"#);
        assert_eq!(labelled.status, status, "{token}: {labelled:?}");
        assert_eq!(page.request("POST", "/api/logout", &[&cookie, &csrf], "").status, 204);
    }
    assert_eq!(page.get("/api/session").json()["may_change"], false, "a client that has not logged in");
}
