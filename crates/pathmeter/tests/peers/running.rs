//! Programs that run, waited for with a deadline, and what they print; files for them.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The output of a program that has ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A program that runs; killed on drop.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    readers: Option<[std::thread::JoinHandle<String>; 2]>,
    pub(crate) command: String,
}

impl Running {
    /// Starts a command and reads its output meanwhile.
    pub(crate) fn start(mut command: Command) -> Running {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let named = format!("{command:?}");
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("start {named}: {error}; scripts/test installs the real tools"));
        let stdout = read_along(child.stdout.take().expect("piped above"));
        let stderr = read_along(child.stderr.take().expect("piped above"));
        Running { child, readers: Some([stdout, stderr]), command: named }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name} of {}", self.command);
    }

    /// Is it still there?
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
    }

    /// Waits for its end. One that hangs is a failure.
    pub(crate) fn wait(mut self) -> Said {
        let deadline = Instant::now() + TIMEOUT;
        while self.runs() {
            assert!(Instant::now() < deadline, "still runs after {TIMEOUT:?}: {}", self.command);
            std::thread::sleep(STEP);
        }
        let code = self.child.wait().expect("it has ended").code();
        let readers = self.readers.take().expect("taken once, here");
        let [stdout, stderr] = readers.map(|reader| reader.join().expect("readers do not panic"));
        Said { code, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The program may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Said {
    /// Asserts a good end.
    pub(crate) fn good(self) -> Said {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }
}

/// Waits until this is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "not so after {TIMEOUT:?}: {what}");
        std::thread::sleep(STEP);
    }
}

/// A new directory under the one for temporary files; removed on drop.
pub(crate) struct Scratch(pub(crate) std::path::PathBuf);

impl Scratch {
    /// Makes it; `name` must be used once.
    pub(crate) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!(
            "pathmeter-{}-{}-{name}",
            env!("CARGO_CRATE_NAME"),
            std::process::id()
        ));
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("make {}: {error}", path.display()));
        Scratch(path)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(bytes.as_ref()));
        written.unwrap_or_else(|error| panic!("write {path}: {error}"));
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that cannot be removed stays in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read_along(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A killed program leaves its output.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A busy machine must not fail a test; one that hangs must.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const STEP: Duration = Duration::from_millis(10);
