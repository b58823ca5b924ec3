//! `jeshim doctor` on machines that are laid out as files.

use crate::harness::{library, scratch};
use jeshim_cli::doctor::finding::State;
use jeshim_cli::doctor::machine::Machine;
use jeshim_cli::doctor::trial::Trial;
use jeshim_cli::doctor::{CHECKS, examine};
use jeshim_cli::library::{Library, System};
use jeshim_host::machine::CLibrary;
use serde_json::json;
use std::path::PathBuf;

const STATUS: &str = "Name:\tx\nUmask:\t0022\nState:\tR (running)\nTgid:\t1\nPid:\t1\nPPid:\t0\nTracerPid:\t0\n\
    Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\nFDSize:\t64\nGroups:\t \nThreads:\t1\nSigQ:\t0/1\nSigPnd:\t0\nShdPnd:\t0\n\
    SigBlk:\t0\nSigIgn:\t0\nSigCgt:\t0\nCapInh:\t0\nCapPrm:\t0\nCapEff:\tCAPS\nCapBnd:\t0\nCapAmb:\t0\n\
    NoNewPrivs:\t0\nSeccomp:\t0\nCpus_allowed_list:\t0-7\n";

struct Elsewhere(Machine);

/// A machine with these files; a name that ends in "@" is a symbolic link.
fn elsewhere(files: &[(&str, &str)]) -> Elsewhere {
    let root = scratch("doctor-root");
    for (name, text) in files {
        let path = root.join(name.trim_start_matches('/').trim_end_matches('@'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if name.ends_with('@') {
            std::os::unix::fs::symlink(text, path).unwrap();
        } else {
            std::fs::write(path, text).unwrap();
        }
    }
    Elsewhere(Machine {
        root,
        variables: Vec::new(),
        library: Ok(Library::read(&library()).unwrap()),
        trial: Trial::NotTried("nobody tried".to_owned()),
        page_size: 4096,
        c_library: CLibrary::Glibc(2, 36),
    })
}

impl Elsewhere {
    fn recorded(mut self, record: serde_json::Value) -> Elsewhere {
        self.0.trial = Trial::Recorded { program: PathBuf::from("/test"), record };
        self
    }

    #[track_caller]
    fn says(self, id: &str, state: State, parts: &[&str]) -> Elsewhere {
        let answers = examine(&self.0);
        let finding = &answers.iter().find(|answer| answer.check.id == id).unwrap().finding;
        let said = format!("{}; {}", finding.message, finding.remedy.as_deref().unwrap_or("none"));
        assert_eq!(finding.state, state, "{id}: {said}");
        for part in parts {
            assert!(said.contains(part), "{id} is not {part:?} but {said:?}");
        }
        self
    }
}

#[test]
fn what_cannot_be_read_is_unknown_and_no_problem() {
    let answers = examine(&elsewhere(&[]).0);
    assert_eq!(answers.len(), CHECKS.len());
    for answer in answers {
        assert!(answer.finding.state != State::Problem, "{answer:?}");
    }
    elsewhere(&[])
        .says("huge_pages", State::Unknown, &["could not tell: /sys/kernel/mm/transparent_hugepage/enabled: No such"])
        .says("overcommit", State::Unknown, &["/proc/sys/vm/overcommit_memory"])
        .says("swap", State::Unknown, &["/proc/meminfo"])
        .says("cgroup_cpu", State::Unknown, &["/proc/self/cgroup"])
        .says("kernel", State::Unknown, &["osrelease"]);
}

#[test]
fn nonsense_is_unknown_and_no_problem() {
    for nonsense in
        ["", "\n", "\u{0}\u{ff}", "[", "-1 -1 -1", "99999999999999999999999", "a:b:c", "0::/../../..\n1:cpu:x"]
    {
        let files = [
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "/sys/kernel/mm/transparent_hugepage/defrag",
            "/proc/sys/vm/overcommit_memory",
            "/proc/sys/vm/max_map_count",
            "/proc/meminfo",
            "/proc/self/status",
            "/proc/self/cgroup",
            "/sys/fs/cgroup/memory.max",
            "/sys/fs/cgroup/cpu.max",
            "/sys/devices/system/cpu/online",
            "/proc/sys/kernel/yama/ptrace_scope",
            "/etc/ld.so.cache",
            "/sys/fs/selinux/enforce",
        ];
        let files = files.map(|file| (file, nonsense));
        for answer in examine(&elsewhere(&files).0) {
            assert!(answer.finding.state != State::Problem, "{nonsense:?}: {answer:?}");
        }
    }
}

#[test]
fn a_pipe_in_place_of_a_file_does_not_hold_it_up() {
    let machine = elsewhere(&[("/etc/nothing", "")]);
    let made = std::process::Command::new("mkfifo").arg(machine.0.root.join("etc/ld.so.preload")).status().unwrap();
    assert!(made.success());
    machine.says("ld_so_preload", State::Unknown, &["/etc/ld.so.preload is not a regular file"]);
}

#[test]
fn huge_pages() {
    let enabled = "/sys/kernel/mm/transparent_hugepage/enabled";
    let defrag = "/sys/kernel/mm/transparent_hugepage/defrag";
    elsewhere(&[(enabled, "[always] madvise never\n"), (defrag, "[always] defer madvise never\n")])
        .says("huge_pages", State::Note, &["'always'", "MALLOC_CONF=thp:never"])
        .says("huge_pages_defrag", State::Note, &["echo madvise >"]);
    elsewhere(&[(enabled, "always [madvise] never\n"), (defrag, "[always] defer madvise never\n")])
        .says("huge_pages", State::Ok, &["only with thp:always"])
        .says("huge_pages_defrag", State::Ok, &["'always'"]);
    elsewhere(&[(enabled, "always madvise [never]\n")]).says("huge_pages", State::Ok, &["no effect"]);
}

fn meminfo(limit: u64, committed: u64) -> String {
    let names = "MemFree Buffers Cached SwapCached Active Inactive SwapFree Dirty Writeback Mapped Slab \
        VmallocTotal VmallocUsed VmallocChunk";
    let others: String = names.split_whitespace().map(|name| format!("{name}: 0 kB\n")).collect();
    format!("MemTotal: 8388608 kB\nSwapTotal: 1024 kB\nCommitLimit: {limit} kB\nCommitted_AS: {committed} kB\n{others}")
}

#[test]
fn overcommit_is_a_problem_when_little_is_left() {
    let with = |mode: &str, committed| {
        elsewhere(&[("/proc/sys/vm/overcommit_memory", mode), ("/proc/meminfo", &meminfo(4_194_304, committed))])
    };
    with("0", 0).says("overcommit", State::Ok, &[]);
    with("1", 0).says("overcommit", State::Ok, &[]);
    with("2", 4_194_304 - 102_400).says("overcommit", State::Problem, &["100.00 MiB are left", "overcommit_memory=0"]);
    with("2", 4_294_967_295).says("overcommit", State::Problem, &["0 B are left"]);
    with("2", 1024).says("overcommit", State::Note, &["reaches 4.00 GiB"]);
    with("0", 0).says("swap", State::Ok, &["8.00 GiB of memory, 1.00 MiB of swap"]);
    elsewhere(&[("/proc/sys/vm/max_map_count", "1000")]).says("max_map_count", State::Note, &["=65530"]);
}

#[test]
fn the_tightest_limit_on_memory_counts() {
    let meminfo = meminfo(0, 0);
    let v2 = [
        ("/proc/self/cgroup", "0::/pods/one\n"),
        ("/sys/fs/cgroup/pods/one/memory.max", "1073741824\n"),
        ("/sys/fs/cgroup/pods/memory.max", "536870912\n"),
        ("/sys/fs/cgroup/memory.max", "max\n"),
        ("/proc/meminfo", &meminfo),
    ];
    elsewhere(&v2)
        .says("cgroup_memory", State::Note, &["/sys/fs/cgroup/pods limits memory to 512.00 MiB", "dirty_decay_ms:1000"])
        .recorded(json!({"options": {"effective": {"dirty_decay_ms": 10000}}}))
        .says("cgroup_memory", State::Note, &["keeps freed pages for up to 10000 ms"])
        .recorded(json!({"options": {"effective": {"dirty_decay_ms": 0}}}))
        .says("cgroup_memory", State::Ok, &["gives freed pages back at once"]);
    let v1 = "4:memory:/docker/abc\n";
    let unlimited = "9223372036854771712\n";
    let own = "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes";
    let of_container = "/sys/fs/cgroup/memory/memory.limit_in_bytes";
    elsewhere(&[("/proc/self/cgroup", v1), (own, unlimited), ("/proc/meminfo", &meminfo)]).says(
        "cgroup_memory",
        State::Ok,
        &[],
    );
    elsewhere(&[("/proc/self/cgroup", v1), (of_container, "1048576\n"), ("/proc/meminfo", &meminfo)]).says(
        "cgroup_memory",
        State::Note,
        &["/sys/fs/cgroup/memory limits memory to 1.00 MiB"],
    );
}

#[test]
fn a_quota_is_told_with_what_the_library_made_of_it() {
    let status = STATUS.replace("CAPS", "0");
    let files = [
        ("/proc/self/cgroup", "0::/\n"),
        ("/sys/fs/cgroup/cpu.max", "150000 100000\n"),
        ("/proc/self/status", &status),
        ("/sys/devices/system/cpu/online", "0-15\n"),
    ];
    elsewhere(&files)
        .says("cpus", State::Ok, &["8 CPUs of the machine's 16"])
        .says("cgroup_cpu", State::Ok, &["group /sys/fs/cgroup has a quota of 1.50 CPUs"])
        .recorded(json!({"options": {"sources": {"jeshim_defaults": "narenas_ratio:1.00000"}}}))
        .says("cgroup_cpu", State::Ok, &["1.50 CPUs: the library sets narenas_ratio:1.00000"])
        .recorded(json!({"options": {"sources": {"jeshim_defaults": null}}}))
        .says("cgroup_cpu", State::Note, &["did not see it", "MALLOC_CONF=narenas:8"]);
    let v1 = [
        ("/proc/self/cgroup", "5:cpuacct,cpu:/a\n"),
        ("/sys/fs/cgroup/cpuacct,cpu/a/cpu.cfs_quota_us", "1600000\n"),
        ("/sys/fs/cgroup/cpuacct,cpu/a/cpu.cfs_period_us", "100000\n"),
        ("/proc/self/status", &status),
    ];
    elsewhere(&v1).says("cgroup_cpu", State::Ok, &["16.00 CPUs, as many as it may run on"]);
}

#[test]
fn the_file_of_preloads() {
    let file = "/etc/ld.so.preload";
    let ours = library().display().to_string();
    elsewhere(&[(file, "# /nothing.so\n/lib/libx.so\t/lib/liby.so # z\n"), ("/lib/libx.so", "")]).says(
        "ld_so_preload",
        State::Problem,
        &["names /lib/liby.so, which is not there", "take /lib/liby.so out of /etc/ld.so.preload"],
    );
    elsewhere(&[(file, "/usr/$LIB/liby.so\n")]).says("ld_so_preload", State::Ok, &["names /usr/$LIB/liby.so"]);
    elsewhere(&[(file, "  \n# nothing\n")]).says("ld_so_preload", State::Ok, &["names nothing"]);
    let other = "/lib/libjemalloc.so.2";
    let with = |text: &str| elsewhere(&[(file, text), (other, ""), (&ours, "")]);
    with(&ours).says("ld_so_preload", State::Note, &["every program of the machine has it, setuid programs, too"]);
    with(other).says("ld_so_preload", State::Note, &["serves every program that is not run with LD_PRELOAD"]);
    with(&format!("{other} {ours}")).says("ld_so_preload", State::Problem, &["malloc is taken from that"]);
    with(&format!("{ours}:{other}")).says("ld_so_preload", State::Note, &[]);
}

#[test]
fn the_link_of_options() {
    let with = |name, target| elsewhere(&[(name, target)]);
    with("/etc/malloc.conf@", "dirty_decay_ms:5").says("etc_malloc_conf", State::Ok, &["has dirty_decay_ms:5"]);
    with("/etc/malloc.conf@", "dirty_decay:5").says(
        "etc_malloc_conf",
        State::Problem,
        &["/etc/malloc.conf: 'dirty_decay'"],
    );
    with("/etc/malloc.conf", "dirty_decay_ms:5").says(
        "etc_malloc_conf",
        State::Note,
        &["not a symbolic link", "ln -sfn"],
    );
    elsewhere(&[]).says("etc_malloc_conf", State::Ok, &["there is no"]);
}

#[test]
fn other_systems() {
    let musl = [("/lib/ld-musl-x86_64.so.1", "")];
    elsewhere(&musl).says("c_library", State::Problem, &["a system of musl"]);
    let both = [("/lib/ld-musl-x86_64.so.1", ""), ("/lib64/ld-linux-x86-64.so.2", "")];
    elsewhere(&both).says("c_library", State::Ok, &["glibc 2.36", "programs of musl"]);
    let mut old = elsewhere(&[]);
    if let Ok(library) = &mut old.0.library {
        library.target.system = System::Glibc(Some((2, 99)));
    }
    old.says("c_library", State::Problem, &["glibc 2.36 is older than the 2.99"]);
    let mut pages = elsewhere(&[]);
    pages.0.page_size = 65536;
    pages.says("page_size", State::Problem, &["64.00 KiB", "JEMALLOC_SYS_WITH_LG_PAGE=16"]);
    let release = "/proc/sys/kernel/osrelease";
    elsewhere(&[(release, "4.4.0-19041-Microsoft\n")]).says("kernel", State::Note, &["WSL 1"]);
    elsewhere(&[(release, "5.15.90.1-microsoft-standard-WSL2\n")]).says("kernel", State::Ok, &[]);
}

#[test]
fn what_stands_around_the_process() {
    elsewhere(&[("/sys/fs/selinux/enforce", "1")]).says("security_module", State::Note, &["SELinux", "chcon -t lib_t"]);
    elsewhere(&[("/sys/fs/selinux/enforce", "0")]).says("security_module", State::Ok, &[]);
    let apparmor = ("/sys/module/apparmor/parameters/enabled", "Y\n");
    elsewhere(&[apparmor, ("/proc/self/attr/current", "docker-default (enforce)\n")]).says(
        "security_module",
        State::Note,
        &["AppArmor", "docker-default (enforce)"],
    );
    for (file, text, name) in [
        ("/.dockerenv", "", "Docker"),
        ("/run/.containerenv", "", "Podman"),
        ("/proc/self/cgroup", "0::/kubepods/pod1\n", "kubepods"),
        ("/run/systemd/container", "lxc\n", "lxc"),
    ] {
        elsewhere(&[(file, text)]).says("container", State::Ok, &["in a container", name]);
    }
    let scope = "/proc/sys/kernel/yama/ptrace_scope";
    let user = STATUS.replace("CAPS", "0");
    let root = STATUS.replace("CAPS", "1ffffffffff");
    for (value, status, state) in
        [("0", &user, State::Ok), ("1", &user, State::Note), ("1", &root, State::Ok), ("3", &root, State::Note)]
    {
        elsewhere(&[(scope, value), ("/proc/self/status", status)]).says("ptrace", state, &["ptrace_scope is"]);
    }
}
