//! Runs of transfers: an MTU sweep, files compared, uploads that fail.

use insight::run_of_events;
use model::event::{Event, Finished, Outcome, Warning};
use model::host::{Host, Nic};
use model::run::Run;
use model::time::WallTime;
use model::transfer::{
    MtuOf, RowPackets, Transfer, TransferBody, TransferFile, TransferMethod, TransferPlan, TransferStarted,
    TransferTcp, TransferTimes, Trust,
};
use model::units::{BitRate, Bytes, Nanos};

/// Every kind of transfer run.
pub(super) fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("transfer_mtu", sweep()),
        ("transfer_files", files()),
        ("transfer_failed", failed()),
        ("transfer_one", single()),
    ]
}

fn plan(files: &[&str], mtus: &[u32]) -> TransferPlan {
    let file = |(index, label): (usize, &&str)| TransferFile {
        label: (*label).into(),
        url: format!("http://{label}:8080/bytes/10MB"),
        address: ([192, 0, 2, 10 + index as u8], 8080).into(),
    };
    let mtu_of = (!mtus.is_empty()).then(|| MtuOf::Interface { name: "wwan0".into(), mtu: 1430 });
    TransferPlan {
        files: files.iter().enumerate().map(file).collect(),
        method: TransferMethod::Get,
        body: None,
        repetitions: 6,
        mtus: mtus.to_vec(),
        mtu_of,
        baseline: mtus.first().map_or_else(|| files[0].to_owned(), u32::to_string),
        framing: 14,
        timeout: Nanos::from_secs(30),
        connect_timeout: Nanos::from_secs(5),
        redirects: 10,
        trust: Trust::System,
        s3: None,
        bind: None,
        device: None,
        mss: None,
        congestion: None,
        explain: Nanos::ZERO,
    }
}

fn run(plan: TransferPlan, warnings: &[Warning], transfers: Vec<Transfer>, outcome: Outcome) -> Run {
    let nic = Nic { name: "wwan0".into(), mtu: 1430, ..Nic::default() };
    let host = Host { name: "gateway".into(), cpus: 4, nic: Some(nic), ..Host::default() };
    let begun = TransferStarted { wall: WallTime(1_785_600_000_000_000_000), plan, host };
    let mut events = vec![Event::TransferStarted(Box::new(begun))];
    events.extend(warnings.iter().cloned().map(Event::Warning));
    events.extend(transfers.into_iter().map(|transfer| Event::Transfer(Box::new(transfer))));
    let finished =
        Finished { wall: WallTime(1_785_600_072_000_000_000), elapsed: Nanos::from_secs(72), outcome };
    events.push(Event::Finished(finished));
    run_of_events("0123456789abcdef", "transfer", &events)
}

fn transfer(label: &str, mtu: Option<u32>, repetition: u32, rate: u64) -> Transfer {
    let segments = 10_000_000 / (mtu.unwrap_or(1500) - 52) + 1;
    let total = BitRate(rate).time_for(Bytes(10_000_000)).expect("it moves");
    Transfer {
        label: label.into(),
        mtu,
        repetition,
        at: Nanos::from_secs(u64::from(repetition) * 12),
        status: Some(200),
        local: Some(([192, 0, 2, 1], 40_000).into()),
        remote: Some(([192, 0, 2, 10], 8080).into()),
        bytes: Bytes(10_000_000),
        times: TransferTimes {
            dns: None,
            connect: Some(Nanos::from_millis(48)),
            tls: None,
            first_byte: Some(Nanos::from_millis(51 + u64::from(repetition))),
            total,
        },
        rate: BitRate(rate),
        tcp: Some(TransferTcp {
            segments_out: Some(segments / 2),
            segments_in: Some(segments + 2),
            data_segments: Some(segments),
            mean_payload: Some(10_000_000.0 / f64::from(segments)),
            mss: mtu.map(|mtu| mtu - 52),
            retransmits: 0,
            rtt: Nanos::from_millis(49),
            path_mtu: mtu.unwrap_or(1500),
            timestamps: true,
        }),
        ..Transfer::default()
    }
}

fn sweep() -> Run {
    let rates = [(1280, 18_980_000), (1430, 19_090_000), (2000, 19_350_000)];
    let repeated = |repetition: u32| {
        rates.map(|(mtu, rate)| {
            let rate = rate + u64::from(repetition * 7 % 5) * 9_000;
            transfer("far.example", Some(mtu), repetition, rate)
        })
    };
    let text = "the MTU of wwan0 is 1430; it is set to 1280, 1430, 2000 in turn, for all traffic of this host through \
                it, and put back at the end, also after a crash; by hand: ip link set wwan0 mtu 1430";
    let warning = Warning::new("mtu-changed", text);
    let transfers = (1..=6).flat_map(repeated).collect();
    let mut run = run(plan(&["far.example"], &[1280, 1430, 2000]), &[warning], transfers, Outcome::Completed);
    for row in &mut run.summary.transfer.as_mut().expect("there are transfers").rows {
        let (down, largest) =
            (row.data_segments.expect("they are known") + 2.0, row.mtu.expect("it is swept"));
        let (up, mean) = (down / 2.0, f64::from(largest) - 0.3);
        row.packets = Some(RowPackets { transfers: 6, up, down, mean, largest });
    }
    run
}

fn files() -> Run {
    let rates = [("old", 92_000_000), ("a-very-long-name-of-a-far-end", 61_000_000)];
    let repeated = |repetition: u32| {
        rates.map(|(label, rate)| {
            let noise = u64::from(repetition * 11 % 7) * 1_300_000;
            let mut repeated = transfer(label, None, repetition, rate + noise);
            repeated.times.tls = Some(Nanos::from_millis(103));
            repeated.times.dns = Some(Nanos::from_millis(12));
            repeated.redirects =
                vec!["https://cdn.example/a/file/with/a/long/path/that/does/not/end?…".into()];
            repeated.tcp.as_mut().expect("it has one").retransmits = repetition % 3;
            repeated
        })
    };
    let mut plan = plan(&rates.map(|(label, _)| label), &[]);
    plan.trust = Trust::Everybody;
    let text = "--insecure: no certificate is checked, so any server that answers is trusted";
    run(plan, &[Warning::new("insecure", text)], (1..=6).flat_map(repeated).collect(), Outcome::Completed)
}

/// The second of three uploads was cut off; then the user stopped.
fn failed() -> Run {
    let mut plan = plan(&["far.example"], &[]);
    (plan.method, plan.body) = (TransferMethod::Put, Some(TransferBody::Size(Bytes(10_000_000))));
    let mut cut = transfer("far.example", None, 2, 40_000_000);
    cut.bytes = Bytes(4_300_000);
    cut.error = Some("read the answer: Connection reset by peer (os error 104)".into());
    let transfers =
        vec![transfer("far.example", None, 1, 41_000_000), cut, transfer("far.example", None, 3, 42_500_000)];
    run(plan, &[], transfers, Outcome::Interrupted)
}

fn single() -> Run {
    let mut only = transfer("far.example", None, 1, 41_000_000);
    (only.tcp, only.times.first_byte) = (None, None);
    run(plan(&["far.example"], &[]), &[], vec![only], Outcome::Completed)
}
