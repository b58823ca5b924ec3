//! One page, complete in itself: no script, and nothing from elsewhere.

use super::document::Document;
use super::plots;
use crate::compare::against::Against;
use crate::compare::analysis::Analysis;
use crate::compare::results::Comparison;
use anyhow::Context;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, context};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// The page.
///
/// # Errors
/// None is expected: it is made in memory.
pub fn html(comparison: &Comparison, analysis: &Analysis, older: Option<&Against>) -> anyhow::Result<String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.context("the page's template")?);
    let page = environment.template_from_str(PAGE).context("the page's template")?;
    let document = Document::of(comparison, analysis, older, false);
    let whole = (document.left_out > 0).then(|| Document::of(comparison, analysis, None, true).tables);
    let plots = plots::all(comparison, analysis).context("the page's plots")?;
    let names: Vec<String> = comparison.participants.iter().map(|it| crate::terminal::printable(&it.label)).collect();
    let title = document.title.clone().unwrap_or_else(|| names.join(" against "));
    let page = page.render(context! {
        title,
        style => STYLE,
        document => Serde(&document),
        whole => Serde(&whole),
        plots => Serde(&plots),
        baseline => names.get(comparison.baseline),
        version => crate::terminal::printable(&comparison.jeshim),
    });
    page.context("the page")
}
