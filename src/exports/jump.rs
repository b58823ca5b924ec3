//! The one instruction that an exported function is, for each processor.

/// A hidden label for a function of ours, by which it can be told from another definition of its name.
#[cfg(elf)]
macro_rules! own {
    ($name:expr) => {
        concat!(".globl jeshim_own_", $name, "\n.hidden jeshim_own_", $name, "\njeshim_own_", $name, ":")
    };
}
/// Where nothing asks for it.
#[cfg(not(elf))]
macro_rules! own {
    ($name:expr) => {
        ""
    };
}

/// The processor's direct jump to the operand.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp {}"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {}"
    };
}

/// A jump to the first definition of a name, through the entry that the dynamic linker has filled with it.
#[cfg(all(elf, target_arch = "x86_64", not(test)))]
macro_rules! jump_to_first {
    ($name:expr) => {
        concat!("jmp qword ptr [rip + ", $name, "@GOTPCREL]")
    };
}
#[cfg(all(elf, target_arch = "aarch64", not(test)))]
macro_rules! jump_to_first {
    ($name:expr) => {
        concat!("adrp x16, :got:", $name, "\nldr x16, [x16, :got_lo12:", $name, "]\nbr x16")
    };
}
/// In unit tests the names are not exported, and nothing calls them.
#[cfg(all(elf, test))]
macro_rules! jump_to_first {
    ($name:expr) => {
        concat!("// ", $name)
    };
}
