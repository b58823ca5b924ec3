//! A line for a program in supervisord's configuration. Its values know two kinds of quotes and no escapes, and quotes
//! at either end of a value are lost (supervisor.datatypes, `dict_of_key_value_pairs`).

use super::{Variable, line};
use anyhow::bail;

pub(super) fn line_of(variables: &[Variable]) -> anyhow::Result<String> {
    let mut pairs = Vec::new();
    for (name, value) in variables {
        let value = line(name, value)?;
        let quote = if value.contains('"') { '\'' } else { '"' };
        if value.contains(quote) || value.trim_matches(['\'', '"']) != value {
            bail!("{name}: supervisord cannot quote '{value}'; choose a path without quotes");
        }
        // What supervisord's files take for a comment, in quotes too.
        if value.contains(" ;") || value.contains("\t;") {
            bail!("{name}: supervisord takes what follows ' ;' in '{value}' for a comment; choose another path");
        }
        pairs.push(format!("{name}={quote}{}{quote}", value.replace('%', "%%")));
    }
    Ok(format!(
        "; Into the [program:NAME] section; where that has an 'environment=' already, behind its last pair and a comma.\n\
         environment={}\n",
        pairs.join(",")
    ))
}
