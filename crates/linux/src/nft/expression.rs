//! The two rules as nf_tables expressions: small programs over one register, ended by a counter and a verdict.

use super::{CHAIN, FAMILY_INET, NEWRULE, RULE_CHAIN, RULE_TABLE, TABLE, header, kind};
use crate::netlink::{Attributes, Message};

/// A rule of the filter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// `meta nfproto ipv4 ip frag-off & 0x3fff != 0 counter drop`
    DropIpv4,
    /// `meta nfproto ipv6 exthdr frag exists counter drop`
    DropIpv6,
}

impl Rule {
    /// The message that appends this rule.
    pub(super) fn message(self) -> Message {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_APPEND | libc::NLM_F_ACK;
        let mut request = Message::new(kind(NEWRULE), flags, &header(FAMILY_INET, 0));
        request.string(RULE_TABLE, TABLE).string(RULE_CHAIN, CHAIN);
        request.nest(RULE_EXPRESSIONS, |rule| {
            match self {
                Self::DropIpv4 => ipv4_fragment(rule),
                Self::DropIpv6 => ipv6_fragment(rule),
            }
            expression(rule, "counter", |_| {});
            drop_packet(rule);
        });
        request
    }
}

/// The packets counted by a rule, from the attributes of a rule that the kernel lists.
pub(crate) fn counted_packets(rule: &Attributes<'_>) -> Option<u64> {
    let counter = expressions(rule, "counter").next()?;
    let packets = counter.inside(EXPRESSION_DATA).value(COUNTER_PACKETS)?;
    Some(u64::from_be_bytes(packets.try_into().ok()?))
}

/// The same of a rule that drops what it counts.
pub(crate) fn dropped_packets(rule: &Attributes<'_>) -> Option<u64> {
    let is_drop = expressions(rule, "immediate").any(|found| {
        let verdict = found.inside(EXPRESSION_DATA).inside(IMMEDIATE_DATA).inside(DATA_VERDICT);
        let code = verdict.value(VERDICT_CODE).and_then(|code| code.try_into().ok());
        code.map(u32::from_be_bytes) == Some(VERDICT_DROP)
    });
    is_drop.then(|| counted_packets(rule)).flatten()
}

/// The expressions of this name in a rule.
fn expressions<'a>(rule: &Attributes<'a>, name: &str) -> impl Iterator<Item = Attributes<'a>> {
    let all = rule.inside(RULE_EXPRESSIONS).map(|(_, expression)| Attributes::new(expression));
    all.filter(move |found| found.string(EXPRESSION_NAME).as_deref() == Some(name))
}

/// More fragments to come, or not the first: the low 14 bits of bytes 6 and 7 but for "don't fragment".
fn ipv4_fragment(rule: &mut Message) {
    protocol_is(rule, PROTOCOL_IPV4);
    expression(rule, "payload", |load| {
        numbers(load, &[(PAYLOAD_DREG, REGISTER), (PAYLOAD_BASE, NETWORK_HEADER)]);
        numbers(load, &[(PAYLOAD_OFFSET, 6), (PAYLOAD_LENGTH, 2)]);
    });
    expression(rule, "bitwise", |mask| {
        numbers(mask, &[(BITWISE_SREG, REGISTER), (BITWISE_DREG, REGISTER), (BITWISE_LENGTH, 2)]);
        data(mask, BITWISE_MASK, &[0x3f, 0xff]);
        data(mask, BITWISE_XOR, &[0, 0]);
    });
    compare(rule, COMPARE_NOT_EQUAL, &[0, 0]);
}

fn ipv6_fragment(rule: &mut Message) {
    protocol_is(rule, PROTOCOL_IPV6);
    expression(rule, "exthdr", |find| {
        find.attribute(EXTHDR_TYPE, &[FRAGMENT_HEADER]);
        numbers(find, &[(EXTHDR_DREG, REGISTER), (EXTHDR_OFFSET, 0), (EXTHDR_LENGTH, 1)]);
        numbers(find, &[(EXTHDR_FLAGS, EXTHDR_PRESENT)]);
    });
    compare(rule, COMPARE_EQUAL, &[1]);
}

