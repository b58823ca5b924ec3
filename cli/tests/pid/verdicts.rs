//! Who is served, who is not, and why not.

use super::{Live, facts, is_root, preloaded, preloaded_with, taken, text, waits};
use crate::harness::{compile, jeshim, library, plain, scratch};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn a_server_is_served_and_every_object_takes_memory_from_the_library() {
    let folder = scratch("redis");
    let mut redis = preloaded("redis-server");
    // The path of a socket may not be longer than 107 bytes.
    redis.args(["--port", "0", "--save", "", "--unixsocket", "socket"]).current_dir(&folder);
    let redis = Live::start(&mut redis);
    let begun = std::time::Instant::now();
    while !folder.join("socket").exists() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "redis does not start");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (status, facts) = redis.check();
    assert_eq!((status, &facts["verdict"]), (0, &"served".into()), "{facts:#}");
    assert_eq!(taken(&facts, "/redis-check-rdb", "malloc")["state"], "library", "{facts:#}");
    assert_eq!(taken(&facts, "/libc.so.6", "realloc")["state"], "library");
    assert!(facts["library"]["fills"].as_u64() > Some(10), "{facts:#}");
    let text = text(redis.0.id());
    assert!(text.starts_with("SERVED  redis-server (process "), "{text}");
}

#[test]
fn without_the_library_the_reason_is_how_it_was_started() {
    let python =
        |command: &mut Command| Live::start(command.args(["-c", "import time; print(flush=True); time.sleep(120)"]));
    let (status, facts) = python(&mut plain("/usr/bin/python3")).check();
    assert_eq!((status, &facts["reasons"][0]["id"]), (1, &"not_preloaded".into()), "{facts:#}");
    assert_eq!(facts["library"], serde_json::Value::Null);
    assert!(taken(&facts, "/libc.so.6", "malloc")["from"].as_str().is_some_and(|from| from.ends_with("/libc.so.6")));

    let (status, facts) = python(plain("/usr/bin/python3").env("LD_PRELOAD", "libSegFault.so")).check();
    assert_eq!((status, &facts["reasons"][0]["id"]), (1, &"not_named".into()), "{facts:#}");
    let (status, facts) = python(plain("/usr/bin/python3").env("LD_PRELOAD", "/nowhere/libjeshim.so")).check();
    assert_eq!((status, &facts["reasons"][0]["id"]), (1, &"not_found".into()), "{facts:#}");

    let script = "env -i /usr/bin/python3 -c 'import os, time; print(os.getpid(), flush=True); time.sleep(120)' & \
                  wait";
    let shell = Live::start(preloaded("/bin/sh").args(["-c", script]));
    let child = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", shell.0.id())).expect("children");
    let child: u32 = child.trim().parse().expect("a pid");
    let (status, facts) = super::check(child);
    // SAFETY: the shell's child; it is not waited for before the shell ends.
    unsafe { libc::kill(child as i32, libc::SIGKILL) };
    assert_eq!((status, &facts["reasons"][0]["id"]), (1, &"environment_cleared".into()), "{facts:#}");
}

const PLUGIN: &str =
    "#include <stdlib.h>\n#include <string.h>\nvoid *plugin(void) { return memset(malloc(10), 1, 10); }\n";

#[test]
fn a_plugin_that_takes_memory_elsewhere_is_named_with_where() {
    let plugin = compile(PLUGIN, &["-shared", "-fPIC"]);
    let host = waits("((void *(*)(void))dlsym(dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND), \"plugin\"))();");
    let host = compile(&host, &["-ldl"]);
    let live = Live::start(preloaded(&host).arg(&plugin).env("JESHIM_DEEPBIND", "keep"));
    let (status, facts) = live.check();
    assert_eq!((status, &facts["verdict"]), (2, &"in_part".into()), "{facts:#}");
    let from = taken(&facts, plugin.to_str().expect("UTF-8"), "malloc");
    assert!(from["from"].as_str().is_some_and(|from| from.ends_with("/libc.so.6")), "{from}");
    assert_eq!(facts["objects"][0]["path"], plugin.to_str().expect("UTF-8"), "it comes first");
    let text = text(live.0.id());
    assert!(text.contains(&format!("{} takes malloc from /", plugin.display())), "{text}");

    let (status, facts) = Live::start(preloaded(&host).arg(&plugin)).check();
    assert_eq!((status, &facts["verdict"]), (0, &"served".into()), "{facts:#}");
}

