//! Leases under every interleaving: commands that are late, lost or done without an answer, old answers, holders that die.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const LIFETIME: Nanos = Nanos::from_secs(3);

/// A store with a clock, which may answer with what was true before.
#[derive(Default)]
struct Store {
    now: MonoTime,
    revision: u64,
    keys: BTreeMap<String, (Entry, Option<MonoTime>)>,
    before: BTreeMap<String, Option<Entry>>,
    /// All keys as they were some changes ago: what a leader without a majority lists.
    past: BTreeMap<String, (Entry, Option<MonoTime>)>,
}

impl Store {
    fn advance(&mut self, span: Nanos) {
        self.now += span;
        let gone: Vec<String> = self
            .keys
            .iter()
            .filter(|(_, (_, vanishes))| vanishes.is_some_and(|end| self.now >= end))
            .map(|(key, _)| key.clone())
            .collect();
        for key in gone {
            self.change(&key, None);
        }
    }

    fn change(&mut self, key: &str, to: Option<(Entry, Option<MonoTime>)>) {
        if self.revision.is_multiple_of(3) {
            self.past = self.keys.clone();
        }
        let before = self.keys.get(key).map(|(entry, _)| entry.clone());
        self.before.insert(key.to_owned(), before);
        match to {
            Some(to) => self.keys.insert(key.to_owned(), to),
            None => self.keys.remove(key),
        };
    }

    fn get(&self, key: &str, is_stale: bool) -> Option<Entry> {
        let current = self.keys.get(key).map(|(entry, _)| entry.clone());
        if is_stale { self.before.get(key).cloned().unwrap_or(current) } else { current }
    }

    fn apply(&mut self, command: &Command, is_stale: bool) -> Reply {
        match command {
            Command::Get { key } => Reply::Entry(self.get(key, is_stale)),
            Command::List { pattern } => {
                Reply::Listing(list(if is_stale { &self.past } else { &self.keys }, pattern))
            }
            Command::Put { key, value, expected, lifetime } => {
                let found = self.get(key, false).map(|entry| entry.revision);
                let fits = match expected {
                    Expected::Absent => found.is_none(),
                    Expected::Revision(revision) => found == Some(*revision),
                    Expected::Anything => true,
                    Expected::Without(other) => self.get(other, false).is_none(),
                    Expected::LastOf { pattern, revision } => list(&self.keys, pattern).last == *revision,
                };
                if !fits {
                    return Reply::Conflict;
                }
                self.revision += 1;
                let entry = Entry { value: value.clone(), revision: self.revision };
                self.change(key, Some((entry, lifetime.map(|span| self.now + span))));
                Reply::Written(self.revision)
            }
            Command::Remove { key, revision } => {
                if self.get(key, false).is_none_or(|entry| entry.revision != *revision) {
                    return Reply::Conflict;
                }
                self.change(key, None);
                Reply::Removed
            }
        }
    }
}

fn list(keys: &BTreeMap<String, (Entry, Option<MonoTime>)>, pattern: &str) -> Listing {
    let fitting = keys.iter().filter(|(key, _)| crate::broker::matches(pattern, key));
    let entries: Vec<(String, Entry)> =
        fitting.map(|(key, (entry, _))| (key.clone(), entry.clone())).collect();
    let last = entries.iter().map(|(_, entry)| entry.revision).max().unwrap_or(0);
    Listing { entries, last, is_whole: true }
}

enum State {
    Idle,
    Acquiring(Box<Acquire>, Command),
    Holding(Lease, Renewal, Option<Command>),
    Releasing(Release, Command),
}

struct Contender {
    name: String,
    claims: u32,
    claim: Option<Claim>,
    state: State,
}

impl Contender {
    fn start(&mut self, choice: u8, now: MonoTime) {
        match &mut self.state {
            State::Idle => {
                self.claims += 1;
                let claim = claim(&self.name, self.claims, choice);
                self.claim = Some(claim.clone());
                let mut machine = Box::new(Acquire::new(claim));
                if let Step::Do(command) = machine.next(None, now) {
                    self.state = State::Acquiring(machine, command);
                }
            }
            State::Holding(lease, renewal, waiting @ None) => match renewal.next(lease, None, now) {
                Step::Do(command) => *waiting = Some(command),
                Step::End(_) => self.state = State::Idle,
            },
            _ => {}
        }
    }

