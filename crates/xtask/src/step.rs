//! Running one command line, or one named step: what is printed around it, and what is said when it fails.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::checkout::Checkout;

/// A named part of a longer command.
pub struct Step {
    /// What is typed after `cargo xtask test` to run this part alone.
    pub name: &'static str,
    /// What the developer does when it fails.
    pub mend: &'static str,
    /// The work.
    pub run: fn(&Checkout) -> anyhow::Result<()>,
}

/// Runs the steps of these names, or all if there are none.
pub fn run_named(checkout: &Checkout, steps: &[Step], names: &[String]) -> anyhow::Result<()> {
    if let Some(unknown) = names.iter().find(|name| !steps.iter().any(|step| step.name == *name)) {
        let known: Vec<&str> = steps.iter().map(|step| step.name).collect();
        bail!("there is no step `{unknown}`; the steps are: {}", known.join(" "));
    }
    run_all(
        checkout,
        steps.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)),
    )
}

/// Runs the steps in order, stops at the first that fails, and prints how long each took.
pub fn run_all<'a>(checkout: &Checkout, steps: impl Iterator<Item = &'a Step>) -> anyhow::Result<()> {
    let mut times = Vec::new();
    for step in steps {
        println!("\n── {}", step.name);
        let start = Instant::now();
        let result = (step.run)(checkout);
        times.push((step.name, start.elapsed()));
        if let Err(error) = result {
            print!("{}", table(&times));
            bail!("{error:#}\n\nstep `{}` failed: {}", step.name, step.mend);
        }
    }
    print!("{}", table(&times));
    Ok(())
}

/// Runs a command with its output shown and nothing on its input.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let line = line(command);
    println!("$ {line}");
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("could not start `{line}`"))?;
    if !status.success() {
        bail!("{status}; to repeat it: {line}");
    }
    Ok(())
}

/// Runs a command and returns what it printed; its output is shown only when it fails.
pub fn capture(command: &mut Command) -> anyhow::Result<String> {
    let line = line(command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("could not start `{line}`"))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("{printed}{complaint}\n{}; to repeat it: {line}", output.status);
    }
    Ok(printed)
}

/// Variables that a shell already has, in some form: a line to repeat does not name them.
const UNSAID: [&str; 4] = ["PATH", "HOME", "LANG", "NO_COLOR"];

/// The command as it would be typed in a shell.
fn line(command: &Command) -> String {
    let mut line = String::new();
    for (name, value) in command.get_envs() {
        let name = name.to_string_lossy();
        if let Some(value) = value
            && !UNSAID.contains(&name.as_ref())
        {
            write!(line, "{name}={} ", quoted(&value.to_string_lossy())).expect("a string takes any text");
        }
    }
    line.push_str(&quoted(&short(command.get_program().as_ref(), command.get_current_dir())));
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&quoted(&short(argument.as_ref(), command.get_current_dir())));
    }
    line
}

/// A path below the folder the command runs in, said from there.
fn short(path: &Path, folder: Option<&Path>) -> String {
    let inner =
        folder.and_then(|folder| path.strip_prefix(folder).ok()).filter(|inner| *inner != Path::new(""));
    inner.unwrap_or(path).to_string_lossy().into_owned()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn table(times: &[(&str, Duration)]) -> String {
    let total: Duration = times.iter().map(|(_, time)| *time).sum();
    let width = times.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max("total".len());
    let mut table = String::from("\n");
    for (name, time) in times.iter().chain([&("total", total)]) {
        writeln!(table, "{name:<width$}  {:>7.1} s", time.as_secs_f64()).expect("a string takes any text");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::System;

    fn check(command: &mut Command, expected: &str) {
        assert_eq!(line(command), expected);
    }

    #[test]
    fn a_line_can_be_pasted_into_a_shell() {
        check(Command::new("cargo").args(["fmt", "--all"]), "cargo fmt --all");
        check(
            Command::new("cargo").env("RUSTDOCFLAGS", "-D warnings").arg("doc"),
            "RUSTDOCFLAGS='-D warnings' cargo doc",
        );
        check(Command::new("/a/b/node").current_dir("/a").arg("/a/c d"), "b/node 'c d'");
        check(Command::new("echo").args(["it's", ""]), r"echo 'it'\''s' ''");
    }

    #[test]
    fn a_failing_command_says_how_to_repeat_it() {
        let error = run(Command::new("false").arg("x")).expect_err("false fails");
        assert_eq!(error.to_string(), "exit status: 1; to repeat it: false x");
        let error = capture(Command::new("sh").args(["-c", "echo seen; exit 3"])).expect_err("it fails");
        assert_eq!(error.to_string(), "seen\n\nexit status: 3; to repeat it: sh -c 'echo seen; exit 3'");
        let error = run(&mut Command::new("no-such-program")).expect_err("it is not there");
        assert_eq!(error.to_string(), "could not start `no-such-program`");
    }

    #[test]
    fn the_table_ends_with_the_sum() {
        let times = [("fmt", Duration::from_millis(1_200)), ("clippy", Duration::from_secs(60))];
        assert_eq!(table(&times), "\nfmt         1.2 s\nclippy     60.0 s\ntotal      61.2 s\n");
    }

    fn checkout() -> Checkout {
        Checkout { root: "/".into(), target: "/".into(), system: System::Name }
    }

    #[test]
    fn the_first_failing_step_stops_the_rest() {
        fn fails(_: &Checkout) -> anyhow::Result<()> {
            bail!("the cause")
        }
        fn unreached(_: &Checkout) -> anyhow::Result<()> {
            unreachable!("a step after a failing one")
        }
        let steps = [
            Step { name: "one", mend: "", run: |_| Ok(()) },
            Step { name: "two", mend: "do this", run: fails },
            Step { name: "three", mend: "", run: unreached },
        ];
        let error = run_all(&checkout(), steps.iter()).expect_err("the second fails");
        assert_eq!(format!("{error:#}"), "the cause\n\nstep `two` failed: do this");
    }
}
