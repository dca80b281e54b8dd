//! How a run ends: the text of an error, its document for programs, and the panic that becomes code 70.

pub(crate) use cli::exit::Exit;

use engine::error::{Context, Error, Result};
use model::secret::without_passwords;
use report::document::ErrorBody;
use report::format::Style;
use report::harmless;
use std::io;

/// The error as documents have it.
pub(crate) fn body(error: &Error) -> ErrorBody {
    let exit = Exit::from_error(error);
    let advice = error.advice().map(str::to_owned);
    let hint = advice.or_else(|| (exit == Exit::Fault).then(|| REPORT_IT.into()));
    ErrorBody { code: exit.word(), text: without_passwords(&format!("{error:#}")), hint }
}

/// Writes help on standard output, or what clap refuses on standard error, and gives the exit code.
///
/// # Errors
/// Standard output does not take the help.
pub(crate) fn refuse(error: &clap::Error) -> Result<u8> {
    match error.print().and_then(|()| io::Write::flush(&mut io::stdout())) {
        Err(failed) if !error.use_stderr() && failed.kind() != io::ErrorKind::BrokenPipe => {
            Err(failed).context("write standard output")
        }
        _ => Ok(error.exit_code().try_into().unwrap_or(Exit::Usage.code())),
    }
}

/// The parts of clap's text: the refusal comes first, then perhaps a tip, the usage, and where to read more.
pub(crate) fn refusal(text: &str) -> ErrorBody {
    let text = without_passwords(text);
    let parts: Vec<String> =
        text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let refused = parts.first().map(String::as_str).unwrap_or_default();
    let tip = parts.iter().find_map(|part| part.strip_prefix("tip: ").map(str::to_owned));
    ErrorBody {
        code: Exit::Usage.word(),
        text: refused.strip_prefix("error: ").unwrap_or(refused).into(),
        hint: tip.or_else(|| parts.get(1..)?.last().cloned()),
    }
}

/// Writes an error on standard error: on a terminal broken at its width, elsewhere each message on one line, for logs and
/// `grep`.
pub(crate) fn report(error: &Error) {
    let text = message(error);
    let text = match linux::screen::size() {
        Some((_, columns)) => {
            broken(&text, Style { width: columns.into(), ..Style::default() }.prose().width)
        }
        None => text,
    };
    let _ = io::Write::write_all(&mut io::stderr(), format!("{text}\n").as_bytes());
}

