//! What operations are told of servers without starting one: what earlier runs remember.

use admin::{Fault, KnownTools, ServerTools, Tools};
use config::Settings;
use terminal::runtime;

use crate::assemble::{Crib, assemble};
use crate::upstreams::Start;

/// The servers of these settings, as they are remembered.
pub(super) struct Remembered(pub(super) Settings);

impl Remembered {
    /// Looks at everything put together, on a runtime of its own.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Crib) -> T) -> Result<T, Fault> {
        let looked = runtime::run(async {
            let crib = assemble(self.0.clone(), Start::Never);
            let crib = crib.map_err(|trouble| Fault::failed(trouble.to_string()))?;
            crib.gate.catalog().settled().await;
            let found = look(&crib);
            crib.close().await;
            Ok(found)
        });
        looked.map_err(Fault::because)?
    }
}

impl Tools for Remembered {
    fn known(&self) -> Result<KnownTools, Fault> {
        self.look(|crib| KnownTools {
            offer: crib.gate.catalog().offer(),
            files: crib.guarded.files().clone(),
            servers: crib.upstreams.iter().map(|upstream| ServerTools::of(&upstream)).collect(),
        })
    }
}
