//! The archive of a virtual machine's files: whatever the paths, every entry is there once, whole and below the root, as a
//! reader made by the kernel's own description finds them.

use std::collections::BTreeMap;

/// One input.
pub(crate) fn run(text: &str) {
    let entries: Vec<(&str, &[u8])> = text
        .lines()
        .take(20)
        .map(|line| line.split_once('=').unwrap_or((line, "")))
        .map(|(name, content)| (name, content.as_bytes()))
        .collect();
    let archive = match lab::vm::fuzzing::archive(&entries) {
        Ok(archive) => archive,
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "memory takes everything");
            let plain =
                |name: &str| !name.contains(['\0', '!']) && name.contains(|c: char| !"./".contains(c));
            assert!(!entries.iter().all(|(name, _)| plain(name)), "plain names are refused");
            return;
        }
    };
    let found = read(&archive);
    for (name, (mode, _)) in &found {
        let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
        assert!(name.split('/').all(|part| !matches!(part, "" | "." | "..")), "{name:?}");
        let above = found.get(parent).map(|(mode, _)| mode & 0o170_000);
        assert!(parent.is_empty() || above.is_some(), "{name:?} has no directory");
        assert!([0o100_755, 0o120_777, 0o040_755].contains(mode), "{mode:o}");
    }
    let files = found.values().filter(|(mode, _)| mode & 0o170_000 == 0o100_000);
    let known = |content: &[u8]| entries.iter().any(|(_, given)| *given == content);
    assert!(files.map(|(_, content)| content).all(|content| known(content)), "a file has another content");
}

/// Name, mode and content of every entry (`buffer-format.rst`, newc).
fn read(mut archive: &[u8]) -> BTreeMap<String, (u32, &[u8])> {
    let mut found = BTreeMap::new();
    loop {
        let (header, _) = archive.split_at(110);
        assert!(header.starts_with(b"070701"), "no header");
        let field = |index: usize| {
            let digits = std::str::from_utf8(&header[6 + 8 * index..14 + 8 * index]).expect("digits");
            u32::from_str_radix(digits, 16).expect("hexadecimal digits")
        };
        let (mode, size, name_length) = (field(1), field(6) as usize, field(11) as usize);
        let begin = (110 + name_length).next_multiple_of(4);
        let name = std::str::from_utf8(&archive[110..110 + name_length - 1]).expect("it was text");
        assert_eq!(archive[110 + name_length - 1], 0);
        if name == "TRAILER!!!" && mode == 0 {
            assert_eq!(archive.len(), begin, "something follows the end");
            return found;
        }
        assert!(!name.contains('\0') && name != "TRAILER!!!", "{name:?} is misread");
        let content = &archive[begin..begin + size];
        assert!(found.insert(name.to_owned(), (mode, content)).is_none(), "{name:?} is there twice");
        archive = &archive[(begin + size).next_multiple_of(4)..];
    }
}
