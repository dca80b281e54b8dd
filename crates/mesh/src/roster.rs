//! The agents that are there, as a document.

use crate::inventory::{AgentReport, everyone, wrong_clock};
use crate::leases::{FreedLease, LeaseRow, LeaseWaiter, freed, rows};
use crate::rounds::Reports;
use fleet::broker::Broker;
use fleet::clock::Clock;
use fleet::group::offset;
use model::time::WallTime;
use model::units::{Bytes, Nanos};
use report::document::{Block, Column, Csv, Document, Head, Table, json_line, json_value};
use serde::Serialize;
use serde_json::Value;

/// The document, schema `pathmeter/agents/1`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Roster {
    /// Always `pathmeter/agents/1`.
    pub schema: String,
    /// Time of the query to the agents.
    pub asked: WallTime,
    /// The agents that are there, by name.
    pub agents: Vec<RosterRow>,
    /// Those that were there before and are not: every mesh without names of its own expects them.
    pub absent: Vec<AbsentAgent>,
    /// Each lease with its holder, and what waits for it.
    pub leases: Vec<LeaseRow>,
    /// Leases that were freed by hand, the latest first.
    pub freed: Vec<FreedLease>,
}

/// An agent that is not there.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbsentAgent {
    /// Its name.
    pub name: String,
    /// When it reported last, by its own clock.
    pub heard: Option<WallTime>,
}

/// An agent.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RosterRow {
    /// Its name.
    pub name: String,
    /// The report that it publishes.
    #[serde(flatten)]
    pub report: AgentReport,
    /// Whether the server sees another address than the host has; absent: nothing is known.
    pub is_behind_nat: Option<bool>,
    /// How far its clock is ahead of this host's, in nanoseconds; absent: it did not answer.
    pub clock_ahead_ns: Option<i64>,
    /// How wrong that may be.
    pub clock_error_ns: Option<Nanos>,
    /// Why it did not answer, although it was heard within 30 s.
    pub silent: Option<String>,
}

impl Roster {
    /// Asks the agents that were heard of within 30 s what time it is there.
    ///
    /// # Errors
    /// The server cannot be reached, or does not permit it.
    pub fn read(broker: &dyn Broker, clock: &dyn Clock) -> fleet::Result<Roster> {
        let row = |(name, report): (String, AgentReport)| {
            let (known, silent) = match offset(broker, clock, &name) {
                Ok(offset) => (Some(offset), None),
                Err(error) => (None, Some(error.to_string())),
            };
            let is_behind_nat = report.is_behind_nat();
            let (clock_ahead_ns, clock_error_ns) = known.map(|offset| (offset.ahead, offset.error)).unzip();
            RosterRow { name, report, is_behind_nat, clock_ahead_ns, clock_error_ns, silent }
        };
        let (there, gone): (Vec<_>, Vec<_>) =
            everyone(broker)?.into_iter().partition(|(_, known)| known.is_there);
        let reports: Reports =
            there.iter().map(|(name, known)| (name.clone(), known.report.clone())).collect();
        let (leases, freed) = (rows(broker, &reports)?, freed(broker)?);
        let agents = there.into_iter().map(|(name, known)| row((name, known.report))).collect();
        let expected = gone.into_iter().filter(|(_, known)| !known.is_forgotten);
        let absent =
            expected.map(|(name, known)| AbsentAgent { name, heard: known.report.status.clock }).collect();
        Ok(Roster { schema: SCHEMA.to_owned(), asked: clock.wall(), agents, absent, leases, freed })
    }

    /// The pairs of which neither end can be reached by the other.
    fn unreachable(&self) -> Vec<String> {
        let deaf: Vec<&str> =
            self.agents.iter().filter(|one| !one.report.listens).map(|one| one.name.as_str()).collect();
        match deaf.as_slice() {
            [] | [_] => Vec::new(),
            deaf => vec![format!(
                "Not measurable between each other: {}. None of them serves others (--no-listen): start one of each pair \
                 without it, where its port can be reached.",
                deaf.join(", ")
            )],
        }
    }
}

impl AbsentAgent {
    fn sentence(&self) -> String {
        let name = report::harmless::text(&self.name);
        let since = self.heard.map(|heard| format!(" since {heard}")).unwrap_or_default();
        format!("{name}: not heard{since}; if it is gone for good: pathmeter mesh forget {name}.")
    }
}

impl RosterRow {
    fn clock(&self) -> String {
        match (self.clock_ahead_ns, self.clock_error_ns) {
            (Some(ahead), Some(error)) => {
                let sign = if ahead < 0 { '-' } else { '+' };
                format!("{sign}{} \u{b1} {error}", Nanos(ahead.unsigned_abs()))
            }
            _ => "no answer".to_owned(),
        }
    }

    /// A warning where its clock is wrong by more than a second beyond the error of the query itself.
    fn wrong_clock(&self) -> Option<String> {
        let (ahead, error) = (self.clock_ahead_ns?, self.clock_error_ns?);
        let span = Nanos(ahead.unsigned_abs());
        let is_wrong = span.saturating_sub(error) > SECOND;
        is_wrong.then(|| format!("{}.", wrong_clock(&self.name, ahead > 0, span)))
    }

    fn link(&self) -> String {
        let nic = self.report.host.as_ref().and_then(|host| host.nic.as_ref());
        let Some(nic) = nic else { return "-".to_owned() };
        let speed = nic.link_bps.map_or_else(|| "virtual".to_owned(), |rate| rate.to_string());
        format!("{}, {speed}, MTU {}", nic.name, nic.mtu)
    }

