//! The secrets that the configuration tells the redactor of.

use redact::Known;

use crate::kept::{Config, known};
use crate::surroundings::Surroundings;

/// What the tables hold or refer to, what their programs inherit that sounds secret, and the key that seals the rest.
pub(super) fn secrets(
    sealing: &Config,
    upstreams: &[upstream::Settings],
    surroundings: &Surroundings,
) -> Vec<Known> {
    let of_tables = upstreams.iter().flat_map(upstream::Settings::secrets);
    let key = sealing.variable().and_then(|name| Some((name, surroundings.variable(name)?.to_str()?)));
    // Whoever has the key may spell it otherwise than the variable does.
    let spelt =
        key.into_iter().flat_map(|(name, key)| store::key_spellings(key).map(move |text| known(name, &text)));
    let inherited = surroundings.variables.iter().filter_map(|(name, value)| {
        let (name, value) = (name.to_str()?, value.to_str()?);
        upstreams.iter().any(|upstream| upstream.inherits_secret(name, value)).then_some((name, value))
    });
    of_tables.chain(key).chain(inherited).map(|(name, value)| known(name, value)).chain(spelt).collect()
}
