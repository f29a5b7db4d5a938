//! `secrets set`: keeps a value that is typed or piped in.

use serde_json::json;
use store::{SecretName, WasSet};

use super::given;
use super::name::parse;
use super::tell::{NOT_STRUCK_OUT, tell};
use crate::cli::Cli;
use crate::config::Uses;
use crate::ending::{Ending, Trouble};
use crate::secrets::{Kept, bind, weakness};
use crate::times::now_ms;
use crate::{print, runtime};

pub(super) fn run(
    cli: &Cli,
    kept: &Kept,
    uses: &Uses,
    name: &str,
    whom: &[String],
) -> Result<Ending, Trouble> {
    let name = parse(name)?;
    let value = given::value(name.as_str(), !whom.is_empty() && is_kept(kept, &name)?)?;
    if !whom.is_empty() {
        bind(&**kept.store(), name.as_str(), whom).map_err(Trouble::Failed)?;
    }
    let Some(value) = value else {
        let words = format!("{name} is for {} too now; its value is as it was", whom.join(", "));
        let facts = json!({ "name": name.as_str(), "was": "unchanged", "for": whom });
        return print::found(cli.json, &facts, &words);
    };
    let was = kept.sealed().set_named(&name, &value, now_ms()).map_err(Trouble::because)?;
    let (told, untold) = runtime::run(tell(kept, NOT_STRUCK_OUT))?;
    let warning = weakness(value.expose());
    let used = uses.of_secret(name.as_str());
    let change = match was {
        WasSet::Anew => "new",
        WasSet::Again => "changed",
    };
    let facts = json!({ "name": name.as_str(), "was": change, "warning": warning, "used_by": used, "told": told,
        "untold": untold });
    print::found(cli.json, &facts, &said(name.as_str(), was, &used, told))?;
    warning.iter().for_each(|warning| print::remark(&format!("warning: {name} is a poor secret: {warning}")));
    untold.iter().for_each(|untold| print::remark(untold));
    Ok(if untold.is_empty() { Ending::Good } else { Ending::Failed })
}

fn is_kept(kept: &Kept, name: &SecretName) -> Result<bool, Trouble> {
    if !kept.may_be_there() {
        return Ok(false);
    }
    Ok(kept.sealed().named_names().map_err(Trouble::because)?.contains(name))
}

fn said(name: &str, was: WasSet, used: &[&str], told: usize) -> String {
    let mut said = match was {
        WasSet::Anew => format!("{name} is kept, sealed"),
        WasSet::Again => format!("{name} has another value now"),
    };
    match told {
        0 => {}
        1 => said.push_str("; the running Toolcrib strikes it out from now on"),
        many => said.push_str(&format!("; the {many} running Toolcribs strike it out from now on")),
    }
    match used {
        [] => said.push_str(&format!(
            "\nnothing refers to it yet; write {{ store = \"{name}\" }} where it belongs"
        )),
        places => said.push_str(&format!("\nused by {}", places.join(", "))),
    }
    if told > 0 && !used.is_empty() {
        said.push_str("\n`toolcrib mcp reload` gives it to the servers that run");
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_said_and_what_is_next() {
        assert_eq!(
            said("TOKEN", WasSet::Anew, &[], 0),
            "TOKEN is kept, sealed\nnothing refers to it yet; write { store = \"TOKEN\" } where it belongs"
        );
        assert_eq!(
            said("TOKEN", WasSet::Again, &["mcp.a.env.T (t.toml:1:2)"], 2),
            "TOKEN has another value now; the 2 running Toolcribs strike it out from now on\n\
             used by mcp.a.env.T (t.toml:1:2)\n`toolcrib mcp reload` gives it to the servers that run"
        );
    }
}
