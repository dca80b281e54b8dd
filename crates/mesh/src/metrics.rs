//! How an agent and a coordinator stand, in Prometheus' text format. A process that is down answers nothing, and Prometheus' own
//! `up` reports that.

use fleet::coordinator::Coordinator;
use model::agent::AgentStatus;
use model::time::WallTime;
use report::format::prometheus::{Sample, family};

/// An agent. `is_connected`: whether its connection to the server is up.
#[must_use]
pub fn of_agent(name: &str, status: &AgentStatus, is_connected: bool, now: WallTime) -> String {
    let own = || vec![("agent".to_owned(), name.to_owned())];
    let single = |value: f64| vec![(own(), value)];
    let flag = |value: bool| single(f64::from(u8::from(value)));
    let mut text = info("agent", own());
    let mut add = |name: &str, help: &str, samples: Vec<Sample>| {
        if !samples.is_empty() {
            text += &family(&format!("pathmeter_agent_{name}"), "gauge", help, &samples);
        }
    };
    add("connected", "Whether the connection to the NATS server is up.", flag(is_connected));
    add("has_name", "Whether it holds its name, and so takes jobs.", flag(status.has_name));
    add("healthy", "Whether it can do all of its work.", flag(status.failure.is_none()));
    add("runs", "Runs that it has, those that wait among them.", single(status.runs.len() as f64));
    add("waiting_runs", "Runs that wait for a lease.", single(status.waiting.len() as f64));
    let longest = status.waiting.iter().map(|run| (now - run.since).as_secs_f64()).fold(0.0, f64::max);
    add("longest_wait_seconds", "For how long the first of these has waited.", single(longest));
    add("spool_outcomes", "Outcomes that no coordinator has yet.", single(status.spool.pending as f64));
    let room = status.spool.room_bytes.map(|room| (own(), room as f64)).into_iter().collect();
    add("spool_room_bytes", "Room on the disk of its spool.", room);
    add("spool_damaged", "Whether lines of its spool cannot be read.", flag(status.spool.damage.is_some()));
    let last = status.last_end.map(|at| (own(), at.0 as f64 / 1e9)).into_iter().collect();
    add("last_run_timestamp_seconds", "When a run ended last.", last);
    text
}

/// A coordinator at work on a mesh.
#[must_use]
pub fn of_coordinator(mesh: &str, coordinator: &Coordinator<'_>, now: WallTime) -> String {
    let own = || vec![("mesh".to_owned(), mesh.to_owned())];
    let single = |value: f64| vec![(own(), value)];
    let rows: Vec<_> = coordinator.ledger().rows().map(|(_, row)| row).collect();
    let mut text = info("mesh", own());
    let mut add = |name: &str, help: &str, samples: Vec<Sample>| {
        text += &family(&format!("pathmeter_mesh_{name}"), "gauge", help, &samples);
    };
    let flag = |value: bool| single(f64::from(u8::from(value)));
    add("leading", "Whether it is at work; otherwise it waits.", flag(coordinator.is_leading()));
    let waits = flag(coordinator.waits_for().is_some());
    add("waiting", "Whether it waits: for another coordinator, or for the NATS server.", waits);
    let states = ["expected", "running", "done", "void", "failed", "missed"].map(|state| {
        let labels = [own(), vec![("state".to_owned(), state.to_owned())]].concat();
        (labels, rows.iter().filter(|row| row.state.word() == state).count() as f64)
    });
    add("runs", "Runs that were handed out, by how they stand.", states.into());
    let open = rows.iter().filter(|row| !row.state.is_final());
    let lag = open.map(|row| (now - row.due).as_secs_f64()).fold(0.0, f64::max);
    add("lag_seconds", "For how long the first run that has not ended was handed out.", single(lag));
    text
}

fn info(what: &str, mut labels: Vec<(String, String)>) -> String {
    labels.push(("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()));
    family(&format!("pathmeter_{what}_info"), "gauge", "The program.", &[(labels, 1.0)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet::clock::{Clock, SystemClock};
    use fleet::lease::Resource;
    use fleet::mesh::{MeshPlan, RunRequest};
    use fleet::results::InMemory;
    use model::agent::{SpoolStatus, WaitingRun};
    use model::units::Nanos;
    use world::broker::Local;

    #[test]
    fn an_agent_reports_what_is_known_and_nothing_else() {
        let now = WallTime(1_790_000_100_000_000_000);
        let waiting = WaitingRun { since: WallTime(now.0 - 7_000_000_000), ..WaitingRun::default() };
        let status = AgentStatus {
            runs: vec!["1".into(), "2".into()],
            waiting: vec![waiting],
            spool: SpoolStatus { pending: 3, room_bytes: Some(4096), damage: None },
            has_name: true,
            ..AgentStatus::default()
        };
        let text = of_agent("ams", &status, true, now);
        for line in ["connected", "has_name", "healthy"]
            .map(|name| format!("{name}{{agent=\"ams\"}} 1"))
            .into_iter()
            .chain(
                [
                    ("runs", 2),
                    ("waiting_runs", 1),
                    ("longest_wait_seconds", 7),
                    ("spool_outcomes", 3),
                    ("spool_room_bytes", 4096),
                    ("spool_damaged", 0),
                ]
                .map(|(name, value)| format!("{name}{{agent=\"ams\"}} {value}")),
            )
        {
            assert!(text.lines().any(|own| own == format!("pathmeter_agent_{line}")), "{line}\n{text}");
        }
        assert!(!text.contains("last_run"), "no run has ended: no sample, and no 0");
    }

    #[test]
    fn a_coordinator_reports_its_runs_by_state() {
        let sites = ["ams", "fra"].map(str::to_owned);
        let plan = MeshPlan::new("m", &sites, None, &[], |a, b| {
            vec![RunRequest {
                agent: a.to_owned(),
                title: "t".into(),
                part: "up".into(),
                class: fleet::lease::Class::Exclusive,
                resources: [a, b].map(|agent| Resource::sole(format!("nic.{agent}"))).into(),
                span: Nanos::from_secs(1),
                body: String::new(),
            }]
        });
        let (broker, mut sink) = (Local::default(), InMemory::default());
        let coordinator = Coordinator::new("c", &broker, &SystemClock, plan, (&mut sink, |_, _| Ok(())));
        let mut coordinator = coordinator.expect("a coordinator");
        let before = of_coordinator("m", &coordinator, SystemClock.wall());
        assert!(before.contains("pathmeter_mesh_leading{mesh=\"m\"} 0"), "{before}");
        coordinator.step().expect("a step");
        let text = of_coordinator("m", &coordinator, SystemClock.wall());
        assert!(text.contains("pathmeter_mesh_leading{mesh=\"m\"} 1"), "{text}");
        assert!(text.contains("pathmeter_mesh_runs{mesh=\"m\",state=\"expected\"} 1"), "{text}");
    }
}
