//! The rule that decides which holders may share a resource.

use super::Resource;
use model::time::WallTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How a test gets on with others on the same resource: pScheduler's scheduling classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The test fills the link: no other exclusive or normal test beside it (throughput).
    #[default]
    Exclusive,
    /// The test is disturbed by a full link: no exclusive test beside it (latency).
    Normal,
    /// Small and brief: beside anything (RTT, path MTU, hops).
    Background,
    /// Background that goes on for long, with many results (continuous latency).
    BackgroundMulti,
}

/// Purpose of a claim, as text to show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The test or mesh that holds it: `throughput ams -> fra`; empty: an earlier version made it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Since when, wall clock of its host.
    #[serde(default)]
    pub since: WallTime,
}

/// One of those who hold a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its claim's name.
    pub id: String,
    /// Those with the same word do not exclude each other.
    pub group: String,
    /// How it gets on with others.
    pub class: Class,
    /// The resource's capacity, as its claim has it.
    pub capacity: u32,
    /// The run of an agent for which it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// The grant of that run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub grant: String,
    /// Its purpose.
    #[serde(flatten)]
    pub about: About,
}

impl Holder {
    /// Its name for people.
    #[must_use]
    pub fn label(&self) -> &str {
        if self.about.title.is_empty() { &self.id } else { &self.about.title }
    }

    /// Whether it keeps any other out.
    pub(super) fn is_weighty(&self) -> bool {
        matches!(self.class, Class::Exclusive | Class::Normal)
    }

    /// All of these, in a list.
    #[must_use]
    pub fn list(holders: &[Holder]) -> String {
        holders.iter().map(Holder::label).collect::<Vec<_>>().join(", ")
    }
}

/// Whether these may hold one resource together: while an exclusive test is among them, the groups of exclusive and normal tests
/// are no more than its capacity (the least that any of them was given).
#[must_use]
pub fn has_room(holders: &[Holder]) -> bool {
    let weighty: Vec<&Holder> = holders.iter().filter(|each| each.is_weighty()).collect();
    if weighty.iter().all(|each| each.class == Class::Normal) {
        return true;
    }
    let groups: BTreeSet<&str> = weighty.iter().map(|each| each.group.as_str()).collect();
    let capacity = weighty.iter().map(|each| each.capacity.max(1)).min().unwrap_or(1);
    groups.len() <= capacity as usize
}

impl super::Claim {
    /// This claim as a holder of one of its resources.
    pub(super) fn holder_of(&self, resource: &Resource) -> Holder {
        Holder {
            id: self.holder.clone(),
            group: self.group.clone(),
            class: self.class,
            capacity: resource.capacity.max(1),
            run: self.run.clone(),
            grant: self.grant.clone(),
            about: self.about.clone(),
        }
    }
}
