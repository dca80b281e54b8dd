//! `pathmeter linerate` in every format, with the figures of the issue.

use super::{Scratch, succeed};

#[test]
fn the_examples_of_the_issue() {
    insta::assert_snapshot!("linerate_25g", succeed("linerate --link 25G"));
    let backward = succeed("linerate --goodput 22.5G --payload 1448 --link 25G");
    assert!(backward.contains("1.94 Mpps") && backward.contains("95.6 %"), "{backward}");
    insta::assert_snapshot!("linerate_backward", backward);
    insta::assert_snapshot!("linerate_encap", succeed("linerate --link 10G --encap vxlan,vlan"));
    insta::assert_snapshot!(
        "linerate_udp6",
        succeed("linerate --link 100G --udp -6 --frame 64,78,1518,9018")
    );
}

#[test]
fn every_format() {
    insta::assert_snapshot!("linerate_markdown", succeed("linerate --link 25G --format markdown"));
    insta::assert_snapshot!("linerate_csv", succeed("linerate --link 25G --format csv"));
    insta::assert_snapshot!("linerate_json", succeed("linerate --link 1G --frame 64,1518 --json"));
    insta::assert_snapshot!("linerate_backward_json", succeed("linerate --link 25G --pps 1.9M --json"));
    let page = succeed("linerate --link 25G --frame 64,1518 --format html");
    insta::assert_snapshot!("linerate_html", page.split_once("<body>").expect("a page").1);
    insta::assert_snapshot!("linerate_junit", succeed("linerate --link 25G --format junit"));
    let line = succeed("linerate --link 1G --format ndjson");
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn json_is_the_exact_figure() {
    let text = succeed("linerate --link 25G --frame 1518 --json");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let row = &json["rows"][0];
    assert_eq!(json["schema"], "pathmeter/linerate/1");
    assert_eq!(
        (&row["mss"], &row["mss_timestamps"], &row["wire"]),
        (&1460.into(), &1448.into(), &1538.into())
    );
    let packets = row["packets_per_second"].as_f64().expect("a number");
    assert!((packets - 25e9 / (8.0 * 1538.0)).abs() < 1e-3, "{packets}");
    let goodput = row["goodput_bps"].as_f64().expect("a number");
    assert!((goodput - 25e9 * 1448.0 / 1538.0).abs() < 1.0, "{goodput}");
}

#[test]
fn a_file_takes_it() {
    let scratch = Scratch::new("linerate");
    let file = scratch.0.join("rates.csv");
    assert_eq!(succeed(&format!("linerate --link 25G --format csv -o {}", file.display())), "");
    let text = std::fs::read_to_string(file).expect("the file of -o");
    assert_eq!(text.lines().count(), 8);
}
