//! Looking at a picture.

use super::browser::Place;
use std::io::BufReader;
use std::path::Path;

pub(crate) type Colour = [u8; 3];

pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pixels: Vec<Colour>,
}

impl Picture {
    /// The left upper part of a PNG file, of this size.
    pub(crate) fn read(file: &Path, width: u32, height: u32) -> Picture {
        let open = std::fs::File::open(file).expect("a picture");
        let mut decoder = png::Decoder::new(BufReader::new(open));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().expect("PNG");
        let mut data = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut data).expect("PNG");
        let samples = info.color_type.samples();
        assert!(samples >= 3, "a picture with colours");
        assert!(
            info.width >= width && info.height >= height,
            "{} is {} by {}",
            file.display(),
            info.width,
            info.height
        );
        let rows = data.chunks(info.line_size).take(height as usize);
        let pixels =
            rows.flat_map(|row| row.chunks(samples).take(width as usize).map(|pixel| [pixel[0], pixel[1], pixel[2]]));
        Picture { width: width as usize, height: height as usize, pixels: pixels.collect() }
    }

    pub(crate) fn at(&self, x: usize, y: usize) -> Colour {
        self.pixels[y * self.width + x]
    }

    /// The pixels of a part, as far as it is on the picture.
    pub(crate) fn part(&self, place: Place) -> impl Iterator<Item = Colour> {
        let (left, right) = (place.left.max(0.0) as usize, (place.right as usize).min(self.width));
        let (top, bottom) = (place.top.max(0.0) as usize, (place.bottom as usize).min(self.height));
        (top..bottom).flat_map(move |y| (left..right).map(move |x| self.at(x, y)))
    }
}

/// How many are of this colour, or nearly.
pub(crate) fn number_of(colour: Colour, pixels: impl Iterator<Item = Colour>) -> usize {
    pixels.filter(|pixel| pixel.iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= 24)).count()
}

/// Relative luminance of WCAG: 0 for black, 1 for white.
pub(crate) fn luminance(colour: Colour) -> f64 {
    let [red, green, blue] = colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// Contrast of WCAG: 1 to 21.
pub(crate) fn contrast(one: Colour, other: Colour) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}
