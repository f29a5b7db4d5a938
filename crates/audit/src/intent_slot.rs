//! One slot of the intent log: `LENGTH SHA256 JSON`, then zeros. A slot that a power cut tore has a hash that does not
//! match its text: the call was not let run yet.

use serde::{Deserialize, Serialize};

use crate::hash::{HEX_BYTES, Hash};
use crate::record::{Opening, TEXT_BYTES_MAX};

/// One slot: a page, so that a slot takes no more of the disk than the least it writes. The longest intent that
/// [`encode`] leaves takes 3,100 bytes.
pub(crate) const SLOT_BYTES: usize = 4096;

/// What a slot begins with whose call has ended. One that was never used holds zeros.
pub(crate) const FREE: &[u8] = b"00000000";

/// To how many bytes the texts of an intent are cut, one after the other, until it fits. Only names that somebody made up
/// of control characters are cut at all.
const TEXT_BYTES: [usize; 3] = [TEXT_BYTES_MAX, 64, 16];

const LENGTH_DIGITS: usize = FREE.len();
const JSON_AT: usize = LENGTH_DIGITS + 1 + HEX_BYTES + 1;

/// A call that is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    pub(crate) opening: Opening,
    /// The audit log's last record as far as we know: the call's own record, if there is one, comes after it.
    pub(crate) since: u64,
}

/// The intent as a whole slot. `number` tells the order in which a process noted its intents.
pub(crate) fn encode(mut intent: Intent, number: u64) -> Box<[u8]> {
    intent.opening.arguments = None;
    for text_bytes in TEXT_BYTES {
        intent.opening.cut_to(text_bytes);
        let json = serde_json::to_string(&(number, &intent)).expect("texts and numbers become JSON");
        if JSON_AT + json.len() <= SLOT_BYTES {
            let mut slot = format!("{:08x} {} {json}", json.len(), Hash::of(json.as_bytes())).into_bytes();
            slot.resize(SLOT_BYTES, 0);
            return slot.into();
        }
    }
    unreachable!("a call's id and nine texts of 16 bytes fit into a slot, however they are escaped")
}

/// The intent of a call that was running, and its number; nothing for a slot that is free or torn.
pub(crate) fn decode(slot: &[u8]) -> Option<(u64, Intent)> {
    let [b' ', hash @ .., b' '] = slot.get(LENGTH_DIGITS..JSON_AT)? else { return None };
    let length = str::from_utf8(&slot[..LENGTH_DIGITS]).ok()?;
    let length = usize::from_str_radix(length, 16).ok().filter(|length| *length > 0)?;
    let json = slot.get(JSON_AT..)?.get(..length)?;
    let is_whole = Hash::parse(hash) == Some(Hash::of(json));
    if is_whole { serde_json::from_slice(json).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::record::tests::sample;

    fn intent() -> Intent {
        Intent { opening: sample("c1").opening, since: 7 }
    }

    #[test]
    fn a_slot_is_read_back_unless_it_is_torn_or_free() {
        let slot = encode(intent(), 3);
        assert_eq!(decode(&slot), Some((3, intent())));
        let length = slot.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        for at in 0..length {
            let mut changed = slot.clone();
            changed[at] ^= 1;
            assert_eq!(decode(&changed), None, "byte {at}");
            let torn = [&slot[..at], &vec![0; SLOT_BYTES - at]].concat();
            assert_eq!(decode(&torn), None, "torn at {at}");
        }
        let free = [FREE, &slot[FREE.len()..]].concat();
        assert_eq!(decode(&free), None);
        assert_eq!(decode(&[0; SLOT_BYTES]), None);
    }

    #[test]
    fn a_call_of_any_name_fits() {
        let (mut intent, long) = (intent(), "\0".repeat(1_000_000));
        let opening = &mut intent.opening;
        for text in [&mut opening.call_id, &mut opening.caller, &mut opening.tool] {
            *text = Arc::from(&*long);
        }
        (opening.upstream, opening.trace_id) = (Some(Arc::from(&*long)), Some(Arc::from(&*long)));
        opening.caller_scopes = Some(Arc::from(&long[..TEXT_BYTES_MAX]));
        (opening.caller_kind, opening.via) = (long.clone().into(), long.clone().into());
        (opening.effect, opening.caller_roles) = (Some(long.clone().into()), Some(long.clone().into()));
        (opening.meta_sha256, opening.definition_sha256) =
            (opening.arguments_sha256, opening.arguments_sha256);
        (opening.opened_at_ms, opening.arguments_bytes, intent.since) = (i64::MIN, u64::MAX, u64::MAX);
        let (_, read) = decode(&encode(intent, u64::MAX)).expect("it fits");
        assert_eq!((read.opening.call_id.len(), read.opening.tool.len()), (TEXT_BYTES_MAX, 16));
    }
}
