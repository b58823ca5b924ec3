//! Every round of every participant against the baseline: dots, and on them the median with its interval.

use super::Plot;
use super::canvas::{Area, GRID, INK, MUTED, SURFACE, TEXT, WIDTH, at, colour, drawing, failed, fine, fitting, style};
use super::canvas::{width_of, write};
use crate::compare::analysis::{Analysis, Ratio};
use crate::compare::report::numbers::{better_by, change, signed};
use crate::compare::report::table::label;
use crate::compare::results::{Comparison, Figure, Unit};
use crate::terminal::printable;
use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{Circle, PathElement, Rectangle};
use plotters::style::Color;
use plotters::style::text_anchor::HPos;

/// Units.
const SIDE: f64 = 12.0;
const TOP: f64 = 8.0;
const ROW: f64 = 50.0;
const AXIS: f64 = 44.0;
/// More rows than this are no picture any more.
const MOST: usize = 24;

/// More dots than this in a row make a page large, and show nothing more.
const DOTS: usize = 400;

struct Row<'a> {
    name: String,
    participant: usize,
    figure: &'a Figure,
    ratio: &'a Ratio,
}

/// With one point, a plot for each unit; with several, one for each figure.
///
/// # Errors
/// None is expected: they are drawn into memory.
pub(super) fn plots(comparison: &Comparison, analysis: &Analysis) -> anyhow::Result<Vec<Plot>> {
    let several = comparison.points.len() > 1;
    let mut groups: Vec<(String, Vec<Row>)> = Vec::new();
    for row in &analysis.rows {
        let Some(figure) = comparison.figures.get(row.figure).filter(|figure| figure.headline) else { continue };
        let name = printable(&figure.name);
        let title = if several { name.clone() } else { kind(&figure.unit).to_owned() };
        let point = comparison.points.get(row.point).map(|point| printable(point.name())).unwrap_or_default();
        for (participant, cell) in row.cells.iter().enumerate() {
            let ratio = cell.as_ref().and_then(|cell| cell.ratio.as_ref());
            let Some(ratio) = ratio.filter(|ratio| ratio.median.is_finite()) else { continue };
            let who = label(comparison, participant);
            let name = format!("{who} · {}", if several { &point } else { &name });
            let row = Row { name, participant, figure, ratio };
            match groups.iter_mut().find(|(other, _)| *other == title) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((title.clone(), vec![row])),
            }
        }
    }
    let baseline = label(comparison, comparison.baseline);
    let plots = groups.iter().enumerate();
    plots.map(|(index, (title, rows))| plot(index, title, rows, &baseline)).collect()
}

fn kind(unit: &Unit) -> &'static str {
    match unit {
        Unit::Seconds => "Time",
        Unit::Bytes => "Memory",
        Unit::Count => "Counts",
        Unit::Plain => "Figures of the program",
    }
}

fn plot(index: usize, title: &str, rows: &[Row], baseline: &str) -> anyhow::Result<Plot> {
    let title = format!("{title} against {baseline}");
    let mut caption = "Each dot is a round; the bar is the 95% interval of the median, the ring the median. \
                       To the right is better."
        .to_owned();
    if rows.len() > MOST {
        caption.push_str(&format!(" The first {MOST} of {} are drawn; all are in the tables.", rows.len()));
    }
    if rows.iter().any(|row| row.ratio.ratios.len() > DOTS) {
        caption.push_str(&format!(" Of more than {DOTS} rounds, some are left out at even distances."));
    }
    let rows = rows.get(..MOST).unwrap_or(rows);
    let (range, cut) = range(rows);
    if cut {
        caption.push_str(" Dots at the edge are farther out.");
    }
    let words = rows.iter().map(|row| format!("{}: {}", row.name, change(row.ratio, row.figure)));
    let description = words.collect::<Vec<_>>().join("; ");
    let height = TOP + ROW * rows.len() as f64 + AXIS;
    let svg = drawing(&format!("ratios{index}"), height as i32, (&title, &description), |area| {
        let scale = Axis { range };
        axis(area, &scale, TOP + ROW * rows.len() as f64, baseline)?;
        for (number, row) in rows.iter().enumerate() {
            show(area, &scale, TOP + ROW * number as f64, row)?;
        }
        Ok(())
    })?;
    Ok(Plot { title, caption, svg })
}

