//! A drop-in file for a systemd service: `man 5 systemd.exec`, Environment=; quoting: `man 7 systemd.syntax`.

use super::{Variable, line};
use std::fmt::Write;

pub(super) fn drop_in(variables: &[Variable]) -> anyhow::Result<String> {
    let mut text = String::from(
        "# /etc/systemd/system/NAME.service.d/jemalloc.conf; then: systemctl daemon-reload, systemctl restart NAME\n\
         # ProtectHome= and RootDirectory= hide folders from a service: the library has to be in one that it sees.\n\
         [Service]\n",
    );
    for (name, value) in variables {
        // `%` begins a specifier, also in quotes. `$` has no meaning here.
        let value = line(name, value)?.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
        let _ = writeln!(text, "Environment=\"{name}={value}\"");
    }
    Ok(text)
}
