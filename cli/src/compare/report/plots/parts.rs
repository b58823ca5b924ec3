//! Where the memory went: a bar for each participant that can tell, of the parts of what was resident.

use super::Plot;
use super::canvas::{Area, INK, SURFACE, TEXT, WIDTH, at, drawing, failed, part_colour, style, write};
use super::canvas::{fitting, width_of};
use crate::compare::report::memory::{Part, of_point, parts};
use crate::compare::report::numbers::{bytes, share};
use crate::compare::report::table::label;
use crate::compare::results::Comparison;
use crate::terminal::printable;
use plotters::prelude::Rectangle;
use plotters::style::Color;
use plotters::style::text_anchor::HPos;

/// Units.
const SIDE: f64 = 12.0;
const BAR: f64 = 62.0;
const LEGEND: f64 = 22.0;

struct Bar {
    name: String,
    resident: u64,
    parts: Vec<Part>,
}

/// A plot for each point at which anybody can tell.
///
/// # Errors
/// None is expected: they are drawn into memory.
pub(super) fn plots(comparison: &Comparison) -> anyhow::Result<Vec<Plot>> {
    let mut plots = Vec::new();
    for (index, point) in comparison.points.iter().enumerate() {
        let proofs = of_point(comparison, index);
        let bars = proofs.into_iter().map(|(proof, memory)| Bar {
            name: label(comparison, proof.participant),
            resident: memory.resident,
            parts: parts(memory),
        });
        let bars: Vec<Bar> = bars.filter(|bar| bar.resident > 0).collect();
        if !bars.is_empty() {
            plots.push(plot(index, &printable(point.name()), &bars)?);
        }
    }
    Ok(plots)
}

fn plot(index: usize, point: &str, bars: &[Bar]) -> anyhow::Result<Plot> {
    let title = if point.is_empty() { String::new() } else { format!(": {point}") };
    let title = format!("Where the memory went{title}");
    let caption = "What was resident at the end of a run of its own, in its parts.".to_owned();
    let description = bars.iter().map(|bar| {
        let parts = bar.parts.iter().map(|part| format!("{} {}", part.name, share(part.bytes, bar.resident)));
        format!("{}, {}: {}", bar.name, bytes(bar.resident), parts.collect::<Vec<_>>().join(", "))
    });
    let description = description.collect::<Vec<_>>().join("; ");
    let mut kinds: Vec<(usize, &str)> = bars.iter().flat_map(|bar| &bar.parts).map(|it| (it.kind, it.name)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // With one bar the legend has room for the numbers.
    let only = bars.first().filter(|_| bars.len() == 1);
    let columns = if only.is_some() { 1 } else { 2 };
    let rows = kinds.len().div_ceil(columns);
    let height = BAR * bars.len() as f64 + LEGEND * rows as f64 + 16.0;
    let svg = drawing(&format!("parts{index}"), height as i32, (&title, &description), |area| {
        let longest = bars.iter().map(|bar| bar.resident).max().unwrap_or(1).max(1);
        for (number, bar) in bars.iter().enumerate() {
            show(area, BAR * number as f64, bar, longest)?;
        }
        for (number, (kind, name)) in kinds.iter().enumerate() {
            let column = f64::from(u8::try_from(number / rows.max(1)).unwrap_or(0));
            let x = SIDE + column * f64::from(WIDTH) / 2.0;
            let y = BAR * bars.len() as f64 + 12.0 + LEGEND * (number % rows.max(1)) as f64;
            let swatch = Rectangle::new([at(x, y - 7.0), at(x + 14.0, y + 7.0)], part_colour(*kind).filled());
            area.draw(&swatch).map_err(failed)?;
            write(area, name, (x + 22.0, y), &style(INK, TEXT, HPos::Left))?;
            let part = only.and_then(|bar| bar.parts.iter().find(|part| part.kind == *kind).map(|it| (bar, it.bytes)));
            if let Some((bar, size)) = part {
                let text = format!("{} · {}", bytes(size), share(size, bar.resident));
                write(area, &text, (f64::from(WIDTH) - SIDE, y), &style(INK, TEXT, HPos::Right))?;
            }
        }
        Ok(())
    })?;
    Ok(Plot { title, caption, svg })
}

fn show(area: &Area, top: f64, bar: &Bar, longest: u64) -> anyhow::Result<()> {
    let whole = f64::from(WIDTH) - 2.0 * SIDE;
    let total = bytes(bar.resident);
    let name = fitting(&bar.name, whole - width_of(&total) - 12.0);
    write(area, &name, (SIDE, top + 12.0), &style(INK, TEXT, HPos::Left))?;
    write(area, &total, (f64::from(WIDTH) - SIDE, top + 12.0), &style(INK, TEXT, HPos::Right))?;
    let mut sum = 0_u64;
    let x = |bytes: u64| SIDE + whole * (bytes as f64 / longest as f64).min(1.0);
    for part in &bar.parts {
        let left = x(sum);
        sum = sum.saturating_add(part.bytes);
        let right = x(sum);
        // A part that cannot be seen is in the table.
        if right - left < 0.25 {
            continue;
        }
        let sides = [at(left, top + 24.0), at(right, top + 52.0)];
        area.draw(&Rectangle::new(sides, part_colour(part.kind).filled())).map_err(failed)?;
        if right - left > 3.0 && sum < bar.resident {
            let gap = [at(right - 1.0, top + 24.0), at(right, top + 52.0)];
            area.draw(&Rectangle::new(gap, SURFACE.filled())).map_err(failed)?;
        }
    }
    Ok(())
}
