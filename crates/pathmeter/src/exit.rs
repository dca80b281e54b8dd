//! How a run ends: the documented exit codes, the errors that carry one, and the panic that becomes code 70.

use engine::error::{Error, Kind};
use report::harmless;
use std::fmt::{Display, Formatter};
use std::io;
use std::process::ExitCode;

/// What the program tells its caller. Listed in the manual page and in `docs/`.
#[cfg_attr(
    all(not(test), not(any(feature = "device", feature = "dialects", feature = "lab"))),
    expect(dead_code, reason = "some codes are those of commands that this build does not have")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done, and every expectation held.
    Done,
    /// 1: done, and an expectation (`--expect`) was broken.
    ExpectationBroken,
    /// 2: the command line asks for something that cannot be.
    Usage,
    /// 3: the far end cannot be reached, or refused.
    Unreachable,
    /// 4: the result is void: it must not be trusted, and the output says why.
    Void,
    /// 5: slower than what it was held against (`rfc2544 --against`).
    Regression,
    /// 70: an internal error.
    Fault,
    /// The code of a foreign tool whose command line was used.
    Dialect(u8),
}

impl Exit {
    /// The number the caller sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::ExpectationBroken => 1,
            Exit::Usage => 2,
            Exit::Unreachable => 3,
            Exit::Void => 4,
            Exit::Regression => 5,
            Exit::Fault => 70,
            Exit::Dialect(code) => code,
        }
    }

    /// The code an error ends the program with.
    pub(crate) fn of(error: &Error) -> Exit {
        error.kind().into()
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Every code that is documented, with what it means, in one line each.
pub(crate) const CODES: [(Exit, &str); 7] = [
    (Exit::Done, "Done, and every expectation held."),
    (Exit::ExpectationBroken, "Done, and an expectation (--expect, or of a topology) was broken."),
    (Exit::Usage, "The command line, or a file that it names, asks for something that cannot be."),
    (Exit::Unreachable, "The far end cannot be reached, or refused."),
    (Exit::Void, "The result is void: it must not be trusted, and the output says why."),
    (Exit::Regression, "A regression against the baseline (compare --baseline, rfc2544 --against)."),
    (Exit::Fault, "Internal error: please report it."),
];

/// Whose the error was that another process of this program ended with.
pub(crate) fn kind(code: u8) -> Kind {
    let all = [Kind::Usage, Kind::Unreachable, Kind::Void];
    all.into_iter().find(|kind| Exit::from(*kind).code() == code).unwrap_or(Kind::Fault)
}

impl From<Kind> for Exit {
    fn from(kind: Kind) -> Exit {
        match kind {
            Kind::Usage => Exit::Usage,
            Kind::Unreachable => Exit::Unreachable,
            Kind::Void => Exit::Void,
            _ => Exit::Fault,
        }
    }
}

/// What stderr says of an error: the chain of causes on one line, and the advice on the next.
pub(crate) struct Told<'a>(pub(crate) &'a Error);

impl Display for Told<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        // The words of a far end may be in it.
        f.write_str(&harmless::text(&format!("error: {:#}", self.0)))?;
        if Exit::of(self.0) == Exit::Fault {
            write!(f, "\n  This is an internal error: {REPORT_IT}")?;
        }
        match self.0.advice() {
            Some(advice) => write!(f, "\n  {advice}"),
            None => Ok(()),
        }
    }
}

/// Makes every panic say a plain sentence, and one of the main thread end the program with code 70. A panic of another
/// thread ends the work of that thread alone: a server goes on serving others.
pub(crate) fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        let told = format!("pathmeter: internal error: {panic}\n  {REPORT_IT}\n");
        let _ = io::Write::write_all(&mut io::stderr(), told.as_bytes());
        if std::thread::current().name() == Some("main") {
            std::process::exit(Exit::Fault.code().into());
        }
    }));
}

const REPORT_IT: &str =
    "please report it with the command line at https://github.com/pathmeter/pathmeter/issues";

#[cfg(test)]
mod tests {
    use super::*;
    use engine::error::{Failure, fault};

    #[test]
    fn codes_are_the_documented_ones() {
        assert_eq!(CODES.map(|(exit, _)| exit.code()), [0, 1, 2, 3, 4, 5, 70]);
        assert_eq!(Exit::Dialect(1).code(), 1);
    }

    /// What users read has every code, and none that the program does not have.
    #[test]
    fn the_table_of_codes_is_complete() {
        let text = include_str!("../../../docs/exit-codes.md");
        let column = |line: &str| line.strip_prefix("| ")?.split('|').nth(1)?.trim().parse::<u8>().ok();
        let mut told: Vec<u8> = text.lines().filter_map(column).collect();
        told.dedup();
        assert_eq!(told, CODES.map(|(exit, _)| exit.code()));
    }

    #[test]
    fn the_cause_decides_the_code() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let error = Error::from(linux::error::OsError::new("connect", "10.0.0.2:5210", refused));
        assert_eq!(Exit::of(&error.context("reach the server")), Exit::Unreachable);
        let full = Error::from(io::Error::from(io::ErrorKind::StorageFull)).context("write result.json");
        assert_eq!(Exit::of(&full), Exit::Usage);
        assert_eq!(Exit::of(&wire::ProtocolError::Busy.into()), Exit::Unreachable);
        assert_eq!(Exit::of(&wire::ProtocolError::Stopped("x".into()).into()), Exit::Void);
        assert_eq!(Exit::of(&fault("index out of step")), Exit::Fault);
    }

    #[test]
    fn a_panic_of_the_main_thread_is_a_fault() {
        let this = std::env::current_exe().unwrap();
        let words = ["--exact", "exit::tests::panics", "--ignored", "--nocapture"];
        let output = std::process::Command::new(this).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(70), "{said}");
        assert!(said.contains("internal error: ") && said.contains("on purpose"), "{said}");
        assert!(said.contains(REPORT_IT), "{said}");
    }

    #[test]
    #[ignore = "a_panic_of_the_main_thread_is_a_fault runs it in a process of its own"]
    fn panics() {
        install_panic_hook();
        let panics = |name: &str, said: &'static str| {
            std::thread::Builder::new().name(name.into()).spawn(move || panic!("{said}")).unwrap().join()
        };
        assert!(panics("stream 0", "in a thread of its own").is_err(), "the others go on");
        // What runs a test is not the main thread, but for the hook its name decides.
        panics("main", "on purpose").ok();
    }

    #[test]
    fn advice_follows_the_message() {
        let failure = Failure::usage("-P 0: at least one stream is needed", "give -P 1 to -P 128");
        let error = Error::from(failure).context("read the command line");
        assert_eq!(Exit::of(&error), Exit::Usage);
        assert_eq!(
            Told(&error).to_string(),
            "error: read the command line: -P 0: at least one stream is needed\n  give -P 1 to -P 128"
        );
        let busy = Error::from(wire::ProtocolError::Busy).advised("10.0.0.2:5210", "come back later");
        assert_eq!(Exit::of(&busy), Exit::Unreachable);
        assert!(Told(&busy).to_string().ends_with("try again later\n  come back later"), "{}", Told(&busy));
        assert!(Told(&fault("lost")).to_string().contains("internal error"));
    }
}
