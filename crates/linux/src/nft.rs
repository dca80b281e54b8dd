//! A packet filter that drops IP fragments, written straight to nf_tables: no `nft` program is needed.
//!
//! One batch makes `table inet pathmeter` with one chain and two rules, all or nothing:
//! ```text
//! chain fragments { type filter hook forward priority 0;
//!     meta nfproto ipv4 ip frag-off & 0x3fff != 0 counter drop
//!     meta nfproto ipv6 exthdr frag exists counter drop
//! }
//! ```
//! Sources: `include/uapi/linux/netfilter/nf_tables.h`, `nfnetlink.h`; RFC 791 §3.1 (more-fragments bit and offset),
//! RFC 8200 §4.5 (fragment header, next-header number 44).

pub(crate) mod expression;

use crate::error::Result;
use crate::netlink::{Message, Netlink};
use expression::Rule;
use std::collections::BTreeMap;

/// The filter, in place until this value is dropped or its network namespace goes: fragments that are forwarded are dropped, as by a
/// router that drops them; datagrams for this namespace itself are spared.
#[derive(Debug)]
pub struct FragmentFilter {
    netlink: Netlink,
}

/// How many fragments a [`FragmentFilter`] has dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedFragments {
    /// IPv4 fragments.
    pub ipv4: u64,
    /// IPv6 fragments.
    pub ipv6: u64,
}

impl FragmentFilter {
    /// Puts the filter into the network namespace of the calling thread.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN` over the namespace, when the filter is there already, or when the kernel has no
    /// nf_tables ([`crate::OsError::errno`] is then `EPROTONOSUPPORT` or `EOPNOTSUPP`).
    pub fn install() -> Result<Self> {
        let mut netlink = Netlink::open(libc::NETLINK_NETFILTER)?;
        let messages =
            vec![table(NEWTABLE, CREATE), chain(), Rule::DropIpv4.message(), Rule::DropIpv6.message()];
        commit(&mut netlink, "install", messages)?;
        Ok(Self { netlink })
    }

    /// Counts of the fragments dropped so far.
    ///
    /// # Errors
    /// The filter was removed by another program.
    pub fn dropped(&mut self) -> Result<DroppedFragments> {
        let mut request = Message::new(kind(GETRULE), libc::NLM_F_DUMP, &header(FAMILY_INET, 0));
        request.string(RULE_TABLE, TABLE).string(RULE_CHAIN, CHAIN);
        let rules = self.netlink.ask("read the counters of", OBJECT, vec![request], 1)?;
        let mut counts = rules.iter().map(|rule| expression::counted_packets(&rule.attributes(HEADER)));
        let mut next = || counts.next().flatten().unwrap_or(0);
        Ok(DroppedFragments { ipv4: next(), ipv6: next() })
    }

    /// Takes the filter away.
    ///
    /// # Errors
    /// When somebody else has removed it.
    pub fn remove(mut self) -> Result<()> {
        self.take_away()
    }

    fn take_away(&mut self) -> Result<()> {
        commit(&mut self.netlink, "remove", vec![table(DELTABLE, 0)])
    }
}

impl Drop for FragmentFilter {
    fn drop(&mut self) {
        // An error is ignored: the filter is gone already, or goes with its namespace.
        let _ = self.take_away();
    }
}

/// Packets that each counting rule of the calling thread's namespace has dropped, by table and chain; rules without a counter are
/// left out. Empty without `CAP_NET_ADMIN`.
#[must_use]
pub fn firewall_drops() -> BTreeMap<String, u64> {
    let read = || {
        let request = Message::new(kind(GETRULE), libc::NLM_F_DUMP, &header(0, 0));
        Netlink::open(libc::NETLINK_NETFILTER)?.ask("list", "the rules of nf_tables", vec![request], 1)
    };
    let mut drops = BTreeMap::new();
    for rule in read().unwrap_or_default() {
        let attributes = rule.attributes(HEADER);
        let names = (attributes.string(RULE_TABLE), attributes.string(RULE_CHAIN));
        if let ((Some(table), Some(chain)), Some(packets)) = (names, expression::dropped_packets(&attributes))
        {
            *drops.entry(format!("{table} {chain}")).or_default() += packets;
        }
    }
    drops
}

/// Sends the messages as one transaction: all take effect or none.
fn commit(netlink: &mut Netlink, operation: &str, messages: Vec<Message>) -> Result<()> {
    let answers = messages.len();
    let mark = |kind| Message::new(kind, 0, &header(0, SUBSYSTEM));
    let mut batch = vec![mark(BATCH_BEGIN)];
    batch.extend(messages);
    batch.push(mark(BATCH_END));
    netlink.ask(operation, OBJECT, batch, answers).map(drop)
}

fn table(message: u16, flags: i32) -> Message {
    let mut request = Message::new(kind(message), flags | libc::NLM_F_ACK, &header(FAMILY_INET, 0));
    request.string(TABLE_NAME, TABLE);
    request
}

fn chain() -> Message {
    let mut request = Message::new(kind(NEWCHAIN), CREATE | libc::NLM_F_ACK, &header(FAMILY_INET, 0));
    request.string(CHAIN_TABLE, TABLE).string(CHAIN_NAME, CHAIN).string(CHAIN_TYPE, "filter");
    request.nest(CHAIN_HOOK, |place| {
        place.attribute(HOOK_NUMBER, &FORWARD.to_be_bytes());
        place.attribute(HOOK_PRIORITY, &0_i32.to_be_bytes());
    });
    request
}

/// `struct nfgenmsg`: family, version 0, and a number whose meaning depends on the message.
fn header(family: u8, resource: u16) -> [u8; HEADER] {
    let [high, low] = resource.to_be_bytes();
    [family, 0, high, low]
}

const fn kind(message: u16) -> u16 {
    SUBSYSTEM << 8 | message
}

const TABLE: &str = "pathmeter";
const CHAIN: &str = "fragments";
const OBJECT: &str = "the fragment filter (nf_tables, table inet pathmeter)";
const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
const HEADER: usize = 4;
const FAMILY_INET: u8 = 1;
const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEWTABLE: u16 = 0;
const DELTABLE: u16 = 2;
const NEWCHAIN: u16 = 3;
const NEWRULE: u16 = 6;
/// Packets that are forwarded.
const FORWARD: u32 = 2;
const GETRULE: u16 = 7;
const TABLE_NAME: u16 = 1;
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const CHAIN_TYPE: u16 = 7;
const HOOK_NUMBER: u16 = 1;
const HOOK_PRIORITY: u16 = 2;
const RULE_TABLE: u16 = 1;
const RULE_CHAIN: u16 = 2;
