//! A figure over a parameter: a line for each participant.

use super::Plot;
use super::canvas::write;
use super::canvas::{Area, GRID, INK, MUTED, TEXT, WIDTH, at, colour, drawing, failed, fine, fitting, style, units};
use super::labels::{apart, room, room_for_numbers, short};
use super::places::{Group, Places, Ticks, groups, places, swept, written};
use crate::compare::analysis::{Analysis, Cell};
use crate::compare::report::numbers::Scale;
use crate::compare::report::table::label;
use crate::compare::results::{Comparison, Figure};
use crate::terminal::printable;
use plotters::chart::ChartBuilder;
use plotters::prelude::{Circle, LineSeries, PathElement, Polygon, Rectangle};
use plotters::style::Color;
use plotters::style::text_anchor::HPos;

/// Units.
const HEIGHT: i32 = 300;
const BOTTOM: f64 = 42.0;
const TOP: f64 = 26.0;
/// A plot for each important figure, and for each group of points that differ in one parameter only: the first with
/// several values.
///
/// # Errors
/// None is expected: they are drawn into memory.
pub(super) fn plots(comparison: &Comparison, analysis: &Analysis) -> anyhow::Result<Vec<Plot>> {
    let Some(swept) = swept(&comparison.points) else { return Ok(Vec::new()) };
    let mut plots = Vec::new();
    for group in groups(&comparison.points, swept) {
        let places = places(&group, swept);
        for (index, figure) in comparison.figures.iter().enumerate().filter(|(_, figure)| figure.headline) {
            let lines = lines(comparison, analysis, &group, &places, swept, index);
            // One point makes no line.
            if lines.iter().any(|(_, line)| line.len() > 1) {
                let id = format!("sweep{}", plots.len());
                plots.push(plot(comparison, &id, (&group.name, figure), &places, &lines)?);
            }
        }
    }
    Ok(plots)
}

