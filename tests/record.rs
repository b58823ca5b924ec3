//! The proof record: loaded, bound and served are three facts; it is completed in whatever state the program leaves
//! the process, and it never harms a file or the program.

use crate::harness::time_limit::{plain, preloaded, with_preloads};
use crate::harness::{
    fixture, library, record, recorded, records, scratch, small_allocations, stderr, stdout, succeed,
};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

fn program() -> PathBuf {
    fixture("record_program.c", &[])
}

fn is_root() -> bool {
    stdout(&succeed(plain("id").arg("-u"))) == "0\n"
}

/// Says, past the test harness, which hides what a passing test prints, why something was not tested.
fn skip(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {test}: {reason}");
}

/// A shell as root of a mount namespace of its own; of a user namespace too for those who are not root. `$PROGRAM`,
/// `$PRELOAD` and `$DIR`, an empty folder, are set. `None` when the system does not allow it.
fn shell_in_a_namespace(test: &str, script: &str) -> Option<String> {
    let namespaces: &[&str] = if is_root() { &["--mount"] } else { &["--mount", "--user", "--map-root-user"] };
    let probe = plain("unshare").args(namespaces).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !probe.expect("unshare, of util-linux").status.success() {
        skip(test, "this system lets nobody mount in a namespace");
        return None;
    }
    let mut command = plain("unshare");
    command.args(namespaces).args(["sh", "-e", "-c", script]);
    command.env("PROGRAM", program()).env("DIR", scratch("namespace")).env("PRELOAD", library());
    Some(stdout(&succeed(&mut command)))
}

/// The record that a script has printed after a line "record".
fn printed_record(text: &str) -> (String, Value) {
    let (before, record) = text.split_once("record\n").unwrap_or_else(|| panic!("{text}"));
    (before.to_owned(), serde_json::from_str(record).unwrap_or_else(|error| panic!("{error}: {record}")))
}

fn finished(record: &Value) -> bool {
    record["finished"].as_bool().unwrap_or_else(|| panic!("{record:#}"))
}

fn number(record: &Value, name: &str) -> u64 {
    record["served"][name].as_u64().unwrap_or_else(|| panic!("{name}: {record:#}"))
}

// What it says.

#[test]
fn loaded_bound_and_served() {
    let program = program();
    let (output, record) = recorded(preloaded(&program).args(["allocate", "1000", "100"]));
    assert!(output.status.success() && output.stderr.is_empty());
    assert_eq!((&record["record"], &record["forked"], finished(&record)), (&Value::from(1), &Value::Bool(false), true));
    assert_eq!(Path::new(record["program"].as_str().expect("a path")), program);
    assert_eq!(Path::new(record["library"].as_str().expect("a path")), library());
    assert_eq!(record["library_version"], env!("CARGO_PKG_VERSION"));
    assert!(record["jemalloc_version"].as_str().expect("a version").starts_with("5.3.1"), "{record:#}");
    let names = record["bound"]["names"].as_object().expect("names");
    assert!(names.len() > 60 && names.values().all(|bound| *bound == true), "{record:#}");
    assert_eq!(record["bound"]["ours"], record["bound"]["of"]);
    assert_eq!(record["bound"]["of"], names.len());
}

#[test]
fn counts_are_those_of_the_program() {
    let program = program();
    let counts = |count: &str, size: &str| {
        let (_, record) = recorded(preloaded(&program).args(["allocate", count, size]));
        record
    };
    let small = counts("1000", "100");
    for name in ["small_allocations", "small_frees"] {
        assert!((1_000..1_010).contains(&number(&small, name)), "{small:#}");
    }
    // A block of 100 bytes is one of 112.
    for name in ["small_bytes", "small_freed_bytes"] {
        assert!((112_000..113_000).contains(&number(&small, name)), "{small:#}");
    }
    let large = counts("50", "100000");
    assert!((50..55).contains(&number(&large, "large_allocations")), "{large:#}");
    assert!((50..55).contains(&number(&large, "large_frees")), "{large:#}");
    assert!(number(&large, "large_bytes") >= 50 * 100_000, "{large:#}");
    assert!(small_allocations(&large) < 10, "{large:#}");
    let none = counts("0", "100");
    assert!(small_allocations(&none) < 10, "what the record itself needs is not the program's: {none:#}");
}