    fn release(&mut self) {
        if let State::Holding(lease, _, _) = &self.state {
            let names = lease.tokens.iter().map(|(name, token)| (name.clone(), Some(*token))).collect();
            let mut machine = Release::new(&lease.holder, names, lease.heartbeat);
            self.state = match machine.next(None) {
                Step::Do(command) => State::Releasing(machine, command),
                Step::End(_) => State::Idle,
            };
        }
    }

    fn command(&self) -> Option<&Command> {
        match &self.state {
            State::Idle => None,
            State::Acquiring(_, command) | State::Releasing(_, command) => Some(command),
            State::Holding(_, _, command) => command.as_ref(),
        }
    }

    fn reply(&mut self, reply: Reply, now: MonoTime) {
        self.state = match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => State::Idle,
            State::Acquiring(mut machine, _) => match machine.next(Some(reply), now) {
                Step::Do(command) => State::Acquiring(machine, command),
                Step::End(Some(Acquired::Held(lease))) => State::Holding(lease, Renewal::default(), None),
                Step::End(_) => State::Idle,
            },
            State::Holding(mut lease, mut renewal, _) => match renewal.next(&mut lease, Some(reply), now) {
                Step::Do(command) => State::Holding(lease, renewal, Some(command)),
                Step::End(Renewed::Lost) => State::Idle,
                Step::End(_) => State::Holding(lease, renewal, None),
            },
            State::Releasing(mut machine, _) => match machine.next(Some(reply)) {
                Step::Do(command) => State::Releasing(machine, command),
                Step::End(_) => State::Idle,
            },
        };
    }

    /// The lease that it believes to hold now.
    fn held(&self, now: MonoTime) -> Option<(&Claim, &Lease)> {
        match (&self.state, &self.claim) {
            (State::Holding(lease, _, _), Some(claim)) if lease.is_held(now) => Some((claim, lease)),
            _ => None,
        }
    }
}

/// Every agent of a world is granted all of it, in every class: `h0` in a key of `h0`'s own, and so on.
fn claim(owner: &str, number: u32, choice: u8) -> Claim {
    let holder = &super::holder(owner, &number.to_string());
    let class =
        [Class::Exclusive, Class::Exclusive, Class::Normal, Class::Background][usize::from(choice % 4)];
    let resources = [Resource::sole("c"), Resource { name: "b".into(), capacity: 2 }, Resource::sole("a")];
    let wanted = usize::from(choice / 4 % 8);
    let chosen = resources.into_iter().enumerate().filter(|(bit, _)| wanted == 0 || wanted >> bit & 1 == 1);
    let group = if choice >= 224 { "together".to_owned() } else { holder.to_owned() };
    let resources = chosen.map(|(_, resource)| resource).collect();
    Claim {
        holder: holder.to_owned(),
        run: format!("{class:?}-{group}"),
        grant: owner.to_owned(),
        group,
        class,
        resources,
        lifetime: LIFETIME,
        about: About::default(),
    }
}

/// Adds the grant of a coordinator for this claim to those before.
fn grant_claim(store: &mut Store, owner: &str, claim: &Claim) {
    let key = super::grant::grant_key(owner);
    let mut granted: Vec<Granted> = store
        .get(&key, false)
        .and_then(|entry| serde_json::from_slice(&entry.value).ok())
        .unwrap_or_default();
    if granted.iter().any(|one| one.run == claim.run && one.resources.len() >= claim.resources.len()) {
        return;
    }
    let group = if claim.group == claim.holder { String::new() } else { claim.group.clone() };
    granted.push(Granted {
        agent: owner.to_owned(),
        run: claim.run.clone(),
        class: claim.class,
        group,
        resources: claim.resources.clone(),
    });
    store.revision += 1;
    let entry = Entry { value: serde_json::to_vec(&granted).expect("JSON"), revision: store.revision };
    store.change(&key, Some((entry, None)));
}

