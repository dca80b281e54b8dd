//! Tokens and keys against the `openssl` command, with both paddings.

use super::*;
use std::io::Write;
use std::process::{Command, Stdio};

const NOW: i64 = 1_700_000_000;

/// A directory of keys made by `openssl`, removed at the end.
struct Keys(PathBuf);

impl Keys {
    fn make(name: &str) -> Keys {
        let dir = std::env::temp_dir().join(format!("pathmeter-auth-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("make a directory");
        let keys = Keys(dir);
        openssl(&["genrsa", "-out", &keys.path("private.pem"), "2048"], b"");
        openssl(&["rsa", "-in", &keys.path("private.pem"), "-pubout", "-out", &keys.path("public.pem")], b"");
        std::fs::write(keys.path("users"), users()).expect("write users");
        keys
    }

    fn path(&self, file: &str) -> String {
        self.0.join(file).display().to_string()
    }

    fn gate(&self, key: &str, padding: Padding) -> Result<Gate, AuthError> {
        Gate::open(Path::new(&self.path(key)), Path::new(&self.path("users")), Nanos::from_secs(10), padding)
    }

    fn token(&self, padding: Padding) -> String {
        let credentials = Credentials { username: "mario".into(), password: "rossi it's".into() };
        credentials.token(Path::new(&self.path("public.pem")), padding, NOW).expect("a token")
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A users' file whose hash comes from `openssl`, and lines that must be passed over.
fn users() -> String {
    let hash = openssl(&["dgst", "-sha256", "-r"], b"{mario}rossi it's");
    let hash = String::from_utf8_lossy(&hash)[..64].to_owned();
    format!("# a comment, with a comma\n\nnobody\nluigi,00\r\nmario,{hash}\r\n")
}

fn openssl(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl must be installed for this test (apt install openssl)");
    child.stdin.take().expect("piped").write_all(input).expect("write to openssl");
    let output = child.wait_with_output().expect("openssl ends");
    assert!(output.status.success(), "openssl {arguments:?}");
    output.stdout
}

fn mode(padding: Padding) -> &'static str {
    match padding {
        Padding::Oaep => "rsa_padding_mode:oaep",
        Padding::Pkcs1 => "rsa_padding_mode:pkcs1",
    }
}

#[test]
fn openssl_reads_our_tokens() {
    if skip::lacks(&["openssl"]) {
        return;
    }
    let keys = Keys::make("ours");
    for padding in [Padding::Oaep, Padding::Pkcs1] {
        let cipher = STANDARD.decode(keys.token(padding)).expect("base64 on one line");
        let key = keys.path("private.pem");
        let plain = openssl(&["pkeyutl", "-decrypt", "-inkey", &key, "-pkeyopt", mode(padding)], &cipher);
        let expected = "user: mario\npwd:  rossi it's\nts:   1700000000";
        assert_eq!(String::from_utf8_lossy(&plain), expected, "{padding:?}");
    }
}

#[test]
fn we_read_tokens_of_openssl() {
    if skip::lacks(&["openssl"]) {
        return;
    }
    let keys = Keys::make("theirs");
    for padding in [Padding::Oaep, Padding::Pkcs1] {
        let key = keys.path("public.pem");
        let plain = b"user: mario\npwd:  rossi it's\nts:   1700000005";
        let arguments = ["pkeyutl", "-encrypt", "-pubin", "-inkey", &key, "-pkeyopt", mode(padding)];
        let token = STANDARD.encode(openssl(&arguments, plain));
        let gate = keys.gate("private.pem", padding).expect("a gate");
        assert_eq!(gate.admit(&token, NOW).expect("mario"), "mario", "{padding:?}");
    }
}

#[test]
fn keys_of_every_form_are_read() {
    if skip::lacks(&["openssl"]) {
        return;
    }
    let keys = Keys::make("forms");
    let from = keys.path("private.pem");
    openssl(&["rsa", "-in", &from, "-traditional", "-out", &keys.path("pkcs1.pem")], b"");
    openssl(&["rsa", "-in", &from, "-traditional", "-outform", "DER", "-out", &keys.path("pkcs1.der")], b"");
    openssl(
        &["pkcs8", "-topk8", "-nocrypt", "-in", &from, "-outform", "DER", "-out", &keys.path("pkcs8.der")],
        b"",
    );
    openssl(&["rsa", "-in", &from, "-pubout", "-outform", "DER", "-out", &keys.path("public.der")], b"");
    let credentials = Credentials { username: "mario".into(), password: "rossi it's".into() };
    let token = credentials.token(Path::new(&keys.path("public.der")), Padding::Oaep, NOW).expect("DER");
    for key in ["private.pem", "pkcs1.pem", "pkcs1.der", "pkcs8.der"] {
        let gate = keys.gate(key, Padding::Oaep).unwrap_or_else(|error| panic!("{key}: {error}"));
        assert!(gate.admit(&token, NOW).is_ok(), "{key}");
    }
}

#[test]
fn what_is_not_good_is_refused() {
    if skip::lacks(&["openssl"]) {
        return;
    }
    let keys = Keys::make("refused");
    let gate = keys.gate("private.pem", Padding::Oaep).expect("a gate");
    let token = keys.token(Padding::Oaep);
    assert!(gate.admit(&token, NOW + 10).is_ok() && gate.admit(&token, NOW - 10).is_ok());
    assert!(matches!(gate.admit(&token, NOW + 11), Err(AuthError::Skew(11))));
    assert!(matches!(gate.admit(&token, i64::MIN), Err(AuthError::Skew(_))));
    assert!(matches!(gate.admit(&keys.token(Padding::Pkcs1), NOW), Err(AuthError::Foreign)));
    for token in ["", "AAAA", "not base64!", &token[..100], &"A".repeat(100_000)] {
        assert!(matches!(gate.admit(token, NOW), Err(AuthError::Foreign)), "{token}");
    }
    let intruder = Credentials { username: "mario".into(), password: "wrong".into() };
    let token = intruder.token(Path::new(&keys.path("public.pem")), Padding::Oaep, NOW).expect("a token");
    assert!(matches!(gate.admit(&token, NOW), Err(AuthError::User(name)) if name == "mario"));
}

#[test]
fn files_that_cannot_be_used_are_named() {
    if skip::lacks(&["openssl"]) {
        return;
    }
    let keys = Keys::make("named");
    let from = keys.path("private.pem");
    openssl(&["genrsa", "-out", &keys.path("small.pem"), "1024"], b"");
    openssl(&["rsa", "-in", &from, "-aes128", "-passout", "pass:x", "-out", &keys.path("locked.pem")], b"");
    for (file, message) in [
        ("absent.pem", "absent.pem"),
        ("small.pem", "2048"),
        ("locked.pem", "passphrase"),
        ("users", "no RSA private key"),
        ("public.pem", "no RSA private key"),
    ] {
        let error = keys.gate(file, Padding::Oaep).expect_err(file).to_string();
        assert!(error.contains(file) && error.contains(message), "{file}: {error}");
    }
    let long = Credentials { username: "m".repeat(200), password: "p".into() };
    let public = keys.path("public.pem");
    let error = long.token(Path::new(&public), Padding::Oaep, NOW).expect_err("214 bytes at most");
    assert!(matches!(error, AuthError::TooLong(184)), "{error}");
    let broken = Credentials { username: "a\nb".into(), password: "p".into() };
    assert!(broken.token(Path::new(&public), Padding::Oaep, NOW).is_err());
    let private = Path::new(&from);
    assert!(
        long.token(private, Padding::Oaep, NOW).expect_err("not public").to_string().contains("public key")
    );
}
