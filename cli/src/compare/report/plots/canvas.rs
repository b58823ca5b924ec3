//! What all drawings have. Positions are in units of which a drawing is [`WIDTH`] wide: on a phone they become about
//! two thirds of a pixel, which leaves text readable.

use anyhow::anyhow;
use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, IntoDrawingArea, IntoFont, RGBColor, SVGBackend, Text, TextStyle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform};

/// Units.
pub(super) const WIDTH: i32 = 440;
/// The backend has whole numbers only: so many of them to a unit.
pub(super) const FINE: i32 = 4;
/// Height of text in units.
pub(super) const TEXT: i32 = 14;
/// About the width of a letter in units.
const LETTER: f64 = 7.4;

/// So many participants have a colour of their own; then they come again.
pub(super) const COLOURS: u8 = 8;
/// So many parts of memory.
pub(super) const PARTS: u8 = 8;

/// Stand-ins for colours: [`finish`] puts the names of the page's variables in their place.
const OWN: u8 = 1;
const PART: u8 = 2;
const COMMON: u8 = 3;
/// Text.
pub(super) const INK: RGBColor = RGBColor(COMMON, 0, 0);
/// Text that matters less, axes.
pub(super) const MUTED: RGBColor = RGBColor(COMMON, 0, 1);
/// Lines behind everything.
pub(super) const GRID: RGBColor = RGBColor(COMMON, 0, 2);
/// What the page is made of.
pub(super) const SURFACE: RGBColor = RGBColor(COMMON, 0, 3);

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The colour of a participant.
pub(super) fn colour(participant: usize) -> RGBColor {
    RGBColor(OWN, 0, wrapped(participant, COLOURS))
}

/// The colour of a part of memory.
pub(super) fn part_colour(kind: usize) -> RGBColor {
    RGBColor(PART, 0, wrapped(kind, PARTS))
}

fn wrapped(index: usize, number: u8) -> u8 {
    u8::try_from(index % usize::from(number)).unwrap_or(0)
}

/// Units to what the backend counts in.
pub(super) fn fine(units: f64) -> i32 {
    (units * f64::from(FINE)).round() as i32
}

/// A point.
pub(super) fn at(x: f64, y: f64) -> (i32, i32) {
    (fine(x), fine(y))
}

/// A point of the backend, in units.
pub(super) fn units((x, y): (i32, i32)) -> (f64, f64) {
    (f64::from(x) / f64::from(FINE), f64::from(y) / f64::from(FINE))
}

/// A style of text; `size` in units.
pub(super) fn style(colour: RGBColor, size: i32, horizontal: HPos) -> TextStyle<'static> {
    // The backend divides by this.
    let size = f64::from(size * FINE) * 1.24;
    let style = TextStyle { color: colour.to_backend_color(), ..TextStyle::from(("sans-serif", size).into_font()) };
    style.pos(Pos::new(horizontal, VPos::Center))
}

/// Writes text; its middle is at this height.
///
/// # Errors
/// The backend's.
pub(super) fn write(area: &Area, text: &str, position: (f64, f64), style: &TextStyle) -> anyhow::Result<()> {
    // Without this, what the font is like is asked of the system.
    let style = style.transform(FontTransform::None);
    area.draw(&Text::new(text.to_owned(), at(position.0, position.1), style)).map_err(failed)
}

/// Text that is not wider than so many units.
pub(super) fn fitting(text: &str, units: f64) -> String {
    let most = (units / LETTER).max(2.0) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// About how wide a text is, in units.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// An error of the backend.
pub(super) fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("a plot cannot be drawn: {error}")
}

/// A drawing: an SVG element with a title and a description for those who do not see it. `id` is unique on the page.
///
/// # Errors
/// What `draw` gives.
pub(super) fn drawing(
    id: &str,
    height: i32,
    (title, description): (&str, &str),
    draw: impl FnOnce(&Area) -> anyhow::Result<()>,
) -> anyhow::Result<String> {
    let mut svg = String::new();
    let size = (WIDTH.saturating_mul(FINE).unsigned_abs(), height.saturating_mul(FINE).unsigned_abs());
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw(&area)?;
        area.present().map_err(failed)?;
    }
    let inner = svg.split_once('>').map(|(_, inner)| inner).unwrap_or_default();
    let (title, description) = (escaped(title), escaped(description));
    let (width, height) = size;
    Ok(format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\n\
         <title id=\"{id}-t\">{title}</title>\n<desc id=\"{id}-d\">{description}</desc>\n{}",
        finish(inner)
    ))
}

/// Names of the page's style in place of the stand-ins. Only attributes have them in quotes: in text they are escaped.
fn finish(svg: &str) -> String {
    let mut text = svg.replace(" font-family=\"sans-serif\"", "").replace(" opacity=\"1\"", "");
    let mut name = |colour: RGBColor, name: String| {
        let RGBColor(red, green, blue) = colour;
        text = text.replace(&format!("\"#{red:02X}{green:02X}{blue:02X}\""), &format!("\"var(--{name})\""));
    };
    for index in 0..COLOURS {
        name(RGBColor(OWN, 0, index), format!("c{index}"));
    }
    for index in 0..PARTS {
        name(RGBColor(PART, 0, index), format!("m{index}"));
    }
    for (colour, variable) in [(INK, "ink"), (MUTED, "muted"), (GRID, "grid"), (SURFACE, "surface")] {
        name(colour, variable.to_owned());
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::prelude::Circle;

    #[test]
    fn colours_are_names_and_text_of_others_is_only_text() {
        let hostile = "</title><script>\"#010000\"";
        let svg = drawing("p", 10, (hostile, hostile), |area| {
            area.draw(&Circle::new(at(5.0, 5.0), fine(2.0), colour(9).filled())).map_err(failed)?;
            write(area, hostile, (1.0, 1.0), &style(INK, TEXT, HPos::Left))
        })
        .expect("a drawing");
        assert!(svg.contains("fill=\"var(--c1)\"") && svg.contains("fill=\"var(--ink)\""), "{svg}");
        assert!(!svg.contains("<script") && !svg.contains("fill=\"#"), "{svg}");
        assert!(svg.contains("&quot;#010000&quot;"), "{svg}");
        assert!(svg.starts_with("<svg viewBox=\"0 0 1760 40\"") && svg.trim_end().ends_with("</svg>"), "{svg}");
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(fitting("jeshim", 100.0), "jeshim");
        assert_eq!(fitting("a very long name of a figure", 74.0), "a very lo…");
        assert_eq!(fitting("ääääääääääää", 0.0), "ä…");
    }
}
