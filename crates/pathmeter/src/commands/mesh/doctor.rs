//! `pathmeter mesh doctor`: what the server really does, found out by having it done.

use super::{connect, failed, streams};
use crate::commands::output::deliver;
use crate::exit::Exit;
use cli::{Common, MeshDoctorArgs};
use engine::error::Result;
use fleet::FleetError;
use fleet::broker::nats::Nats;
use fleet::broker::{Broker, Bucket, Expected};
use fleet::clock::{Clock, SystemClock};
use fleet::lease::{About, Acquired, COORDINATOR, Claim, Class, Lease, Resource, holder, remove_dead};
use model::units::Nanos;

/// A check and how it ended.
type Check = (&'static str, std::result::Result<String, FleetError>);

pub(super) fn run(args: &MeshDoctorArgs, global: &Common) -> Result<Exit> {
    let nats = connect(&args.nats, COORDINATOR)?;
    let checks: [Check; 5] = [
        ("version", Ok(nats.server_version())),
        ("streams", streams(&nats, args.replicas).map(|()| replicas(args.replicas))),
        ("lifetime", lifetime(&nats)),
        ("stale keys", stale_keys(&nats)),
        ("lease", lease(&nats)),
    ];
    let mut text = String::new();
    let mut failure = None;
    for (name, outcome) in checks {
        match outcome {
            Ok(found) => text += &format!("ok       {name:<10} {found}\n"),
            Err(error) => {
                text += &format!("problem  {name:<10} {error}\n");
                failure.get_or_insert(error);
            }
        }
    }
    deliver(global, text.as_bytes())?;
    failure.map_or(Ok(Exit::Done), |error| Err(failed(error)))
}

fn replicas(count: Option<usize>) -> String {
    count.map_or("there".to_owned(), |count| format!("there, {count} of each"))
}

/// Keys that had outlived their lifetimes, as an unclean end of the server leaves them, and those of holders that died.
fn stale_keys(nats: &Nats) -> fleet::Result<String> {
    let removed = nats.remove_stale()?;
    remove_dead(nats)?;
    Ok(match removed.as_slice() {
        [] => "none".to_owned(),
        keys => format!(
            "{} keys had outlived their lifetimes, as after an unclean end of the server, and were removed: {}",
            keys.len(),
            keys.join(", ")
        ),
    })
}

/// An old server accepts a lifetime and keeps the key for ever: so one is waited for.
fn lifetime(nats: &Nats) -> fleet::Result<String> {
    let key = format!("doctor-{}", SystemClock.wall().0);
    nats.put(Bucket::Leases, &key, b"", Expected::Absent, Some(Nanos::from_secs(1)))?;
    let end = SystemClock.mono() + Nanos::from_secs(10);
    while nats.get(Bucket::Leases, &key)?.is_some() {
        if SystemClock.mono() > end {
            let why = "a key with a lifetime of 1 s was still there after 10 s".to_owned();
            return Err(FleetError::Server { operation: "wait for the end of", object: key, why });
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    Ok("keys vanish when their time is over".to_owned())
}

fn lease(nats: &Nats) -> fleet::Result<String> {
    let claim = |part: &str| Claim {
        holder: holder(COORDINATOR, &format!("doctor-{part}-{}", SystemClock.wall().0)),
        run: String::new(),
        grant: String::new(),
        group: part.to_owned(),
        class: Class::Exclusive,
        resources: vec![Resource::sole("doctor")],
        lifetime: Nanos::from_secs(6),
        about: About { title: "mesh doctor".to_owned(), since: SystemClock.wall() },
    };
    let clock = || SystemClock.mono();
    let refused = |why: &str| FleetError::Refused { agent: "server".to_owned(), why: why.to_owned() };
    let Acquired::Held(lease) = Lease::acquire(nats, claim("first"), &clock)? else {
        return Err(refused("another doctor is at work: try again in 10 s"));
    };
    let second = Lease::acquire(nats, claim("second"), &clock)?;
    lease.release(nats)?;
    match second {
        Acquired::Blocked { .. } => Ok("a second holder is kept out".to_owned()),
        Acquired::NotGranted | Acquired::Held(_) => Err(refused("two held one lease at the same time")),
    }
}
