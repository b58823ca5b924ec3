//! `jeshim env`: each format, read back by the program that it is for.

use crate::harness::{jeshim, library, scratch, stderr, stdout};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A path with what the formats have a meaning for: quotes, `$`, `\`, `%` (doubled as in JESHIM_REPORT), and more.
const HOSTILE: &str = "/tmp/a  b'c\"d$HOME${HOME}$(id)`id`\\e\\n%%p,;#&<x>!*~{}[]|\u{e4}\u{20ac}/r %p.json";
/// For supervisord, which cannot quote a quote of both kinds.
const HOSTILE_BUT_QUOTES: &str = "/tmp/a  b'c$HOME${HOME}$(id)`id`\\e\\n%%p%%(x)s,;#&<x>!*~{}[]|\u{e4}/r %p.json";
const CONF: &str = "dirty_decay_ms:1000,bin_shards:1-160:16|129-512:4,prof_prefix:a b";

fn env(format: &str, report: &str) -> Output {
    let mut command = jeshim();
    command.args(["env", "--format", format, "--report", report, "--conf", CONF, "--no-children", "--lib"]);
    command.arg(library()).output().expect("it runs")
}

fn text(format: &str, report: &str) -> String {
    let output = env(format, report);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

/// The variables as they are meant, as lines.
fn meant(preload: &str, report: &str) -> String {
    format!("LD_PRELOAD={preload}\nMALLOC_CONF={CONF}\nJESHIM_REPORT={report}\nJESHIM_CHILDREN=strip\n")
}

fn ours() -> String {
    std::fs::canonicalize(library()).expect("the library").to_str().expect("UTF-8").to_owned()
}

/// Whether a program is there; says, past the test harness, what was not tested without it.
fn has(program: &str) -> bool {
    let found =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).output().expect("sh runs").status.success();
    if !found {
        let _ = writeln!(std::io::stderr(), "NOT TESTED: jeshim env: {program} is not installed");
    }
    found
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// What Python prints of standard input's text.
fn python(script: &str, input: &str) -> String {
    let file = scratch(&format!("env-python-{:?}", std::thread::current().id())).join("text");
    std::fs::write(&file, input).expect("a file");
    let script = format!("import sys; text = open(sys.argv[1], encoding='utf-8').read()\n{script}");
    run(Command::new("/usr/bin/python3").env("PYTHONIOENCODING", "utf-8").args(["-c", &script]).arg(file))
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

#[test]
fn shells_read_it_back() {
    let show = "for n in LD_PRELOAD MALLOC_CONF JESHIM_REPORT JESHIM_CHILDREN; do eval \"printf '%s=%s\\\\n' $n \\\"\\$$n\\\"\"; done";
    // A line break is no difficulty for a shell.
    for report in [HOSTILE, "/tmp/a\nb\\"] {
        let script = format!("{}\n{show}", text("sh", report));
        for shell in ["dash", "bash", "zsh", "busybox"] {
            if has(shell) {
                let mut command = Command::new(shell);
                command.env_clear().args((shell == "busybox").then_some("sh")).args(["-c", &script]);
                assert_eq!(run(&mut command), meant(&ours(), report), "{shell}");
            }
        }
    }
}

#[test]
fn fish_reads_it_back() {
    if !has("fish") {
        return;
    }
    for report in [HOSTILE, "/tmp/a\nb\\"] {
        let show = "for n in LD_PRELOAD MALLOC_CONF JESHIM_REPORT JESHIM_CHILDREN; printf '%s=%s\\n' $n $$n; end";
        let script = format!("{}\n{show}", text("fish", report));
        let mut command = Command::new("fish");
        command.env_clear().env("HOME", scratch("env-fish")).args(["--no-config", "-c", &script]);
        assert_eq!(run(&mut command), meant(&ours(), report));
    }
}

#[test]
fn systemd_reads_it_back() {
    if !has("systemd-analyze") || !has("setpriv") {
        return;
    }
    let folder = tempfile::Builder::new().prefix("jeshim-test-").tempdir().expect("a folder");
    let unit = file(folder.path(), "app.service", "[Service]\nExecStart=/bin/true\n");
    let drop_ins = folder.path().join("app.service.d");
    std::fs::create_dir(&drop_ins).expect("a folder");
    file(&drop_ins, "jemalloc.conf", &text("systemd", HOSTILE));
    let verify = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit).output().expect("runs");
    assert_eq!((verify.status.code(), stderr(&verify).as_str()), (Some(0), ""));

    // systemd itself, which shows what it has read when it is only to test; it does not do that as root.
    let runtime = folder.path().join("runtime");
    std::fs::create_dir(&runtime).expect("a folder");
    let is_root = run(Command::new("id").arg("-u")) == "0\n";
    let mut command = Command::new("setpriv");
    if is_root {
        run(Command::new("chown").arg("65534").arg(&runtime));
        run(Command::new("chmod").arg("755").arg(folder.path()));
        command.args(["--reuid=65534", "--clear-groups"]);
    }
    command.arg("/lib/systemd/systemd").args(["--user", "--test", "--unit=app.service"]);
    command.env("SYSTEMD_UNIT_PATH", format!("{}:", folder.path().display()));
    command.env("XDG_RUNTIME_DIR", &runtime).env("HOME", &runtime).env("LC_ALL", "C.UTF-8");
    let read: String = run(&mut command)
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("Environment: "))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(read, meant(&ours(), HOSTILE));
}

#[test]
fn an_image_builder_reads_the_dockerfile_back() {
    if !has("buildah") {
        return;
    }
    let folder = scratch("env-docker");
    file(&folder, "libjeshim.so", "");
    file(&folder, "Dockerfile", &format!("FROM scratch\n{}", text("docker", HOSTILE)));
    let storage = tempfile::tempdir().expect("a folder");
    let buildah = |arguments: &[&str]| {
        let mut command = Command::new("buildah");
        command.arg("--root").arg(storage.path().join("root")).arg("--runroot").arg(storage.path().join("run"));
        command.args(["--storage-driver", "vfs"]).args(arguments).current_dir(&folder);
        run(&mut command)
    };
    buildah(&["bud", "--isolation", "chroot", "-q", "-t", "jeshim-test", "."]);
    let show = "{{range .OCIv1.Config.Env}}{{println .}}{{end}}";
    let read = buildah(&["inspect", "--type", "image", "--format", show, "jeshim-test"]);
    let read: String = read
        .lines()
        .filter(|line| !line.starts_with("PATH=") && !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(read, meant("/usr/local/lib/libjeshim.so", HOSTILE));
}

#[test]
fn compose_reads_it_back() {
    let yaml = text("compose", HOSTILE);
    let show = "
for name, value in yaml.safe_load(text)['services']['app']['environment'].items():
    print(f'{name}={value}'.replace('$$', '$'))";
    assert_eq!(python(&format!("import yaml{show}"), &yaml), meant("/usr/local/lib/libjeshim.so", HOSTILE));
    // The old client is the one that Debian has; like the new one, it writes `$` as `$$` when it shows what it has read.
    if has("docker-compose") {
        let folder = scratch("env-compose");
        let base = file(&folder, "compose.yaml", "services:\n  app:\n    image: x\n    environment:\n      OWN: own\n");
        let ours = file(&folder, "compose.jemalloc.yaml", &yaml);
        let mut command = Command::new("docker-compose");
        let read = run(command.arg("-f").arg(base).arg("-f").arg(ours).arg("config").env("PYTHONIOENCODING", "utf-8"));
        let read = python(&format!("import yaml{show}"), &read);
        let mut lines: Vec<&str> = read.lines().collect();
        let meant = meant("/usr/local/lib/libjeshim.so", HOSTILE);
        let mut expected: Vec<&str> = meant.lines().chain(["OWN=own"]).collect();
        lines.sort_unstable();
        expected.sort_unstable();
        assert_eq!(lines, expected);
    }
}

#[test]
fn kubernetes_reads_it_back() {
    let patch = text("k8s", HOSTILE);
    let show = "
import yaml
pod = yaml.safe_load(text)['spec']['template']['spec']
for variable in pod['containers'][0]['env']:
    print('{name}={value}'.format(**variable).replace('$$', '$'))
mounts = pod['containers'][0]['volumeMounts'] + pod['initContainers'][0]['volumeMounts'] + pod['volumes']
assert {mount['name'] for mount in mounts} == {'jemalloc'}, mounts";
    let meant = meant("/jemalloc/libjeshim.so", HOSTILE);
    assert_eq!(python(show, &patch), meant);
    if has("kubectl") {
        let folder = scratch("env-k8s");
        let deployment = file(
            &folder,
            "deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    \
             metadata: {labels: {a: b}}\n    spec:\n      containers:\n        - {name: app, image: x, env: [{name: OWN, value: own}]}\n",
        );
        let patch = file(&folder, "patch.yaml", &patch);
        let mut command = Command::new("kubectl");
        command.arg("patch").arg("-f").arg(deployment).arg("--patch-file").arg(patch).args(["--local", "-o", "yaml"]);
        assert_eq!(python(show, &run(&mut command)), format!("{meant}OWN=own\n"));
    }
}

#[test]
fn supervisord_reads_it_back() {
    if !has("supervisord") {
        return;
    }
    let lines = text("supervisord", HOSTILE_BUT_QUOTES);
    let folder = scratch("env-supervisord");
    let configuration =
        file(&folder, "supervisord.conf", &format!("[supervisord]\n[program:app]\ncommand=/bin/true\n{lines}"));
    let show = "
from supervisor.options import ServerOptions
options = ServerOptions()
options.realize(['-c', text])
for name, value in options.process_group_configs[0].process_configs[0].environment.items():
    print(f'{name}={value}')";
    let read = python(show, configuration.to_str().expect("UTF-8"));
    assert_eq!(read, meant(&ours(), HOSTILE_BUT_QUOTES));
    // Quotes of both kinds, quotes at an end, and what its files take for a comment.
    for report in [HOSTILE, "/tmp/a'", "/tmp/a ;b"] {
        let output = env("supervisord", report);
        assert_eq!(output.status.code(), Some(125), "{report}");
        assert!(stderr(&output).contains("JESHIM_REPORT: supervisord"), "{}", stderr(&output));
    }
}

#[test]
fn launchds_property_list_is_read_back() {
    let keys = text("launchd", HOSTILE);
    let show = "
import plistlib
text = '<?xml version=\"1.0\" encoding=\"UTF-8\"?><plist version=\"1.0\"><dict>' + text + '</dict></plist>'
for name, value in plistlib.loads(text.encode())['EnvironmentVariables'].items():
    print(f'{name}={value}')";
    let expected = meant("/usr/local/lib/libjeshim.dylib", HOSTILE).replace("LD_PRELOAD", "DYLD_INSERT_LIBRARIES");
    assert_eq!(python(show, &keys), expected);
}

#[test]
fn what_a_line_cannot_hold_is_refused() {
    for format in ["systemd", "docker", "compose", "k8s", "supervisord", "launchd"] {
        for report in ["/tmp/a\nb", "/tmp/a\u{7}b", "/tmp/a\rb"] {
            let output = env(format, report);
            assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(125), ""), "{format}");
            assert!(stderr(&output).contains("control character"), "{format}: {}", stderr(&output));
        }
    }
    for format in ["docker", "compose", "k8s", "launchd"] {
        let output = env(format, "relative");
        assert!(stderr(&output).contains("name an absolute path of that place"), "{format}: {}", stderr(&output));
    }
}

#[test]
fn a_service_does_not_get_what_this_shell_has() {
    for (format, is_kept) in
        [("sh", true), ("fish", true), ("systemd", false), ("docker", false), ("supervisord", false)]
    {
        let mut command = jeshim();
        command.args(["env", "--format", format, "--conf", "narenas:2", "--lib"]).arg(library());
        let output = command.env("LD_PRELOAD", "libm.so.6").env("MALLOC_CONF", "tcache:false").output().expect("runs");
        let text = stdout(&output);
        assert_eq!(text.contains("libm.so.6"), is_kept, "{format}: {text}");
        assert_eq!(text.contains("tcache:false,narenas:2"), is_kept, "{format}: {text}");
    }
}

#[test]
fn the_page_about_deployment_shows_what_the_command_prints() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/deploy.md")).expect("the page");
    for format in ["systemd", "docker", "compose", "k8s", "supervisord", "launchd"] {
        let mut command = jeshim();
        command.args(["env", "--preset", "low-rss", "--format", format, "--lib"]).arg(library());
        let text = run(&mut command).replace(&ours(), "/usr/local/lib/libjeshim.so");
        assert!(page.contains(&format!("\n{text}```\n")), "{format}:\n{text}");
    }
}
