//! Receivers that answer, refuse, hang, recover, or do not exist: each message arrives once, and nothing waits for them.

use pathmeter_alert::reach::{Attempt, Reach, change};
use pathmeter_alert::{Alert, Command, Mail, Outbox, Receiver, Retry, Webhook};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver as Queue};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn alert(target: &str) -> Alert {
    let attempt = Attempt { target, kind: "throughput", run: "0199" };
    change(None, attempt, &Reach::Failed("connection refused".into())).expect("it is new")
}

/// An outbox with quick attempts, and its notes.
struct Sent {
    outbox: Outbox,
    notes: Arc<Mutex<Vec<String>>>,
}

fn outbox(receiver: Receiver) -> Sent {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let kept = notes.clone();
    let (first_wait, longest_wait) = (Duration::from_millis(1), Duration::from_millis(5));
    let retry = Retry { attempts: 3, first_wait, longest_wait, limit: Duration::from_secs(20) };
    let note = move |line: &str| kept.lock().expect("no panic").push(line.to_owned());
    Sent { outbox: Outbox::start(vec![receiver], retry, Arc::new(note)).expect("threads"), notes }
}

impl Sent {
    /// Waits for the end of all deliveries; returns the notes.
    fn finish(self) -> Vec<String> {
        self.outbox.finish(Duration::from_secs(60));
        self.notes.lock().expect("no panic").clone()
    }
}

/// A listener that serves its connections one after the other, and the bytes received on each.
fn listen(answers: Vec<fn(TcpStream) -> String>) -> (String, Queue<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    let (received, queue) = mpsc::channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (stream, _) = listener.accept().expect("a connection");
            let _ = received.send(answer(stream));
        }
    });
    (address, queue)
}

/// Reads a request with its body.
fn request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line.trim().is_empty() {
            break;
        }
        head += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body");
    head + "\n" + &String::from_utf8(body).expect("text")
}

fn answer(mut stream: TcpStream, status: &str) -> String {
    let received = request(&stream);
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").expect("answered");
    received
}

fn webhook(address: &str) -> Receiver {
    Receiver::Webhook(Webhook::at(&format!("http://{address}/hook?secret=1")).expect("an address"))
}

#[test]
fn a_webhook_gets_each_message_once_also_after_an_outage_of_its_own() {
    let (address, received) =
        listen(vec![|s| answer(s, "503 Down"), |s| answer(s, "200 OK"), |s| answer(s, "204 No Content")]);
    let sent = outbox(webhook(&address));
    sent.outbox.send(&alert("ams -> fra"));
    sent.outbox.send(&alert("ams -> par"));
    assert!(sent.finish().is_empty());
    let received: Vec<String> = received.iter().collect();
    assert!(
        received[0].starts_with("POST /hook?secret=1 HTTP/1.1") && received[0].contains("application/json")
    );
    let json = |text: &str| -> serde_json::Value {
        serde_json::from_str(text.split("\n\n").nth(1).unwrap_or_default()).expect("JSON")
    };
    assert_eq!(json(&received[0]), json(&received[1]), "the same again");
    let expected = serde_json::json!({
        "schema": "pathmeter/alert/1",
        "alert": "unreachable",
        "target": "ams -> par",
        "kind": "throughput",
        "figure": "",
        "run": "0199",
        "text": "ams -> par: cannot be reached: connection refused",
    });
    assert_eq!(json(&received[2]), expected);
}

