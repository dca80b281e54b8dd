//! Programs that run, waited for with a deadline, and what they print.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The output of a program that has ended.
#[derive(Debug)]
pub(crate) struct ToolOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A program that runs, and its output so far; killed on drop.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    outputs: [Output; 2],
    readers: Vec<JoinHandle<()>>,
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
        let outputs = [Output::default(), Output::default()];
        let stdout = read_along(child.stdout.take().expect("piped above"), outputs[0].clone());
        let stderr = read_along(child.stderr.take().expect("piped above"), outputs[1].clone());
        Running { child, outputs, readers: vec![stdout, stderr], command: named }
    }

    /// Its standard output until now.
    pub(crate) fn printed(&self) -> String {
        text(&self.outputs[0])
    }

    /// Its command, its output and its standard error.
    pub(crate) fn output_so_far(&self) -> String {
        format!("{}\n{}\n--- standard error:\n{}", self.command, self.printed(), text(&self.outputs[1]))
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name} of {}", self.output_so_far());
    }

    /// Is it still there?
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
    }

    /// Waits for its end. One that hangs is a failure.
    pub(crate) fn wait(mut self) -> ToolOutput {
        let deadline = Instant::now() + TIMEOUT;
        while self.runs() {
            assert!(Instant::now() < deadline, "still runs after {TIMEOUT:?}: {}", self.output_so_far());
            std::thread::sleep(STEP);
        }
        let code = self.child.wait().expect("it has ended").code();
        self.readers.drain(..).for_each(|reader| reader.join().expect("readers do not panic"));
        let [stdout, stderr] = self.outputs.each_ref().map(text);
        ToolOutput { code, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The program may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ToolOutput {
    /// Asserts a good end.
    pub(crate) fn good(self) -> ToolOutput {
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

fn read_along(mut pipe: impl Read + Send + 'static, output: Output) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // A killed program leaves its output.
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            output.lock().expect("readers do not panic").extend_from_slice(&buffer[..count]);
        }
    })
}

/// Standard output or standard error so far.
type Output = Arc<Mutex<Vec<u8>>>;

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.lock().expect("readers do not panic")).into_owned()
}

/// A busy machine must not fail a test; one that hangs must.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const STEP: Duration = Duration::from_millis(10);
