//! A program in Rust: a thousand strings.

pub(crate) fn main() {
    let numbers: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
    println!("{}", numbers.join("").len());
}
