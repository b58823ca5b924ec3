//! Memory over time: for each participant the run whose peak is the median.

use super::Plot;
use super::canvas::{
    GRID, INK, MUTED, TEXT, WIDTH, at, colour, drawing, failed, fine, fitting, style, units, width_of, write,
};
use super::labels::{apart, room, room_for_numbers, short};
use crate::compare::report::numbers::Scale;
use crate::compare::report::table::label;
use crate::compare::results::{Comparison, Run, Unit};
use crate::terminal::printable;
use plotters::chart::ChartBuilder;
use plotters::prelude::{Circle, LineSeries, PathElement};
use plotters::style::Color;
use plotters::style::text_anchor::HPos;

/// Units.
const HEIGHT: i32 = 300;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 40.0;
/// So many points of a line are drawn: more than there are pixels.
const POINTS: usize = 600;

struct Line<'a> {
    participant: usize,
    run: &'a Run,
}

/// A plot for each point at which memory was looked at.
///
/// # Errors
/// None is expected: they are drawn into memory.
pub(super) fn plots(comparison: &Comparison) -> anyhow::Result<Vec<Plot>> {
    let mut plots = Vec::new();
    for (index, point) in comparison.points.iter().enumerate() {
        let participants = 0..comparison.participants.len();
        let lines: Vec<Line> = participants
            .filter_map(|participant| typical(comparison, participant, index).map(|run| Line { participant, run }))
            .collect();
        if !lines.is_empty() {
            plots.push(plot(comparison, index, &printable(point.name()), &lines)?);
        }
    }
    Ok(plots)
}

/// The run whose peak is the median.
fn typical(comparison: &Comparison, participant: usize, point: usize) -> Option<&Run> {
    let with_memory = comparison.counted(participant, point).filter(|run| run.memory.len() > 1);
    let mut runs: Vec<&Run> = with_memory.collect();
    runs.sort_by_key(|run| peak(run));
    runs.get(runs.len().saturating_sub(1) / 2).copied()
}

fn peak(run: &Run) -> u64 {
    run.memory.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0)
}

/// Few enough points to draw: of every stretch the first, the least and the most, so that no peak is lost.
fn thinned(memory: &[(f32, u64)]) -> Vec<(f32, u64)> {
    let stretch = memory.len().div_ceil(POINTS / 3).max(1);
    if stretch < 3 {
        return memory.to_vec();
    }
    let three = |part: &[(f32, u64)]| {
        let mut indices = [
            Some(0),
            (0..part.len()).min_by_key(|index| part.get(*index).map(|(_, bytes)| *bytes)),
            (0..part.len()).max_by_key(|index| part.get(*index).map(|(_, bytes)| *bytes)),
        ];
        indices.sort();
        let points = indices.into_iter().flatten().filter_map(|index| part.get(index).copied());
        points.collect::<Vec<_>>()
    };
    memory.chunks(stretch).flat_map(three).chain(memory.last().copied()).collect()
}

/// What was resident at a time.
fn bytes_at(memory: &[(f32, u64)], time: f32) -> Option<u64> {
    memory.iter().rev().find(|(at, _)| *at <= time).or(memory.first()).map(|(_, bytes)| *bytes)
}