#[test]
fn the_address_of_malloc_in_a_program_that_is_not_position_independent_is_ours() {
    for arguments in [&["-no-pie", "-fno-pie"][..], &["-pie", "-fpie"][..]] {
        let program = fixture("record_program.c", arguments);
        let (output, record) = recorded(preloaded(&program).arg("address"));
        assert_eq!(stdout(&output), "same\n", "{arguments:?}");
        assert_eq!(record["bound"]["names"]["malloc"], true, "{arguments:?}");
        assert_eq!(small_allocations(&record), 1, "{arguments:?}");
    }
}

#[test]
fn another_malloc_before_ours_is_named() {
    let other = fixture("record_other_malloc.c", &["-shared", "-fPIC", "-fno-builtin"]);
    for arguments in [&["-no-pie", "-fno-pie"][..], &["-pie", "-fpie"][..]] {
        let program = fixture("record_program.c", arguments);
        let run = |order: &[&OsStr]| recorded(with_preloads(order, &program).args(["address", "100"])).1;
        let record = run(&[other.as_os_str(), library().as_os_str()]);
        for name in ["malloc", "free", "calloc", "posix_memalign"] {
            assert_eq!(record["bound"]["names"][name], other.to_str().expect("UTF-8"), "{arguments:?} {name}");
        }
        for name in ["memalign", "mallctl", "_Znwm"] {
            assert_eq!(record["bound"]["names"][name], true, "{arguments:?} {name}");
        }
        assert_eq!(record["bound"]["ours"].as_u64().map(|ours| ours + 6), record["bound"]["of"].as_u64());
        assert_eq!(small_allocations(&record), 0, "loaded, and serves nothing: {record:#}");
        let record = run(&[library().as_os_str(), other.as_os_str()]);
        assert_eq!(record["bound"]["names"]["malloc"], true, "{arguments:?}");
    }
}

#[test]
fn options_are_those_in_effect() {
    let mut command = preloaded(program());
    let (_, record) =
        recorded(command.args(["allocate", "1", "100"]).env("MALLOC_CONF", "narenas:3,dirty_decay_ms:-1"));
    assert_eq!(record["options"]["sources"]["environment"], "narenas:3,dirty_decay_ms:-1");
    assert_eq!(record["options"]["sources"]["malloc_conf"], Value::Null);
    assert_eq!(record["options"]["effective"]["narenas"], 3);
    assert_eq!(record["options"]["effective"]["dirty_decay_ms"], -1);
}

#[test]
fn it_is_json_whatever_the_program_is_called() {
    for name in [
        &b"a \"quoted\" name"[..],
        b"back\\slash and 'quotes'",
        b"line\nbreak\tand\x1b[31m",
        b"bytes \xff\xfe that are not UTF-8",
        "größer, 大".as_bytes(),
        b"100%p",
    ] {
        let folder = scratch("names").join(OsStr::from_bytes(name));
        fs::create_dir(&folder).expect("a folder");
        let program = folder.join(OsStr::from_bytes(name));
        fs::copy(self::program(), &program).expect("a copy");
        // The record takes the program's name, and stands in the folder of that name, by a relative path.
        let mut command = preloaded(&program);
        succeed(command.args(["allocate", "1", "100"]).env("JESHIM_REPORT", "%e.json").current_dir(&folder));
        let mut expected = OsStr::from_bytes(name).to_owned();
        expected.push(".json");
        let record = record(&folder.join(expected));
        assert_eq!(record["program"], program.to_string_lossy().into_owned());
        assert!(finished(&record));
    }
}

// When it is complete.

#[test]
fn it_is_completed_when_the_program_has_closed_all_descriptors() {
    let (output, record) = recorded(preloaded(program()).arg("close"));
    assert!(output.status.success());
    assert!(finished(&record), "{record:#}");
}

