//! `secrets`: keeping secrets for tools. Values come in and never go out.

mod given;
mod list;

use admin::secrets::{self, Change, ON_THE_LINE, Rekeyed, SecretPart, Value, WasKept};
use admin::{By, Operation as _};
use daemon::administration;
use daemon::control::Neighbours;
use terminal::{Ending, Trouble, print};

use super::load::surroundings;
use crate::cli::{Cli, Secrets};

pub(super) fn run(cli: &Cli, command: Secrets) -> Result<Ending, Trouble> {
    let surroundings = surroundings(cli)?;
    // The rest of the configuration may be unusable for want of a secret.
    let (kept, uses) = config::kept(cli.config.as_deref(), &surroundings)?;
    let part = administration::secrets(&kept, &uses, Neighbours::on(kept.state()));
    match command {
        Secrets::Set { value, .. } if !value.is_empty() => Err(Trouble::Misused(ON_THE_LINE.to_owned())),
        Secrets::Set { name, whom, .. } => set(cli, &part, name, whom),
        Secrets::List => list::print(cli, &secrets::List {}.perform(&part, &By::owner())?),
        Secrets::Rekey { from } => {
            let from = from.map(|path| surroundings.absolute(&path));
            let rekeyed = secrets::Rekey { from }.perform(&part, &By::owner())?;
            print::found(cli.json, &rekeyed, &resealed(&rekeyed))?;
            Ok(tell_untold(&rekeyed.untold))
        }
        Secrets::Remove { name } => {
            let removed = secrets::Remove { name }.perform(&part, &By::owner())?;
            let name = &removed.name;
            print::found(cli.json, &removed, &format!("{name} is removed"))?;
            if !removed.used_by.is_empty() {
                print::remark(&format!(
                    "warning: {} still refers to it, and does not work before `toolcrib secrets set {name}`",
                    removed.used_by.join(", ")
                ));
            }
            Ok(Ending::Good)
        }
    }
}

fn set(cli: &Cli, part: &SecretPart, name: String, whom: Vec<String>) -> Result<Ending, Trouble> {
    let may_stay = part.is_kept(&name)? && !whom.is_empty();
    let value = given::value(&name, may_stay)?.map(|value| Value(value.expose().to_owned()));
    let set = secrets::Set { name, value, whom }.perform(part, &By::owner())?;
    print::found(cli.json, &set, &was_kept(&set))?;
    set.warning
        .iter()
        .for_each(|why| print::remark(&format!("warning: {} is a poor secret: {why}", set.name)));
    Ok(tell_untold(&set.untold))
}

fn tell_untold(untold: &[String]) -> Ending {
    untold.iter().for_each(|untold| print::remark(untold));
    if untold.is_empty() { Ending::Good } else { Ending::Failed }
}

fn was_kept(set: &WasKept) -> String {
    let WasKept { name, was, whom, used_by, told, .. } = set;
    let mut said = match was {
        Change::Unchanged => {
            return format!("{name} is for {} too now; its value is as it was", whom.join(", "));
        }
        Change::New => format!("{name} is kept, sealed"),
        Change::Changed => format!("{name} has another value now"),
    };
    match told {
        0 => {}
        1 => said.push_str("; the running Toolcrib strikes it out from now on"),
        many => said.push_str(&format!("; the {many} running Toolcribs strike it out from now on")),
    }
    match used_by.as_slice() {
        [] => said.push_str(&format!(
            "\nnothing refers to it yet; write {{ store = \"{name}\" }} where it belongs"
        )),
        places => said.push_str(&format!("\nused by {}", places.join(", "))),
    }
    // Tools of files open it at each call.
    let is_of_server = |place: &String| !place.starts_with(config::USED_BY_TOOL);
    if *told > 0 && used_by.iter().any(is_of_server) {
        said.push_str("\n`toolcrib mcp reload` gives it to the servers that run");
    }
    said
}

fn resealed(rekeyed: &Rekeyed) -> String {
    let done = match rekeyed.resealed {
        0 => "everything was sealed with the new key before".to_owned(),
        1 => "1 record is sealed with the new key; remove the old one".to_owned(),
        many => format!("{many} records are sealed with the new key; remove the old one"),
    };
    match rekeyed.told {
        0 => done,
        1 => format!("{done}\nthe running Toolcrib has taken the new key"),
        many => format!("{done}\nthe {many} running Toolcribs have taken the new key"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(was: Change, used_by: &[&str], told: usize, expected: &str) {
        let used_by = used_by.iter().map(|place| (*place).to_owned()).collect();
        let (name, whom, warning) = ("TOKEN".to_owned(), vec!["git".to_owned()], None);
        let set = WasKept { name, was, whom, warning, used_by, told, untold: Vec::new() };
        assert_eq!(was_kept(&set), expected);
    }

    #[test]
    fn what_was_done_is_said_and_what_is_next() {
        check(
            Change::New,
            &[],
            0,
            "TOKEN is kept, sealed\nnothing refers to it yet; write { store = \"TOKEN\" } where it belongs",
        );
        check(
            Change::Changed,
            &["mcp.a.env.T (t.toml:1:2)"],
            2,
            "TOKEN has another value now; the 2 running Toolcribs strike it out from now on\n\
             used by mcp.a.env.T (t.toml:1:2)\n`toolcrib mcp reload` gives it to the servers that run",
        );
        check(
            Change::New,
            &["tool.issue"],
            1,
            "TOKEN is kept, sealed; the running Toolcrib strikes it out from now on\nused by tool.issue",
        );
        check(Change::Unchanged, &[], 0, "TOKEN is for git too now; its value is as it was");
    }

    #[test]
    fn what_was_sealed_anew_is_counted() {
        for (count, told, expected) in [
            (0, 0, "everything was sealed with the new key before"),
            (
                1,
                1,
                "1 record is sealed with the new key; remove the old one\nthe running Toolcrib has taken the new key",
            ),
            (
                2,
                3,
                "2 records are sealed with the new key; remove the old one\nthe 3 running Toolcribs have taken the new key",
            ),
        ] {
            assert_eq!(resealed(&Rekeyed { resealed: count, told, untold: Vec::new() }), expected);
        }
    }
}
