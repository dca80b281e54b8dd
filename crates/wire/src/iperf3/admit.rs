//! Admission: the server's policy applied to the client's request.

use crate::Policy;
use crate::iperf3::params::{MAX_STREAMS, Params, Refusal, block_length};
use crate::iperf3::state::ErrorCode;
use model::plan::{End, TestSpec};
use model::units::{BitRate, Nanos};

/// Checks the parameters, and lowers the rate of this end's senders to the limit of the policy where the client set none. Tests
/// ended by bytes or blocks are admitted: [`time_limit`] ends them.
pub(super) fn admit(policy: &Policy, params: &mut Params) -> Result<(), Refusal> {
    let test = &mut params.test;
    let streams = policy.max_streams.unwrap_or(MAX_STREAMS);
    if test.streams > streams {
        return Err(Refusal::with_code(
            ErrorCode::STREAMS,
            format!("{} streams; {streams} allowed", test.streams),
        ));
    }
    if let (Some(max), End::Time(time)) = (policy.max_time, test.end)
        && time + test.omit > max
    {
        return Err(Refusal::with_code(ErrorCode::MAX_DURATION, format!("a longer test than {max}")));
    }
    if let Some(max) = policy.max_rate {
        admit_rate(max, test)?;
    }
    Ok(())
}

fn admit_rate(max: BitRate, test: &mut TestSpec) -> Result<(), Refusal> {
    let total = |rate: BitRate| BitRate(rate.0.saturating_mul(u64::from(test.streams)));
    let requested = [test.bitrate, test.fq_rate].into_iter().flatten().map(total).max();
    if requested.is_some_and(|rate| rate > max) {
        return Err(Refusal::with_code(ErrorCode::TOTAL_RATE, format!("a higher rate than {max}")));
    }
    // Data sent back to back is little beside the data of a second.
    let most = (max.0 / 8 / 100).max(SMALLEST_BURST) / u64::from(block_length(test).max(1));
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    test.burst = test.burst.map(|burst| burst.min(most)).filter(|burst| *burst > 0);
    if test.bitrate.is_none() && test.directions.down() {
        test.bitrate = Some(BitRate((max.0 / u64::from(test.streams)).max(1)));
    }
    Ok(())
}

/// The longest a test may run before the server ends it: iPerf3's 40 s after the agreed time, and for tests without a time the
/// limit of the policy, or a day.
pub(super) fn time_limit(policy: &Policy, test: &TestSpec) -> Nanos {
    match test.end {
        End::Time(Nanos::MAX) | End::Bytes(_) | End::Blocks(_) => policy.max_time.unwrap_or(A_DAY),
        End::Time(time) => time + test.omit + GRACE,
    }
}

/// In bytes.
const SMALLEST_BURST: u64 = 64 << 10;
const GRACE: Nanos = Nanos::from_secs(40);
const A_DAY: Nanos = Nanos::from_secs(86_400);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::throughput::Extras;
    use model::plan::{Directions, Transport};
    use model::units::Bytes;

    fn params_with(change: impl FnOnce(&mut TestSpec)) -> Params {
        let mut test = TestSpec::new(Transport::Tcp);
        change(&mut test);
        Params { test, extras: Extras::default() }
    }

    fn answer(policy: &Policy, change: impl FnOnce(&mut TestSpec)) -> Result<TestSpec, ErrorCode> {
        let mut params = params_with(change);
        admit(policy, &mut params).map_err(|refusal| refusal.code)?;
        Ok(params.test)
    }

    #[test]
    fn streams_and_time_have_limits() {
        let policy = Policy { max_streams: Some(4), max_time: Some(Nanos::from_secs(20)), max_rate: None };
        assert!(answer(&policy, |test| test.streams = 4).is_ok());
        assert_eq!(answer(&policy, |test| test.streams = 5), Err(ErrorCode::STREAMS));
        assert!(answer(&policy, |test| test.omit = Nanos::from_secs(10)).is_ok());
        assert_eq!(answer(&policy, |test| test.omit = Nanos::from_secs(11)), Err(ErrorCode::MAX_DURATION));
        assert_eq!(answer(&policy, |test| test.end = End::Time(Nanos::MAX)), Err(ErrorCode::MAX_DURATION));
        let bytes = answer(&policy, |test| test.end = End::Bytes(Bytes(1))).unwrap();
        assert_eq!(time_limit(&policy, &bytes), Nanos::from_secs(20), "nothing was agreed on");
        assert_eq!(time_limit(&Policy::default(), &TestSpec::new(Transport::Udp)), Nanos::from_secs(50));
    }

    #[test]
    fn rates_have_a_limit() {
        let policy = Policy { max_rate: Some(BitRate(1000)), ..Policy::default() };
        let with = |rate, streams| {
            move |test: &mut TestSpec| {
                test.bitrate = Some(BitRate(rate));
                test.streams = streams;
            }
        };
        assert!(answer(&policy, with(500, 2)).is_ok());
        assert_eq!(answer(&policy, with(500, 3)), Err(ErrorCode::TOTAL_RATE));
        assert_eq!(answer(&policy, with(u64::MAX, 100)), Err(ErrorCode::TOTAL_RATE));
        assert_eq!(answer(&policy, |test| test.fq_rate = Some(BitRate(1001))), Err(ErrorCode::TOTAL_RATE));
        let open = answer(&policy, |test| {
            test.directions = Directions::Both;
            test.streams = 3;
        });
        assert_eq!(open.unwrap().bitrate, Some(BitRate(333)));
        assert_eq!(answer(&policy, |_| ()).unwrap().bitrate, None, "the client sends as it likes");
    }
}