#[test]
fn programs_that_close_stderr_and_others_have_complete_records() {
    let programs: [&[&str]; 7] = [
        &["/bin/ls", "/"],
        &["/bin/cat", "/etc/passwd"],
        &["/bin/true"],
        &["/usr/bin/sort", "/etc/passwd"],
        &["/bin/bash", "-c", "x=1; echo $x"],
        &["/usr/bin/python3", "-c", "print(1)"],
        &["/usr/bin/perl", "-e", "print 1"],
    ];
    for program in programs {
        let (output, record) = recorded(preloaded(program[0]).args(&program[1..]));
        assert!(output.status.success(), "{program:?}: {}", stderr(&output));
        assert!(finished(&record), "{program:?}: {record:#}");
        assert_eq!(record["bound"]["names"]["malloc"], true, "{program:?}");
        // GNU true allocates nothing.
        assert!(small_allocations(&record) > 0 || program == ["/bin/true"], "{program:?}: {record:#}");
    }
}

#[test]
fn it_is_completed_after_a_change_of_directory() {
    let folder = scratch("chdir");
    let mut command = preloaded(program());
    command.args(["chdir", "/"]).current_dir(&folder).env("JESHIM_REPORT", "record.json");
    succeed(&mut command);
    assert!(finished(&record(&folder.join("record.json"))));
}

#[test]
fn it_is_completed_after_chroot_to_an_empty_directory() {
    let script = r#"
        mkdir "$DIR/empty"
        LD_PRELOAD="$PRELOAD" JESHIM_REPORT="$DIR/record.json" "$PROGRAM" chroot "$DIR/empty"
        echo record
        cat "$DIR/record.json"
    "#;
    let Some(text) = shell_in_a_namespace("chroot", script) else { return };
    assert!(finished(&printed_record(&text).1));
}