#[test]
fn an_allocator_in_the_program_itself_is_not_taken_for_the_library() {
    let own = "#include <stddef.h>\n#include <string.h>\nstatic char heap[1 << 22]; static size_t used;\n\
        void *malloc(size_t n) { void *p = heap + used; used += (n + 31) / 16 * 16; return p; }\n\
        void free(void *p) {}\nvoid *calloc(size_t n, size_t m) { return malloc(n * m); }\n\
        void *realloc(void *p, size_t n) { return memcpy(malloc(n), p ? p : \"\", p ? n : 0); }\n";
    let program = compile(&(own.to_owned() + &waits("")), &["-Wl,-E", "-fno-builtin"]);
    let (status, facts) = Live::start(&mut preloaded(&program)).check();
    assert!(matches!(status, 1 | 2), "{facts:#}");
    assert_eq!(taken(&facts, "/libc.so.6", "malloc")["from"], program.to_str().expect("UTF-8"), "{facts:#}");
}

/// Such functions are called without a relocation: only the file of the program shows them.
#[test]
fn an_allocator_that_the_program_has_compiled_in_takes_a_part() {
    let own = "void *mi_malloc(size_t n) { return malloc(n); }\nvoid mi_free(void *p) { free(p); }\n\
        void *mi_heap_new(void) { return 0; }\nint mi_version(void) { return 212; }\n";
    let source = waits("").replace("int main", &(own.to_owned() + "int main"));
    let program = compile(&source, &["-Wl,-E"]);
    let (status, facts) = Live::start(&mut preloaded(&program)).check();
    assert_eq!((status, &facts["reasons"][0]["id"]), (2, &"own_allocator".into()), "{facts:#}");
}

/// Its memory is its own, and what libc takes for its own use is from the library: that proves nothing of the program.
#[test]
fn what_libc_takes_for_itself_does_not_make_a_program_served_that_never_asks_for_memory() {
    let source = "#define _GNU_SOURCE\n#include <stdio.h>\n#include <string.h>\n\
        #include <sys/mman.h>\n#include <syslog.h>\n#include <time.h>\n#include <unistd.h>\n\
        int main(int argc, char **argv) {\n\
        memset(mmap(0, 64 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 64 << 20);\n\
        if (argc > 1) { time_t now = 0; localtime(&now); syslog(LOG_DEBUG, \"%s\", argv[1]); perror(argv[1]); }\n\
        puts(\"ready\"); fflush(stdout); alarm(120); for (;;) pause(); }\n";
    let program = compile(source, &["-w"]);
    for arguments in [&[][..], &["more"]] {
        let mut command = preloaded(&program);
        let live = Live::start(command.args(arguments).stderr(std::process::Stdio::null()));
        let (status, facts) = live.check();
        assert_eq!((status, &facts["reasons"][0]["id"]), (2, &"hidden_allocator".into()), "{facts:#}");
        assert!(facts["library"]["fills"].as_u64() > Some(0), "{facts:#}");
    }
}

/// What is behind a tab is a part of the name: the dynamic linker parts names at blanks and colons only.
#[test]
fn a_variable_is_taken_apart_as_the_dynamic_linker_does() {
    let mut value = std::ffi::OsString::from("/nowhere\t");
    value.push(library());
    let mut command = plain(compile(&waits(""), &[]));
    let live = Live::start(command.env("LD_PRELOAD", &value).stderr(std::process::Stdio::null()));
    let (status, facts) = live.check();
    assert_eq!((status, &facts["reasons"][0]["id"]), (1, &"not_found".into()), "{facts:#}");
}

#[test]
fn functions_that_were_not_called_yet_are_not_taken_for_others() {
    let source = waits("if (argc > 5) free(argv);");
    let (status, facts) = Live::start(&mut preloaded(compile(&source, &["-Wl,-z,lazy"]))).check();
    assert_eq!(status, 0, "{facts:#}");
    assert_eq!(taken(&facts, "/program", "free")["state"], "not_called_yet");
    assert_eq!(taken(&facts, "/program", "malloc")["state"], "library");
}

#[test]
fn the_address_of_malloc_in_a_program_with_fixed_addresses_leads_on() {
    let library =
        compile("#include <stdlib.h>\nvoid *address(void) { return (void *)malloc; }\n", &["-shared", "-fPIC"]);
    let source = waits("void *address(void); if (address() != (void *)malloc) return 1;");
    let library = library.to_str().expect("UTF-8");
    let program = compile(&source, &["-no-pie", "-fno-pic", "-fno-builtin", library, "-Wl,-rpath,/"]);
    let (status, facts) = Live::start(&mut preloaded(program)).check();
    assert_eq!(taken(&facts, library, "malloc")["state"], "library", "{facts:#}");
    assert_eq!(status, 0, "{facts:#}");
}

#[test]
fn programs_that_no_library_reaches_say_why() {
    let mut programs = vec![("cc", "-static", "static")];
    programs.push(("musl-gcc", "-O0", "musl"));
    #[cfg(target_arch = "x86_64")]
    programs.push(("cc", "-m32", "word_size"));
    for (compiler, argument, reason) in programs {
        let folder = scratch(reason);
        std::fs::write(folder.join("source.c"), waits("")).expect("a source file");
        let built = Command::new(compiler).current_dir(&folder).args(["source.c", "-o", "program", argument]).status();
        assert!(built.expect("a compiler").success(), "{compiler} {argument}");
        // The dynamic linker of musl ends a program that it cannot preload for.
        let program = folder.join("program");
        let mut command = if reason == "musl" { plain(program) } else { preloaded(program) };
        let (status, facts) = Live::start(command.stderr(std::process::Stdio::null())).check();
        assert_eq!((status, &facts["reasons"][0]["id"]), (1, &reason.into()), "{facts:#}");
    }
}

