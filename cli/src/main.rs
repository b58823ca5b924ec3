//! The command `jeshim`; see the library of this crate.

fn main() -> std::process::ExitCode {
    jeshim_cli::main()
}
