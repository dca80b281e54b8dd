//! Netlink messages: building them with nested attributes, and walking through those of a reply.
//!
//! Format: `netlink(7)`; a header of 16 bytes, a body of the family, then attributes `{length, type}` padded to 4 bytes.

/// A request under construction.
#[derive(Debug)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A request of this type; `NLM_F_REQUEST` is added to the flags.
    pub(crate) fn new(kind: u16, flags: i32, body: &[u8]) -> Self {
        let flags = u16::try_from(flags | libc::NLM_F_REQUEST).expect("netlink flags are 16 bits wide");
        let mut message = Self { bytes: vec![0; HEADER] };
        message.bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        message.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        message.bytes.extend_from_slice(body);
        message.pad();
        message
    }

    /// Appends an attribute.
    pub(crate) fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let length = u16::try_from(ATTRIBUTE_HEADER + value.len()).expect("our attributes are short");
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.pad();
        self
    }

    /// Appends a string attribute with the zero byte at its end.
    pub(crate) fn string(&mut self, kind: u16, value: &str) -> &mut Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Appends an attribute that holds further attributes, and whatever `fill` puts before them.
    pub(crate) fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.bytes.len();
        self.attribute(kind | NESTED, &[]);
        fill(self);
        let length = u16::try_from(self.bytes.len() - start).expect("our attributes are short");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    /// Appends bare bytes: the body of a message within a nest.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.pad();
        self
    }

    /// The message ready to send under this sequence number.
    pub(crate) fn into_bytes(mut self, sequence: u32) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).expect("our messages are short");
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// One message of a reply.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The message type.
    pub(crate) kind: u16,
    /// The header's flags.
    pub(crate) flags: u16,
    /// Which request it answers.
    pub(crate) sequence: u32,
    /// All behind the header.
    pub(crate) payload: Vec<u8>,
}

impl Reply {
    /// The attributes behind a body of this length.
    pub(crate) fn attributes(&self, body: usize) -> Attributes<'_> {
        Attributes::new(self.payload.get(body..).unwrap_or_default())
    }

    /// The messages of one received datagram; stops at the first torn one.
    pub(crate) fn parse_all(mut datagram: &[u8]) -> Vec<Self> {
        let mut replies = Vec::new();
        while let Some(length) = u32_at(datagram, 0).and_then(|length| usize::try_from(length).ok()) {
            let (Some(message), Some(kind), Some(flags), Some(sequence)) =
                (datagram.get(..length), u16_at(datagram, 4), u16_at(datagram, 6), u32_at(datagram, 8))
            else {
                break;
            };
            let Some(payload) = message.get(HEADER..) else { break };
            replies.push(Self { kind, flags, sequence, payload: payload.to_vec() });
            datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        replies
    }
}

/// Walks through attributes: type (without the nested and byte-order flags) and value; stops at the first torn one.
#[derive(Clone, Debug)]
pub(crate) struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// The attributes in these bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The value of the first attribute of this type.
    pub(crate) fn value(&self, kind: u16) -> Option<&'a [u8]> {
        self.clone().find(|(found, _)| *found == kind).map(|(_, value)| value)
    }

    /// The attributes within the first attribute of this type; none when it is not there.
    pub(crate) fn inside(&self, kind: u16) -> Self {
        Self::new(self.value(kind).unwrap_or_default())
    }

    /// A number in the machine's byte order.
    pub(crate) fn u32(&self, kind: u16) -> Option<u32> {
        u32_at(self.value(kind)?, 0)
    }

    /// A string, up to its zero byte.
    pub(crate) fn string(&self, kind: u16) -> Option<String> {
        self.value(kind).map(text)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16_at(self.rest, 0)?);
        let kind = u16_at(self.rest, 2)? & !(NESTED | BIG_ENDIAN);
        let value = self.rest.get(ATTRIBUTE_HEADER..length)?;
        self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    }
}

/// A string, up to its zero byte.
pub(crate) fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Length of `struct nlmsghdr`.
pub(super) const HEADER: usize = 16;
const ATTRIBUTE_HEADER: usize = 4;
const NESTED: u16 = 1 << 15;
const BIG_ENDIAN: u16 = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_is_read_back() {
        let mut message = Message::new(16, libc::NLM_F_ACK, &[7; 16]);
        message.string(3, "eth0").nest(18, |inner| {
            inner.attribute(1, &42u32.to_ne_bytes());
        });
        let replies = Reply::parse_all(&message.into_bytes(9));
        assert_eq!(replies.len(), 1);
        assert_eq!((replies[0].kind, replies[0].sequence), (16, 9));
        assert_eq!(i32::from(replies[0].flags), libc::NLM_F_ACK | libc::NLM_F_REQUEST);
        let attributes = replies[0].attributes(16);
        assert_eq!(attributes.string(3), Some("eth0".into()));
        assert_eq!(attributes.inside(18).u32(1), Some(42));
        assert_eq!(attributes.u32(99), None);
    }

    #[test]
    fn torn_bytes_end_the_walk() {
        let mut whole = Message::new(16, 0, &[]);
        whole.attribute(1, &[1; 5]).attribute(2, &[2; 9]);
        let whole = whole.into_bytes(1);
        for end in 0..whole.len() {
            for reply in Reply::parse_all(&whole[..end]) {
                assert!(reply.attributes(0).count() <= 2);
            }
            let torn = Attributes::new(whole.get(16..end).unwrap_or_default());
            assert!(torn.count() <= 2);
        }
        assert_eq!(Attributes::new(&[0, 0, 1, 0]).count(), 0);
        assert!(Reply::parse_all(&[0; 64]).is_empty());
    }
}
