//! The verdicts in words: a line for each point and participant, on the figures that matter most.

use super::document::{Piece, Tone, VerdictLine};
use super::table;
use crate::compare::analysis::{Analysis, Cell, Verdict};
use crate::compare::results::{Comparison, Figure};
use crate::terminal::printable;

/// So many figures are judged one by one; more of the program's own are counted.
const ONE_BY_ONE: usize = 6;

/// What a verdict looks like.
pub(super) fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Better => Tone::Good,
        Verdict::Worse => Tone::Bad,
        Verdict::NoDifference => Tone::Plain,
        Verdict::Perhaps | Verdict::TooNoisy | Verdict::TooFew => Tone::Note,
    }
}

/// All lines, in the order of points, then participants.
pub(super) fn lines(comparison: &Comparison, analysis: &Analysis) -> Vec<VerdictLine> {
    let baseline = table::label(comparison, comparison.baseline);
    let mut lines = Vec::new();
    for (index, point) in comparison.points.iter().enumerate() {
        for (participant, it) in comparison.participants.iter().enumerate() {
            if participant == comparison.baseline {
                continue;
            }
            let pieces = pieces(comparison, analysis, index, participant);
            let label = printable(&it.label);
            if !pieces.is_empty() {
                lines.push(VerdictLine {
                    point: printable(point.name()),
                    participant,
                    start: format!("{label} against {baseline}"),
                    pieces,
                });
            }
        }
    }
    lines
}

fn pieces(comparison: &Comparison, analysis: &Analysis, point: usize, participant: usize) -> Vec<Piece> {
    let rows = analysis.rows.iter().filter(|row| row.point == point);
    let judged: Vec<(&Figure, &Cell)> = rows
        .filter_map(|row| {
            let figure = comparison.figures.get(row.figure).filter(|figure| figure.headline)?;
            let cell = row.cells.get(participant)?.as_ref()?;
            cell.ratio.as_ref().map(|_| (figure, cell))
        })
        .collect();
    let (own, common): (Vec<_>, Vec<_>) = judged.iter().partition(|(figure, _)| is_of_the_program(figure));
    let mut pieces: Vec<Piece> = Vec::new();
    if judged.len() > ONE_BY_ONE && own.len() > 2 {
        pieces.extend(common.iter().filter_map(|(figure, cell)| in_words(figure, cell)));
        pieces.push(counted(&own));
    } else {
        pieces.extend(judged.iter().filter_map(|(figure, cell)| in_words(figure, cell)));
    }
    pieces
}

fn is_of_the_program(figure: &Figure) -> bool {
    figure.id.starts_with("metric/") || figure.id.starts_with("phase/")
}

fn in_words(figure: &Figure, cell: &Cell) -> Option<Piece> {
    let ratio = cell.ratio.as_ref()?;
    let words = ratio.words(figure);
    // "faster" and "less memory" need no subject.
    let spoken_for = matches!(figure.id.as_str(), "wall" | "peak_rss")
        && !matches!(ratio.verdict, Verdict::NoDifference | Verdict::TooNoisy | Verdict::TooFew);
    let text = if spoken_for { words } else { format!("{}: {words}", printable(&figure.name)) };
    Some(Piece { tone: tone(ratio.verdict), text })
}

/// "10 figures of its own: 7 better, 1 worse, 2 without a difference".
fn counted(figures: &[(&Figure, &Cell)]) -> Piece {
    let number = |wanted: Tone| {
        let verdicts = figures.iter().filter_map(|(_, cell)| cell.ratio.as_ref()).map(|ratio| tone(ratio.verdict));
        verdicts.filter(|tone| *tone == wanted).count()
    };
    let (better, worse) = (number(Tone::Good), number(Tone::Bad));
    let kinds = [
        (better, "better"),
        (worse, "worse"),
        (number(Tone::Plain), "without a difference"),
        (number(Tone::Note), "too noisy or too few rounds to tell"),
    ];
    let parts = kinds.iter().filter(|(number, _)| *number > 0).map(|(number, words)| format!("{number} {words}"));
    let text = format!("{} figures of the program: {}", figures.len(), parts.collect::<Vec<_>>().join(", "));
    let tone = match (better, worse) {
        (0, 0) => Tone::Plain,
        (_, 0) => Tone::Good,
        (0, _) => Tone::Bad,
        _ => Tone::Note,
    };
    Piece { tone, text }
}
