//! `man`: the manual page of a command, made of its help.

use clap::CommandFactory as _;
use clap_mangen::Man;
use terminal::{Ending, Trouble, print};

use crate::cli::Cli;

pub(super) fn run(words: &[String]) -> Result<Ending, Trouble> {
    print::line(page(words)?.trim_end())?;
    Ok(Ending::Good)
}

fn page(words: &[String]) -> Result<String, Trouble> {
    let mut command = Cli::command();
    command.build();
    let mut command = &command;
    for word in words {
        let next = command.find_subcommand(word);
        command =
            next.ok_or_else(|| Trouble::Misused(format!("there is no command `{}`", words.join(" "))))?;
    }
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).map_err(Trouble::because)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &str) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let page = page(&words).unwrap_or_else(|why| why.to_string());
        assert!(page.contains(expected), "{words:?}: {page}");
    }

    #[test]
    fn every_command_has_a_page() {
        check(&[], ".TH toolcrib 1");
        check(&["mcp", "add"], ".TH toolcrib-mcp-add 1");
        check(&["mcp", "ad"], "there is no command `mcp ad`");
    }
}