#[test]
fn a_daemon_has_a_record_for_each_of_its_processes() {
    let folder = scratch("daemon");
    let mut command = preloaded(program());
    succeed(command.arg("daemon").current_dir(&folder).env("JESHIM_REPORT", "%p.json"));
    // It goes on after its parent has ended.
    let complete =
        |records: &[Value]| records.len() == 3 && records.iter().filter(|record| finished(record)).count() == 1;
    for _ in 0..600 {
        if complete(&records(&folder)) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let records = records(&folder);
    assert!(complete(&records), "{records:#?}");
    let daemon = records.iter().find(|record| finished(record)).expect("one");
    assert_eq!(daemon["forked"], true);
    assert!((500..520).contains(&small_allocations(daemon)), "{daemon:#}");
    for record in fs::read_dir(&folder).expect("a folder") {
        let mode = record.expect("an entry").metadata().expect("its state").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
    }
}

#[test]
fn after_exit_handlers_were_skipped_it_says_that_it_is_unfinished() {
    for (way, code, signal) in [("_exit", Some(0), None), ("abort", None, Some(6)), ("kill", None, Some(9))] {
        let (output, record) = recorded(preloaded(program()).arg(way));
        assert_eq!((output.status.code(), output.status.signal()), (code, signal), "{way}");
        assert!(!finished(&record), "{way}: {record:#}");
        assert_eq!(record["served"], Value::Null, "{way}");
        assert_eq!(record["bound"]["names"]["malloc"], true, "{way}");
    }
}

/// dash ends by `_exit`, always.
#[test]
fn a_shell_that_skips_exit_handlers_has_the_first_part() {
    let (output, record) = recorded(preloaded("/bin/dash").args(["-c", "x=1; echo $x"]));
    assert_eq!(stdout(&output), "1\n");
    assert_eq!((finished(&record), &record["bound"]["names"]["malloc"]), (false, &Value::Bool(true)), "{record:#}");
}

/// What needs no exit: the record says at once that small blocks are served.
#[test]
fn that_it_serves_is_noted_whatever_the_end() {
    let python = |code: &str| recorded(preloaded("/usr/bin/python3").args(["-c", code])).1;
    for code in ["import os; os._exit(0)", "import os; os.kill(os.getpid(), 9)", "import os; os.abort()"] {
        let record = python(code);
        assert_eq!((finished(&record), &record["serving"]), (false, &Value::Bool(true)), "{code}: {record:#}");
    }
    let (_, dash) = recorded(preloaded("/bin/dash").args(["-c", "x=1"]));
    assert_eq!(dash["serving"], true, "{dash:#}");
    let (_, replaced) = recorded(preloaded("/bin/dash").args(["-c", "exec /usr/bin/env -i /bin/true"]));
    assert_eq!(replaced["serving"], true, "{replaced:#}");
    let (_, without_cache) = recorded(preloaded("/bin/dash").args(["-c", "x=1"]).env("MALLOC_CONF", "tcache:false"));
    assert_eq!(without_cache["serving"], true, "{without_cache:#}");
}

#[test]
fn a_program_that_asks_for_no_small_block_is_not_said_to_be_served() {
    let (_, record) = recorded(&mut preloaded(fixture("record_nothing.c", &[])));
    assert_eq!((number(&record, "small_allocations"), &record["serving"]), (0, &Value::Bool(false)), "{record:#}");
}

/// A child that was forked is served when it asks itself.
#[test]
fn a_forked_child_is_not_served_by_what_its_parent_has_had() {
    let folder = scratch("record");
    let code = "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\nif os.fork() == 0: x = [bytearray(600) for i in range(5000)]; os._exit(0)\nos.wait()";
    succeed(preloaded("/usr/bin/python3").args(["-c", code]).env("JESHIM_REPORT", folder.join("%p")));
    let mut children: Vec<Value> = records(&folder).into_iter().filter(|record| record["forked"] == true).collect();
    children.sort_by_key(|record| record["pid"].as_u64());
    let serving: Vec<&Value> = children.iter().map(|record| &record["serving"]).collect();
    assert_eq!(serving.len(), 2, "{children:#?}");
    assert_eq!(serving[1], true, "{children:#?}");
}

/// Runs the program to a point, lets `meanwhile` change the file, and lets it end.
fn changed_meanwhile(meanwhile: impl FnOnce(&Path)) -> PathBuf {
    let path = scratch("meanwhile").join("record.json");
    let mut command = preloaded(program());
    command.arg("wait").env("JESHIM_REPORT", &path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let mut ready = [0; 6];
    child.stdout.as_mut().expect("piped").read_exact(&mut ready).expect("ready");
    assert_eq!(&ready, b"ready\n");
    assert!(!finished(&record(&path)), "it is there while the program runs");
    meanwhile(&path);
    child.stdin.take().expect("piped").write_all(b"x").expect("a reader");
    let output = child.wait_with_output().expect("an end");
    assert!(output.status.success(), "{}", output.status);
    assert_eq!(stdout(&output), "going on\n");
    path
}

#[test]
fn a_record_that_is_deleted_cut_or_replaced_meanwhile_does_not_hurt_the_program() {
    let path = changed_meanwhile(|path| fs::remove_file(path).expect("a file"));
    assert!(!path.exists());
    let path =
        changed_meanwhile(|path| fs::File::options().write(true).open(path).expect("a file").set_len(0).expect("cut"));
    assert_eq!(fs::metadata(&path).expect("a file").len(), 0);
    let path = changed_meanwhile(|path| {
        fs::File::options().write(true).open(path).expect("a file").set_len(100).expect("cut")
    });
    assert_eq!(fs::metadata(&path).expect("a file").len(), 100);
    let path = changed_meanwhile(|path| {
        fs::remove_file(path).expect("a file");
        fs::write(path, "mine").expect("a file");
    });
    assert_eq!(fs::read_to_string(path).expect("text"), "mine");
    // And nothing at all.
    assert!(finished(&record(&changed_meanwhile(|_| {}))));
}

#[test]
fn a_disk_that_is_full_by_then_does_not_matter() {
    let script = r#"
        mount -t tmpfs -o size=64k none "$DIR"
        mkfifo "$DIR/go"
        LD_PRELOAD="$PRELOAD" JESHIM_REPORT="$DIR/record.json" "$PROGRAM" wait <"$DIR/go" &
        exec 3>"$DIR/go"
        while ! [ -s "$DIR/record.json" ]; do sleep 0.05; done
        dd if=/dev/zero of="$DIR/all" bs=1k 2>/dev/null || echo full
        echo >&3
        wait $!
        echo record
        cat "$DIR/record.json"
    "#;
    let Some(text) = shell_in_a_namespace("a disk that is full", script) else { return };
    let (before, record) = printed_record(&text);
    assert!(before.contains("full\n") && before.contains("going on\n"), "{before}");
    assert!(finished(&record), "{record:#}");
}

#[test]
fn without_proc_there_is_a_record_all_the_same() {
    let script = r#"
        mount -t tmpfs none /proc
        LD_PRELOAD="$PRELOAD" JESHIM_REPORT="$DIR/record-%e.json" "$PROGRAM" status || echo $?
        ls "$DIR"
        echo record
        cat "$DIR/record-unknown.json"
    "#;
    let Some(text) = shell_in_a_namespace("without /proc", script) else { return };
    let (before, record) = printed_record(&text);
    assert_eq!(before, "output\n5\nrecord-unknown.json\n");
    assert!(finished(&record), "{record:#}");
}

// The file.

#[test]
fn its_mode_is_0600_whatever_the_umask() {
    for umask in ["000", "022", "077", "0777"] {
        let path = scratch("umask").join("record.json");
        let mut shell = plain("sh");
        shell.args(["-c", r#"umask "$1" && LD_PRELOAD="$2" exec "$3" allocate 1 100"#, "sh", umask]);
        succeed(shell.arg(library()).arg(program()).env("JESHIM_REPORT", &path));
        let mode = fs::metadata(&path).expect("a record").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "umask {umask}");
    }
}

#[test]
fn an_existing_file_is_not_touched_and_the_pid_appended() {
    let folder = scratch("taken");
    let path = folder.join("record.json");
    fs::write(&path, "mine").expect("a file");
    succeed(preloaded(program()).args(["allocate", "1", "100"]).env("JESHIM_REPORT", &path));
    assert_eq!(fs::read_to_string(&path).expect("text"), "mine");
    fs::remove_file(&path).expect("a file");
    let [record] = &records(&folder)[..] else { panic!("one record") };
    assert!(folder.join(format!("record.json.{}", record["pid"])).exists(), "{record:#}");
}

#[test]
fn a_process_that_replaces_itself_numbers_its_records() {
    for (pattern, first, rest) in [("r", "r", "r.PID"), ("r-%p", "r-PID", "r-PID.PID")] {
        let folder = scratch("exec");
        succeed(preloaded(program()).args(["exec", "3"]).env("JESHIM_REPORT", folder.join(pattern)));
        let records = records(&folder);
        let pid = records[0]["pid"].to_string();
        assert!(records.iter().all(|record| record["pid"] == records[0]["pid"]));
        let mut names: Vec<String> = fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("one").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        let rest = rest.replace("PID", &pid);
        let mut expected = [first.replace("PID", &pid), rest.clone(), format!("{rest}.2"), format!("{rest}.3")];
        expected.sort();
        assert_eq!(names, expected);
        assert_eq!(records.iter().filter(|record| finished(record)).count(), 1, "only the last one came to its end");
    }
}

#[test]
fn processes_that_begin_at_once_under_one_name_have_a_record_each() {
    let folder = scratch("at-once");
    let mut shell = plain("bash");
    shell.args(["-c", r#"export LD_PRELOAD="$0"; for i in {1..20}; do "$1" allocate "$i" 100 & done; wait"#]);
    succeed(shell.arg(library()).arg(program()).env("JESHIM_REPORT", folder.join("record.json")));
    // The shell's forked children have no library: it was started without.
    let mut counts: Vec<u64> = records(&folder).iter().map(small_allocations).collect();
    counts.sort_unstable();
    assert_eq!(counts, (1..=20).collect::<Vec<u64>>());
}

#[test]
fn patterns() {
    let folder = scratch("patterns");
    succeed(preloaded(program()).args(["allocate", "1", "100"]).env("JESHIM_REPORT", folder.join("100%%-%e-%p-%p")));
    let [record] = &records(&folder)[..] else { panic!("one record") };
    let pid = &record["pid"];
    assert!(folder.join(format!("100%-record_program-{pid}-{pid}")).exists());
}

#[test]
fn descriptors_and_environment_are_left_as_they_were() {
    let program = program();
    let (output, _) = recorded(preloaded(&program).arg("descriptors"));
    assert_eq!(stdout(&output), stdout(&succeed(plain(&program).arg("descriptors"))));
    let path = scratch("environment").join("record.json");
    let output = succeed(preloaded("/usr/bin/printenv").arg("JESHIM_REPORT").env("JESHIM_REPORT", &path));
    assert_eq!(stdout(&output).trim_end(), path.to_str().expect("UTF-8"));
}

// What it refuses.

/// Runs the program with a report path that cannot be used: it must run as it would without, and one line must name
/// cause and remedy. That line, without the pid and the path.
fn refused(report: impl AsRef<OsStr>) -> String {
    let (program, report) = (program(), report.as_ref());
    let output = preloaded(&program).arg("status").env("JESHIM_REPORT", report).output().expect("the program");
    refusal(&output, report)
}

fn refusal(output: &Output, report: &OsStr) -> String {
    assert_eq!(
        (stdout(output).as_str(), output.status.code()),
        ("output\n", Some(5)),
        "{report:?}: {}",
        stderr(output)
    );
    let text = stderr(output);
    assert_eq!(text.lines().count(), 1, "{report:?}: {text:?}");
    let shown = format!("]: JESHIM_REPORT='{}': ", report.to_string_lossy());
    let (start, rest) = text.split_once(&shown).unwrap_or_else(|| panic!("{report:?} is not named: {text:?}"));
    let pid = start.strip_prefix("jeshim[").expect("whose message it is");
    assert!(pid.parse::<u32>().is_ok(), "{text}");
    rest.trim_end().to_owned()
}

#[test]
fn symbolic_links_are_not_followed() {
    let folder = scratch("links");
    let target = folder.join("target");
    let link = folder.join("link");
    symlink(&target, &link).expect("a link");
    let message = "a symbolic link has this name and is not followed; no record is written; name the file itself";
    assert_eq!(refused(&link), message);
    assert!(!target.exists());
    fs::write(&target, "mine").expect("a file");
    assert_eq!(refused(&link), message);
    assert_eq!(fs::read_to_string(&target).expect("text"), "mine");
    // A folder may be a link.
    let real = scratch("real");
    symlink(&real, folder.join("folder")).expect("a link");
    succeed(
        preloaded(program()).args(["allocate", "1", "100"]).env("JESHIM_REPORT", folder.join("folder/record.json")),
    );
    assert!(finished(&record(&real.join("record.json"))));
}

#[test]
fn what_is_not_a_file_is_refused_at_once() {
    let folder = scratch("kinds");
    assert_eq!(refused(&folder), "it is a directory; no record is written; name a file");
    let mut slash = folder.clone().into_os_string();
    slash.push("/");
    assert_eq!(refused(&slash), "it is a directory; no record is written; name a file in it, such as record-%p.json");
    let fifo = folder.join("fifo");
    succeed(plain("mkfifo").arg(&fifo));
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).ok();
    let message = "a device, FIFO or socket has this name; no record is written; name a file";
    for path in [fifo.as_path(), Path::new("/dev/null"), Path::new("/dev/full")] {
        assert_eq!(refused(path), message, "{}", path.display());
    }
    if folder.join("socket").exists() {
        assert_eq!(refused(folder.join("socket")), message);
    }
}

#[test]
fn directories_that_are_missing_or_not_writable_are_named() {
    let folder = scratch("directories");
    assert_eq!(
        refused(folder.join("missing/record.json")),
        "no such directory; no record is written; create the directory or name another path"
    );
    fs::write(folder.join("file"), "").expect("a file");
    assert_eq!(
        refused(folder.join("file/record.json")),
        "a part of the path is not a directory; no record is written; correct the path"
    );
    // Not even root can create files there.
    assert_eq!(
        refused("/sys/record.json"),
        "permission denied; no record is written; name a directory that this user may write to"
    );
}

#[test]
fn a_read_only_file_system_is_named() {
    let script = r#"
        mkdir "$DIR/read-only"
        mount -t tmpfs none "$DIR/read-only"
        mount -o remount,ro "$DIR/read-only"
        export LD_PRELOAD="$PRELOAD"
        JESHIM_REPORT="$DIR/read-only/record.json" "$PROGRAM" status 2>&1 || echo $?
    "#;
    let Some(text) = shell_in_a_namespace("a read-only file system", script) else { return };
    assert!(text.contains("the file system is read-only; no record is written; name a path on a writable"), "{text}");
    assert!(text.ends_with("output\n5\n"), "{text}");
}

#[test]
fn paths_that_cannot_be_are_refused() {
    let folder = scratch("paths");
    let percent = "a '%' that is none of %p, %e and %%; no record is written; write %% for a percent sign";
    for name in ["%d.json", "record-%", "%P"] {
        assert_eq!(refused(folder.join(name)), percent, "{name}");
    }
    let long = folder.join("x".repeat(300));
    let too_long = "the path is too long; no record is written; name a shorter path";
    let message = refused_long(&long);
    assert!(message.ends_with(too_long), "{message}");
    let message = refused_long(&PathBuf::from("/a".repeat(3000)));
    assert!(message.ends_with(too_long), "{message}");
}

/// A path that is too long to be shown whole.
fn refused_long(path: &Path) -> String {
    let output = preloaded(program()).arg("status").env("JESHIM_REPORT", path).output().expect("the program");
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("output\n", Some(5)));
    let text = stderr(&output);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.len() < 600, "{text}");
    text.trim_end().to_owned()
}

#[test]
fn a_full_disk_is_named_and_nothing_left_behind() {
    let script = r#"
        mount -t tmpfs -o size=64k none "$DIR"
        export LD_PRELOAD="$PRELOAD" JESHIM_REPORT="$DIR/record.json"
        LD_PRELOAD= dd if=/dev/zero of="$DIR/all" bs=1k 2>/dev/null || echo full
        "$PROGRAM" status 2>&1 || echo $?
        LD_PRELOAD= ls "$DIR"
    "#;
    let Some(text) = shell_in_a_namespace("a full disk", script) else { return };
    assert!(text.starts_with("full\n"), "{text}");
    assert!(text.contains("no space left; no record is written; free some space or name another path\n"), "{text}");
    assert!(text.ends_with("output\n5\nall\n"), "{text}");
}

#[test]
fn a_limit_on_file_sizes_is_named_and_kills_nobody() {
    let path = scratch("limit").join("record.json");
    let mut shell = plain("bash");
    shell.args(["-c", r#"ulimit -f 1; LD_PRELOAD="$0" exec "$1" status"#]).arg(library()).arg(program());
    let output = shell.env("JESHIM_REPORT", &path).output().expect("a shell");
    let message = refusal(&output, path.as_os_str());
    assert!(message.contains("no record is written"), "{message}");
    assert!(!path.exists());
}

#[test]
fn with_stderr_closed_a_refusal_goes_nowhere() {
    let folder = scratch("closed");
    let file = folder.join("first");
    let mut shell = plain("bash");
    shell.args(["-c", r#"exec 2>&-; LD_PRELOAD="$0" "$1" status"#]).arg(library()).arg(program());
    let output = shell.env("JESHIM_REPORT", folder.join("missing/record.json")).output().expect("a shell");
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("output\n", Some(5)));
    // And with a record, which is created when descriptor 2 is the next that is free.
    let output = shell.env("JESHIM_REPORT", &file).output().expect("a shell");
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("output\n", Some(5)));
    assert!(finished(&record(&file)));
}

#[test]
fn a_privileged_program_does_not_obey_the_variable() {
    let test = "a privileged program";
    let groups = stdout(&succeed(plain("id").arg("-G")));
    let own = stdout(&succeed(plain("id").arg("-g")));
    let other = if is_root() { Some("65534") } else { groups.split_whitespace().find(|group| *group != own.trim()) };
    let Some(other) = other else { return skip(test, "this user is in one group only") };
    // Linked, since the dynamic linker drops LD_PRELOAD there.
    let folder = library().parent().expect("a folder").to_str().expect("UTF-8").to_owned();
    let rpath = format!("-Wl,-rpath,{folder}");
    let program = fixture("record_program.c", &["-Wl,--no-as-needed", &format!("-L{folder}"), "-ljeshim", &rpath]);
    let path = scratch("secure").join("record.json");
    let run = || succeed(plain(&program).arg("secure").env("JESHIM_REPORT", &path).env("JESHIM_CHILDREN", "nonsense"));
    let output = run();
    assert_eq!(stdout(&output), "not secure\n");
    assert!(stderr(&output).contains("JESHIM_CHILDREN"), "{}", stderr(&output));
    assert!(finished(&record(&path)));
    fs::remove_file(&path).expect("a record");
    succeed(plain("chgrp").arg(other).arg(&program));
    succeed(plain("chmod").arg("g+s").arg(&program));
    let output = run();
    if stdout(&output) != "secure\n" {
        return skip(test, "the file system ignores setgid");
    }
    assert_eq!(stderr(&output), "");
    assert!(!path.exists());
}