/// From where to where, in per cent: all intervals, and dots as far as they leave those readable.
fn range(rows: &[Row]) -> ((f64, f64), bool) {
    let (mut low, mut high) = (0.0_f64, 0.0_f64);
    for row in rows {
        for ratio in [row.ratio.median, row.ratio.interval.0, row.ratio.interval.1] {
            let better = better_by(ratio, row.figure);
            if better.is_finite() {
                (low, high) = (low.min(better), high.max(better));
            }
        }
    }
    let room = (high - low).max(0.5);
    let (least, most) = (low - room, high + room);
    let mut cut = false;
    for row in rows {
        for dot in row.ratio.ratios.iter().map(|ratio| better_by(*ratio, row.figure)) {
            cut |= dot < least || dot > most;
            (low, high) = (low.min(dot.max(least)), high.max(dot.min(most)));
        }
    }
    let margin = (high - low).max(0.5) * 0.04;
    ((low - margin, high + margin), cut)
}

struct Axis {
    range: (f64, f64),
}

impl Axis {
    /// Per cent to units; what is beyond is at the edge.
    fn x(&self, better: f64) -> f64 {
        let (low, high) = self.range;
        let share = ((better - low) / (high - low)).clamp(0.0, 1.0);
        SIDE + share * (f64::from(WIDTH) - 2.0 * SIDE)
    }
}

fn axis(area: &Area, scale: &Axis, bottom: f64, baseline: &str) -> anyhow::Result<()> {
    let (low, high) = scale.range;
    let ticks = RangedCoordf64::from(low..high).key_points(BoldPoints(6));
    let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(1.0);
    let digits = if step < 0.099 { 2 } else { i32::from(step < 0.99) };
    for tick in ticks {
        let x = scale.x(tick);
        area.draw(&PathElement::new(vec![at(x, TOP), at(x, bottom)], GRID.stroke_width(4))).map_err(failed)?;
        let text = signed(tick, digits);
        // Those at the edge would be cut off.
        let half = width_of(&text) / 2.0;
        if x > half && x < f64::from(WIDTH) - half {
            write(area, &text, (x, bottom + 12.0), &style(MUTED, TEXT - 1, HPos::Center))?;
        }
    }
    let zero = scale.x(0.0);
    area.draw(&PathElement::new(vec![at(zero, TOP), at(zero, bottom)], MUTED.stroke_width(6))).map_err(failed)?;
    let words = style(MUTED, TEXT - 1, HPos::Left);
    write(area, "◂ worse", (SIDE, bottom + 32.0), &words)?;
    let right = f64::from(WIDTH) - SIDE;
    write(area, "better ▸", (right, bottom + 32.0), &style(MUTED, TEXT - 1, HPos::Right))?;
    // Where the words at the sides leave room for it.
    let name = fitting(&format!("0 = {baseline}"), 190.0);
    let half = width_of(&name) / 2.0;
    let middle = zero.clamp(SIDE + 70.0 + half, (right - 70.0 - half).max(SIDE + 70.0 + half));
    write(area, &name, (middle, bottom + 32.0), &style(MUTED, TEXT - 1, HPos::Center))
}

fn show(area: &Area, scale: &Axis, top: f64, row: &Row) -> anyhow::Result<()> {
    let own = colour(row.participant);
    let right = f64::from(WIDTH) - SIDE;
    let value = change(row.ratio, row.figure);
    // Names are on a line of their own, and lines of the axis do not cross them.
    area.draw(&Rectangle::new([at(0.0, top + 2.0), at(f64::from(WIDTH), top + 20.0)], SURFACE.filled()))
        .map_err(failed)?;
    let room = right - SIDE - width_of(&value) - 12.0;
    write(area, &fitting(&row.name, room), (SIDE, top + 11.0), &style(INK, TEXT, HPos::Left))?;
    write(area, &value, (right, top + 11.0), &style(INK, TEXT, HPos::Right))?;
    let middle = top + 34.0;
    let step = row.ratio.ratios.len().div_ceil(DOTS).max(1);
    for (index, ratio) in row.ratio.ratios.iter().step_by(step).enumerate() {
        // One above the other where there are many of a kind; always in the same way.
        let up = f64::from(u8::try_from(index % 5).unwrap_or(0)) * 4.0 - 8.0;
        let dot = at(scale.x(better_by(*ratio, row.figure)), middle + up);
        area.draw(&Circle::new(dot, fine(2.6), own.mix(0.45).filled())).map_err(failed)?;
    }
    let ends = [row.ratio.interval.0, row.ratio.interval.1].map(|ratio| better_by(ratio, row.figure));
    if ends.iter().all(|end| end.is_finite()) {
        let ends = ends.map(|end| at(scale.x(end), middle)).to_vec();
        area.draw(&PathElement::new(ends, own.stroke_width(14))).map_err(failed)?;
    }
    let median = at(scale.x(better_by(row.ratio.median, row.figure)), middle);
    area.draw(&Circle::new(median, fine(6.0), own.filled())).map_err(failed)?;
    area.draw(&Circle::new(median, fine(3.2), SURFACE.filled())).map_err(failed)?;
    Ok(())
}
