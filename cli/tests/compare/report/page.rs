//! The page with plots, as people see it: in a browser, whose pictures are looked at. Each look is also made at pages that
//! something is wrong with, and has to find it.

use super::browser::{Browser, Place};
use super::fixture::{analysed, server, sweep};
use super::picture::{Colour, Picture, contrast, luminance, number_of};
use jeshim_cli::compare::report;
use jeshim_cli::compare::results::Comparison;
use std::io::Read;
use std::path::Path;

/// Text has to have this contrast (WCAG, level AA).
const READABLE: f64 = 4.5;

fn html(comparison: &Comparison) -> String {
    report::html(comparison, &analysed(comparison), None).expect("a page")
}

/// The colours of the page's style: a variable's, in light or dark.
fn colour(page: &str, name: &str, dark: bool) -> Colour {
    let definition = format!("--{name}: #");
    let mut values = page.split(&definition).skip(1);
    let value = if dark { values.nth(1) } else { values.next() };
    let hex = value.and_then(|value| value.get(..6)).unwrap_or_else(|| panic!("no {name}, dark: {dark}"));
    let part = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    [part(0), part(2), part(4)]
}

/// Looks at a page at one width. `style`: of a page that nothing is wrong with.
fn look(browser: &Browser, page: &Path, style: &str, width: u32, dark: bool) -> Result<(), String> {
    let layout = browser.measure(page, width);
    if layout.width > layout.window || layout.window > f64::from(width) {
        return Err(format!("too wide: {} in {}", layout.width, layout.window));
    }
    if layout.plots.is_empty() {
        return Err("no plots".to_owned());
    }
    if layout.smallest < 8.0 {
        return Err(format!("text of {} pixels in a drawing", layout.smallest));
    }
    let picture = browser.look(page, (width, layout.height as u32), dark);
    background(&picture, dark)?;
    let whole = Place { left: 0.0, top: 0.0, right: f64::from(width), bottom: 120.0 };
    text("the heading", &picture, whole, dark)?;
    for (number, place) in layout.plots.iter().enumerate() {
        text(&format!("drawing {number}"), &picture, *place, dark)?;
    }
    // The first drawings have a line for each participant.
    let place = layout.plots.first().copied().ok_or("no plots")?;
    for participant in 0..3 {
        let found = number_of(colour(style, &format!("c{participant}"), dark), picture.part(place));
        if found < 100 {
            return Err(format!("{found} pixels of participant {participant}"));
        }
    }
    Ok(())
}

/// The page's margins are of one colour, which is light or dark.
fn background(picture: &Picture, dark: bool) -> Result<(), String> {
    let corner = picture.at(2, 2);
    let is_right = if dark { luminance(corner) < 0.03 } else { luminance(corner) > 0.9 };
    if !is_right {
        return Err(format!("the background is {corner:?}, dark: {dark}"));
    }
    for x in [1, picture.width - 2] {
        if let Some(y) = (0..picture.height).find(|y| picture.at(x, *y) != corner) {
            return Err(format!("something in the margin at {x}, {y}"));
        }
    }
    Ok(())
}

/// There is text that can be read.
fn text(what: &str, picture: &Picture, place: Place, dark: bool) -> Result<(), String> {
    let behind = picture.at(2, 2);
    let is_ink = |pixel: &Colour| contrast(*pixel, behind) > READABLE && (luminance(*pixel) > 0.18) == dark;
    let found = picture.part(place).filter(is_ink).count();
    if found < 80 { Err(format!("{what} has {found} pixels of text")) } else { Ok(()) }
}

#[test]
fn the_page_can_be_read_on_a_phone_and_a_desk_in_light_and_dark() {
    let Some(browser) = Browser::find() else { return };
    // With names as long as those of real programs.
    let mut comparison = sweep();
    comparison.figures[3].name =
        "a_figure_with_a_name_that_has_no_place_where_it_could_be_broken/ns_per_operation".to_owned();
    comparison.figures[3].headline = true;
    for (name, comparison) in [("sweep", &comparison), ("server", &server())] {
        let html = html(comparison);
        let page = browser.page(name, &html);
        for (width, dark) in [(320, false), (360, true), (1200, false), (1200, true)] {
            // The server has no drawing with lines before those of its ratios.
            let result = if name == "sweep" {
                look(&browser, &page, &html, width, dark)
            } else {
                browsed(&browser, &page, &html, width, dark)
            };
            result.unwrap_or_else(|problem| panic!("{name}, {width} wide, dark: {dark}: {problem}"));
        }
    }
}

/// Memory over time: a line for each participant.
fn browsed(browser: &Browser, page: &Path, style: &str, width: u32, dark: bool) -> Result<(), String> {
    let layout = browser.measure(page, width);
    if layout.width > layout.window {
        return Err(format!("too wide: {} in {}", layout.width, layout.window));
    }
    let picture = browser.look(page, (width, layout.height as u32), dark);
    background(&picture, dark)?;
    let [_, _, time, parts] = layout.plots.as_slice() else {
        return Err(format!("{} drawings", layout.plots.len()));
    };
    for (place, kind, kinds) in [(time, "c", vec![0, 1, 2]), (parts, "m", vec![0, 2, 3, 4, 5, 6])] {
        for number in kinds {
            // Of the parts the bar alone, and not what explains it.
            let bottom = if kind == "m" { place.top + (place.bottom - place.top) * 0.3 } else { place.bottom };
            let colour = colour(style, &format!("{kind}{number}"), dark);
            let found = number_of(colour, picture.part(Place { bottom, ..*place }));
            if found < 25 {
                return Err(format!("{found} pixels of {kind}{number}"));
            }
        }
    }
    Ok(())
}

