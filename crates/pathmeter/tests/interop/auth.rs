//! Authentication: keys as the real tool's manual makes them, its padding against it, and both among ourselves.

use crate::process::{Running, Scratch, Tool, ToolOutput, free_port, their_minor};
use std::process::Command;

/// Keys made by openssl, as in the real tool's manual page, and one user.
struct Keys {
    scratch: Scratch,
    private: String,
    public: String,
    users: String,
}

impl Keys {
    fn make(name: &str) -> Keys {
        let scratch = Scratch::new(name);
        let (private, public) = (scratch.path("private.pem"), scratch.path("public.pem"));
        openssl(&["genrsa", "-out", &private, "2048"]);
        openssl(&["rsa", "-in", &private, "-outform", "PEM", "-pubout", "-out", &public]);
        // SHA-256 of `{mario}rossi`, the example of the manual page.
        let users = "# users\nmario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b\n";
        let users = scratch.write("users.csv", users.as_bytes());
        Keys { scratch, private, public, users }
    }

    fn server(&self, tool: Tool, port: u16, padding: &str) -> Running {
        let (private, users) = (&self.private, &self.users);
        tool.serve(
            port,
            &format!("--rsa-private-key-path {private} --authorized-users-path {users} {padding}"),
        )
    }

    fn client(&self, tool: Tool, port: u16, password: &str, options: &str) -> ToolOutput {
        let mut command = tool.command();
        command.env("IPERF3_PASSWORD", password);
        let public = &self.public;
        let line = format!(
            "-c 127.0.0.1 -p {port} -n 10K --username mario --rsa-public-key-path {public} {options}"
        );
        command.args(line.split_whitespace());
        Running::start(command).wait()
    }
}

#[test]
fn users_are_known_by_their_passwords() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let keys = Keys::make("auth");
    // OAEP came with 3.17.
    let theirs = if their_minor() < 17 { "--use-pkcs1-padding" } else { "" };
    let rows = [
        (Tool::Ours, Tool::Theirs, theirs, ""),
        (Tool::Theirs, Tool::Ours, "", theirs),
        (Tool::Ours, Tool::Ours, "--use-pkcs1-padding", "--use-pkcs1-padding"),
        (Tool::Ours, Tool::Ours, "", ""),
    ];
    for (client, server, client_padding, server_padding) in rows {
        let port = free_port();
        let _serving = keys.server(server, port, server_padding);
        let named = format!("{client:?} {client_padding} to {server:?} {server_padding}");
        let good = keys.client(client, port, "rossi", client_padding);
        assert_eq!(good.code, Some(0), "{named}: {good:#?}");
        let wrong = keys.client(client, port, "bianchi", client_padding);
        assert_eq!(wrong.code, Some(1), "{named}: {wrong:#?}");
        let anonymous = client.run(&format!("-c 127.0.0.1 -p {port} -n 10K"));
        assert_eq!(anonymous.code, Some(1), "{named}: {anonymous:#?}");
    }
    drop(keys.scratch);
}

fn openssl(arguments: &[&str]) {
    let text = Command::new("openssl").args(arguments).output();
    let good = text.as_ref().is_ok_and(|text| text.status.success());
    assert!(good, "openssl is needed to make test keys: apt-get install openssl ({text:?})");
}
