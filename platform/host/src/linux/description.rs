//! What a measurement has to say of the machine that it was made on. Everything that is a file is read below a root
//! folder, so that tests can lay one out.

use crate::machine::Description;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Describes the machine. What cannot be read is `None`.
pub fn describe(root: &Path) -> Description {
    let text = |path: &str| {
        let text = fs::read_to_string(root.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let names = rustix::system::uname();
    let part = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    let bracketed = |text: String| {
        text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']')).map(str::to_owned)
    };
    Description {
        system: format!("{} {} {}", part(names.sysname()), part(names.release()), part(names.machine())),
        distribution: text("etc/os-release").or_else(|| text("usr/lib/os-release")).and_then(|text| pretty_name(&text)),
        processor: text("proc/cpuinfo").and_then(|text| processor(&text)),
        governor: governors(root),
        boost: text("sys/devices/system/cpu/cpufreq/boost")
            .map(|boost| boost != "0")
            .or_else(|| text("sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == "0")),
        huge_pages: text("sys/kernel/mm/transparent_hugepage/enabled").and_then(bracketed),
        memory: super::machine::memory(root).ok().map(|memory| memory.total),
        load: text("proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
    }
}

/// `PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"` (man 5 os-release).
fn pretty_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// The processor's name: what each architecture calls it in `/proc/cpuinfo`.
fn processor(text: &str) -> Option<String> {
    let fields = || text.lines().filter_map(|line| line.split_once(':')).map(|(key, value)| (key.trim(), value.trim()));
    let names = ["model name", "Model", "Hardware", "cpu model", "cpu"];
    names.iter().find_map(|name| {
        fields().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.to_owned())
    })
}

/// The scaling governors of all processors, each once.
fn governors(root: &Path) -> Option<String> {
    let folders = fs::read_dir(root.join("sys/devices/system/cpu")).ok()?;
    let governors: BTreeSet<String> = folders
        .filter_map(|folder| fs::read_to_string(folder.ok()?.path().join("cpufreq/scaling_governor")).ok())
        .map(|text| text.trim().to_owned())
        .collect();
    (!governors.is_empty()).then(|| governors.into_iter().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root folder with these files.
    struct Root(std::path::PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Root {
            let root = std::env::temp_dir().join(format!("description-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                fs::write(path, text).expect("a file");
            }
            Root(root)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_machine_is_described_by_its_files() {
        let root = Root::new(
            "full-root",
            &[
                ("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
                ("proc/cpuinfo", "processor\t: 0\ncpu family\t: 25\nmodel name\t: AMD EPYC\n"),
                ("proc/loadavg", "1.39 0.81 0.53 5/100 32366\n"),
                (
                    "proc/meminfo",
                    "MemTotal: 16 kB\nMemFree: 8 kB\nBuffers: 0 kB\nCached: 0 kB\nSwapCached: 0 kB\nActive: 0 kB\nInactive: 0 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nDirty: 0 kB\nWriteback: 0 kB\nMapped: 0 kB\nSlab: 0 kB\nCommitted_AS: 0 kB\nVmallocTotal: 0 kB\nVmallocUsed: 0 kB\nVmallocChunk: 0 kB\n",
                ),
                ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
                ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
                ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
                ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n"),
                ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
            ],
        );
        let found = describe(&root.0);
        assert!(found.system.starts_with("Linux "), "{}", found.system);
        assert_eq!(found.distribution.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(found.processor.as_deref(), Some("AMD EPYC"));
        assert_eq!(found.governor.as_deref(), Some("performance, powersave"));
        assert_eq!(found.boost, Some(false));
        assert_eq!(found.huge_pages.as_deref(), Some("madvise"));
        assert_eq!(found.memory, Some(16384));
        assert_eq!(found.load, Some(1.39));
    }

    #[test]
    fn what_is_not_there_is_not_made_up() {
        let root = Root::new("empty-root", &[("etc/os-release", "NAME=x\n"), ("proc/loadavg", "?\n")]);
        let found = describe(&root.0);
        assert_eq!((found.distribution, found.processor, found.governor), (None, None, None));
        assert_eq!((found.boost, found.huge_pages, found.memory, found.load), (None, None, None, None));
    }

    #[test]
    fn processors_of_other_architectures() {
        assert_eq!(
            processor("processor : 0\nBogoMIPS : 50\nModel\t: Raspberry Pi 4\n").as_deref(),
            Some("Raspberry Pi 4")
        );
        assert_eq!(processor("cpu\t\t: POWER9, altivec supported\n").as_deref(), Some("POWER9, altivec supported"));
        assert_eq!(processor("BogoMIPS : 50\n"), None);
    }
}
