//! The certificate of a mesh's server: it ends, `mesh up` warns before, and `mesh renew` writes a new one that agents trust.

use super::super::support::{Scratch, run};
use super::{mesh, refused};
use jiff::{ToSpan, Zoned};

/// The day so many days from now.
fn day_after(days: i64) -> String {
    Zoned::now().date().saturating_add(days.days()).to_string()
}

#[test]
fn an_end_of_the_certificate_is_warned_of_until_it_is_renewed() {
    let scratch = Scratch::new("mesh-ends");
    let folder = scratch.file("mesh", None);
    run(&["mesh", "init", &folder, "--agent", "ams", "--server", "localhost"]).code(0);
    // In the place of the server a program that ends at once.
    let up = || run(&["mesh", "up", &folder, "--nats-server", "true"]).code(2).stderr;
    let known = format!("{folder}/certificate.json");
    let ends_on = |day: &str| {
        std::fs::write(&known, format!("{{\"names\":[\"localhost\"],\"until\":\"{day}\"}}")).unwrap();
    };
    assert!(!up().contains("certificate"), "{}", up());
    for (days, verb) in [(40, None), (20, Some("ends")), (-3, Some("ended"))] {
        let day = day_after(days);
        ends_on(&day);
        let warning = verb
            .map(|verb| format!("the server's certificate {verb} on {day}: pathmeter mesh renew {folder}\n"));
        assert_eq!(up().contains("certificate"), warning.is_some(), "{days}: {}", up());
        assert!(up().contains(&warning.unwrap_or_default()), "{days}: {}", up());
    }
    let renewed = run(&["mesh", "renew", &folder]).code(0).stdout;
    let until = day_after(397);
    assert!(renewed.contains(&format!("the certificate of localhost holds until {until}\n")), "{renewed}");
    assert!(renewed.contains("none runs here from this folder"), "{renewed}");
    assert!(!up().contains("certificate"), "{}", up());

    // Without the authority's key there is none, and nothing is written.
    let before = std::fs::read(format!("{folder}/server.pem")).unwrap();
    std::fs::rename(format!("{folder}/ca.key"), scratch.file("ca.key", None)).unwrap();
    refused(run(&["mesh", "renew", &folder]), 2, &["ca.key"]);
    assert_eq!(std::fs::read(format!("{folder}/server.pem")).unwrap(), before);
    let open = scratch.file("open", None);
    run(&["mesh", "init", &open, "--agent", "ams"]).code(0);
    refused(run(&["mesh", "renew", &open]), 2, &["has no certificate"]);
}

/// A server at work has its new certificate at once; agents know its authority by the file that they have.
#[test]
fn a_renewed_certificate_is_trusted_by_the_agents_that_are_there() {
    let scratch = Scratch::new("mesh-renewed");
    let test = "a_renewed_certificate_is_trusted_by_the_agents_that_are_there";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams"]) else { return };
    let folder = &mesh.folder;
    let agent = mesh.agent("ams", &format!("{folder}/mesh.token"));
    mesh.wait_for(1);
    let renewed = run(&["mesh", "renew", folder, "--server", "127.0.0.1"]).code(0).stdout;
    assert!(renewed.contains("takes it now"), "{renewed}");
    let port = mesh.url.rsplit(':').next().unwrap();
    let (ca, key) = (format!("{folder}/ca.pem"), format!("{folder}/keys/coordinator.seed"));
    let show = |host: &str| {
        let url = format!("tls://{host}:{port}");
        run(&["mesh", "show", "--json", "--coordinator", &url, "--ca", &ca, "--key", &key])
    };
    // The new name is in the certificate that it presents, and the old one is not.
    super::until("the server has its new certificate", || show("127.0.0.1").code == Some(0));
    refused(show("localhost"), 3, &["is not trusted"]);
    assert_eq!(show("127.0.0.1").json()["agents"].as_array().unwrap().len(), 1, "the agent is there still");
    agent.signal("TERM");
    agent.end().code(0);
    // An agent that is added now joins by the new name.
    run(&["mesh", "agent", "add", folder, "fra"]).code(0);
    let join = std::fs::read_to_string(format!("{folder}/agents/fra.agent")).unwrap();
    assert!(join.contains(&format!("tls://127.0.0.1:{port}")), "{join}");
}
