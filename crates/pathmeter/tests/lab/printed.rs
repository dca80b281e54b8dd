//! The output of `list`, `show` and `check`.

use super::support::{Scratch, run};

#[test]
fn a_topology_is_drawn() {
    let shown = run(&["lab", "show", "l2-mtu-mismatch", "--format", "markdown"]).code(0);
    insta::assert_snapshot!(shown.stdout);
    let shown = run(&["lab", "show", "bufferbloat", "--format", "markdown"]).code(0);
    assert!(shown.stdout.contains("│  ↓↑ 20.0 Mbit/s, queue of 500 ms\n"), "{}", shown.stdout);
}

#[test]
fn every_topology_is_listed_and_shown_in_every_form() {
    let list = run(&["lab", "list", "--json"]).code(0).json();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let texts = run(&[&["lab", "show"], &names[..]].concat()).code(0).stdout;
    for name in &names {
        assert!(texts.contains(&format!("pathmeter lab run {name}\n")), "{name}");
    }
    let csv = run(&["lab", "list", "--format", "csv"]).code(0).stdout;
    assert_eq!(csv.lines().count(), names.len() + 1);
    // The instructions for the box are there.
    assert!(texts.contains("What to do with box"), "{texts}");
}

#[test]
fn the_file_that_is_printed_is_one_that_can_be_read() {
    let scratch = Scratch::new("lab-file");
    let file = run(&["lab", "show", "forward", "--file"]).code(0).stdout;
    let path = scratch.file("mine.toml", Some(&file));
    let checked = run(&["lab", "check", &path]).code(0);
    assert!(checked.stdout.contains("mine.toml: A router between two hosts"), "{}", checked.stdout);
    scratch.file("mine.toml", Some(&file.replacen("forwards =", "forward =", 1)));
    run(&["lab", "check", &path])
        .code(2)
        .prints("mine.toml:12:1: unknown key `forward`: did you mean `forwards`?")
        .prints("docs/lab.md");
}

#[test]
fn a_name_that_is_none_is_answered_with_the_one_meant() {
    for command in ["show", "check"] {
        run(&["lab", command, "foward"])
            .code(2)
            .prints("no topology is called `foward`: did you mean `forward`?");
    }
}
