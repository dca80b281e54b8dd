//! A program of this host taken into a virtual machine: its file without debug sections, its loader and its libraries.

use super::cpio::Archive;
use super::elf::{Elf, HEADER};
use crate::vm_error::{During, VmError};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The path of a program given by its name or path, as a shell would find it.
///
/// # Errors
/// When there is none.
pub(super) fn find(program: &str) -> Result<PathBuf, VmError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let directories = std::env::split_paths(&path).chain(usual);
    let mut places = directories.filter(|_| !program.contains('/')).chain([PathBuf::new()]);
    places.by_ref().map(|directory| directory.join(program)).find(|path| is_program(path)).ok_or_else(|| {
        VmError::Program { program: program.to_owned(), reason: "no such program on this host".into() }
    })
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Adds the program under `to`, and what it is linked with under the paths it has here.
pub(super) fn add<W: Write>(archive: &mut Archive<W>, from: &Path, to: &Path) -> Result<(), VmError> {
    let refused = |reason: String| VmError::Program { program: from.display().to_string(), reason };
    let file = File::open(from).during("open", from.display())?;
    let elf =
        Elf::read(&file).ok_or_else(|| refused("it is a script, or built for another machine".into()))?;
    add_without_sections(archive, &file, &elf, to).during("copy", from.display())?;
    let Some(loader) = elf.interpreter().during("read", from.display())? else { return Ok(()) };
    for library in libraries(&loader, from).map_err(|error| refused(error.to_string()))? {
        let file = File::open(&library).during("open", library.display())?;
        let elf =
            Elf::read(&file).ok_or_else(|| refused(format!("{} is not a library", library.display())))?;
        add_without_sections(archive, &file, &elf, &library).during("copy", library.display())?;
    }
    Ok(())
}

/// Sections serve linkers and debuggers; in a debug build they are half the file.
fn add_without_sections<W: Write>(
    archive: &mut Archive<W>,
    file: &File,
    elf: &Elf<'_>,
    to: &Path,
) -> io::Result<()> {
    let length = elf.loaded_length()?;
    let header = elf.header_without_sections();
    let mut rest = file;
    rest.seek(SeekFrom::Start(HEADER as u64))?;
    archive.file(to, 0o755, length, header.chain(io::BufReader::with_capacity(1 << 20, rest)))
}

/// The loader itself and the libraries that it would load, as `ldd(1)` prints them.
fn libraries(loader: &Path, program: &Path) -> io::Result<Vec<PathBuf>> {
    let output = Command::new(loader).arg("--list").arg(program).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(listed(&text).chain([loader.to_owned()]).collect())
}

/// `libc.so.6 => /lib/libc.so.6 (0x7f…)`, or the path alone; the kernel's own (`linux-vdso.so.1`) has none.
fn listed(text: &str) -> impl Iterator<Item = PathBuf> {
    let path = |line: &str| {
        let line = line.rsplit_once("=>").map_or(line, |(_, path)| path);
        line.split_whitespace().next().filter(|path| path.starts_with('/')).map(PathBuf::from)
    };
    text.lines().filter_map(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_what_the_loader_lists() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibm.so.6 => /lib/libm.so.6 (0x00007f)\n\t/lib64/ld.so (0x00)\n";
        assert_eq!(
            listed(text).collect::<Vec<_>>(),
            [Path::new("/lib/libm.so.6"), Path::new("/lib64/ld.so")]
        );
    }

    #[test]
    fn a_missing_program_and_a_script_are_named() {
        let error = find("no-such-program").unwrap_err().to_string();
        assert!(error.starts_with("no-such-program cannot be taken"), "{error}");
        let mut archive = Archive::new(Vec::new());
        let script = std::env::temp_dir().join(format!("pathmeter-script-{}", std::process::id()));
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let error = add(&mut archive, &script, Path::new("/script")).unwrap_err().to_string();
        std::fs::remove_file(&script).unwrap();
        assert!(error.contains("a script"), "{error}");
    }
}