fn plot(comparison: &Comparison, index: usize, point: &str, lines: &[Line]) -> anyhow::Result<Plot> {
    let highest = lines.iter().map(|line| peak(line.run)).max().unwrap_or(1).max(1) as f64;
    let scale = Scale::of(&Unit::Bytes, highest);
    let times = lines.iter().flat_map(|line| line.run.memory.last()).map(|(time, _)| f64::from(*time));
    let longest = times.filter(|time| time.is_finite()).fold(0.0, f64::max).max(1e-3);
    let time_scale = Scale::of(&Unit::Seconds, longest);
    let title = if point.is_empty() { "Memory over time".to_owned() } else { format!("Memory over time: {point}") };
    let peaks = lines.iter().map(|line| {
        let peak = scale.write(peak(line.run) as f64, None);
        format!("{}: at most {peak}", label(comparison, line.participant))
    });
    let description = peaks.collect::<Vec<_>>().join("; ");
    // Where the marks are differs a little from run to run: the lines are those of the first run that has any, and every
    // run has its dots.
    let marked = lines.iter().find(|line| !line.run.marks.is_empty());
    let mut caption = "Resident in the whole tree of processes, in the run whose peak is the median.".to_owned();
    if let Some(line) = marked {
        let who = label(comparison, line.participant);
        caption.push_str(&format!(" Upright lines: ends of phases with {who}; dots: those of each line."));
    }
    let names: Vec<String> = lines.iter().map(|line| label(comparison, line.participant)).collect();
    let right = room(names.iter());
    let svg = drawing(&format!("time{index}"), HEIGHT, (&title, &description), |area| {
        let x = (0.0, time_scale.down(longest) * 1.01);
        let y = (0.0, scale.down(highest) * 1.06);
        let mut chart = ChartBuilder::on(area)
            .margin_top(fine(TOP))
            .margin_right(fine(right))
            .x_label_area_size(fine(BOTTOM))
            .y_label_area_size(fine(room_for_numbers(y.1)))
            .build_cartesian_2d(x.0..x.1, y.0..y.1)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID.stroke_width(4))
            .axis_style(MUTED.stroke_width(4))
            .set_all_tick_mark_size(fine(4.0))
            .x_labels(5)
            .y_labels(6)
            .x_label_style(style(MUTED, TEXT - 1, HPos::Center))
            .y_label_style(style(MUTED, TEXT - 1, HPos::Right))
            .x_label_formatter(&|value| short(*value))
            .y_label_formatter(&|value| short(*value))
            .draw()
            .map_err(failed)?;
        let place = |time: f32, bytes: u64| (time_scale.down(f64::from(time)), scale.down(bytes as f64));
        if let Some(line) = marked {
            // Names to the left of their line, on one of two levels, where there is room.
            let mut taken = [f64::NEG_INFINITY; 2];
            for (time, name) in &line.run.marks {
                let (x, top) = units(chart.backend_coord(&(place(*time, 0).0, y.1)));
                let upright = vec![at(x, top - 4.0), at(x, f64::from(HEIGHT) - BOTTOM)];
                area.draw(&PathElement::new(upright, MUTED.mix(0.7).stroke_width(4))).map_err(failed)?;
                let name = fitting(&printable(name), 120.0);
                let left = x - width_of(&name) * 0.9;
                let level = taken.iter_mut().zip([11.0, 27.0]).find(|(taken, _)| left > **taken);
                if let Some((taken, up)) = level {
                    *taken = x + 4.0;
                    write(area, &name, (x, top - up), &style(MUTED, TEXT - 2, HPos::Right))?;
                }
            }
        }
        let mut ends = Vec::new();
        for line in lines {
            let own = colour(line.participant);
            let points: Vec<(f64, f64)> =
                thinned(&line.run.memory).iter().map(|(time, bytes)| place(*time, *bytes)).collect();
            chart.draw_series(LineSeries::new(points, own.stroke_width(9))).map_err(failed)?;
            for (time, _) in &line.run.marks {
                let Some(bytes) = bytes_at(&line.run.memory, *time) else { continue };
                let dot = chart.backend_coord(&place(*time, bytes));
                area.draw(&Circle::new(dot, fine(3.6), own.filled())).map_err(failed)?;
            }
            // Where most of the line is, and not where the program has ended already.
            let (last, _) = line.run.memory.last().copied().unwrap_or_default();
            let bytes = bytes_at(&line.run.memory, last * 0.9).unwrap_or(0);
            ends.push(units(chart.backend_coord(&place(last, bytes))).1);
        }
        let heights = apart(&ends, 17.0, (TOP, f64::from(HEIGHT) - BOTTOM));
        for ((line, name), y) in lines.iter().zip(&names).zip(heights) {
            let x = f64::from(WIDTH) - right + 8.0;
            write(area, &fitting(name, right - 10.0), (x, y), &style(colour(line.participant), TEXT, HPos::Left))?;
        }
        let words = style(INK, TEXT - 1, HPos::Left);
        write(area, scale.name, (8.0, 11.0), &words)?;
        let below = f64::from(HEIGHT) - 9.0;
        let time = format!("{} since its start", time_scale.name);
        write(area, &time, (f64::from(WIDTH) - right, below), &style(INK, TEXT - 1, HPos::Right))
    })?;
    Ok(Plot { title, caption, svg })
}