struct World {
    store: Store,
    contenders: Vec<Contender>,
    /// Commands in transit whose answer is no longer awaited.
    late: Vec<Command>,
}

impl World {
    fn new(contenders: usize) -> World {
        let contender =
            |number| Contender { name: format!("h{number}"), claims: 0, claim: None, state: State::Idle };
        World {
            store: Store::default(),
            contenders: (0..contenders).map(contender).collect(),
            late: Vec::new(),
        }
    }

    fn happen(&mut self, kind: u8, who: usize, amount: u8) {
        let now = self.store.now;
        let contender = &mut self.contenders[who];
        let command = contender.command().cloned();
        match (kind, command) {
            (0, _) => self.store.advance(Nanos::from_millis(u64::from(amount) * 10)),
            (1..=5, Some(command)) => {
                let reply = self.store.apply(&command, kind == 5);
                contender.reply(reply, now);
            }
            (6, Some(command)) => {
                self.late.push(command);
                contender.reply(Reply::Unknown, now);
            }
            (7, Some(command)) => {
                self.store.apply(&command, false);
                contender.reply(Reply::Unknown, now);
            }
            (8, _) if !self.late.is_empty() => {
                let command = self.late.swap_remove(usize::from(amount) % self.late.len());
                self.store.apply(&command, false);
            }
            (9, command) if amount < 40 => {
                self.late.extend(command);
                contender.state = State::Idle;
            }
            (10, _) => contender.release(),
            (_, None) => self.start(who, amount),
            _ => {}
        }
    }

    fn start(&mut self, who: usize, choice: u8) {
        let contender = &mut self.contenders[who];
        contender.start(choice, self.store.now);
        if let Some(claim) = &contender.claim {
            grant_claim(&mut self.store, &contender.name, claim);
        }
    }

    fn assert_nothing_is_held_twice(&self) {
        let now = self.store.now;
        for name in ["a", "b", "c"] {
            let mut holders = Vec::new();
            for (claim, _) in self.contenders.iter().filter_map(|each| each.held(now)) {
                let resource = claim.resources.iter().find(|resource| resource.name == name);
                holders.extend(resource.map(|resource| claim.holder_of(resource)));
            }
            assert!(has_room(&holders), "{name} is held by {holders:#?}");
        }
    }

