//! The distance of a router on the return path, from the TTL with which an answer arrived.

/// Hops that an answer took back: systems start with a TTL of 64, 128 or 255 (some with 32), and the nearest of these above
/// what is left is taken. `None` for 0.
#[must_use]
pub fn hops_back(reply_ttl: u8) -> Option<u8> {
    let start = STARTS.into_iter().find(|start| *start >= reply_ttl)?;
    // A router at the first hop answers with the TTL that it starts with.
    (reply_ttl > 0).then(|| (start - reply_ttl).saturating_add(1))
}

const STARTS: [u8; 4] = [32, 64, 128, 255];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_starts_are_known() {
        let cases = [(64, 1), (63, 2), (255, 1), (240, 16), (120, 9), (32, 1), (33, 32)];
        for (ttl, back) in cases {
            assert_eq!(hops_back(ttl), Some(back), "{ttl}");
        }
        assert_eq!(hops_back(0), None);
    }
}
