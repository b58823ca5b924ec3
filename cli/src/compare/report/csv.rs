//! Every run and figure, a line each, for other programs.

use crate::compare::results::{Comparison, Unit};

/// A heading, then a line for each run and figure: point, a column for each parameter, participant, round, figure (its
/// id), unit, value, failure. A run that failed without any figure has a line with empty figure and value.
///
/// # Errors
/// None is expected: it is written to memory.
pub fn csv(comparison: &Comparison) -> anyhow::Result<String> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let parameters: Vec<&str> = comparison
        .points
        .first()
        .map_or_else(Vec::new, |point| point.parameters.iter().map(|(name, _)| name.as_str()).collect());
    let heading = ["point"].into_iter().chain(parameters.iter().copied());
    writer.write_record(heading.chain(["participant", "round", "figure", "unit", "value", "failure"]))?;
    for run in &comparison.runs {
        let point = comparison.points.get(run.point);
        let mut start = vec![point.map(|point| point.name()).unwrap_or_default()];
        start.extend(parameters.iter().enumerate().map(|(index, _)| {
            let parameter = point.and_then(|point| point.parameters.get(index));
            parameter.map(|(_, value)| value.clone()).unwrap_or_default()
        }));
        let participant = comparison.participants.get(run.participant);
        start.push(participant.map(|it| it.label.clone()).unwrap_or_default());
        start.push(run.round.to_string());
        let failure = run.failure.clone().unwrap_or_default();
        if run.figures.is_empty() {
            let end = [String::new(), String::new(), String::new(), failure.clone()];
            writer.write_record(start.iter().cloned().chain(end))?;
        }
        for (id, value) in &run.figures {
            let unit = comparison.figure(id).and_then(|index| comparison.figures.get(index)).map(|figure| &figure.unit);
            let unit = match unit {
                Some(Unit::Seconds) => "seconds",
                Some(Unit::Bytes) => "bytes",
                Some(Unit::Count) => "count",
                Some(Unit::Plain) | None => "",
            };
            let end = [id.clone(), unit.to_owned(), value.to_string(), failure.clone()];
            writer.write_record(start.iter().cloned().chain(end))?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
