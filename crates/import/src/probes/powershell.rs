//! PowerShell's Test-Connection, in the columns of its versions 5 and 7, and Test-NetConnection.

use super::super::block::{Block, Mark};
use super::super::{Imported, Known, Reader, Tool};
use super::Probes;
use model::units::Nanos;

pub(in super::super) const POWERSHELL: Reader = Reader { tool: Tool::PowerShell, mark, read };

fn mark(line: &str, block: Option<&Block>) -> Mark {
    match block {
        _ if begins(line) => Mark::First,
        Some(block) if is_list(block) && field(line).is_some() => Mark::Part,
        Some(block) if is_row(line, block) => Mark::Part,
        _ => Mark::No,
    }
}

/// A line with which an output begins: columns, or the first field of a list.
fn begins(line: &str) -> bool {
    is_columns_of_5(line)
        || is_columns_of_7(line)
        || field(line).is_some_and(|(name, _)| name == "ComputerName")
}

fn is_columns_of_5(line: &str) -> bool {
    line.starts_with("Source ")
        && ["Destination", "IPV4Address", "Time(ms)"].iter().all(|word| line.contains(word))
}

fn is_columns_of_7(line: &str) -> bool {
    line.starts_with("Ping ")
        && ["Source", "Address", "Latency", "Status"].iter().all(|word| line.contains(word))
}

fn is_list(block: &Block) -> bool {
    block.lines.first().is_some_and(|line| field(line).is_some())
}

fn is_row(line: &str, block: &Block) -> bool {
    let Some(first) = block.lines.first() else { return false };
    match () {
        () if is_columns_of_5(first) => row_of_5(line).is_some(),
        () if is_columns_of_7(first) => row_of_7(line).is_some(),
        () => false,
    }
}

fn read(name: &str, block: &Block, _known: Known) -> Option<Box<Imported>> {
    let mut probes = Probes { coarse: true, ..Probes::default() };
    if is_list(block) {
        of_list(&mut probes, block);
    } else if block.lines.first().is_some_and(is_columns_of_5) {
        for (number, (host, time)) in (1..).zip(block.lines.iter().filter_map(row_of_5)) {
            probes.host.get_or_insert_with(|| host.to_owned());
            probes.reply(number, time, None);
        }
        // Version 5 prints an error, not a row, where no reply came.
    } else {
        for (number, host, time) in block.lines.iter().filter_map(row_of_7) {
            probes.host = probes.host.take().or_else(|| Some(host.to_owned()).filter(|host| host != "*"));
            match time {
                Ok(time) => probes.reply(number, time, None),
                Err(status) => {
                    probes.lost(number);
                    probes.failure.get_or_insert_with(|| status.to_owned());
                }
            }
        }
    }
    probes.imported(Tool::PowerShell, name, block)
}

/// A list of fields: one ping, one connection, or both.
fn of_list(probes: &mut Probes, block: &Block) {
    let value = |name: &str| {
        block.lines.iter().filter_map(field).find(|(known, _)| *known == name).map(|(_, value)| value)
    };
    probes.host = value("ComputerName").map(str::to_owned);
    let port = value("RemotePort");
    let connected = value("TcpTestSucceeded").map(|found| found == "True");
    let rtt = value("PingReplyDetails (RTT)").and_then(|time| time.strip_suffix(" ms")).and_then(whole);
    let is_answered = match value("PingSucceeded") {
        Some(found) => found == "True",
        None => connected == Some(true),
    };
    probes.sent = Some(1);
    match rtt.filter(|_| is_answered) {
        Some(rtt) => probes.reply(1, rtt, None),
        None if is_answered => probes.untimed_reply(1),
        None => probes.lost(1),
    }
    let port = port.unwrap_or("of the test");
    probes.remark = connected.map(|connected| {
        format!("The TCP connection to port {port} {}", if connected { "succeeded" } else { "failed" })
    });
    probes.failure = match connected {
        Some(false) => Some(format!("the TCP connection to port {port} failed")),
        _ => Some("no reply to the ping came".into()),
    };
}

/// `PingSucceeded          : True`, of the fields of Test-NetConnection.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let name = name.trim_end();
    FIELDS.contains(&name).then_some((name, value.trim()))
}

/// `HULK  google.com  142.250.75.227  32  3`: the host and the time.
fn row_of_5(line: &str) -> Option<(&str, Nanos)> {
    let tokens: Vec<&str> = line.split_whitespace().collect();
    let [_, host, .., size, time] = tokens.as_slice() else { return None };
    size.parse::<u32>().ok()?;
    Some((*host, whole(time)?))
}

/// `   3 ADMIN1  *  *  * TimedOut`: the number, the address, and the time or the status.
fn row_of_7(line: &str) -> Option<(u64, &str, Result<Nanos, &str>)> {
    let tokens: Vec<&str> = line.split_whitespace().collect();
    let [number, .., address, time, _, status] = tokens.as_slice() else { return None };
    let number = number.parse().ok()?;
    let time = if *status == "Success" { Ok(whole(time)?) } else { Err(*status) };
    Some((number, *address, time))
}

/// A time in whole milliseconds; 0 stands for less than one.
fn whole(text: &str) -> Option<Nanos> {
    let milliseconds: u64 = text.parse().ok()?;
    Some(if milliseconds == 0 {
        super::BELOW_A_MILLISECOND
    } else {
        Nanos(milliseconds.checked_mul(1_000_000)?)
    })
}

const FIELDS: [&str; 13] = [
    "ComputerName",
    "RemoteAddress",
    "RemotePort",
    "NameResolutionResults",
    "MatchingIPsecRules",
    "NetworkIsolationContext",
    "InterfaceAlias",
    "SourceAddress",
    "NetRoute (NextHop)",
    "PingSucceeded",
    "PingReplyDetails (RTT)",
    "TcpTestSucceeded",
    "IsAdmin",
];