#[test]
fn a_webhook_that_refuses_or_is_not_there_is_given_up_and_named_without_its_secret() {
    let (address, received) = listen(vec![|s| answer(s, "403 Forbidden"), |s| answer(s, "200 OK")]);
    let sent = outbox(webhook(&address));
    sent.outbox.send(&alert("ams -> fra"));
    sent.outbox.send(&alert("ams -> par"));
    let notes = sent.finish();
    assert_eq!(notes.len(), 1, "what is refused is not tried again: {notes:?}");
    assert!(
        notes[0].contains("403") && notes[0].contains("ams -> fra") && !notes[0].contains("secret"),
        "{notes:?}"
    );
    assert_eq!(received.iter().count(), 2);

    let closed =
        TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).expect("a port").to_string();
    let sent = outbox(webhook(&closed));
    sent.outbox.send(&alert("ams -> fra"));
    let notes = sent.finish();
    assert!(notes.len() == 1 && notes[0].contains("attempt 3"), "{notes:?}");
    for bad in ["hooks.example", "ftp://hooks.example/", "http://", "no address"] {
        assert!(Webhook::at(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_receiver_that_hangs_delays_no_other() {
    // The listener accepts connections and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let sent = outbox(webhook(&listener.local_addr().expect("bound").to_string()));
    for number in 0..1_500 {
        sent.outbox.send(&alert(&format!("path {number}")));
    }
    let notes = sent.notes.clone();
    sent.outbox.finish(Duration::ZERO);
    let notes = notes.lock().expect("no panic");
    assert!(
        notes.iter().any(|note| note.contains("wait already") && note.contains("path 1499")),
        "the queue has an end"
    );
    assert!(notes.last().is_some_and(|note| note.contains("not delivered")), "what is left is named");
}

/// The part of SMTP that accepts a message. `refusal`: the answer to the recipient.
fn smtp(mut stream: TcpStream, refusal: Option<&str>) -> String {
    let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
    let mut received = String::new();
    let mut say = |text: &str| write!(stream, "{text}\r\n").expect("written");
    say("220 mail.example ESMTP");
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return received;
        }
        received += &line;
        match line.get(..4).unwrap_or_default() {
            "EHLO" => say("250 mail.example"),
            "RCPT" => say(refusal.unwrap_or("250 ok")),
            "QUIT" => {
                say("221 bye");
                return received;
            }
            "DATA" => {
                say("354 go on");
                while !received.ends_with("\r\n.\r\n") && reader.read_line(&mut received).unwrap_or(0) > 0 {}
                say("250 taken");
            }
            _ => say("250 ok"),
        }
    }
}

fn mail(address: &str) -> Receiver {
    let mail =
        Mail::through(&format!("smtp://{address}"), "pathmeter@ams.example", &["noc@example.com".to_owned()]);
    Receiver::Mail(mail.expect("addresses"))
}

#[test]
fn a_mailbox_gets_the_message_after_a_temporary_refusal() {
    let (address, received) = listen(vec![|s| smtp(s, Some("450 busy")), |s| smtp(s, None)]);
    let sent = outbox(mail(&address));
    sent.outbox.send(&alert("ams -> fra"));
    assert!(sent.finish().is_empty());
    let taken = received.iter().last().expect("a message");
    assert!(
        taken.contains("MAIL FROM:<pathmeter@ams.example>") && taken.contains("RCPT TO:<noc@example.com>"),
        "{taken}"
    );
    assert!(taken.contains("Subject: pathmeter: ams -> fra unreachable"), "{taken}");
    assert!(taken.contains("cannot be reached: connection refused"), "{taken}");
}

#[test]
fn a_mailbox_that_does_not_exist_is_given_up_at_once() {
    let (address, received) = listen(vec![|s| smtp(s, Some("550 no such user"))]);
    let sent = outbox(mail(&address));
    sent.outbox.send(&alert("ams -> fra"));
    let notes = sent.finish();
    assert!(notes.len() == 1 && notes[0].contains("noc@example.com"), "{notes:?}");
    assert_eq!(received.iter().count(), 1);
    let to = ["noc@example.com".to_owned()];
    for (server, from) in
        [("mail.example", "a@b.example"), ("smtp://mail.example", "user"), ("http://x", "a@b.example")]
    {
        let refused = Mail::through(server, from, &to).expect_err(server);
        assert!(!refused.to_string().is_empty());
    }
}

#[test]
fn a_command_has_the_alert_in_its_environment_and_is_never_run_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("alert");
    let hook = |end: &str| {
        format!("echo \"$PATHMETER_ALERT $PATHMETER_TARGET $PATHMETER_RUN\" >> {}; {end}", file.display())
    };
    let sent = outbox(Receiver::Command(Command(hook("exit 0"))));
    sent.outbox.send(&alert("$(reboot); `x`"));
    assert!(sent.finish().is_empty());
    let sent = outbox(Receiver::Command(Command(hook("exit 3"))));
    sent.outbox.send(&alert("ams -> fra"));
    assert!(sent.finish()[0].contains("exit status: 3"));
    let reported = std::fs::read_to_string(&file).expect("it ran");
    assert_eq!(reported, "unreachable $(reboot); `x` 0199\nunreachable ams -> fra 0199\n");
}
