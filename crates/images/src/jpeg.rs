//! Whether a JPEG file is whole. Its decoder fills up in grey what is missing, as browsers do, and says nothing.

const START_OF_SCAN: u8 = 0xda;
const END_OF_IMAGE: [u8; 2] = [0xff, 0xd9];

/// Whether it ends before its picture does. In what is compressed an end cannot occur; in the segments before it can, as that of
/// a preview, so they are passed over.
pub(crate) fn ends_early(file: &[u8]) -> bool {
    let scan = scan(file).and_then(|at| file.get(at..));
    !scan.is_some_and(|scan| scan.windows(2).any(|two| two == END_OF_IMAGE))
}

/// Where what is compressed begins.
fn scan(file: &[u8]) -> Option<usize> {
    let mut at = 2;
    loop {
        match file.get(at..at + 4)? {
            // A marker may be filled up.
            [0xff, 0xff, ..] => at += 1,
            [0xff, START_OF_SCAN, ..] => return Some(at),
            [0xff, _, high, low] => at += 2 + usize::from(u16::from_be_bytes([*high, *low])),
            _ => return None,
        }
    }
}
