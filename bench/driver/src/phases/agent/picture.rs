//! `ReadImage` of twelve megapixels beside the steps that its library must do.

use std::time::Instant;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat, RgbImage};

use super::{timed, tool};
use crate::bench::Bench;
use crate::message::{Request, quoted};
use crate::phases::tables::{latencies, latency_goal};
use crate::process::Launch;
use crate::report::{Limit, Report};
use crate::round::Round;

/// In pixels.
const WIDTH: u32 = 4_000;
const HEIGHT: u32 = 3_000;

/// What the product makes of it where nothing else is said: the longest edge in pixels, and the quality.
const EDGE: u32 = 1_568;
const QUALITY: u8 = 85;

pub(super) fn run(bench: &Bench, report: &mut Report, launch: &anyhow::Result<Launch>) -> anyhow::Result<()> {
    const OURS: &str = "`ReadImage`";
    const ALONE: &str = "decode, scale, encode";
    let path = bench.programs.own_path("picture.jpg");
    let mut photo = Vec::new();
    JpegEncoder::new_with_quality(&mut photo, 90).encode_image(&scene())?;
    std::fs::write(&path, &photo)?;
    let mut round = Round::new(bench);
    round.add(ALONE, || {
        timed(0, move |_| {
            let start = Instant::now();
            let picture = image::load_from_memory_with_format(&photo, ImageFormat::Jpeg)?;
            let smaller = picture.resize(EDGE, EDGE, FilterType::CatmullRom);
            let mut written = Vec::new();
            JpegEncoder::new_with_quality(&mut written, QUALITY).encode_image(&smaller)?;
            Ok(start.elapsed())
        })
    });
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let arguments = format!(r#"{{"file_path":{}}}"#, quoted(&name));
    tool(&mut round, OURS, launch, move |_| Request::tool("ReadImage", &arguments, "4000"));
    let results = round.run();
    let what = "`ReadImage` of a JPEG of 12 megapixels";
    report.goal(latency_goal(what, &results, OURS, ALONE, Limit::TimesAtMost(1.3)));
    let about = "A JPEG of 4000 × 3000 pixels, shown with 1,568 at the longer edge; the yardstick does the same steps with the same \
                 library in the driver's own process.";
    report.section(latencies("`ReadImage`", about, &results, ALONE));
    Ok(())
}

/// Something with edges and gradients, the same each time.
fn scene() -> DynamicImage {
    RgbImage::from_fn(WIDTH, HEIGHT, |x, y| {
        let band = if (x / 97 + y / 61) % 2 == 0 { 40 } else { 200 };
        image::Rgb([(x / 16) as u8, (y / 12) as u8, band])
    })
    .into()
}
