//! Whose home a folder is, whatever `HOME` says: a service often has none, and root many a one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::getuid;

/// Where the machine says whose home is where. What only a directory service knows is not there.
const USERS: &str = "/etc/passwd";

/// Numbers of people begin here; what is below belongs to services, whose home may be a project.
const PERSONS_FROM: u32 = 1000;

/// The home folders, without links, of the user that runs us and of the person who owns `folder`.
pub(super) fn of(folder: &Path) -> Vec<PathBuf> {
    let owner = fs::metadata(folder).ok().map(|meta| meta.uid()).filter(|owner| *owner >= PERSONS_FROM);
    let users = fs::read_to_string(USERS).unwrap_or_default();
    let numbers: Vec<u32> = owner.into_iter().chain([getuid().as_raw()]).collect();
    named(&users, &numbers).filter_map(|home| home.canonicalize().ok()).collect()
}

/// Those that lines of `users` name for one of these numbers.
fn named<'u>(users: &'u str, numbers: &'u [u32]) -> impl Iterator<Item = &'u Path> {
    users.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let number: u32 = fields.nth(2)?.parse().ok()?;
        let home = Path::new(fields.nth(2)?);
        (numbers.contains(&number) && home.is_absolute()).then_some(home)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "root:x:0:0:root:/root:/bin/bash\nme:x:1000:1000:Me,,,:/home/me:/bin/sh\n\
                         again:x:1000:1000::/data/me:/bin/sh\nodd:x:1001:1001::home:/bin/sh\nshort:x:1002\n:::::::\n";

    #[test]
    fn a_home_is_found_by_its_users_number() {
        for (numbers, expected) in [
            (&[0][..], &["/root"][..]),
            (&[1000], &["/home/me", "/data/me"]),
            (&[1000, 0], &["/root", "/home/me", "/data/me"]),
            (&[1001, 1002, 7], &[]),
        ] {
            let found: Vec<_> = named(LINES, numbers).collect();
            assert_eq!(found, expected.iter().map(Path::new).collect::<Vec<_>>(), "{numbers:?}");
        }
    }
}
