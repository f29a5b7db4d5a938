//! Adding entries to lists of the configuration by command, such as `policy.deny`.

use admin::Fault;
use admin::import::{Grown, Taken, Target as _};
use clients::{line_end, not_toml};
use toml_edit::{Array, DocumentMut, Item, Table, TomlError};

use crate::draft::Draft;
use crate::held::hold;

impl Draft {
    /// What of it would change the file. A list that is to be empty and is not stays, and is told of.
    ///
    /// # Errors
    /// The file cannot be read, or such a list cannot be in it.
    pub fn lacking(&self, taken: Taken) -> Result<Taken, Fault> {
        let text = self.text()?;
        let (mut lists, mut told) = (Vec::new(), taken.told);
        for list in taken.lists {
            if self.grown(&text, std::slice::from_ref(&list))? != text {
                lists.push(list);
            } else if list.entries.is_empty() && has_entries(&text, &list) {
                told.push(format!(
                    "{}: yours has other entries in {}; take them out by hand",
                    list.from,
                    list.path()
                ));
            }
        }
        Ok(Taken { lists, told })
    }

    /// Writes them into the file: all of them, or none if the configuration would have something wrong with them.
    ///
    /// # Errors
    /// Why nothing was written.
    pub fn grow(&self, lists: &[Grown]) -> Result<(), Fault> {
        let held = hold(&self.target).map_err(Fault::failed)?;
        let before = self.text()?;
        let after = self.grown(&before, lists)?;
        if let Some(problem) = self.new_problems(&before, &after).first() {
            return Err(self.failed(problem));
        }
        held.write(&after).map_err(Fault::failed)
    }

    fn grown(&self, text: &str, lists: &[Grown]) -> Result<String, Fault> {
        grown(text, lists).map_err(|why| self.failed(&why))
    }
}

fn grown(text: &str, lists: &[Grown]) -> Result<String, String> {
    let no_toml = |error: TomlError| not_toml(text, error.span(), error.message());
    let mut document: DocumentMut = text.parse().map_err(no_toml)?;
    for Grown { table, key, entries, .. } in lists {
        let section = document.as_table_mut().entry(table).or_insert_with(|| Item::Table(Table::new()));
        let section = section.as_table_like_mut().ok_or_else(|| format!("its `{table}` is no table"))?;
        let list = section.entry(key).or_insert_with(|| Array::new().into());
        let list = list.as_array_mut().ok_or_else(|| format!("its `{table}.{key}` is no list"))?;
        for entry in entries {
            if !list.iter().any(|present| present.as_str() == Some(entry)) {
                list.push(entry.as_str());
            }
        }
    }
    // A document knows no other line ends.
    Ok(document.to_string().replace('\n', line_end(text)))
}

fn has_entries(text: &str, Grown { table, key, .. }: &Grown) -> bool {
    let document = text.parse::<DocumentMut>().ok();
    let list = document.as_ref().and_then(|document| document.get(table)?.get(key)?.as_array());
    list.is_some_and(|list| !list.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, table: &str, key: &str, entries: &[&str], expected: Result<&str, &str>) {
        let entries = entries.iter().map(|entry| (*entry).to_owned()).collect();
        let list = Grown { table: table.to_owned(), key: key.to_owned(), entries, from: String::new() };
        let after = grown(text, &[list]);
        assert_eq!(after.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn a_list_gets_what_it_lacks() {
        check("", "policy", "deny", &["a", "b"], Ok("[policy]\ndeny = [\"a\", \"b\"]\n"));
        check(
            "# mine\n[policy] # it\ndeny = [ \"b\" ] # no\n[mcp.a]\ncommand = \"x\"\n",
            "policy",
            "deny",
            &["a", "b"],
            Ok("# mine\n[policy] # it\ndeny = [ \"b\" , \"a\"] # no\n[mcp.a]\ncommand = \"x\"\n"),
        );
        check(
            "[mcp.a]\ncommand = \"x\"\n",
            "tools",
            "offer",
            &[],
            Ok("[mcp.a]\ncommand = \"x\"\n\n[tools]\noffer = []\n"),
        );
        check(
            "[tools]\r\noffer = [\"web\"]\r\n",
            "tools",
            "offer",
            &[],
            Ok("[tools]\r\noffer = [\"web\"]\r\n"),
        );
        check(
            "policy = { deny = [\"a\"] }\n",
            "policy",
            "deny",
            &["b"],
            Ok("policy = { deny = [\"a\", \"b\"] }\n"),
        );
    }

    #[test]
    fn what_is_no_list_stays() {
        check("tools = 1", "tools", "offer", &[], Err("its `tools` is no table"));
        check("[policy]\ndeny = \"a\"", "policy", "deny", &["b"], Err("its `policy.deny` is no list"));
        check(
            "[policy",
            "policy",
            "deny",
            &["b"],
            Err("line 1, column 8: this is no TOML: unclosed table, expected `]`"),
        );
    }
}