/// For each participant its cells, in the order of the axis.
fn lines<'a>(
    comparison: &Comparison,
    analysis: &'a Analysis,
    group: &Group,
    places: &Places,
    swept: usize,
    figure: usize,
) -> Vec<(usize, Vec<(f64, &'a Cell)>)> {
    let of = |participant: usize| {
        let cells = group.points.iter().filter_map(|(index, point)| {
            let value = point.parameters.get(swept).map(|(_, value)| value)?;
            let place = places.values.iter().find(|(other, _)| other == value).map(|(_, place)| *place)?;
            let row = analysis.rows.iter().find(|row| row.point == *index && row.figure == figure)?;
            let cell = row.cells.get(participant)?.as_ref()?;
            cell.median.is_finite().then_some((place, cell))
        });
        let mut cells: Vec<(f64, &Cell)> = cells.collect();
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        (participant, cells)
    };
    (0..comparison.participants.len()).map(of).filter(|(_, cells)| !cells.is_empty()).collect()
}

fn plot(
    comparison: &Comparison,
    id: &str,
    (group, figure): (&str, &Figure),
    places: &Places,
    lines: &[(usize, Vec<(f64, &Cell)>)],
) -> anyhow::Result<Plot> {
    let cells = || lines.iter().flat_map(|(_, line)| line.iter().map(|(_, cell)| *cell));
    let reach = |cell: &Cell| cell.median.max(cell.quartiles.1);
    let most = cells().map(reach).filter(|value| value.is_finite()).fold(0.0, f64::max);
    let least = cells().map(|cell| cell.median.min(cell.quartiles.0)).filter(|it| it.is_finite()).fold(0.0, f64::min);
    let scale = Scale::of(&figure.unit, most.max(-least));
    let name = printable(&figure.name);
    let at_group = if group.is_empty() { String::new() } else { format!(": {group}") };
    let title = format!("{name} over {}{at_group}", places.name);
    let direction = if figure.higher_is_better { "More is better." } else { "Less is better." };
    let caption = format!("{direction} Medians; the whiskers reach from the first to the third quartile.");
    let description = lines.iter().map(|(participant, line)| {
        let values = line.iter().map(|(_, cell)| scale.write(cell.median, None));
        format!("{}: {}", label(comparison, *participant), values.collect::<Vec<_>>().join(", "))
    });
    let description = description.collect::<Vec<_>>().join("; ");
    let names: Vec<String> = lines.iter().map(|(participant, _)| label(comparison, *participant)).collect();
    let right = room(names.iter());
    let svg = drawing(id, HEIGHT, (&title, &description), |area| {
        let first = places.values.iter().map(|(_, place)| *place).fold(f64::INFINITY, f64::min);
        let last = places.values.iter().map(|(_, place)| *place).fold(f64::NEG_INFINITY, f64::max);
        let side = (last - first).abs().max(1e-9) * if places.is_numeric { 0.04 } else { 0.25 };
        let bottom = if least < 0.0 { scale.down(least) * 1.06 } else { 0.0 };
        let top = if most > 0.0 { scale.down(most) * 1.06 } else { 1.0 };
        let ticks: Vec<f64> = places.values.iter().map(|(_, place)| *place).collect();
        let left = room_for_numbers(top);
        let written = written(places, (first - side, last + side), f64::from(WIDTH) - left - right);
        let mut chart = ChartBuilder::on(area)
            .margin_top(fine(TOP))
            .margin_right(fine(right))
            .x_label_area_size(fine(BOTTOM))
            .y_label_area_size(fine(left))
            .build_cartesian_2d(Ticks { range: (first - side, last + side), ticks }, bottom..top)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID.stroke_width(4))
            .axis_style(MUTED.stroke_width(4))
            .set_all_tick_mark_size(fine(4.0))
            .x_labels(places.values.len().max(2))
            .y_labels(6)
            .x_label_style(style(MUTED, TEXT - 1, HPos::Center))
            .y_label_style(style(MUTED, TEXT - 1, HPos::Right))
            .x_label_formatter(&|value| {
                let nearest = written.iter().find(|(_, place)| (place - value).abs() < 1e-9);
                nearest.map(|(text, _)| text.clone()).unwrap_or_default()
            })
            .y_label_formatter(&|value| short(*value))
            .draw()
            .map_err(failed)?;
        let mut ends = Vec::new();
        for (order, (participant, line)) in lines.iter().enumerate() {
            let own = colour(*participant);
            // Whiskers beside each other; values without an axis of numbers are grouped.
            let spread = if places.is_numeric { 2.5 } else { 13.0 };
            let aside = (order as f64 - (lines.len().saturating_sub(1)) as f64 / 2.0) * spread;
            if places.is_numeric {
                let points = line.iter().map(|(place, cell)| (*place, scale.down(cell.median)));
                chart.draw_series(LineSeries::new(points, own.stroke_width(9))).map_err(failed)?;
            }
            for (place, cell) in line {
                let position = |value: f64| units(chart.backend_coord(&(*place, scale.down(value))));
                let (x, y) = position(cell.median);
                let x = if places.is_numeric { x } else { x + aside };
                if cell.quartiles.0.is_finite() && cell.quartiles.1.is_finite() {
                    let (low, high) = (position(cell.quartiles.0).1, position(cell.quartiles.1).1);
                    let x = if places.is_numeric { x + aside } else { x };
                    area.draw(&PathElement::new(vec![at(x, low), at(x, high)], own.stroke_width(6))).map_err(failed)?;
                }
                marker(area, (x, y), *participant)?;
            }
            let y = line.last().map_or(bottom, |(_, cell)| scale.down(cell.median));
            ends.push(units(chart.backend_coord(&(last, y))).1);
        }
        let heights = apart(&ends, 17.0, (TOP, f64::from(HEIGHT) - BOTTOM));
        for (((participant, _), name), y) in lines.iter().zip(&names).zip(heights) {
            let x = f64::from(WIDTH) - right + 12.0;
            marker(area, (x, y), *participant)?;
            let name = fitting(name, right - 22.0);
            write(area, &name, (x + 10.0, y), &style(colour(*participant), TEXT, HPos::Left))?;
        }
        let unit = if scale.name.is_empty() { name.clone() } else { format!("{name}, {}", scale.name) };
        write(area, &fitting(&unit, f64::from(WIDTH) - 16.0), (8.0, 11.0), &style(INK, TEXT - 1, HPos::Left))?;
        let below = (f64::from(WIDTH) - right, f64::from(HEIGHT) - 9.0);
        write(area, &fitting(&places.name, 240.0), below, &style(INK, TEXT - 1, HPos::Right))
    })?;
    Ok(Plot { title, caption, svg })
}

/// A form besides the colour, for those who cannot tell colours apart.
fn marker(area: &Area, (x, y): (f64, f64), participant: usize) -> anyhow::Result<()> {
    let own = colour(participant).filled();
    let corners = |corners: &[(f64, f64)]| {
        let points: Vec<(i32, i32)> = corners.iter().map(|(right, down)| at(x + right, y + down)).collect();
        area.draw(&Polygon::new(points, own)).map_err(failed)
    };
    match participant % 4 {
        0 => area.draw(&Circle::new(at(x, y), fine(4.6), own)).map_err(failed),
        1 => area.draw(&Rectangle::new([at(x - 4.2, y - 4.2), at(x + 4.2, y + 4.2)], own)).map_err(failed),
        2 => corners(&[(0.0, -5.6), (5.2, 4.0), (-5.2, 4.0)]),
        _ => corners(&[(0.0, -6.0), (5.4, 0.0), (0.0, 6.0), (-5.4, 0.0)]),
    }
}
