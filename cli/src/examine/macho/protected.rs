//! Which files System Integrity Protection guards: `/System/Library/Sandbox/rootless.conf` of macOS, as far as it holds
//! programs. By path only; the file's flag `restricted` and its attribute `com.apple.rootless` are seen on a Mac alone.

use std::path::Path;

const PROTECTED: &[&str] = &[
    "/bin",
    "/sbin",
    "/usr",
    "/System",
    "/Library/Apple",
    "/Library/StagedExtensions",
    // A link to /System/Cryptexes since macOS 13.
    "/Applications/Safari.app",
];

/// Below those, where it does not hold.
const FREE: &[&str] = &[
    "/usr/local",
    "/usr/libexec/cups",
    "/usr/share/man",
    "/usr/share/snmp",
    // Where disks are mounted; what is protected among them follows.
    "/System/Volumes",
];

const PROTECTED_VOLUMES: &[&str] = &["/System/Volumes/Preboot/Cryptexes", "/System/Volumes/iSCPreboot"];

/// The volume on which everything lies that is not the system's; its folders appear at the root, too.
const DATA_VOLUME: &str = "/System/Volumes/Data";

/// Whether the file at this path is one that the system protects. The path has to be without symbolic links.
pub(super) fn is_protected(path: &Path) -> bool {
    if let Ok(rest) = path.strip_prefix(DATA_VOLUME) {
        return is_protected(&Path::new("/").join(rest));
    }
    let below = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    below(PROTECTED_VOLUMES) || (below(PROTECTED) && !below(FREE))
}

#[cfg(test)]
mod tests {
    use super::is_protected;
    use std::path::Path;

    #[test]
    fn the_systems_programs_are_protected() {
        for path in [
            "/bin/ls",
            "/sbin/mount",
            "/usr/bin/env",
            "/usr/libexec/path_helper",
            "/usr/sbin/chown",
            "/System/Applications/Calculator.app/Contents/MacOS/Calculator",
            "/System/Volumes/Preboot/Cryptexes/App/System/Applications/Safari.app/Contents/MacOS/Safari",
            "/System/Volumes/Data/usr/bin/env",
            "/Applications/Safari.app/Contents/MacOS/Safari",
            "/Library/Apple/usr/libexec/oah/libRosettaRuntime",
        ] {
            assert!(is_protected(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_users_install_is_not_protected() {
        for path in [
            "/usr/local/bin/python3",
            "/opt/homebrew/bin/python3",
            "/Applications/Firefox.app/Contents/MacOS/firefox",
            "/System/Volumes/Data/usr/local/bin/git",
            "/System/Volumes/Data/Users/me/bin/app",
            "/Users/me/usr/bin/app",
            "/usrlocal/bin/app",
            "/binary/app",
            "/Library/Developer/CommandLineTools/usr/bin/git",
            "bin/ls",
        ] {
            assert!(!is_protected(Path::new(path)), "{path}");
        }
    }
}
