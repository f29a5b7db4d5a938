//! What of a server is not offered.

use crate::kind::Kind;
use crate::listing::Listed;
use crate::offer::Withheld;
use crate::settings::Settings;

pub(crate) fn withheld(kind: Kind, key: &str, why: String, settings: &Settings) -> Withheld {
    Withheld { kind: kind.singular(), name: settings.mask().shown_name(key), why }
}

/// What is said of entries that nobody has a use for: those that are not sound, those that nest too
/// deeply, and those with a secret in the name.
pub(crate) fn unusable(listed: &Listed, settings: &Settings) -> Vec<Withheld> {
    let concealed = listed
        .concealed
        .iter()
        .map(|name| withheld(listed.kind, name, "its name holds a secret".to_owned(), settings));
    let name = format!("{} without a sound definition", listed.unusable);
    let why = listed.kind.needs().to_owned();
    let unsound = (listed.unusable > 0).then(|| Withheld { kind: listed.kind.singular(), name, why });
    concealed.chain(unsound).collect()
}
