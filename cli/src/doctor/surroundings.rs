//! Checks of what stands around the process: kernel, container, security modules.

use super::finding::Finding;
use super::machine::Machine;
use super::trial::Trial;
use crate::terminal::printable;
use jeshim_host::machine;

pub(super) fn kernel(machine: &Machine) -> Finding {
    let release = match machine.text("/proc/sys/kernel/osrelease") {
        Ok(release) => release,
        Err(error) => return Finding::unknown(error),
    };
    let shown = printable(&release);
    // WSL 1 says "4.4.0-19041-Microsoft", WSL 2 "5.15.90.1-microsoft-standard-WSL2".
    let finding = if release.ends_with("-Microsoft") {
        Finding::note(format!("{shown}: WSL 1 imitates Linux, and jeshim was not tried on it"))
            .remedy("in Windows: wsl --set-version DISTRIBUTION 2")
    } else {
        Finding::ok(format!("Linux {shown}"))
    };
    finding.fact("release", release)
}

pub(super) fn container(machine: &Machine) -> Finding {
    let by_file = [("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman")];
    let mut found = by_file.iter().find(|(file, _)| machine.has(file)).map(|(file, name)| format!("{name}, by {file}"));
    if found.is_none() {
        let groups = machine.text("/proc/self/cgroup").unwrap_or_default();
        let names = ["kubepods", "docker", "containerd", "libpod", "lxc"];
        let name = names.iter().find(|name| groups.contains(*name));
        found = name.map(|name| format!("{name}, by /proc/self/cgroup"));
    }
    if found.is_none() {
        found = machine.text("/run/systemd/container").ok().map(|name| format!("{name}, by /run/systemd/container"));
    }
    if found.is_none() {
        found = machine.variable("container").map(|name| format!("{}, by its variable 'container'", printable(name)));
    }
    match found {
        Some(found) => Finding::ok(format!("in a container ({})", printable(&found))).fact("container", true),
        None => Finding::ok("no sign of a container").fact("container", false),
    }
}

pub(super) fn security_module(machine: &Machine) -> Finding {
    if machine.number("/sys/fs/selinux/enforce").is_ok_and(|enforce| enforce == 1) {
        let path = machine.library.as_ref().map(|library| printable(&library.path));
        let path = path.unwrap_or_else(|_| "PATH".to_owned());
        return Finding::note("SELinux enforces: confined services load a library only when its label allows it")
            .remedy(format!("label it as one: chcon -t lib_t {path}"))
            .fact("module", "selinux");
    }
    if machine.text("/sys/module/apparmor/parameters/enabled").is_ok_and(|enabled| enabled == "Y") {
        let profile = machine.text("/proc/self/attr/current").unwrap_or_default();
        let own = match profile.as_str() {
            "" | "unconfined" => String::new(),
            profile => format!(" (this process: {})", printable(profile)),
        };
        return Finding::note(format!("AppArmor is on{own}: a program with a profile loads only what that allows"))
            .remedy("put the library below /usr/lib, which the usual profiles allow, or allow its path in the profile")
            .fact("module", "apparmor");
    }
    Finding::ok("neither SELinux nor AppArmor is in the way").fact("module", serde_json::Value::Null)
}

pub(super) fn sandbox(machine: &Machine) -> Finding {
    let confinement = match machine::confinement(&machine.root) {
        Ok(confinement) => confinement,
        Err(error) => return Finding::unknown(format!("/proc/self/status: {error}")),
    };
    let mut says = Vec::new();
    let tried = matches!(machine.trial, Trial::Recorded { .. });
    if confinement.seccomp.is_some_and(|mode| mode != 0) {
        let outcome = if tried { "the test program ran under it" } else { "it may be in the way" };
        says.push(format!("a seccomp filter is on, and {outcome}"));
    }
    if confinement.no_new_privileges {
        says.push("no_new_privs is on: setuid programs gain no rights here, and so take LD_PRELOAD".to_owned());
    }
    let finding = if says.is_empty() {
        Finding::ok("neither a seccomp filter nor no_new_privs is on")
    } else {
        Finding::note(says.join(", and "))
    };
    finding.fact("seccomp", confinement.seccomp).fact("no_new_privs", confinement.no_new_privileges)
}
