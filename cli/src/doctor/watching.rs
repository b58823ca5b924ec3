//! Checks of what `jeshim check` needs to look at other processes.

use super::finding::Finding;
use super::machine::{Machine, cause};
use jeshim_host::machine;
use jeshim_host::watch::Watch;
use std::path::Path;

pub(super) fn tracing(machine: &Machine) -> Finding {
    let scope = match machine.number("/proc/sys/kernel/yama/ptrace_scope") {
        Ok(scope) => scope,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Finding::ok("no Yama: 'jeshim check --pid' can read the processes of this user")
                .fact("ptrace_scope", serde_json::Value::Null);
        }
        Err(error) => return Finding::unknown(error),
    };
    let may_trace_all = machine::confinement(&machine.root).is_ok_and(|confinement| confinement.may_trace_all);
    let says = format!("kernel.yama.ptrace_scope is {scope}");
    let finding = match scope {
        0 => Finding::ok(format!("{says}: 'jeshim check --pid' can read the processes of this user")),
        1 | 2 if may_trace_all => Finding::ok(format!("{says}, and this user may trace every process")),
        1 | 2 => {
            Finding::note(format!("{says}: 'jeshim check --pid' cannot read processes that were started elsewhere"))
                .remedy("run that as root (sudo jeshim check --pid PID), or as root: sysctl kernel.yama.ptrace_scope=0")
        }
        _ => Finding::note(format!("{says}: 'jeshim check --pid' cannot read any other process"))
            .remedy("set kernel.yama.ptrace_scope to less in /etc/sysctl.d, and reboot: 3 stays until then"),
    };
    finding.fact("ptrace_scope", scope)
}

pub(super) fn perf_events(machine: &Machine) -> Finding {
    let paranoid = machine.number("/proc/sys/kernel/perf_event_paranoid").ok();
    // Any path: nothing is started that could map it.
    let watch = Watch::begin(Path::new("/"));
    let finding = match watch.refusal() {
        None => Finding::ok("'jeshim check' is told by the kernel of every process that a program starts"),
        Some(error) => {
            let strict = paranoid.filter(|level| *level > 2);
            let level = strict.map_or(String::new(), |level| format!(", kernel.perf_event_paranoid is {level}"));
            let finding = Finding::note(format!(
                "perf_event_open is not allowed ({}{level}): 'jeshim check' looks for processes in /proc, and can miss one \
                 that lives for milliseconds",
                cause(error)
            ));
            match strict {
                Some(_) => finding.remedy("run it as root, or as root: sysctl kernel.perf_event_paranoid=2"),
                None => finding.remedy("run it as root; in a container with docker run --cap-add PERFMON"),
            }
        }
    };
    finding.fact("perf_event_paranoid", paranoid)
}