    fn address(&self) -> String {
        let observed = self.report.seen_as.filter(|_| self.is_behind_nat == Some(true));
        let nat = observed.map(|observed| format!(" (NAT: {observed})")).unwrap_or_default();
        format!("{}{nat}", if self.report.address.is_empty() { "-" } else { &self.report.address })
    }

    /// Its faults: functions that it cannot perform now, its last failure, and damage of its spool.
    fn faults(&self) -> Vec<String> {
        let status = &self.report.status;
        let last = || {
            let at = status.failed_at.map(|at| format!(" at {at}")).unwrap_or_default();
            Some(format!("its last failure was{at}: {}", status.last_failure.as_ref()?))
        };
        let now = status.failure.as_ref().map(|why| format!("it cannot do all of its work: {why}"));
        let all = now.or_else(last).into_iter().chain(status.spool.damage.clone());
        all.map(|fault| format!("{}: {}.", self.name, report::harmless::text(&fault))).collect()
    }

    /// `2 pending, 5.1 GB free`.
    fn spool(&self) -> String {
        let spool = &self.report.status.spool;
        let room = spool.room_bytes.map(|room| format!(", {} free", Bytes(room))).unwrap_or_default();
        format!("{} pending{room}", spool.pending)
    }

    fn cells(&self) -> [String; 9] {
        let source = self.report.host.as_ref().map_or("-", |host| host.clock_source.as_str());
        [
            self.name.clone(),
            if self.report.listens { "yes" } else { "no" }.to_owned(),
            self.address(),
            self.link(),
            self.clock(),
            source.to_owned(),
            self.spool(),
            self.report.capabilities.join(", "),
            self.report.version.clone(),
        ]
    }
}

/// A row for each lease.
fn leases(rows: &[LeaseRow]) -> Table {
    let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let cells = |row: &LeaseRow| {
        let since = row.since.map(|since| since.to_string()).unwrap_or_default();
        let all = [
            row.lease.clone(),
            dash(&row.what),
            row.holder.clone(),
            dash(&since),
            dash(&row.waiters.iter().map(LeaseWaiter::text).collect::<Vec<_>>().join(", ")),
        ];
        all.map(|cell| report::harmless::text(&cell).into()).into()
    };
    let columns = ["lease", "of", "held by", "since", "waits for it"].map(Column::left);
    Table::new(columns.into(), rows.iter().map(cells).collect()).with_spare(&["since"])
}

impl LeaseWaiter {
    fn text(&self) -> String {
        format!("{} since {}", self.title, self.since)
    }
}

impl FreedLease {
    fn sentence(&self) -> String {
        let text = format!(
            "{}, held by {}, was freed at {}: {}.",
            self.lease,
            self.holders.join(", "),
            self.at,
            self.reason
        );
        report::harmless::text(&text).into()
    }
}

impl Document for Roster {
    fn head(&self) -> Head {
        let title = match self.agents.len() {
            1 => "1 agent".to_owned(),
            count => format!("{count} agents"),
        };
        Head { kind: "agents".into(), title, depth: 1, started: Some(self.asked), finished: None }
    }

    fn blocks(&self) -> Vec<Block> {
        let columns = COLUMNS.map(Column::left);
        let rows =
            self.agents.iter().map(|row| row.cells().map(|cell| report::harmless::text(&cell).into()).into());
        let silent =
            self.agents.iter().filter_map(|row| Some(format!("{}: {}.", row.name, row.silent.as_ref()?)));
        let outdated =
            self.agents.iter().filter_map(|row| Some(format!("{}.", row.report.why_outdated(&row.name)?)));
        let wrong = self.agents.iter().filter_map(RosterRow::wrong_clock);
        let absent = self.absent.iter().map(AbsentAgent::sentence);
        let faults = self.agents.iter().flat_map(RosterRow::faults);
        let freed = self.freed.iter().take(SHOWN).map(FreedLease::sentence);
        let all = silent
            .chain(outdated)
            .chain(absent)
            .chain(wrong)
            .chain(self.unreachable())
            .chain(faults)
            .chain(freed);
        let table = Table::new(columns.into(), rows.collect()).with_spare(&SPARE);
        let mut blocks = vec![Block::Table(table)];
        if !self.leases.is_empty() {
            blocks.push(Block::Table(leases(&self.leases)));
        }
        blocks.push(Block::Sentences(all.collect()));
        blocks
    }

    fn csv(&self) -> Csv {
        Csv::new(COLUMNS, self.agents.iter().map(RosterRow::cells))
    }

    fn value(&self) -> Value {
        json_value(self)
    }

    /// A line for each.
    fn ndjson(&self) -> String {
        self.agents.iter().map(json_line).collect()
    }
}

const COLUMNS: [&str; 9] =
    ["agent", "listens", "address", "interface", "clock", "clock source", "spool", "capabilities", "version"];
/// Columns that a narrow screen leaves out, the first ones first.
const SPARE: [&str; 5] = ["version", "clock source", "capabilities", "interface", "spool"];
/// Leases that were freed by hand and are shown, the latest.
const SHOWN: usize = 5;
const SECOND: Nanos = Nanos::from_secs(1);
const SCHEMA: &str = "pathmeter/agents/1";
