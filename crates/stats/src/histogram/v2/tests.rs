//! The V2 form against published streams, against the `hdrhistogram` crate in both directions, and against hostile bytes.

use super::super::Histogram;
use super::*;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use proptest::prelude::*;

fn filled(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

/// The buckets of values and their counts, which is all that the form carries.
fn buckets(histogram: &Histogram) -> Vec<(u64, u64)> {
    histogram.buckets().map(|(values, count)| (*values.start(), count)).collect()
}

/// `rawHistogram` of HdrHistogram's tests, as `HdrHistogram_c` writes it and `HdrHistogram_py` tests it.
const PUBLISHED: &str = "HISTFAAAACl4nJNpmSzMwMBgyAABzFCaEURcm7yEwf4DROA8/4I5jNM7mJgAlWkH9g==";

#[test]
fn a_published_stream_is_read() {
    let read = Histogram::from_v2_base64(PUBLISHED).unwrap();
    assert_eq!((read.digits, read.highest, read.count()), (3, 3_600_000_000, 10_001));
    assert_eq!(buckets(&read), [(1000, 10_000), (99_942_400, 1)]);
    assert_eq!(read.value_at_quantile(0.5), Some(1000));
    assert!(read.max().unwrap().abs_diff(100_000_000) <= 65_536);
}

#[test]
fn a_published_stream_is_written() {
    let mut histogram = Histogram::new(3, 3_600_000_000).unwrap();
    histogram.record_n(1000, 10_000);
    histogram.record(100_000_000);
    let published = Histogram::from_v2_base64(PUBLISHED).unwrap();
    assert_eq!(histogram.to_v2(), published.to_v2());
    assert!(histogram.to_v2_base64().starts_with("HISTF"));
    let again = Histogram::from_v2_base64(&histogram.to_v2_base64()).unwrap();
    assert_eq!(again.to_v2(), published.to_v2());
}

#[test]
fn other_writers_are_read() {
    // Java and C, (1, 2048, 3) with 2048; and 1 to 300 with 100, 200, 250.
    let single =
        Histogram::from_v2_base64("HISTFAAAACB4nJNpmSzMwMDAzAABMJoRQnEw2H+AsP7LMwEARZgDpQ==").unwrap();
    assert_eq!(buckets(&single), [(2048, 1)]);
    let three =
        Histogram::from_v2_base64("HISTFAAAACV4nJNpmSzMwMDAwQABzFCaEUrp2H+AsI4zMh1lZEpkAgBdIQSk").unwrap();
    assert_eq!(buckets(&three), [(100, 1), (200, 1), (250, 1)]);
    // No digits at all, which Java can.
    let none = Histogram::from_v2_base64("HISTFAAAAB14nJNpmSzMwMDAxIAKGCEU8wv7DxAWLxMASToDcw==");
    assert_eq!(none.unwrap_err(), V2Error::Digits(HistogramError::Digits(0)));
}

/// Rewrites some bytes of a plain stream and reads it.
fn altered(at: usize, bytes: &[u8]) -> Result<Histogram, V2Error> {
    let mut stream = filled(&[5, 70_000]).to_v2();
    stream[at..at + bytes.len()].copy_from_slice(bytes);
    Histogram::from_v2(&stream)
}

#[test]
fn every_fault_has_its_error() {
    let cut = |to: usize| Histogram::from_v2(&filled(&[5, 70_000]).to_v2()[..to]).unwrap_err();
    assert!((0..filled(&[5, 70_000]).to_v2().len()).all(|to| cut(to) == V2Error::Truncated));
    assert_eq!(altered(0, b"GET ").unwrap_err(), V2Error::Cookie(0x4745_5420));
    let offset = V2Error::Header { field: "normalizing index offset", value: 7 };
    assert_eq!(altered(8, &7_u32.to_be_bytes()).unwrap_err(), offset);
    assert_eq!(
        altered(12, &300_u32.to_be_bytes()).unwrap_err(),
        V2Error::Digits(HistogramError::Digits(255))
    );
    assert!(matches!(altered(16, &[0; 8]), Err(V2Error::Header { field: "lowest discernible value", .. })));
    assert!(matches!(altered(24, &[255; 8]), Err(V2Error::Header { field: "highest trackable value", .. })));
    assert!(matches!(altered(24, &3000_u64.to_be_bytes()), Err(V2Error::Range { .. })));
    assert_eq!(Histogram::from_v2_base64("HIST*").unwrap_err(), V2Error::Base64);
    let mut packed = STANDARD.decode(PUBLISHED).unwrap();
    let last = packed.len() - 1;
    packed[last] ^= 1;
    assert_eq!(Histogram::from_v2(&packed).unwrap_err(), V2Error::Truncated);
}

#[test]
fn counts_that_do_not_add_up_are_refused() {
    let mut counts = Vec::new();
    put_zigzag(&mut counts, 1 << 53);
    put_zigzag(&mut counts, 1);
    let mut stream = Histogram::default().to_v2();
    stream[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
    stream.extend(counts);
    assert_eq!(Histogram::from_v2(&stream).unwrap_err(), V2Error::Total);
}

#[test]
fn merging_what_was_read_again_and_again_does_not_overflow() {
    let mut huge = Histogram::default();
    huge.record_n(5, 1 << 53);
    for _ in 0..12 {
        let read = Histogram::from_v2(&filled(&[5]).to_v2()).unwrap();
        huge.merge(&huge.clone()).unwrap();
        huge.merge(&read).unwrap();
    }
    assert_eq!((huge.count(), huge.value_at_quantile(1.0)), (u64::MAX, Some(5)));
}

#[test]
fn a_bomb_is_not_unpacked() {
    let mut stream = Histogram::new(5, i64::MAX as u64).unwrap().to_v2();
    stream[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(&stream).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..64).for_each(|_| zlib.write_all(&zeros).unwrap());
    let packed = zlib.finish().unwrap();
    let bomb = [&COMPRESSED.to_be_bytes(), &(packed.len() as u32).to_be_bytes(), packed.as_slice()].concat();
    assert_eq!(Histogram::from_v2(&bomb).unwrap_err(), V2Error::Range { index: 1 << 22, most: 1 << 22 });
    // A run of zeros to a bucket that would take 50 MB.
    let mut counts = Vec::new();
    put_zigzag(&mut counts, -6_000_000);
    put_zigzag(&mut counts, 1);
    stream[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
    stream.extend(counts);
    assert!(matches!(Histogram::from_v2(&stream), Err(V2Error::Range { index: 6_000_000, .. })));
}

#[test]
fn the_greatest_values_are_written_where_java_can_read_them() {
    let mut histogram = Histogram::new(2, u64::MAX).unwrap();
    [1, u64::MAX, i64::MAX as u64].iter().for_each(|&value| histogram.record(value));
    let read = Histogram::from_v2(&histogram.to_v2()).unwrap();
    assert_eq!((read.count(), read.min(), read.max()), (3, Some(1), Some(i64::MAX as u64)));
}

fn foreign(stream: &[u8]) -> hdrhistogram::Histogram<u64> {
    Deserializer::new().deserialize(&mut &*stream).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_crate_reads_what_we_write(values in prop::collection::vec(0_u64..1 << 50, 0..80), digits in 1_u8..=4) {
        let mut ours = Histogram::new(digits, 3_600_000_000_000).unwrap();
        values.iter().for_each(|&value| ours.record(value));
        let theirs = foreign(&ours.to_v2());
        let packed = foreign(&STANDARD.decode(ours.to_v2_base64()).unwrap());
        prop_assert_eq!(&theirs, &packed);
        prop_assert_eq!(theirs.len(), ours.count());
        let counts: Vec<_> = theirs.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
        let expected: Vec<_> = ours.buckets().map(|(values, count)| (*values.end(), count)).collect();
        prop_assert_eq!(counts, expected);
    }

    #[test]
    fn we_read_what_the_crate_writes(
        values in prop::collection::vec(0_u64..1 << 41, 1..80),
        digits in 1_u8..=4,
        lowest in 1_u64..5_000,
    ) {
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(lowest, 1 << 42, digits).unwrap();
        values.iter().for_each(|&value| theirs.record(value).unwrap());
        let (mut plain, mut packed) = (Vec::new(), Vec::new());
        V2Serializer::new().serialize(&theirs, &mut plain).unwrap();
        V2DeflateSerializer::new().serialize(&theirs, &mut packed).unwrap();
        let ours = Histogram::from_v2(&plain).unwrap();
        prop_assert_eq!(ours.to_v2(), Histogram::from_v2(&packed).unwrap().to_v2());
        prop_assert_eq!(ours.count(), theirs.len());
        let highest = theirs.highest_equivalent(theirs.max());
        prop_assert_eq!((ours.max(), ours.min()), (Some(highest), Some(theirs.min())));
        let coarse = 2.0 * theirs.mean() / 10_f64.powi(digits.into()) + 2.0 * lowest as f64;
        prop_assert!((ours.mean().unwrap() - theirs.mean()).abs() <= coarse);
        for q in [0.1, 0.5, 0.9, 1.0] {
            let (value, expected) = (ours.value_at_quantile(q).unwrap(), theirs.highest_equivalent(theirs.value_at_quantile(q)));
            prop_assert!(value <= expected && expected - value <= expected / 10_u64.pow(digits.into()) + 2 * lowest);
        }
    }

    #[test]
    fn what_is_written_reads_the_same(values in prop::collection::vec(any::<u64>(), 0..80), digits in 1_u8..=4) {
        let mut histogram = Histogram::new(digits, 1 << 40).unwrap();
        values.iter().for_each(|&value| histogram.record(value));
        let read = Histogram::from_v2(&histogram.to_v2()).unwrap();
        prop_assert_eq!(buckets(&read), buckets(&histogram));
        prop_assert_eq!(read.to_v2(), histogram.to_v2());
    }

    #[test]
    fn merging_in_any_order_is_the_union(
        mut parts in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..30), 1..6),
    ) {
        let union = filled(&parts.concat()).to_v2();
        for _ in 0..parts.len() {
            parts.rotate_left(1);
            let mut merged = Histogram::default();
            parts.iter().for_each(|part| merged.merge(&filled(part)).unwrap());
            prop_assert_eq!(&merged.to_v2(), &union);
        }
    }

    #[test]
    fn any_bytes_are_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..60), counts in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = Histogram::from_v2(&bytes);
        let mut stream = Histogram::default().to_v2();
        stream[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
        stream.extend(counts);
        if let Ok(read) = Histogram::from_v2(&stream) {
            prop_assert_eq!(Histogram::from_v2(&read.to_v2()).unwrap().to_v2(), read.to_v2());
        }
    }
}
