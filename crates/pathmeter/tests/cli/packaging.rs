//! Contents of packages: the same files in each, of this version, and scripts that a shell reads.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(home().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_recipe_and_page_names_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let image = format!("image: ghcr.io/pathmeter/pathmeter:{version}");
    for (path, wanted) in [
        ("packaging/PKGBUILD", format!("pkgver={version}")),
        ("packaging/kubernetes/daemonset.yaml", image.clone()),
        ("packaging/kubernetes/job.yaml", image),
        ("README.md", format!("pathmeter_{version}-1_amd64.deb")),
        ("docs/releasing.md", format!("git tag -s v{version} && git push origin v{version}")),
    ] {
        assert!(text(path).contains(&wanted), "{path} lacks `{wanted}`");
    }
}

/// Source and name of each file of a package, as its table in Cargo.toml has them.
fn assets(manifest: &toml::Table, package: &str) -> BTreeSet<(String, String)> {
    let assets = manifest["package"]["metadata"][package]["assets"].as_array().expect("a list of files");
    let word = |value: &toml::Value| value.as_str().expect("a word").to_owned();
    let ends = |asset: &toml::Value| match asset {
        toml::Value::Array(asset) => (word(&asset[0]), word(&asset[1])),
        asset => (word(&asset["source"]), word(&asset["dest"])),
    };
    assets.iter().map(ends).collect()
}

#[test]
fn debs_and_rpms_have_the_same_files_and_each_is_there() {
    let manifest: toml::Table = text("crates/pathmeter/Cargo.toml").parse().expect("TOML");
    let sources = |package| -> BTreeSet<String> {
        assets(&manifest, package).into_iter().map(|(source, _)| source).collect()
    };
    let (deb, rpm) = (sources("deb"), sources("generate-rpm"));
    // Debian's `license-file` is named apart from the files.
    let only_rpm: Vec<&String> = rpm.difference(&deb).collect();
    assert_eq!(only_rpm, ["../../LICENSE-MIT"]);
    let only_deb: Vec<&String> = deb.difference(&rpm).collect();
    assert!(only_deb.is_empty(), "{only_deb:?}");
    for source in deb.iter().filter(|source| !source.starts_with("target/")) {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(source).exists(), "{source}");
    }
}

/// A server, an agent and a coordinator are services, whatever the package.
#[test]
fn every_package_has_every_unit() {
    let manifest: toml::Table = text("crates/pathmeter/Cargo.toml").parse().expect("TOML");
    let is_unit = |name: &String| [".service", ".socket", ".timer"].iter().any(|end| name.ends_with(end));
    let files = fs::read_dir(home().join("packaging")).expect("a directory").flatten();
    let units: BTreeSet<String> =
        files.map(|file| file.file_name().to_string_lossy().into_owned()).filter(is_unit).collect();
    assert!(units.len() > 4, "{units:?}");
    for package in ["deb", "generate-rpm"] {
        let named = assets(&manifest, package).into_iter().map(|(source, _)| source);
        let named = named.filter_map(|source| source.strip_prefix("../../packaging/").map(str::to_owned));
        assert_eq!(named.filter(is_unit).collect::<BTreeSet<_>>(), units, "{package}");
    }
    // The others take whatever has such a name.
    for path in ["packaging/PKGBUILD", "flake.nix", ".github/workflows/release.yml"] {
        assert!(text(path).contains("packaging/pathmeter*.{service,socket,timer}"), "{path}");
    }
    // A removed package stops its units.
    let removed = [text("packaging/debian/prerm"), text("crates/pathmeter/Cargo.toml")];
    for unit in units.iter().filter(|unit| text(&format!("packaging/{unit}")).contains("[Install]")) {
        assert!(removed.iter().all(|text| text.contains(&format!(" {unit} "))), "{unit}");
    }
}

/// The first block of the README: one command that measures, one that passes the tests, and how long each takes.
#[test]
fn the_quick_start_is_two_commands_of_a_clone() {
    let readme = text("README.md");
    let (before, rest) = readme.split_once("```sh\n").expect("a block of commands");
    let lines: Vec<&str> = rest.split("```").next().unwrap_or_default().lines().collect();
    let commands: Vec<&str> =
        lines.iter().map(|line| line.split(" #").next().unwrap_or(line).trim()).collect();
    assert_eq!(commands, ["cargo run --release -- demo", "scripts/test"]);
    assert!(!before.contains("```"), "something comes before the commands:\n{before}");
    assert!(lines.iter().all(|line| line.contains(" minutes")), "{lines:?}");
    let script = fs::metadata(home().join("scripts/test")).expect("a script");
    assert!(script.permissions().mode() & 0o111 != 0, "scripts/test is not executable");
    // One program in the workspace, so that `cargo run` is not ambiguous.
    let programs =
        fs::read_dir(home().join("crates")).expect("the crates").flatten().map(|entry| entry.path());
    let has_program = |path: &PathBuf| {
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap_or_default();
        path.join("src/main.rs").exists() || path.join("src/bin").exists() || manifest.contains("[[bin]]")
    };
    let programs: Vec<PathBuf> = programs.filter(has_program).collect();
    assert_eq!(programs, [home().join("crates/pathmeter")]);
}

#[test]
fn shells_read_every_script() {
    let debian = fs::read_dir(home().join("packaging/debian")).expect("the maintainer's scripts");
    let debian = debian.flatten().map(|entry| entry.path()).filter(|path| !path.ends_with("templates"));
    let others =
        ["packaging/build", "packaging/try-deb", "packaging/PKGBUILD", "scripts/ci", "scripts/mutants"]
            .map(|path| home().join(path));
    for path in debian.chain(others) {
        let shell =
            if path.parent().is_some_and(|parent| parent.ends_with("debian")) { "sh" } else { "bash" };
        let read = Command::new(shell).arg("-n").arg(&path).output().expect("a shell");
        assert!(read.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&read.stderr));
    }
}
