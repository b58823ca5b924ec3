//! Keys for a launchd property list: `man 5 launchd.plist`. Read back by Python's plistlib; no launchd was asked.

use super::{Variable, line};
use std::fmt::Write;

/// Where the library is taken to be on the Mac, when it is not one of a Mac that these settings are made with.
pub(super) const PATH: &str = "/usr/local/lib/libjeshim.dylib";

pub(super) fn keys(variables: &[Variable]) -> anyhow::Result<String> {
    let mut text = String::from(
        "<!-- Into the job's <dict>. dyld ignores the first one for programs of the system and with the hardened runtime. -->\n\
         <key>EnvironmentVariables</key>\n<dict>\n",
    );
    for (name, value) in variables {
        let value = line(name, value)?.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(text, "    <key>{name}</key>\n    <string>{value}</string>");
    }
    text.push_str("</dict>\n");
    Ok(text)
}
