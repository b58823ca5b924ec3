//! The judgement on our library: by the records, as `check` judges, with what is seen from inside only.

use super::subject::{Command, meant, set_apart};
use super::{Judgement, line, refused};
use crate::check::judgement;
use crate::check::processes::Processes;
use crate::check::standing::Judge;
use crate::compare::allocators::refusal;
use crate::compare::breakdown;
use crate::compare::results::Served;
use crate::examine::{self, Depth, Surroundings};
use crate::library::Library;
use crate::record::Record;
use crate::records::Folder;
use crate::verdict::Verdict;
use jeshim_host::preload;
use jeshim_host::watch::Event;
use std::path::Path;

/// Judges a run with our library preloaded, whose records are in the folder.
pub(super) fn judge(command: &Command, path: &Path, folder: &Folder, errors: &str) -> Judgement {
    let unknown = |because: String| Judgement { because, ..Judgement::default() };
    let library = match Library::read(path) {
        Ok(library) => library,
        Err(error) => return unknown(error.to_string()),
    };
    let around = Surroundings { library: Some(&library), variables: command.variables.to_vec() };
    let examination = match examine::command(command.program, command.rest, &around, Depth::Tables) {
        Ok(examination) => examination,
        Err(error) => return unknown(error.to_string()),
    };
    let mut records = Record::read_all(&folder.path()).unwrap_or_default();
    // Where another copy of the library is loaded too, both write.
    records.retain(|record| std::fs::canonicalize(&record.library).map_or(true, |path| path == library.path));
    let is_meant = |record: &&Record| meant(&examination).is_some_and(|meant| meant == Path::new(&record.program));
    let own = records.iter().rfind(|record| record.pid == command.pid);
    // A shell in front of the program has a record as well, and none of what it served: it went on as the program.
    let memory = records.iter().rfind(is_meant).and_then(breakdown::of).or_else(|| own.and_then(breakdown::of));
    if let (Some(one), None) = (set_apart(&examination), records.iter().find(is_meant)) {
        // What starts it may be served, which is not what was asked.
        let because = line(&one.cause, &one.remedy);
        let served = if records.iter().any(Record::is_served) { Served::Part } else { Served::No };
        return Judgement { served, because, by: None, memory: None };
    }
    let mut processes = Processes::new(command.pid);
    // Nobody watched; but that it was executed is known.
    processes.take(vec![Event::Executed { pid: command.pid, program: None }], |_| None);
    processes.root_ended(command.ended);
    processes.assign(records, false);
    let file = examination.steps.last().map(|step| step.path.as_path());
    processes.complete(file);
    let asked = processes.asked();
    let mut judge = Judge::new(&library, &examination, false);
    let standings: Vec<_> =
        processes.images.iter().enumerate().map(|(index, image)| judge.standing(image, Some(index) == asked)).collect();
    let found = judgement::judge(&processes, &standings, file, command.program);
    let served = match found.verdict {
        // All its names are bound, and it asked for large blocks only, or for none.
        _ if found.id == Some("idle") => Served::Unknown,
        Verdict::Served => Served::Yes,
        Verdict::NotServed => Served::No,
        Verdict::InPart => Served::Part,
        Verdict::CouldNotTell => Served::Unknown,
    };
    let because = found.remedy.map_or_else(|| found.cause.clone(), |remedy| line(&found.cause, &remedy));
    let version = library.jemalloc_version.split('-').next().unwrap_or_default();
    let by = (served == Served::Yes).then(|| format!("jemalloc {version} ({})", preload::FILE_NAME));
    match refusal(errors, path) {
        Some(message) if served != Served::Yes => refused(preload::FILE_NAME, &message),
        _ => Judgement { served, by, because, memory },
    }
}
