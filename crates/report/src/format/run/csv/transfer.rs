//! The CSV rows of a run of transfers: one for each transfer, and one for each row of the table.

use super::{COLUMNS, seconds};
use model::run::Run;
use model::transfer::{Transfer, TransferRow};

/// Every row of a test with transfers; none of another.
pub(super) fn rows(run: &Run, test: &Run, number: usize) -> Vec<Vec<String>> {
    let Some(result) = &test.summary.transfer else { return Vec::new() };
    let way = test.transfer.as_ref().map(|plan| plan.method.direction().to_string()).unwrap_or_default();
    let start = |kind: &str, label: &str, mtu: Option<u32>| {
        let row = Row(vec![String::new(); COLUMNS.len()]).with("run", &run.id).with("test", number);
        let row = row.with("row", kind).with("transport", "tcp").with("direction", &way);
        row.with("way", label).maybe("mtu_bytes", mtu)
    };
    let each = result.transfers.iter().map(|one| transfer(start("transfer", &one.label, one.mtu), one));
    let table = result.rows.iter().map(|row| total(start("transfers", &row.file, row.mtu), row));
    each.chain(table).collect()
}

fn transfer(row: Row, one: &Transfer) -> Vec<String> {
    let (times, tcp) = (&one.times, one.tcp.as_ref());
    row.with("repetition", one.repetition)
        .with("start_s", seconds(one.at.as_secs_f64()))
        .with("end_s", seconds((one.at + times.total).as_secs_f64()))
        .with("bytes", one.bytes.0)
        .with("bits_per_second", one.rate.0)
        .with("outcome", if one.error.is_none() { "completed" } else { "failed" })
        .maybe("http_status", one.status)
        .maybe("local", one.local)
        .maybe("remote", one.remote)
        .maybe("dns_ns", times.dns.map(|time| time.0))
        .maybe("connect_ns", times.connect.map(|time| time.0))
        .maybe("tls_ns", times.tls.map(|time| time.0))
        .maybe("first_byte_ns", times.first_byte.map(|time| time.0))
        .with("total_ns", times.total.0)
        .maybe("rtt_ns", tcp.map(|tcp| tcp.rtt.0))
        .maybe("retransmits", tcp.map(|tcp| tcp.retransmits))
        .maybe("path_mtu_bytes", tcp.map(|tcp| tcp.path_mtu))
        .maybe("data_segments", tcp.and_then(|tcp| tcp.data_segments))
        .maybe("mean_segment_bytes", tcp.and_then(|tcp| tcp.mean_payload))
        .maybe("error", one.error.as_ref())
        .fields()
}

fn total(row: Row, total: &TransferRow) -> Vec<String> {
    let gain = total.gain.as_ref();
    let shift = gain.and_then(|gain| gain.comparison.shift);
    row.with("repetition", total.count)
        .with("lost", total.failed)
        .maybe("bits_per_second", total.rate.map(|rate| rate.mean as u64))
        .maybe("rate_stddev_bps", total.rate.map(|rate| rate.stddev as u64))
        .maybe("first_byte_ns", total.first_byte.map(|time| time.median as u64))
        .maybe("total_ns", total.total.map(|time| time.median as u64))
        .with("retransmits", total.retransmits)
        .maybe("data_segments", total.data_segments)
        .maybe("mean_segment_bytes", total.mean_payload)
        .maybe("change_percent", shift.map(|shift| shift.percent))
        .maybe("change_low_percent", shift.and_then(|shift| shift.low))
        .maybe("change_high_percent", shift.and_then(|shift| shift.high))
        .maybe("expected_percent", gain.and_then(|gain| gain.expected_percent))
        .maybe("judgement", gain.map(|gain| gain.comparison.judgement.to_string()))
        .fields()
}

/// A row whose fields are named.
struct Row(Vec<String>);

impl Row {
    fn with(mut self, column: &str, value: impl ToString) -> Row {
        let place = COLUMNS.iter().position(|name| *name == column).expect("a column of the header");
        self.0[place] = value.to_string();
        self
    }

    fn maybe(self, column: &str, value: Option<impl ToString>) -> Row {
        match value {
            Some(value) => self.with(column, value),
            None => self,
        }
    }

    fn fields(self) -> Vec<String> {
        self.0
    }
}
