//! Programs that execute what their arguments name: which argument that is, and what becomes of the environment.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// A program that executes another one.
struct Wrapper {
    names: &'static [&'static str],
    /// Short options that take a value.
    short: &'static str,
    /// Long options that take a value, in the next argument when there is no `=`.
    long: &'static [&'static str],
    /// Short options with which no program is executed.
    none: &'static str,
    /// Arguments in front of the program: a duration, a priority.
    operands: usize,
    does: Does,
}

/// What becomes of the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    /// It is passed on.
    Passes,
    /// It is passed on, to a program that sees other files.
    Elsewhere,
    /// It is made anew; why, in a clause that goes on after the name.
    Clears(&'static str),
    /// It is made anew when one of these options is there, given by their names without dashes.
    ClearsWith(&'static [&'static str], &'static str),
    /// The program is started by somebody else, or inside of something.
    Outside(&'static str, &'static str),
    /// Memory is served by the wrapper.
    Valgrind,
}

const PLAIN: Wrapper = Wrapper { names: &[], short: "", long: &[], none: "", operands: 0, does: Does::Passes };
const SUDO: &str = "makes the environment anew, without LD_PRELOAD";

const WRAPPERS: &[Wrapper] = &[
    Wrapper { names: &["nice"], short: "n", long: &["adjustment"], ..PLAIN },
    Wrapper { names: &["nohup", "eatmydata", "catchsegv", "dbus-run-session"], ..PLAIN },
    Wrapper { names: &["timeout"], short: "ks", long: &["kill-after", "signal"], operands: 1, ..PLAIN },
    Wrapper { names: &["setsid"], ..PLAIN },
    Wrapper { names: &["stdbuf"], short: "ioe", long: &["input", "output", "error"], ..PLAIN },
    Wrapper { names: &["time"], short: "fo", long: &["format", "output"], ..PLAIN },
    Wrapper {
        names: &["chrt"],
        short: "TPD",
        long: &["sched-runtime", "sched-period", "sched-deadline"],
        none: "pm",
        operands: 1,
        ..PLAIN
    },
    Wrapper { names: &["taskset"], none: "p", operands: 1, ..PLAIN },
    Wrapper { names: &["ionice"], short: "cn", long: &["class", "classdata"], none: "pPu", ..PLAIN },
    Wrapper {
        names: &["setpriv"],
        long: &[
            "ambient-caps",
            "inh-caps",
            "bounding-set",
            "ruid",
            "euid",
            "rgid",
            "egid",
            "reuid",
            "regid",
            "groups",
            "securebits",
            "pdeathsig",
            "selinux-label",
            "apparmor-profile",
            "landlock-access",
            "landlock-rule",
        ],
        none: "d",
        does: Does::ClearsWith(&["reset-env"], "makes the environment anew with --reset-env"),
        ..PLAIN
    },
    Wrapper { names: &["setarch"], operands: 1, ..PLAIN },
    Wrapper { names: &["linux32", "linux64", "i386", "x86_64", "uname26"], ..PLAIN },
    Wrapper {
        names: &["unshare"],
        short: "RwSG",
        long: &[
            "propagation",
            "setgroups",
            "map-user",
            "map-group",
            "map-users",
            "map-groups",
            "root",
            "wd",
            "setuid",
            "setgid",
        ],
        ..PLAIN
    },
    Wrapper { names: &["prlimit"], none: "p", ..PLAIN },
    Wrapper { names: &["flock"], short: "wE", long: &["wait", "timeout", "conflict-exit-code"], operands: 1, ..PLAIN },
    Wrapper { names: &["strace", "ltrace"], short: "eopaPEbIOSsuUX", none: "c", ..PLAIN },
    Wrapper {
        names: &["xvfb-run"],
        short: "efnpsw",
        long: &["error-file", "auth-file", "server-num", "xauth-protocol", "server-args", "wait"],
        ..PLAIN
    },
    Wrapper { names: &["tini"], short: "pe", ..PLAIN },
    Wrapper { names: &["dumb-init"], short: "r", long: &["rewrite"], ..PLAIN },
    Wrapper { names: &["gosu", "su-exec"], operands: 1, ..PLAIN },
    Wrapper { names: &["chroot"], long: &["userspec", "groups"], operands: 1, does: Does::Elsewhere, ..PLAIN },
    Wrapper {
        names: &["nsenter"],
        short: "tSG",
        long: &["target", "setuid", "setgid"],
        does: Does::Elsewhere,
        ..PLAIN
    },
    Wrapper { names: &["bwrap", "firejail"], none: "*", does: Does::Elsewhere, ..PLAIN },
    Wrapper {
        names: &["sudo", "sudo-rs"],
        short: "ughpCrtTUDR",
        long: &[
            "user",
            "group",
            "host",
            "prompt",
            "close-from",
            "role",
            "type",
            "command-timeout",
            "other-user",
            "chdir",
            "chroot",
        ],
        does: Does::Clears(SUDO),
        ..PLAIN
    },
    Wrapper { names: &["doas"], short: "uC", does: Does::Clears(SUDO), ..PLAIN },
    Wrapper { names: &["pkexec"], long: &["user"], does: Does::Clears(SUDO), ..PLAIN },
    Wrapper {
        names: &["systemd-run", "run0"],
        none: "*",
        does: Does::Clears("has the program started by systemd"),
        ..PLAIN
    },
    Wrapper {
        names: &["ssh", "crontab", "at", "batch"],
        none: "*",
        does: Does::Clears("has the program started by a server"),
        ..PLAIN
    },
    Wrapper {
        names: &["su", "runuser"],
        none: "*",
        does: Does::ClearsWith(&["", "l", "login"], "makes the environment anew for a login"),
        ..PLAIN
    },
    Wrapper { names: &["flatpak"], none: "*", does: Does::Outside("flatpak", "flatpak override --env"), ..PLAIN },
    Wrapper { names: &["snap"], none: "*", does: Does::Outside("snap", "a package that is not a snap"), ..PLAIN },
    Wrapper {
        names: &["docker", "podman", "nerdctl", "buildah", "kubectl", "lxc", "lxc-execute", "lxc-attach", "machinectl"],
        none: "*",
        does: Does::Outside("container", "jeshim env --format docker"),
        ..PLAIN
    },
    Wrapper { names: &["valgrind", "valgrind.bin"], none: "*", does: Does::Valgrind, ..PLAIN },
];

