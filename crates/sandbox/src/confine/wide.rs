//! Folders that hold more than one program should get only because it was started in them, or names them.

use std::path::Path;

use super::homes;

/// How much of a folder may be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum May {
    /// It, and what is in it.
    All,
    /// What is in it, but not all of it.
    Inside,
    /// Neither.
    Nothing,
}

/// A folder: how much of it may be a workspace, how much a server sees that names it, and what it is.
type Row = (&'static str, May, May, &'static str);

const SYSTEM: &str = "it belongs to the system";
const MACHINE: &str = "it belongs to the machine";
const MANY: &str = "it holds far more than one program needs";

const FOLDERS: [Row; 24] = [
    ("/", May::Inside, May::Inside, MANY),
    ("/bin", May::Nothing, May::All, SYSTEM),
    ("/boot", May::Nothing, May::Nothing, MACHINE),
    ("/dev", May::Nothing, May::Nothing, MACHINE),
    ("/etc", May::Nothing, May::Inside, SYSTEM),
    ("/home", May::Inside, May::Inside, MANY),
    ("/lib", May::Nothing, May::All, SYSTEM),
    ("/lib32", May::Nothing, May::All, SYSTEM),
    ("/lib64", May::Nothing, May::All, SYSTEM),
    ("/media", May::Inside, May::Inside, MANY),
    ("/mnt", May::Inside, May::Inside, MANY),
    ("/nix", May::Nothing, May::All, SYSTEM),
    // A server sees it anyway: tool chains lie there.
    ("/opt", May::Inside, May::All, MANY),
    ("/proc", May::Nothing, May::Nothing, MACHINE),
    ("/root", May::Inside, May::Inside, MANY),
    // It holds sockets.
    ("/run", May::Nothing, May::Nothing, MACHINE),
    ("/srv", May::Inside, May::Inside, MANY),
    ("/sys", May::Nothing, May::Nothing, MACHINE),
    ("/tmp", May::Inside, May::Inside, MANY),
    ("/usr", May::Nothing, May::All, SYSTEM),
    ("/var", May::Inside, May::Inside, MANY),
    ("/var/lib", May::Inside, May::Inside, MANY),
    ("/var/run", May::Nothing, May::Nothing, MACHINE),
    ("/var/tmp", May::Inside, May::Inside, MANY),
];

const HOME: &str = "it is the home folder, or holds it";

/// Why a folder cannot be a workspace, if so. Both paths are without links.
pub(super) fn no_workspace(folder: &Path, home: Option<&Path>) -> Option<&'static str> {
    let of_others = || homes::of(folder).iter().any(|home| home.starts_with(folder)).then_some(HOME);
    find(folder, home, |(_, may, ..)| may).or_else(of_others)
}

/// Why a server does not see a folder only because it is named, if so. Both paths are without links.
pub(super) fn not_shown(folder: &Path, home: Option<&Path>) -> Option<&'static str> {
    find(folder, home, |(_, _, may, _)| may)
}

fn find(folder: &Path, home: Option<&Path>, may: fn(Row) -> May) -> Option<&'static str> {
    let is_kept = |row: &Row| match may(*row) {
        May::All => false,
        May::Inside => folder == Path::new(row.0),
        May::Nothing => folder.starts_with(row.0),
    };
    let row = FOLDERS.iter().find(|row| is_kept(row));
    let is_home = home.is_some_and(|home| home.starts_with(folder));
    row.map(|row| row.3).or(is_home.then_some(HOME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, is_workspace: bool, is_shown: bool) {
        let (path, home) = (Path::new(path), Some(Path::new("/data/me")));
        let found = (no_workspace(path, home).is_none(), not_shown(path, home).is_none());
        assert_eq!(found, (is_workspace, is_shown), "{}", path.display());
    }

    #[test]
    fn a_folder_of_one_project_is_had() {
        for path in ["/data/me/project", "/srv/data", "/tmp/x", "/var/lib/app", "/opt/tool", "/mnt/x"] {
            check(path, true, true);
        }
    }

    #[test]
    fn a_folder_that_holds_more_is_not() {
        for path in ["/", "/data", "/data/me", "/home", "/root", "/tmp", "/var", "/var/lib", "/var/tmp"] {
            check(path, false, false);
        }
        for path in ["/boot", "/dev/shm", "/proc/self", "/run/user/1000", "/sys/class", "/var/run/x"] {
            check(path, false, false);
        }
    }

    #[test]
    fn what_programs_read_anyway_is_no_workspace() {
        for path in ["/bin", "/usr", "/usr/share", "/lib64", "/nix/store", "/opt"] {
            check(path, false, true);
        }
        // All of it is not read, and what is in it no workspace.
        check("/etc", false, false);
        check("/etc/app", false, true);
    }

    #[test]
    fn a_name_that_begins_alike_is_another_folder() {
        check("/runner", true, true);
        check("/etcetera", true, true);
        check("/data/me2", true, true);
    }
}
