//! Routing rules: which table of routes a packet is looked up in.
//!
//! Sources: `ip-rule(8)`, `linux/fib_rules.h`.

use super::{Message, Network};
use crate::error::Result;

/// A rule: packets of a family, or of one protocol of it, are looked up in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// IPv6; else IPv4.
    pub ipv6: bool,
    /// Its place: rules with lower numbers are evaluated first.
    pub priority: u32,
    /// The protocol above IP (`ip protocol`, IPv6's next header); absent: any.
    pub protocol: Option<u8>,
    /// The table. [`Rule::LOCAL`] holds the namespace's own addresses.
    pub table: u8,
}

impl Rule {
    /// The table of own addresses.
    pub const LOCAL: u8 = libc::RT_TABLE_LOCAL;
}

impl Network {
    /// Adds a rule.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, when it is there already, or the kernel has no rules (`CONFIG_IPV6_MULTIPLE_TABLES`).
    pub fn add_rule(&mut self, rule: &Rule) -> Result<()> {
        let create = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let request = message(rule, libc::RTM_NEWRULE, create);
        self.ask("add routing rule", &object(rule), request).map(drop)
    }

    /// Deletes a rule.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or with `No such file or directory` when there is none.
    pub fn delete_rule(&mut self, rule: &Rule) -> Result<()> {
        let request = message(rule, libc::RTM_DELRULE, 0);
        self.ask("delete routing rule", &object(rule), request).map(drop)
    }
}

fn object(rule: &Rule) -> String {
    let family = if rule.ipv6 { "IPv6" } else { "IPv4" };
    format!("{} of {family} to table {}", rule.priority, rule.table)
}

/// `struct fib_rule_hdr`: family, lengths of destination and source, TOS, table, nothing, nothing, action, flags.
fn message(rule: &Rule, kind: u16, flags: i32) -> Message {
    let family = if rule.ipv6 { libc::AF_INET6 } else { libc::AF_INET };
    let mut body = [0; FIB_RULE_HDR];
    body[0] = u8::try_from(family).expect("families are small numbers");
    body[4] = rule.table;
    body[7] = FR_ACT_TO_TBL;
    let mut request = Message::new(kind, libc::NLM_F_ACK | flags, &body);
    request.attribute(FRA_PRIORITY, &rule.priority.to_ne_bytes());
    if let Some(protocol) = rule.protocol {
        request.attribute(FRA_IP_PROTO, &[protocol]);
    }
    request
}

const FIB_RULE_HDR: usize = 12;
const FR_ACT_TO_TBL: u8 = 1;
const FRA_PRIORITY: u16 = 6;
const FRA_IP_PROTO: u16 = 22;