fn protocol_is(rule: &mut Message, protocol: u8) {
    expression(rule, "meta", |load| numbers(load, &[(META_KEY, META_PROTOCOL), (META_DREG, REGISTER)]));
    compare(rule, COMPARE_EQUAL, &[protocol]);
}

fn compare(rule: &mut Message, operator: u32, value: &[u8]) {
    expression(rule, "cmp", |compare| {
        numbers(compare, &[(COMPARE_SREG, REGISTER), (COMPARE_OPERATOR, operator)]);
        data(compare, COMPARE_DATA, value);
    });
}

fn drop_packet(rule: &mut Message) {
    expression(rule, "immediate", |set| {
        numbers(set, &[(IMMEDIATE_DREG, VERDICT_REGISTER)]);
        set.nest(IMMEDIATE_DATA, |data| {
            data.nest(DATA_VERDICT, |verdict| numbers(verdict, &[(VERDICT_CODE, VERDICT_DROP)]));
        });
    });
}

fn expression(rule: &mut Message, name: &str, fill: impl FnOnce(&mut Message)) {
    rule.nest(LIST_ELEMENT, |element| {
        element.string(EXPRESSION_NAME, name).nest(EXPRESSION_DATA, fill);
    });
}

fn data(into: &mut Message, kind: u16, value: &[u8]) {
    into.nest(kind, |nest| {
        nest.attribute(DATA_VALUE, value);
    });
}

/// Numbers as nf_tables carries them, in network byte order.
fn numbers(into: &mut Message, attributes: &[(u16, u32)]) {
    for (kind, value) in attributes {
        into.attribute(*kind, &value.to_be_bytes());
    }
}

const RULE_EXPRESSIONS: u16 = 4;
const LIST_ELEMENT: u16 = 1;
const EXPRESSION_NAME: u16 = 1;
const EXPRESSION_DATA: u16 = 2;
const REGISTER: u32 = 1;
const VERDICT_REGISTER: u32 = 0;
const VERDICT_DROP: u32 = 0;
const DATA_VALUE: u16 = 1;
const DATA_VERDICT: u16 = 2;
const VERDICT_CODE: u16 = 1;
const META_DREG: u16 = 1;
const META_KEY: u16 = 2;
const META_PROTOCOL: u32 = 15;
const PROTOCOL_IPV4: u8 = 2;
const PROTOCOL_IPV6: u8 = 10;
const COMPARE_SREG: u16 = 1;
const COMPARE_OPERATOR: u16 = 2;
const COMPARE_DATA: u16 = 3;
const COMPARE_EQUAL: u32 = 0;
const COMPARE_NOT_EQUAL: u32 = 1;
const PAYLOAD_DREG: u16 = 1;
const PAYLOAD_BASE: u16 = 2;
const PAYLOAD_OFFSET: u16 = 3;
const PAYLOAD_LENGTH: u16 = 4;
const NETWORK_HEADER: u32 = 1;
const BITWISE_SREG: u16 = 1;
const BITWISE_DREG: u16 = 2;
const BITWISE_LENGTH: u16 = 3;
const BITWISE_MASK: u16 = 4;
const BITWISE_XOR: u16 = 5;
const EXTHDR_DREG: u16 = 1;
const EXTHDR_TYPE: u16 = 2;
const EXTHDR_OFFSET: u16 = 3;
const EXTHDR_LENGTH: u16 = 4;
const EXTHDR_FLAGS: u16 = 5;
const EXTHDR_PRESENT: u32 = 1;
const FRAGMENT_HEADER: u8 = 44;
const COUNTER_PACKETS: u16 = 2;
const IMMEDIATE_DREG: u16 = 1;
const IMMEDIATE_DATA: u16 = 2;
