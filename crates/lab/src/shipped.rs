//! The topologies that come with the program, and those in files.

use crate::topology::{Topology, TopologyError};
use model::toml_file::suggest;
use std::io;
use std::path::Path;

/// A topology that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// Why a topology cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No topology has the name.
    #[error(
        "no topology is called `{name}`{suggestion} `pathmeter lab list` has them all; a file is named with its path, such as ./{name}.toml"
    )]
    Unknown {
        /// The name or file, as requested.
        name: String,
        /// The name that was meant, with a blank before what follows.
        suggestion: String,
    },
    /// A file cannot be read.
    #[error("read the topology {path}: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// The file is no topology.
    #[error(transparent)]
    Faulty(#[from] TopologyError),
}

impl Shipped {
    /// The topology in it.
    ///
    /// # Errors
    /// Never for one of [`SHIPPED`]: the tests read them all.
    pub fn topology(&self) -> Result<Topology, TopologyError> {
        Topology::parse(&format!("{}.toml", self.name), self.text)
    }
}

/// A shipped topology by its name, or that in a file: what has a `/` in it or ends with `.toml` is a path.
///
/// # Errors
/// When there is none, with the name that was meant; when the file cannot be read; or everything wrong with it.
pub fn find(name: &str) -> Result<Topology, FindError> {
    match SHIPPED.iter().find(|shipped| shipped.name == name) {
        Some(shipped) => Ok(shipped.topology()?),
        None => Ok(Topology::parse(name, &text_of(name)?)?),
    }
}

/// The text of the file that [`find`] reads.
///
/// # Errors
/// As [`find`], but for the content of the file.
pub fn text_of(name: &str) -> Result<String, FindError> {
    if let Some(shipped) = SHIPPED.iter().find(|shipped| shipped.name == name) {
        return Ok(shipped.text.to_owned());
    }
    if name.contains('/') || Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        return read_file(Path::new(name), "topology")
            .map_err(|source| FindError::Unreadable { path: name.to_owned(), source });
    }
    let suggestion = match suggest(name, SHIPPED.iter().map(|shipped| shipped.name)) {
        meant if meant.ends_with('?') => meant,
        _ => ";".to_owned(),
    };
    Err(FindError::Unknown { name: name.to_owned(), suggestion })
}

/// The text of a file of this kind, a topology or a plan: none is as large as a disk, and no device or pipe is one.
///
/// # Errors
/// The file cannot be read, is too large, or is no regular file.
pub fn read_file(path: &Path, kind: &str) -> io::Result<String> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if about.len() > MOST {
        let what = format!("it has {} bytes, and no {kind} has more than {MOST}", about.len());
        return Err(io::Error::other(what));
    }
    std::fs::read_to_string(path)
}

const MOST: u64 = 1 << 20;

macro_rules! shipped {
    ($($name:literal)*) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../topologies/", $name, ".toml")) }),*]
    };
}

/// Every shipped topology, one row each: first the kinds of path, then their faults.
pub const SHIPPED: &[Shipped] = shipped! {
    "direct"
    "bridge"
    "forward"
    "two-routers"
    "nat44"
    "vlan"
    "vxlan"
    "ipip6"
    "b4"
    "wireguard"
    "vm"
    "vm-bridge"
    "vm-forward"
    "vm-ipip6"
    "macvtap"
    "jumbo"
    "long-fat"
    "bufferbloat"
    "policer"
    "lossy"
    "tbf-mtu"
    "mtu-drop"
    "black-hole"
    "asymmetric-mtu"
    "l2-mtu-mismatch"
    "ipip6-black-hole"
    "mss-clamp"
    "frag-drop"
    "frag-nonfirst-drop"
    "frag-first-drop"
    "frag-reorder-drop"
    "conntrack-reassembly"
    "udp-limit"
    "tcp-drop"
    "liar"
    "legs"
    "outage"
    "nd-dropped"
    "multicast-filtered"
    "arp-one-side"
    "wrong-neighbour"
    "rp-filter"
    "vlan-untagged"
    "neighbour-dies"
    "v4-only"
    "external-deck"
    "demo"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_file_is_a_topology_with_a_description() {
        for shipped in SHIPPED {
            let topology = shipped.topology().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(topology.name, shipped.name);
            for text in [&topology.title, &topology.about] {
                assert!(text.len() > 10, "{}: {text}", shipped.name);
            }
        }
    }

    #[test]
    fn every_file_in_the_directory_has_its_row() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("topologies");
        let mut files: Vec<String> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
            .collect();
        let mut rows: Vec<String> = SHIPPED.iter().map(|shipped| shipped.name.to_owned()).collect();
        files.sort();
        rows.sort();
        assert_eq!(files, rows);
    }

    #[test]
    fn a_name_that_was_mistyped_is_answered_with_the_one_meant() {
        let error_of = |name: &str| find(name).unwrap_err().to_string();
        let wanted =
            "no topology is called `foward`: did you mean `forward`? `pathmeter lab list` has them all";
        assert!(error_of("foward").starts_with(wanted), "{}", error_of("foward"));
        assert!(
            error_of("xyz").starts_with("no topology is called `xyz`; `pathmeter lab list`"),
            "{}",
            error_of("xyz")
        );
        let wanted = "read the topology /nowhere/x.toml: No such file or directory";
        assert!(error_of("/nowhere/x.toml").starts_with(wanted), "{}", error_of("/nowhere/x.toml"));
        assert_eq!(error_of("/dev/zero"), "read the topology /dev/zero: it is not a file");
    }
}
