//! Charts that pages of other sites show.

use crate::common::{Answer, Page, run};
use pathmeter_web::{Limits, Tokens};

const OWNER: &str = "a token of the owner";
const READER: &str = "a token to look with";
/// The headers of a picture on a page of another site: no cookie, no token.
const ELSEWHERE: [&str; 2] = ["Sec-Fetch-Site: cross-site", "Origin: https://wiki.example"];

fn page(read: &[&str]) -> Page {
    let read = read.iter().map(|&token| token.into()).collect();
    let page = Page::with(Vec::new(), Tokens { full: vec![OWNER.into()], read }, Limits::default());
    page.keep(&run("01a-one", 0, 20), "far.example", "");
    for (number, rate) in [1e9, 2e9, 3e9].into_iter().enumerate() {
        page.measured(&format!("01b-{number}"), "far & <b>.example", 600 * number as u64, rate);
    }
    page
}

fn link(page: &Page, token: &str, wanted: &str) -> Answer {
    page.request("GET", &format!("/api/embed?{wanted}"), &[&format!("Authorization: Bearer {token}")], "")
}

const PATH: &str = "target=far+%26+%3Cb%3E.example&figure=tcp.up.goodput&kind=throughput";

#[test]
fn a_page_of_another_site_shows_the_chart_of_a_link() {
    let page = page(&[READER]);
    for wanted in [PATH, "run=01a-one&chart=0"] {
        let path = link(&page, READER, wanted).json()["path"].as_str().unwrap().to_owned();
        let shown = page.request("GET", &path, &ELSEWHERE, "");
        assert_eq!(shown.status, 200, "{shown:?}");
        assert_eq!(shown.header("content-type"), Some("image/svg+xml"));
        assert_eq!(
            shown.header("cross-origin-resource-policy"),
            Some("cross-origin"),
            "other sites may load it"
        );
        assert!(
            shown.header("content-security-policy").unwrap().contains("sandbox"),
            "and nothing in it runs"
        );
        assert_eq!(shown.header("x-frame-options"), Some("DENY"));
        assert!(
            shown.body.starts_with("<svg") && shown.body.contains("prefers-color-scheme"),
            "{}",
            shown.body
        );
        assert!(!shown.body.contains("<b>"), "names are text");
    }
    let path = link(&page, OWNER, PATH).json()["path"].as_str().unwrap().to_owned();
    assert!(
        page.request("GET", &path, &ELSEWHERE, "").body.contains("far &amp; &lt;b&gt;.example over time")
    );
}

#[test]
fn a_link_opens_one_chart_and_nothing_else() {
    let page = page(&[READER]);
    let path = link(&page, READER, PATH).json()["path"].as_str().unwrap().to_owned();
    let key = path.rsplit_once("key=").unwrap().1;
    let refused = |path: &str| {
        let answer = page.request("GET", path, &ELSEWHERE, "");
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
    };
    for wanted in
        ["target=far.example&figure=tcp.up.goodput", "run=01a-one&chart=0", &format!("{PATH}&days=3"), ""]
    {
        refused(&format!("/api/embed/chart.svg?{wanted}&key={key}"));
    }
    refused(&format!("/api/embed/chart.svg?{PATH}"));
    refused(&format!("/api/embed/chart.svg?{PATH}&key={}", &key[..63]));
    for path in ["/api/runs", "/api/runs/01a-one/charts/0.svg", "/api/embed?run=01a-one&chart=0"] {
        refused(&format!("{path}{}key={key}", if path.contains('?') { "&" } else { "?" }));
    }
    assert_eq!(page.get(&format!("/api/embed?{PATH}")).status, 401, "links are made by users");
}

#[test]
fn links_last_as_long_as_the_token_that_signed_them() {
    let path = link(&page(&[READER]), READER, PATH).json()["path"].as_str().unwrap().to_owned();
    // The server is started anew: with another token before the first, and without that one.
    let later = page(&["another token to look", READER]);
    assert_eq!(later.request("GET", &path, &ELSEWHERE, "").status, 200);
    assert_eq!(page(&["another token to look"]).request("GET", &path, &ELSEWHERE, "").status, 403);
    let none = link(&page(&[]), OWNER, PATH);
    assert_eq!(none.status, 409, "{none:?}");
    assert!(none.json()["advice"].as_str().unwrap().contains("--read-token-file"));
}

#[test]
fn a_chart_that_cannot_be_drawn_has_no_link() {
    let page = page(&[READER]);
    for (wanted, status) in [
        ("", 400),
        ("run=01a-one", 400),
        ("run=01a-one&chart=0&target=far.example&figure=tcp.up.goodput", 400),
        ("target=far.example&figure=tcp.up.goodput&days=0", 400),
        ("target=far.example&figure=tcp.up.goodput&days=x", 400),
        ("run=01a-one&chart=0&colour=red", 400),
        ("run=none&chart=0", 404),
        ("run=01a-one&chart=99", 404),
        // One run makes no line, nor do runs that are older than the days.
        ("target=far.example&figure=tcp.up.goodput", 404),
        (&format!("{PATH}&days=1"), 404),
    ] {
        let refused = link(&page, READER, wanted);
        assert_eq!(refused.status, status, "{wanted}: {refused:?}");
        assert!(refused.json()["error"].is_string());
    }
}
