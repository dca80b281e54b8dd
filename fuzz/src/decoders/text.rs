//! Typed values: units, times, encapsulations, mixes, playbacks. A valid one prints, and reads again as printed.

use model::framing::{Encaps, Imix};
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos, PacketRate};

/// One input.
pub(crate) fn run(text: &str) {
    let _ =
        (text.parse::<BitRate>(), text.parse::<Bytes>(), text.parse::<Nanos>(), text.parse::<PacketRate>());
    if let Ok(time) = text.parse::<WallTime>() {
        let _ = time.to_string();
    }
    if let Ok(items) = model::playback::parse(text) {
        assert!(items.is_sorted_by(|one, next| one.at < next.at));
    }
    if let Ok(encaps) = text.parse::<Encaps>() {
        assert_eq!(encaps.to_string().parse(), Ok(encaps));
    }
    if let Ok(mix) = Imix::genome(text, Some(Bytes(1500)), &[('A', Bytes(1400))]) {
        assert_eq!(Imix::genome(&mix.to_string(), Some(Bytes(1500)), &[('A', Bytes(1400))]), Ok(mix));
    }
}