    /// Every pending command is carried out, in turn.
    fn settle(&mut self) {
        for _ in 0..200 {
            for contender in &mut self.contenders {
                if let Some(command) = contender.command().cloned() {
                    let reply = self.store.apply(&command, false);
                    contender.reply(reply, self.store.now);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_resource_is_held_beyond_its_capacity(
        events in proptest::collection::vec((0_u8..13, 0_usize..4, any::<u8>()), 1..400),
    ) {
        let mut world = World::new(4);
        let mut admitted: BTreeMap<String, u64> = BTreeMap::new();
        for (kind, who, amount) in events {
            let held_before = world.contenders[who].held(world.store.now).is_some();
            world.happen(kind, who, amount);
            world.assert_nothing_is_held_twice();
            let contender = &world.contenders[who];
            if let (false, Some((claim, lease))) = (held_before, contender.held(world.store.now)) {
                // The fencing token of a resource for one at a time only grows.
                let is_sole = claim.class == Class::Exclusive && claim.group == claim.holder;
                for (name, token) in lease.tokens.iter().filter(|(name, _)| is_sole && name != "b") {
                    let last = admitted.insert(name.clone(), *token);
                    prop_assert!(last.is_none_or(|last| last < *token));
                }
            }
        }
    }

    /// Whatever happened before, a resource is free again when its holders are gone for a lifetime.
    #[test]
    fn what_the_dead_held_is_free_after_a_lifetime(
        events in proptest::collection::vec((0_u8..13, 0_usize..4, any::<u8>()), 1..200),
    ) {
        let mut world = World::new(5);
        for (kind, who, amount) in events {
            world.happen(kind, who, amount);
        }
        world.contenders.truncate(4);
        world.contenders.iter_mut().for_each(|each| each.state = State::Idle);
        world.store.advance(LIFETIME);
        world.contenders.push(Contender { name: "heir".into(), claims: 0, claim: None, state: State::Idle });
        world.start(4, 0);
        world.settle();
        prop_assert!(world.contenders[4].held(world.store.now).is_some());
    }
}

#[test]
fn classes_get_on_as_in_pscheduler() {
    let holder = |class, group: &str, capacity| Holder {
        id: group.to_owned(),
        group: group.to_owned(),
        class,
        capacity,
        ..Holder::default()
    };
    use Class::{Background, BackgroundMulti, Exclusive, Normal};
    for (one, other, expected) in [
        (Exclusive, Exclusive, false),
        (Exclusive, Normal, false),
        (Exclusive, Background, true),
        (Exclusive, BackgroundMulti, true),
        (Normal, Normal, true),
        (Normal, Background, true),
        (Background, BackgroundMulti, true),
    ] {
        assert_eq!(has_room(&[holder(one, "x", 1), holder(other, "y", 1)]), expected, "{one:?} {other:?}");
        assert_eq!(has_room(&[holder(other, "y", 1), holder(one, "x", 1)]), expected, "{other:?} {one:?}");
        assert!(has_room(&[holder(one, "x", 1), holder(other, "x", 1)]), "one group");
    }
    assert!(has_room(&[holder(Exclusive, "x", 2), holder(Exclusive, "y", 2)]));
    assert!(!has_room(&[holder(Exclusive, "x", 2), holder(Exclusive, "y", 1)]), "the least capacity counts");
}

/// A key that another version wrote is not taken for a free resource.
#[test]
fn an_unreadable_holder_blocks() {
    let mut world = World::new(1);
    world.write("beat.coordinator.new", b"coordinator.new");
    world.write("on.coordinator.new.a", b"[{\"new\":1}]");
    world.start(0, 16);
    world.settle();
    assert!(matches!(world.contenders[0].state, State::Idle));
}

impl World {
    fn write(&mut self, key: &str, value: &[u8]) {
        let (key, value) = (key.to_owned(), value.to_vec());
        let put = Command::Put { key, value, expected: Expected::Anything, lifetime: None };
        self.store.apply(&put, false);
    }

    fn grant(&mut self, name: &str, granted: &Granted) {
        let value = serde_json::to_vec(&[granted]).expect("JSON");
        self.write(&super::grant::grant_key(name), &value);
    }
}

/// An agent's key writes holders of its own name alone. Whatever they hold, they exclude no other from what it was not granted.
#[test]
fn what_an_agent_was_not_granted_excludes_no_other() {
    let granted = |agent: &str, class, resource: &str| Granted {
        agent: agent.to_owned(),
        run: "run".to_owned(),
        class,
        group: String::new(),
        resources: vec![Resource::sole(resource)],
    };
    let exclusive = |grant: &str| {
        let holder = Holder { run: "run".into(), grant: grant.into(), capacity: 1, ..Holder::default() };
        serde_json::to_vec(&holder).expect("JSON")
    };
    for (case, grant, keeps_out) in [
        ("nothing", None, false),
        ("another agent's", Some(granted("h0", Class::Exclusive, "a")), false),
        ("of another resource", Some(granted("lon", Class::Exclusive, "c")), false),
        ("of another class", Some(granted("lon", Class::Background, "a")), false),
        ("its own", Some(granted("lon", Class::Exclusive, "a")), true),
    ] {
        let mut world = World::new(1);
        grant.iter().for_each(|grant| world.grant("g", grant));
        world.write("beat.lon.1", b"lon.1");
        world.write("on.lon.1.a", &exclusive("g"));
        world.start(0, 16);
        world.settle();
        assert_eq!(world.contenders[0].held(world.store.now).is_none(), keeps_out, "{case}");
    }
}

/// Nothing is begun that others would pass over.
#[test]
fn an_agent_without_a_grant_holds_nothing() {
    let mut world = World::new(1);
    world.contenders[0].start(16, MonoTime::ZERO);
    world.settle();
    assert!(matches!(world.contenders[0].state, State::Idle));
    assert!(world.store.keys.is_empty(), "{:?}", world.store.keys);
}
