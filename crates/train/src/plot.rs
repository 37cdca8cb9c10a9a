//! Plots as SVG text.

use crate::store::{Result, RunError};
use plotters::prelude::*;

/// One line, or a cloud of points.
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// Where it goes.
    pub points: Vec<(f64, f64)>,
    /// Points that are not joined.
    pub cloud: bool,
}

impl Series {
    /// A line.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { name: name.into(), points, cloud: false }
    }

    /// A cloud.
    pub fn cloud(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { name: name.into(), points, cloud: true }
    }
}

/// What stands around the lines.
pub struct Frame<'a> {
    /// Above.
    pub title: &'a str,
    /// Below.
    pub x: &'a str,
    /// At the left.
    pub y: &'a str,
    /// The x axis doubles from mark to mark.
    pub log_x: bool,
}

/// Colours that also those tell apart who see few (Okabe & Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];

/// The range of all values, a little wider; never empty.
fn range(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = values
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    match low < high {
        true => low - 0.04 * (high - low)..high + 0.04 * (high - low),
        false if low.is_finite() => low - 0.5..low + 0.5,
        false => 0.0..1.0,
    }
}

/// Draws the series.
pub fn svg(frame: &Frame<'_>, series: &[Series]) -> Result<String> {
    let mut text = String::new();
    draw(frame, series, &mut text).map_err(|e| RunError::Learning(format!("cannot plot \"{}\": {e}", frame.title)))?;
    Ok(text)
}

fn draw(frame: &Frame<'_>, series: &[Series], text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let at = |x: f64| if frame.log_x { x.max(f64::MIN_POSITIVE).log2() } else { x };
    let x = range(series.iter().flat_map(|s| s.points.iter().map(|p| at(p.0))));
    let y = range(series.iter().flat_map(|s| s.points.iter().map(|p| p.1)));
    let root = SVGBackend::with_string(text, (760, 460)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(frame.title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(x, y)?;
    let label = |v: &f64| if frame.log_x { format!("{:.0}", v.exp2()) } else { short(*v) };
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_desc(frame.x)
        .y_desc(frame.y)
        .x_label_formatter(&label)
        .y_label_formatter(&|v| short(*v))
        .draw()?;
    for (i, s) in series.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let points = s.points.iter().map(|p| (at(p.0), p.1)).filter(|p| p.0.is_finite() && p.1.is_finite());
        let drawn = match s.cloud {
            true => chart.draw_series(points.map(|p| Circle::new(p, 2, colour.mix(0.5).filled())))?,
            false => chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?,
        };
        drawn
            .label(s.name.clone())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    if series.len() > 1 {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .draw()?;
    }
    root.present()?;
    drop(chart);
    drop(root);
    Ok(())
}

/// A number with as many digits as help.
fn short(v: f64) -> String {
    let text = match v.abs() {
        a if a >= 100.0 => format!("{v:.0}"),
        a if a >= 1.0 => format!("{v:.2}"),
        _ => format!("{v:.4}"),
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}
