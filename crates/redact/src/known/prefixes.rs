//! Which four bytes an encoding may begin with: a bit for each, found by a hash.
//!
//! Nearly every place in a text is ruled out by one look at it, which costs a fraction of a step of the automaton.

/// Bytes of an encoding that are looked at; none is shorter.
pub(super) const PREFIX_BYTES: usize = 4;

/// Bits for each encoding, so that few places pass that do not begin one.
const BITS_EACH: usize = 64;

/// Most bits, so that they stay in the nearest caches.
const BITS_MAX: usize = 1 << 20;

/// The bits.
pub(super) struct Prefixes {
    bits: Box<[u64]>,
    /// What is left of a hash is the number of a bit.
    shift: u32,
}

impl Prefixes {
    pub(super) fn of(encodings: &[Box<[u8]>]) -> Prefixes {
        let count = (encodings.len() * BITS_EACH).next_power_of_two().clamp(BITS_EACH, BITS_MAX);
        let mut prefixes =
            Prefixes { bits: vec![0; count / 64].into(), shift: u32::BITS - count.trailing_zeros() };
        for prefix in encodings.iter().filter_map(|encoding| encoding.first_chunk()) {
            let bit = prefixes.bit(*prefix);
            prefixes.bits[bit / 64] |= 1 << (bit % 64);
        }
        prefixes
    }

    /// The next place from `at` on where an encoding may begin.
    pub(super) fn next(&self, text: &[u8], at: usize) -> Option<usize> {
        let rest = text.get(at..)?;
        let found = rest.windows(PREFIX_BYTES).position(|window| {
            let bit = self.bit([window[0], window[1], window[2], window[3]]);
            self.bits[bit / 64] >> (bit % 64) & 1 == 1
        });
        found.map(|found| at + found)
    }

    fn bit(&self, prefix: [u8; PREFIX_BYTES]) -> usize {
        let hash = u32::from_le_bytes(prefix).wrapping_mul(0x9e37_79b1);
        (hash >> self.shift) as usize
    }
}
