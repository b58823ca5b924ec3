//! What one check found.

use serde::Serialize;
use serde_json::{Map, Value};

/// How it stands with what was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should be, or without meaning for jemalloc.
    Ok,
    /// It could not be found out.
    Unknown,
    /// It works, and may surprise.
    Note,
    /// It does not work, or not as somebody meant it.
    Problem,
}

impl State {
    /// The word at the beginning of a line.
    pub fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Unknown => "unknown",
            State::Note => "note",
            State::Problem => "problem",
        }
    }
}

/// What one check found.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// How it stands.
    pub state: State,
    /// The fact or the cause, in a sentence without a full stop.
    pub message: String,
    /// What to do; `None` when there is nothing to do.
    pub remedy: Option<String>,
    /// Numbers and names for machines; bytes, milliseconds.
    pub facts: Map<String, Value>,
}

impl Finding {
    fn new(state: State, message: impl Into<String>) -> Finding {
        Finding { state, message: message.into(), remedy: None, facts: Map::new() }
    }

    /// As it should be.
    pub fn ok(message: impl Into<String>) -> Finding {
        Finding::new(State::Ok, message)
    }

    /// It works, and may surprise.
    pub fn note(message: impl Into<String>) -> Finding {
        Finding::new(State::Note, message)
    }

    /// It does not work.
    pub fn problem(message: impl Into<String>) -> Finding {
        Finding::new(State::Problem, message)
    }

    /// It could not be found out, for this reason.
    pub fn unknown(reason: impl std::fmt::Display) -> Finding {
        Finding::new(State::Unknown, format!("could not tell: {reason}"))
    }

    /// With what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = Some(remedy.into());
        self
    }

    /// With a fact for machines.
    #[must_use]
    pub fn fact(mut self, name: &str, value: impl Into<Value>) -> Finding {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// The worst of several, with the messages and remedies of all that are as bad; `otherwise` when there are none.
    pub fn worst_of(findings: Vec<Finding>, otherwise: Finding) -> Finding {
        let Some(state) = findings.iter().map(|finding| finding.state).max() else { return otherwise };
        let mut all = Finding::new(state, String::new());
        let (mut messages, mut remedies) = (Vec::new(), Vec::new());
        for finding in findings.into_iter().filter(|finding| finding.state == state) {
            messages.push(finding.message);
            if let Some(remedy) = finding.remedy.filter(|remedy| !remedies.contains(remedy)) {
                remedies.push(remedy);
            }
        }
        all.message = messages.join(", and ");
        all.remedy = (!remedies.is_empty()).then(|| remedies.join(", and "));
        all
    }
}
