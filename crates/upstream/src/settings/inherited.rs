//! What a server's program takes over from the client that it is started for: some of its environment variables. They are
//! settled with the table and compared with it, so that two clients share a server only if it finds the same with both.

use std::path::Path;

use sandbox::{InheritedNames, Variables};

use super::checked::Settings;
use super::endpoint::Endpoint;
use super::named;
use crate::tool_filter::Globs;

impl Settings {
    /// The same, with a program that inherits of `variables` what every program does and what its table's `inherit`
    /// names. They are those of a client whose working folder is `current_dir`.
    #[must_use]
    pub fn inheriting(mut self, variables: &Variables, current_dir: &Path) -> Settings {
        if let Endpoint::Program(program) = &mut self.endpoint {
            program.inherited = InheritedNames::new(&self.inherits.globs).of(variables);
            program
                .inherited
                .retain(|name, _| !self.inherits.withheld.iter().any(|withheld| name == &**withheld));
        }
        self.inherits.current_dir = current_dir.to_owned();
        self
    }

    /// The same, with a program that does not inherit this variable, whatever `inherit` says.
    #[must_use]
    pub fn withholding(mut self, variable: &str) -> Settings {
        if let Endpoint::Program(program) = &mut self.endpoint {
            program.inherited.retain(|name, _| name != variable);
            self.inherits.withheld.push(variable.to_owned());
        }
        self
    }

    /// The globs over variables that its program inherits beside those of every program; for
    /// [`InheritedNames::new`].
    pub fn inherit(&self) -> &[String] {
        &self.inherits.globs
    }

    /// The variables that its program would inherit, were they not withheld.
    pub fn withheld(&self) -> impl Iterator<Item = &str> {
        let wanted = Globs::new(&self.inherits.globs, |_, _| {});
        self.inherits.withheld.iter().map(String::as_str).filter(move |name| wanted.is_match(name))
    }

    /// Whether its program is handed this variable by `inherit`, and the name tells of a secret.
    pub fn inherits_secret(&self, name: &str, text: &str) -> bool {
        let Endpoint::Program(_) = &self.endpoint else { return false };
        named::sounds_secret(name)
            && !named::is_setting(text)
            && !named::is_path(text)
            && Globs::new(&self.inherits.globs, |_, _| {}).is_match(name)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::Config;

    const MINE: &[(&str, &str)] = &[("PATH", "/bin"), ("AWS_PROFILE", "mine0"), ("KEY", "k"), ("OTHER", "o")];

    fn settings(variables: &[(&str, &str)], current_dir: &str, withheld: &str) -> Settings {
        let inherit = vec!["AWS_*".to_owned(), "KEY".to_owned()];
        let table = Config { command: Some("x".to_owned()), inherit, ..Config::default() };
        let settled = table.settle("it", Duration::from_secs(1), &|_| unreachable!("no reference"));
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        settled.expect("sound").inheriting(&variables, Path::new(current_dir)).withholding(withheld)
    }

    fn shown(settings: &Settings) -> String {
        let inherited = &settings.program().expect("a program").inherited;
        let pairs = inherited.iter().map(|(name, value)| format!("{}={}", name.display(), value.display()));
        pairs.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_program_inherits_what_its_table_names_and_nothing_that_is_withheld() {
        assert_eq!(shown(&settings(MINE, "/", "NONE")), "AWS_PROFILE=mine0 KEY=k PATH=/bin");
        let withheld = settings(MINE, "/", "KEY");
        assert_eq!(shown(&withheld), "AWS_PROFILE=mine0 PATH=/bin");
        // Once more, as after a reload.
        let variables = MINE.iter().map(|(name, value)| (name.into(), value.into())).collect();
        assert_eq!(shown(&withheld.inheriting(&variables, Path::new("/"))), "AWS_PROFILE=mine0 PATH=/bin");
        assert!(!format!("{:?}", settings(MINE, "/", "NONE")).contains("mine0"));
    }

    /// Pins and remembered definitions are kept under these, and an update must not lose them.
    #[test]
    fn a_server_is_known_as_it_always_was() {
        let table: Config =
            toml::from_str("command = 'npx'\nargs = ['-y', 'server']\nenv.KEY = 'k3y'\ninherit = ['AWS_*']")
                .expect("a table");
        let settled = table.settle("it", Duration::from_secs(1), &|_| unreachable!("no reference"));
        let settings = settled.expect("sound").inheriting(&Variables::new(), Path::new("/work"));
        let fingerprint = "b30b6ed57d5079601dc6bff560a4e61c41557aa04987a5deb28b3cddcfc64696";
        let trusted = "1cab7458354adfba24cbc7cdbbaa3f81be936fc612af369e3c35cd6fc7fcd5bc";
        assert_eq!(
            (settings.fingerprint(), settings.trust_key()),
            (fingerprint.into(), format!("it/{trusted}"))
        );
    }

    #[test]
    fn another_value_is_another_server_and_what_it_does_not_see_is_none() {
        let mine = settings(MINE, "/", "NONE");
        let with = |name: &'static str, value: &'static str| {
            let mut variables = MINE.to_vec();
            variables.push((name, value));
            settings(&variables, "/elsewhere", "NONE")
        };
        for (name, value, is_same) in [
            ("AWS_PROFILE", "you", false),
            ("AWS_REGION", "eu", false),
            ("PATH", "/bin:/usr/bin", false),
            ("OTHER", "p", true),
            ("NEW", "n", true),
        ] {
            assert_eq!(mine.same_as(&with(name, value)), is_same, "{name}");
            // What is remembered of it goes by its table and the folder, as ever.
            assert_eq!(mine.trust_key(), with(name, value).trust_key());
            assert_eq!(with("A", "a").fingerprint(), with(name, value).fingerprint());
            assert_ne!(mine.fingerprint(), with(name, value).fingerprint());
        }
        assert!(!mine.same_as(&settings(&MINE[..2], "/", "NONE")));
    }
}
