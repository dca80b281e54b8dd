//! A histogram in HdrHistogram's V2 form, from anybody: plain bytes, compressed, base64. What is read writes the same.

use model::stats::histogram::Histogram;

/// One input.
pub(crate) fn run(data: &[u8]) {
    check(Histogram::from_v2(data).ok());
    check(std::str::from_utf8(data).ok().and_then(|text| Histogram::from_v2_base64(text).ok()));
    // Behind an honest header, so that the counts are reached.
    let mut stream = Histogram::default().to_v2();
    stream[4..8].copy_from_slice(&(data.len() as u32).to_be_bytes());
    stream.extend_from_slice(data);
    check(Histogram::from_v2(&stream).ok());
}

fn check(read: Option<Histogram>) {
    let Some(read) = read else { return };
    let written = read.to_v2();
    let again = Histogram::from_v2(&written).expect("what we write is a histogram");
    assert_eq!(again.to_v2(), written);
    assert_eq!(again.count(), read.count());
    let _ = (read.distribution(), read.mean());
}