/// What a wrapper was told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrapped {
    /// The program and its arguments; empty when it executes none, or it cannot be told.
    pub(super) command: Vec<OsString>,
    pub(super) does: Does,
}

/// What is asked of those that start programs elsewhere, among much else.
const STARTS: &[&str] = &["run", "exec", "start", "create", "shell", "compose", "up"];

/// The dynamic linker, called as a program.
const LINKER_OPTIONS: &[&str] =
    &["library-path", "inhibit-rpath", "audit", "preload", "argv0", "glibc-hwcaps-prepend", "glibc-hwcaps-mask"];

/// What a program of this name would execute; `None` for a program that is no wrapper.
pub(super) fn unwrap(name: &str, arguments: &[OsString]) -> Option<Wrapped> {
    if is_linker(name) {
        let linker = Wrapper { long: LINKER_OPTIONS, ..PLAIN };
        return Some(Wrapped { command: rest(&linker, arguments), does: Does::Passes });
    }
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name))?;
    let has = |names: &[&str]| {
        // Not "--" itself, and nothing behind it: that is the program's.
        let own = arguments.iter().take_while(|argument| *argument != "--");
        let options = own.filter_map(|argument| argument.to_str()?.strip_prefix('-'));
        options.map(|option| option.strip_prefix('-').unwrap_or(option)).any(|option| names.contains(&option))
    };
    let does = match wrapper.does {
        Does::ClearsWith(names, why) if has(names) => Does::Clears(why),
        Does::ClearsWith(..) => Does::Passes,
        does => does,
    };
    let command = rest(wrapper, arguments);
    // `sudo --version`, `docker images`: it does what it does itself.
    let words = || arguments.iter().filter_map(|argument| argument.to_str()).filter(|word| !word.starts_with('-'));
    let starts = match does {
        Does::Outside(..) => words().next().is_some_and(|verb| STARTS.contains(&verb)),
        _ if wrapper.none == "*" => {
            words().next().is_some() || matches!(does, Does::Clears(_)) && has(&["", "l", "login"])
        }
        _ => !command.is_empty(),
    };
    starts.then_some(Wrapped { command, does })
}

/// `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`, `ld-2.31.so`.
pub(super) fn is_linker(name: &str) -> bool {
    name == "ld.so" || (name.starts_with("ld-") && name.contains(".so")) || name.starts_with("ld64.so")
}

