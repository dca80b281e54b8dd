//! Secrets in what is printed.

/// A text with the names and passwords of its URLs taken out: `nats://user:password@host` is `nats://host`.
#[must_use]
pub fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(SCHEME_END) {
        let (before, after) = rest.split_at(at + SCHEME_END.len());
        shown.push_str(before);
        let end = after.find(|letter: char| ENDS.contains(&letter) || letter.is_whitespace());
        let (authority, behind) = after.split_at(end.unwrap_or(after.len()));
        shown.push_str(authority.rsplit_once('@').map_or(authority, |(_, host)| host));
        rest = behind;
    }
    shown + rest
}

const SCHEME_END: &str = "://";
/// Characters that end the name of a host, or the list of servers that it is in.
const ENDS: [char; 8] = ['/', '?', '#', ',', '"', '`', '\'', ';'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_passwords_are_taken_out() {
        for (text, shown) in [
            ("nats://user:s3cretpw@host:4222", "nats://host:4222"),
            ("nats://a:b@one:1,tls://c:d@two:2", "nats://one:1,tls://two:2"),
            ("reach `wss://u:p@h/path?x=a@b`: refused", "reach `wss://h/path?x=a@b`: refused"),
            (
                "https://token@hooks.example/x and mail to me@example.com",
                "https://hooks.example/x and mail to me@example.com",
            ),
            ("nats://user:pa@ss@host", "nats://host"),
            ("no URL: user:password@host", "no URL: user:password@host"),
            ("http://[::1]:80/", "http://[::1]:80/"),
            ("", ""),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }
}