#[test]
fn looking_finds_what_is_wrong_with_a_page() {
    let Some(browser) = Browser::find() else { return };
    let right = html(&sweep());
    let without_plots = {
        let (start, rest) = right.split_once("<div class=\"plots\">").expect("plots");
        let (_, end) = rest.split_once("</section>").expect("an end");
        format!("{start}<div>{end}")
    };
    let cases = [
        ("a plot is missing", without_plots, false, "no plots"),
        (
            "no dark style",
            right.replace("prefers-color-scheme: dark", "prefers-color-scheme: none"),
            true,
            "background",
        ),
        (
            "a line is not drawn",
            right.replace("stroke=\"var(--c1)\"", "").replace("fill=\"var(--c1)\"", ""),
            false,
            "participant 1",
        ),
        (
            "ink like paper",
            right.replace("--ink: #16202a", "--ink: #eeeeee").replace("--muted: #56636f", "--muted: #dddddd"),
            false,
            "pixels of text",
        ),
        ("a wide table", right.replace(".table { overflow-x: auto;", ".table { min-width: 70rem;"), false, "too wide"),
        ("small text", right.replace("font-size=\"5", "font-size=\"2"), false, "pixels in a drawing"),
    ];
    for (number, (what, html, dark, problem)) in cases.iter().enumerate() {
        assert_ne!(*html, right, "{what}: nothing was changed");
        let page = browser.page(&format!("wrong{number}"), html);
        let found = look(&browser, &page, &right, 360, *dark).expect_err(what);
        assert!(found.contains(problem), "{what}: {found}");
    }
}

#[test]
fn the_page_is_printed_in_the_colours_of_light() {
    let Some(browser) = Browser::find() else { return };
    let html = html(&sweep());
    let pdf = browser.print(&browser.page("print", &html));
    assert!(pdf.starts_with(b"%PDF"));
    let drawn = inflated(&pdf);
    let pages = String::from_utf8_lossy(&pdf).matches("/Type /Page\n").count();
    assert!((1..=12).contains(&pages), "{pages} pages");
    for participant in 0..3 {
        let [red, green, blue] = colour(&html, &format!("c{participant}"), false).map(|part| {
            let part = format!("{:.4}", f64::from(part) / 255.0);
            part.trim_start_matches('0').trim_end_matches('0').trim_end_matches('.').to_owned()
        });
        let zero = |part: String| if part.is_empty() { "0".to_owned() } else { part };
        let used = format!("{} {} {} ", zero(red), zero(green), zero(blue));
        assert!(drawn.matches(&used).count() > 5, "{used} is not in what is drawn");
    }
}

/// The streams of a PDF.
fn inflated(pdf: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = pdf;
    while let Some(start) = memchr::memmem::find(rest, b"stream\n") {
        rest = &rest[start + b"stream\n".len()..];
        let mut stream = Vec::new();
        // Those that are not compressed do not matter.
        let _ = flate2::read::ZlibDecoder::new(rest).read_to_end(&mut stream);
        text.push_str(&String::from_utf8_lossy(&stream));
    }
    text
}

#[test]
fn every_colour_that_text_is_written_in_can_be_read() {
    let html = html(&sweep());
    for dark in [false, true] {
        for surface in ["surface", "raised"] {
            let behind = colour(&html, surface, dark);
            for name in ["ink", "muted", "good", "bad", "note", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"] {
                // Participants have their colour on the page only.
                if surface == "raised" && name.starts_with('c') {
                    continue;
                }
                let contrast = contrast(colour(&html, name, dark), behind);
                assert!(contrast >= READABLE, "{name} on {surface}, dark: {dark}: {contrast:.2}");
            }
        }
    }
}

#[test]
fn many_rounds_and_samples_do_not_make_a_large_page() {
    let mut comparison = server();
    for run in &mut comparison.runs {
        run.memory = (0..50_000).map(|step| (step as f32 / 1e4, u64::from(step as u32 % 977) << 16)).collect();
    }
    let mut analysis = analysed(&comparison);
    for cell in analysis.rows.iter_mut().flat_map(|row| row.cells.iter_mut().flatten()) {
        if let Some(ratio) = &mut cell.ratio {
            ratio.ratios = (0..100_000).map(|round| 0.9 + f64::from(round % 100) / 1e3).collect();
        }
    }
    let html = report::html(&comparison, &analysis, None).expect("a page");
    assert!(html.len() < 1_500_000, "{} bytes", html.len());
    assert!(html.contains("Of more than 400 rounds"));
}

#[test]
fn the_page_is_complete_in_itself_and_says_all() {
    let mut comparison = sweep();
    let evil = "<script>alert(1)</script>\"'&";
    comparison.participants[1].label = evil.to_owned();
    comparison.figures[0].name = evil.to_owned();
    comparison.findings[0].text = evil.to_owned();
    comparison.asked.push(evil.to_owned());
    let html = html(&comparison);
    for absent in ["<script", "http://", "https://", "src=", "@import", "url("] {
        // The SVG elements of a page need no name space.
        assert!(
            !html.contains(absent),
            "{absent}: {}",
            html.split(absent).nth(1).unwrap_or_default().get(..80).unwrap_or_default()
        );
    }
    for part in
        ["Who served", "How it was measured", "Where the memory went", "To do it again", "jeshim compare --with system"]
    {
        assert!(html.contains(part), "{part}");
    }
    let drawings = html.matches("<svg ").count();
    assert!(drawings >= 6, "{drawings}");
    assert_eq!(html.matches("role=\"img\"").count(), drawings);
    assert_eq!(html.matches("<title id=").count(), drawings);
    assert_eq!(html.matches("<desc id=").count(), drawings);
    let mut ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let number = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), number, "no name twice");
}