#[test]
fn a_program_with_another_users_rights_says_that_the_variable_is_ignored() {
    if !is_root() {
        return;
    }
    let program = compile(&waits(""), &[]);
    std::os::unix::fs::chown(&program, Some(65534), None).expect("root may");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).expect("root may");
    let (status, facts) = Live::start(&mut preloaded(&program)).check();
    assert_eq!((status, &facts["reasons"][0]["id"]), (1, &"secure".into()), "{facts:#}");
}

#[test]
fn a_library_that_was_deleted_or_replaced_is_still_found() {
    let folder = scratch("replaced");
    let path = folder.join("libother.so");
    let program = compile(&waits(""), &[]);
    for replace in [false, true] {
        std::fs::copy(library(), &path).expect("a copy");
        let live = Live::start(&mut preloaded_with(&path, &program));
        std::fs::remove_file(&path).expect("a file");
        if replace {
            // Whoever opens it for reading waits for a writer.
            assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        }
        let (status, facts) = live.check();
        assert_eq!((status, &facts["library"]["deleted"]), (0, &true.into()), "{facts:#}");
        assert_eq!(facts["library"]["path"], path.to_str().expect("UTF-8"));
        let _ = std::fs::remove_file(&path);
    }
}

/// Nobody but root may open what is mapped and has no name: everything is read from memory.
#[test]
fn a_deleted_library_is_found_in_memory_by_an_ordinary_user() {
    let open = std::env::temp_dir().join(format!("jeshim-pid-{}", std::process::id()));
    std::fs::create_dir_all(&open).expect("a folder");
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).expect("its owner may");
    let copy = |from: &std::path::Path, name: &str| {
        let to = open.join(name);
        std::fs::copy(from, &to).expect("a copy");
        to
    };
    let program = copy(&compile(&waits(""), &[]), "program");
    let ours = copy(&library(), "libother.so");
    let command = copy(env!("CARGO_BIN_EXE_jeshim").as_ref(), "jeshim");
    let user = |program: &std::path::Path| {
        let mut command = if is_root() { plain("setpriv") } else { plain(program) };
        if is_root() {
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(program);
        }
        command
    };
    let mut start = user("/usr/bin/env".as_ref());
    let live = Live::start(start.arg(format!("LD_PRELOAD={}", ours.display())).arg(&program));
    std::fs::remove_file(&ours).expect("a file");
    let (status, facts) = facts(user(&command).args(["check", "--json", "--pid", &live.0.id().to_string()]));
    let _ = std::fs::remove_dir_all(&open);
    assert_eq!(status, 0, "{facts:#}");
    assert_eq!(facts["library"]["deleted"], true, "{facts:#}");
    assert!(facts["library"]["jemalloc"].as_str().is_some_and(|version| version.starts_with("5.")), "{facts:#}");
    assert!(facts["memory"]["jemalloc_percent"].as_f64() > Some(30.0), "{facts:#}");
}

#[test]
fn a_process_in_a_folder_of_its_own_is_seen_as_any_other() {
    if !is_root() {
        return;
    }
    let root = scratch("root");
    let program = compile(&waits(""), &[]);
    for (from, to) in [(program.as_path(), "program"), (&library(), "libjeshim.so")] {
        std::fs::copy(from, root.join(to)).expect("a copy");
    }
    for line in String::from_utf8_lossy(&Command::new("ldd").arg(library()).output().expect("ldd").stdout).lines() {
        let Some(path) = line.split_whitespace().find(|word| word.starts_with('/')) else { continue };
        let to = root.join(&path[1..]);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(path, to).expect("a copy");
    }
    let mut chroot = plain("chroot");
    let chroot = chroot.arg(&root).arg("/program").env("LD_PRELOAD", "/libjeshim.so");
    let (status, facts) = Live::start(chroot.stderr(std::process::Stdio::null())).check();
    assert_eq!((status, &facts["library"]["deleted"]), (0, &false.into()), "{facts:#}");
}

#[test]
fn the_report_can_go_to_a_file() {
    let live = Live::start(&mut preloaded(compile(&waits(""), &[])));
    let file = scratch("report").join("report");
    let mut command = jeshim();
    command.args(["check", "--pid", &live.0.id().to_string(), "--all", "--output"]).arg(&file);
    let output = command.output().expect("the command");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let text = std::fs::read_to_string(&file).expect("a report");
    assert!(text.starts_with("SERVED  ") && !text.contains('\x1b') && text.contains("/libc.so.6"), "{text}");
}
