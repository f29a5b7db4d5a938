//! `secrets remove`: gives a secret up.

use serde_json::json;

use super::name::{UNKNOWN_SECRET, parse};
use super::tell::{NOT_STRUCK_OUT, tell};
use crate::cli::Cli;
use crate::config::Uses;
use crate::ending::{Ending, Trouble};
use crate::nearest::nearest;
use crate::secrets::{Kept, unbind};
use crate::{print, runtime};

pub(super) fn run(cli: &Cli, kept: &Kept, uses: &Uses, name: &str) -> Result<Ending, Trouble> {
    let name = parse(name)?;
    let secrets = kept.sealed();
    let is_there = secrets.may_have_named().map_err(Trouble::because)?;
    if !is_there || !secrets.remove_named(&name).map_err(Trouble::because)? {
        let names = if is_there { secrets.named_names().map_err(Trouble::because)? } else { Vec::new() };
        let near = nearest(name.as_str(), names.iter().map(store::SecretName::as_str));
        let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        return Err(Trouble::Unknown {
            code: UNKNOWN_SECRET,
            said: format!("no secret {name} is kept here{near}"),
        });
    }
    unbind(&**kept.store(), name.as_str()).map_err(Trouble::Failed)?;
    // What they have learnt they strike out all the same, as long as they run.
    let (_, untold) = runtime::run(tell(kept, NOT_STRUCK_OUT))?;
    let used = uses.of_secret(name.as_str());
    let facts = json!({ "name": name.as_str(), "used_by": used, "untold": untold });
    print::found(cli.json, &facts, &format!("{name} is removed"))?;
    if !used.is_empty() {
        print::remark(&format!(
            "warning: {} still refers to it, and that server does not start before `toolcrib secrets set {name}`",
            used.join(", ")
        ));
    }
    Ok(Ending::Good)
}
