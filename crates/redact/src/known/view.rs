//! A text as somebody reads it who undoes an encoding: made of pieces of what is written, so that a place in it can be
//! taken back to where it stands.

use std::ops::Range;

use crate::hits::{Hit, merge};

/// A part of a text as it is written, and what it reads as. What no piece covers reads as nothing.
pub(super) struct Piece {
    pub(super) source: Range<usize>,
    pub(super) reads: Reads,
}

/// What a piece reads as.
pub(super) enum Reads {
    /// What stands there.
    Itself,
    /// So many of these bytes: one character.
    Other([u8; 4], usize),
}

impl Piece {
    pub(super) fn byte(source: Range<usize>, byte: u8) -> Piece {
        Piece { source, reads: Reads::Other([byte, 0, 0, 0], 1) }
    }

    pub(super) fn character(source: Range<usize>, character: char) -> Piece {
        let mut bytes = [0; 4];
        let length = character.encode_utf8(&mut bytes).len();
        Piece { source, reads: Reads::Other(bytes, length) }
    }

    fn bytes(&self) -> usize {
        match self.reads {
            Reads::Itself => self.source.len(),
            Reads::Other(_, length) => length,
        }
    }
}

/// What the pieces of `text` read as.
pub(super) fn read(text: &[u8], pieces: impl Iterator<Item = Piece>) -> Vec<u8> {
    let mut view = Vec::new();
    for piece in pieces {
        match piece.reads {
            Reads::Itself => view.extend_from_slice(&text[piece.source]),
            Reads::Other(bytes, length) => view.extend_from_slice(&bytes[..length]),
        }
    }
    view
}

/// Takes places in what the pieces read as back to where they are written. The pieces are made anew for it, since most
/// texts hold no secret, and to remember where each piece stands takes more memory than the text.
pub(super) fn back(pieces: impl Iterator<Item = Piece>, hits: &mut Vec<Hit>) {
    // None overlap now, so that starts and ends are in one order.
    merge(hits);
    let (mut at, mut start, mut end) = (0, 0, 0);
    for piece in pieces {
        let next = at + piece.bytes();
        let place = |within: usize, whole: usize| match piece.reads {
            Reads::Itself => piece.source.start + (within - at),
            Reads::Other(..) => whole,
        };
        while let Some(hit) = hits.get_mut(start).filter(|hit| hit.start < next) {
            hit.start = place(hit.start, piece.source.start);
            start += 1;
        }
        while let Some(hit) = hits.get_mut(end).filter(|hit| hit.end <= next) {
            hit.end = place(hit.end, piece.source.end);
            end += 1;
        }
        if end == hits.len() {
            return;
        }
        at = next;
    }
}
