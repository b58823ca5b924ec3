//! What is shown of a comparison, from results that are made up.

mod browser;
mod files;
mod fixture;
mod page;
mod picture;
mod tables;
