//! Who has the private memory of a process.

use super::{Live, owned, preloaded, text, waits};
use crate::harness::{compile, plain};

const MIB: u64 = 1 << 20;

/// Eight threads that take 8 MiB each in blocks of 1000 bytes, and wait.
fn threads() -> std::path::PathBuf {
    let thread = "static void *work(void *x) { for (int i = 0; i < 8400; i++) memset(malloc(1000), 1, 1000); return 0; }\n\
         static void *take(void *x) { char stack[300000]; memset(stack, 1, sizeof stack); work(0); sleep(120); return stack; }\n";
    let main = waits("pthread_t t; for (int i = 0; i < 8; i++) pthread_create(&t, 0, take, 0); sleep(2);");
    compile(&main.replace("int main", &(thread.to_owned() + "int main")), &["-pthread", "-w"])
}

#[test]
fn threads_blocks_are_jemallocs_or_glibcs_and_their_stacks_are_stacks() {
    let program = threads();
    let (_, with) = Live::start(&mut preloaded(&program)).check();
    assert!((64 * MIB..90 * MIB).contains(&owned(&with, "jemalloc")), "{with:#}");
    assert!(owned(&with, "glibc_heap") < MIB, "{with:#}");
    assert!((2 * MIB..5 * MIB).contains(&owned(&with, "stacks")), "{with:#}");
    assert!(with["memory"]["jemalloc_percent"].as_f64() > Some(90.0), "{with:#}");
    let (_, without) = Live::start(&mut plain(&program)).check();
    assert!((64 * MIB..90 * MIB).contains(&owned(&without, "glibc_heap")), "{without:#}");
    assert!((2 * MIB..5 * MIB).contains(&owned(&without, "stacks")), "{without:#}");
    assert_eq!(owned(&without, "jemalloc"), 0);
}

#[test]
fn shares_add_up() {
    let (_, facts) = Live::start(&mut preloaded(threads())).check();
    let owners = facts["memory"]["owners"].as_array().expect("owners");
    let sum: u64 = owners.iter().map(|owner| owner["bytes"].as_u64().expect("bytes")).sum();
    assert_eq!(facts["memory"]["private"], sum, "{facts:#}");
}

/// The kernel makes one mapping of neighbours: what the program maps itself must not count as jemalloc's.
#[test]
fn memory_that_the_program_maps_itself_is_not_jemallocs() {
    let source = waits(
        "for (int i = 0; i < 64; i++) { memset(mmap(0, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 1 << 20); \
         if (i % 8 == 0) memset(malloc(3 << 20), 1, 3 << 20); }",
    );
    let program = compile(&("#include <sys/mman.h>\n".to_owned() + &source), &[]);
    let (_, facts) = Live::start(&mut preloaded(program)).check();
    assert!((63 * MIB..66 * MIB).contains(&owned(&facts, "other")), "{facts:#}");
    assert!((24 * MIB..32 * MIB).contains(&owned(&facts, "jemalloc")), "{facts:#}");
}

#[test]
fn heaps_of_runtimes_are_named() {
    let node = "let x = []; for (let i = 0; i < 400000; i++) x.push({ a: i }); console.log('ready'); setTimeout(() => x, 120000)";
    let (status, facts) = Live::start(preloaded("node").args(["-e", node])).check();
    assert_eq!(status, 0, "{facts:#}");
    assert!(owned(&facts, "v8_heap") > 10 * MIB, "{facts:#}");
    let python = "import time; x = [str(i) for i in range(400000)]; print(flush=True); time.sleep(120)";
    let (status, facts) = Live::start(preloaded("/usr/bin/python3").args(["-c", python])).check();
    assert_eq!(status, 0, "{facts:#}");
    assert!(owned(&facts, "python_arenas") > 15 * MIB, "{facts:#}");
    let (_, malloc) =
        Live::start(preloaded("/usr/bin/python3").args(["-c", python]).env("PYTHONMALLOC", "malloc")).check();
    assert!(owned(&malloc, "jemalloc") > 20 * MIB && owned(&malloc, "python_arenas") < MIB, "{malloc:#}");
}

/// The library keeps some hundred ranges. Here none is beside another, and there are more.
#[test]
fn a_share_that_is_not_all_known_is_said_to_be_at_least_so_much() {
    let source = waits(
        "for (int i = 0; i < 600; i++) { memset(malloc(1 << 20), 1, 4096); mmap(0, 4096, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }",
    );
    let program = compile(&("#include <sys/mman.h>\n".to_owned() + &source), &["-w"]);
    let live = Live::start(preloaded(program).env("MALLOC_CONF", "retain:false"));
    let (status, facts) = live.check();
    assert_eq!(status, 0, "{facts:#}");
    assert!(facts["library"]["unknown_mappings"].as_u64() > Some(0), "{facts:#}");
    let line = facts["line"].as_str().expect("a line");
    assert!(line.contains("it has at least ") && line.contains("of its private memory"), "{line}");
    let text = text(live.0.id());
    assert!(
        text.contains("of jemalloc count as other memory: the library has room for the addresses of some"),
        "{text}"
    );
}
