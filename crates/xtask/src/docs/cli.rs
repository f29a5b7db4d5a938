//! `docs/cli.md`: the help of the program and of every subcommand, as it prints them.

use crate::program::Program;

const HEAD: &str = "# Command line\n\n<!-- Made by `cargo xtask docs` from the program's help. -->\n";

/// Deeper than any command of ours: a help text that lists itself must end somewhere.
const DEPTH_MAX: usize = 4;

pub(super) fn page(program: &Program) -> anyhow::Result<String> {
    page_of(&|words| program.says(words))
}

/// What prints the help of the command that these words name.
type Says<'a> = &'a dyn Fn(&[&str]) -> anyhow::Result<String>;

fn page_of(says: Says<'_>) -> anyhow::Result<String> {
    let mut page = HEAD.to_owned();
    for (words, help) in commands(says)? {
        // A command line's lines may end in blanks that an editor would take away again.
        let text: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let title = [&["toolcrib".to_owned()], words.as_slice()].concat().join(" ");
        page.push_str(&format!("\n## `{title}`\n\n```text\n{}\n```\n", text.join("\n")));
    }
    Ok(page)
}

/// Every command, as the words that are typed for it, with its help: the program itself first, each before those below it.
pub(crate) fn commands(says: Says<'_>) -> anyhow::Result<Vec<(Vec<String>, String)>> {
    let mut all = Vec::new();
    let mut left = vec![Vec::new()];
    while let Some(words) = left.pop() {
        let line: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let help = says(&line)?;
        if words.len() < DEPTH_MAX {
            let below =
                subcommands(&help).into_iter().map(|name| [words.as_slice(), &[name.to_owned()]].concat());
            left.extend(below.rev());
        }
        all.push((words, help));
    }
    Ok(all)
}

/// The names that a help text lists under "Commands:".
fn subcommands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| line.trim() != "Commands:").skip(1);
    let listed = listed.take_while(|line| line.starts_with(' ') || line.is_empty());
    // A name stands two columns in; what stands further in continues its description.
    let rows = listed.filter_map(|line| line.strip_prefix("  ").filter(|row| !row.starts_with(' ')));
    rows.filter_map(|row| row.split([' ', ',']).next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "A program.

Usage: toolcrib [COMMAND]

Commands:
  serve  Serve over HTTP
         and more
  mcp    Upstreams

  help   Print this message

Options:
  -h, --help  Print help
";

    #[test]
    fn only_commands_are_taken_from_the_help() {
        assert_eq!(subcommands(HELP), ["serve", "mcp"]);
        assert_eq!(subcommands("Usage: toolcrib serve\n\nOptions:\n  -h  Help\n"), Vec::<&str>::new());
    }

    #[test]
    fn every_command_has_its_part_of_the_page() {
        let says = |words: &[&str]| {
            Ok(match words {
                ["--help"] => HELP.to_owned(),
                ["mcp", "--help"] => "Commands:\n  list  All of them\n".to_owned(),
                _ => format!("Usage: {}  \n\n", words.join(" ")),
            })
        };
        let page = page_of(&says).expect("every command answers");
        let titles: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        let expected =
            ["## `toolcrib`", "## `toolcrib serve`", "## `toolcrib mcp`", "## `toolcrib mcp list`"];
        assert_eq!(titles, expected);
        assert!(page.ends_with("```text\nUsage: mcp list --help\n```\n"), "{page}");
    }

    #[test]
    fn a_help_that_lists_itself_ends() {
        let all = commands(&|_| Ok("Commands:\n  again  And again\n".into())).expect("it answers");
        assert_eq!(all.len(), DEPTH_MAX + 1);
    }
}