/// Lines broken at spaces to fit, what goes on indented by two more than its begin.
fn broken(text: &str, width: usize) -> String {
    let style = Style { width, ..Style::default() };
    let line = |line: &str| {
        let indent = line.chars().take_while(|letter| *letter == ' ').count();
        if line.chars().count() <= width {
            return line.to_owned();
        }
        let rest = " ".repeat(indent + INDENT);
        let lines = style.wrap(line, indent + INDENT);
        let first = lines.first().map(|first| format!("{}{first}", " ".repeat(indent))).unwrap_or_default();
        let more = lines.iter().skip(1).map(|more| format!("\n{rest}{more}"));
        first + &more.collect::<String>()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The text of an error on stderr: the chain of causes on one line, and the advice on the next.
fn message(error: &Error) -> String {
    let is_fault = Exit::from_error(error) == Exit::Fault;
    let fault = is_fault.then(|| format!("\n  This is an internal error: {REPORT_IT}"));
    let advice = error.advice().map(|advice| format!("\n  {advice}"));
    // The words of a far end may be in it.
    let text = harmless::text(&without_passwords(&format!("error: {error:#}"))).into_owned();
    [Some(text), fault, advice].into_iter().flatten().collect()
}

/// Makes every panic say a plain sentence, and one of the main thread end the program with code 70. A panic of another
/// thread ends the work of that thread alone: a server goes on serving others. `deliver`: writes the document of the error.
pub(crate) fn install_panic_hook(deliver: fn(ErrorBody)) {
    std::panic::set_hook(Box::new(move |panic| {
        let reported = format!("pathmeter: internal error: {panic}\n  {REPORT_IT}\n");
        let _ = io::Write::write_all(&mut io::stderr(), reported.as_bytes());
        if std::thread::current().name() == Some("main") {
            let (code, text) = (Exit::Fault.word(), panic.to_string());
            deliver(ErrorBody { code, text, hint: Some(REPORT_IT.into()) });
            std::process::exit(Exit::Fault.code().into());
        }
    }));
}

const INDENT: usize = 2;
const REPORT_IT: &str =
    "please report it with the command line at https://github.com/pathmeter/pathmeter/issues";

#[cfg(test)]
mod tests {
    use super::*;
    use engine::error::{Failure, fault};

    #[test]
    fn a_panic_of_the_main_thread_is_a_fault() {
        let this = std::env::current_exe().unwrap();
        let argv = ["--exact", "exit::tests::panics", "--ignored", "--nocapture"];
        let output = std::process::Command::new(this).args(argv).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(70), "{errors}");
        assert!(errors.contains("internal error: ") && errors.contains("on purpose"), "{errors}");
        assert!(errors.contains(REPORT_IT), "{errors}");
    }

    #[test]
    #[ignore = "a_panic_of_the_main_thread_is_a_fault runs it in a process of its own"]
    fn panics() {
        install_panic_hook(drop);
        let panics = |name: &str, message: &'static str| {
            std::thread::Builder::new().name(name.into()).spawn(move || panic!("{message}")).unwrap().join()
        };
        assert!(panics("stream 0", "in a thread of its own").is_err(), "the others go on");
        // A test does not run on the main thread, but the hook decides by the thread's name.
        panics("main", "on purpose").ok();
    }

    #[test]
    fn a_refusal_of_clap_has_a_text_and_a_hint() {
        let tip = "error: unexpected argument '--nonsens' found\n\n  tip: a similar argument exists: '--omit'\n\nUsage: \
                   pathmeter\n\nFor more information, try '--help'.\n";
        let body = refusal(tip);
        assert_eq!(body.text, "unexpected argument '--nonsens' found");
        assert_eq!(body.hint.as_deref(), Some("a similar argument exists: '--omit'"));
        let missing = "error: the following required arguments were not provided:\n  <HOST>\n\nUsage: pathmeter\n\nFor more \
                       information, try '--help'.\n";
        let body = refusal(missing);
        assert_eq!(body.text, "the following required arguments were not provided: <HOST>");
        assert_eq!(body.hint.as_deref(), Some("For more information, try '--help'."));
    }

    #[test]
    fn an_error_fits_the_terminal() {
        let text = "error: -P 0: at least one stream is needed, and at most one hundred and twenty-eight\n  give -P 1 to -P 128";
        for width in [60, 80, 100] {
            let shown = broken(text, width);
            assert!(shown.lines().all(|line| line.chars().count() <= width), "{width}: {shown}");
            let tokens = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(tokens(&shown), tokens(text), "{width}");
            assert!(shown.ends_with("\n  give -P 1 to -P 128"), "{width}: {shown}");
        }
        assert_eq!(broken(text, 200), text);
    }

    #[test]
    fn advice_follows_the_message() {
        let failure = Failure::usage("-P 0: at least one stream is needed", "give -P 1 to -P 128");
        let error = Error::from(failure).context("read the command line");
        assert_eq!(Exit::from_error(&error), Exit::Usage);
        assert_eq!(
            message(&error),
            "error: read the command line: -P 0: at least one stream is needed\n  give -P 1 to -P 128"
        );
        let busy = Error::from(wire::ProtocolError::Busy).advised("10.0.0.2:5210", "come back later");
        assert_eq!(Exit::from_error(&busy), Exit::Unreachable);
        assert!(message(&busy).ends_with("try again later\n  come back later"), "{}", message(&busy));
        assert!(message(&fault("lost")).contains("internal error"));
    }
}