/// The arguments from the program on.
fn rest(wrapper: &Wrapper, arguments: &[OsString]) -> Vec<OsString> {
    if wrapper.none == "*" {
        return Vec::new();
    }
    let mut at = 0;
    // setarch takes the architecture first, and may be without one.
    let mut operands = wrapper.operands;
    if wrapper.names == ["setarch"] {
        let is_option = arguments.first().is_some_and(|argument| argument.as_bytes().starts_with(b"-"));
        (at, operands) = (usize::from(!is_option), 0);
    }
    while let Some(argument) = arguments.get(at).map(|argument| argument.as_bytes()) {
        at += 1;
        if argument == b"--" {
            break;
        } else if let Some(long) = argument.strip_prefix(b"--") {
            if wrapper.long.iter().any(|name| name.as_bytes() == long) {
                at += 1;
            }
        } else if let Some(cluster) = argument.strip_prefix(b"-").filter(|cluster| !cluster.is_empty()) {
            if cluster.iter().any(|letter| wrapper.none.as_bytes().contains(letter)) {
                return Vec::new();
            }
            let value = cluster.iter().position(|letter| wrapper.short.as_bytes().contains(letter));
            // The value is the rest of this argument, or the next one.
            if value == Some(cluster.len() - 1) {
                at += 1;
            }
        } else {
            at -= 1;
            break;
        }
    }
    at += operands;
    // sudo takes variables before the program.
    while matches!(wrapper.does, Does::Clears(_)) && arguments.get(at).is_some_and(|one| one.as_bytes().contains(&b'='))
    {
        at += 1;
    }
    arguments.get(at..).unwrap_or_default().to_vec()
}

/// What `busybox APPLET …` comes to: the applet's name and arguments.
pub(super) fn applet<'a>(name: &str, arguments: &'a [OsString]) -> Option<(&'a OsStr, &'a [OsString])> {
    let (applet, arguments) = arguments.split_first()?;
    matches!(name, "busybox" | "toybox" | "coreutils").then_some((applet.as_os_str(), arguments))
}

/// Splits bytes into an argument; not every argument is text.
pub(super) fn argument(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Vec<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let wrapped = unwrap(words[0].to_str().expect("text"), &words[1..]).expect("a wrapper");
        wrapped.command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn does(line: &str) -> Does {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        unwrap(words[0].to_str().expect("text"), &words[1..]).expect("a wrapper").does
    }

    #[test]
    fn the_program_is_found_behind_the_options_of_its_wrapper() {
        for line in [
            "nice prog -x",
            "nice -n 5 prog -x",
            "nice -n5 prog -x",
            "nice -5 prog -x",
            "nice --adjustment 5 prog -x",
            "nice --adjustment=5 prog -x",
            "nohup prog -x",
            "timeout -k 5 10 prog -x",
            "timeout --foreground -s KILL 10s prog -x",
            "setsid -cfw prog -x",
            "stdbuf -oL -e 0 prog -x",
            "time -f %e -o file prog -x",
            "chrt -f 5 prog -x",
            "taskset -c 0-1 prog -x",
            "ionice -c 2 -n7 prog -x",
            "setpriv --reuid=1 --regid 1 --clear-groups prog -x",
            "setarch x86_64 -R prog -x",
            "setarch -R prog -x",
            "unshare -r -R /root prog -x",
            "sudo -u nobody A=1 B=2 prog -x",
            "sudo -nu nobody -- prog -x",
            "xvfb-run -a -s text prog -x",
            "ld-linux-x86-64.so.2 --library-path /lib --argv0 name prog -x",
            "tini -g -p SIGTERM -- prog -x",
            "chroot --userspec=1:1 /root prog -x",
        ] {
            assert_eq!(command(line), ["prog", "-x"], "{line}");
        }
        assert_eq!(command("docker run image prog"), [""; 0]);
        for line in [
            "cat",
            "nice",
            "nice -n",
            "timeout 5",
            "chrt -p 1",
            "taskset -cp 0 1",
            "ssh -V",
            "sudo -V",
            "docker images",
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(unwrap(line.split(' ').next().unwrap_or_default(), &words[1..]), None, "{line}");
        }
    }

    #[test]
    fn who_clears_the_environment_is_known() {
        assert!(matches!(does("sudo -E prog"), Does::Clears(_)));
        assert!(matches!(does("su - user"), Does::Clears(_)));
        assert!(matches!(does("runuser -l user"), Does::Clears(_)));
        assert!(matches!(does("setpriv --reset-env prog"), Does::Clears(_)));
        assert_eq!(does("su user -c prog"), Does::Passes);
        assert_eq!(does("setpriv --nnp prog"), Does::Passes);
        assert_eq!(does("nice prog"), Does::Passes);
    }
}
