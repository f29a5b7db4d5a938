//! `traceparent`, by which a trace goes on from one program to the next (W3C Trace Context, level 1).

use std::fmt;

use data_encoding::HEXLOWER;

/// Which trace, and which span of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: [u8; 16],
    /// The span above.
    pub span: [u8; 8],
    /// Whether whoever began it keeps it.
    pub sampled: bool,
}

impl TraceParent {
    /// Reads a header's or a `_meta` member's text. Versions to come may be longer; their beginning is as this one.
    pub fn parse(text: &str) -> Option<TraceParent> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_whole = if version == "00" { parts.next().is_none() } else { version != "ff" };
        let [_] = bytes::<1>(version)?;
        let (trace, span, [flags]) = (bytes::<16>(trace)?, bytes::<8>(span)?, bytes::<1>(flags)?);
        let is_sound = is_whole && trace != [0; 16] && span != [0; 8];
        is_sound.then_some(TraceParent { trace, span, sampled: flags & 1 == 1 })
    }

    /// The trace's name as records write it: 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        HEXLOWER.encode(&self.trace)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "00-{}-{}-0{}",
            HEXLOWER.encode(&self.trace),
            HEXLOWER.encode(&self.span),
            u8::from(self.sampled)
        )
    }
}

fn bytes<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    (digits.len() == 2 * N).then(|| HEXLOWER.decode_mut(digits.as_bytes(), &mut out).ok())??;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<bool>) {
        let found = TraceParent::parse(text);
        assert_eq!(found.map(|found| found.sampled), expected, "{text}");
        if let Some(found) = found.filter(|_| text.starts_with("00")) {
            assert_eq!(found.to_string()[..54], text[..54]);
        }
    }

    #[test]
    fn only_what_the_standard_allows_is_read() {
        check("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Some(true));
        check("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", Some(false));
        check("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-comes", Some(true));
        for text in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
        ] {
            check(text, None);
        }
    }
}
