//! What a measurement found: told line by line, or gathered as one JSON object.

use serde_json::{Map, Value, json};

/// Measured times in nanoseconds, sorted.
pub struct Samples(Vec<u64>);

impl Samples {
    /// Times of one kind, at least one.
    pub fn new(mut all: Vec<u64>) -> Samples {
        all.sort_unstable();
        Samples(all)
    }

    /// A quantile in microseconds.
    pub fn at(&self, per_mille: usize) -> f64 {
        let index = (self.0.len() * per_mille / 1000).min(self.0.len() - 1);
        self.0[index] as f64 / 1000.0
    }
}

/// How results leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines for people, at once.
    Text,
    /// One object at the end: numbers by name, times as `{p50, p90, p99}` in microseconds.
    Json,
}

/// The results of one run.
#[derive(Debug)]
pub struct Sheet {
    format: Format,
    members: Map<String, Value>,
}

impl Sheet {
    /// Nothing measured yet.
    pub fn new(format: Format) -> Sheet {
        Sheet {
            format,
            members: Map::new(),
        }
    }

    /// A line for people.
    pub fn say(&self, line: &str) {
        if self.format == Format::Text {
            println!("{line}");
        }
    }

    /// A number; 0 for what is none.
    pub fn number(&mut self, name: &str, value: f64) {
        self.members.insert(name.into(), rounded(value));
    }

    /// Times of one kind, with a line that says what they are.
    pub fn times(&mut self, name: &str, what: &str, samples: &Samples) {
        let (p50, p90, p99) = (samples.at(500), samples.at(900), samples.at(990));
        self.say(&format!(
            "{what:<34} p50 {p50:8.2}  p90 {p90:8.2}  p99 {p99:8.2}  us"
        ));
        let told = json!({ "p50": rounded(p50), "p90": rounded(p90), "p99": rounded(p99) });
        self.members.insert(name.into(), told);
    }

    /// The object, for those who asked for it.
    pub fn end(self) {
        if self.format == Format::Json {
            println!("{}", self.object());
        }
    }

    fn object(&self) -> String {
        Value::from(self.members.clone()).to_string()
    }
}

/// With three digits behind the point.
fn rounded(value: f64) -> Value {
    let value = if value.is_finite() { value } else { 0.0 };
    Value::from((value * 1000.0).round() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_numbers_and_quantiles() {
        let mut sheet = Sheet::new(Format::Json);
        assert_eq!(sheet.object(), "{}");
        sheet.number("baselineUs", 28.5);
        sheet.times("trip", "a trip", &Samples::new((1..=1000).rev().collect()));
        assert_eq!(
            sheet.object(),
            r#"{"baselineUs":28.5,"trip":{"p50":0.501,"p90":0.901,"p99":0.991}}"#
        );
        sheet.number("share", 1.0 / 0.0);
        assert!(sheet.object().contains(r#""share":0.0"#));
    }

    #[test]
    fn quantiles_of_one_sample_are_that_sample() {
        let one = Samples::new(vec![1500]);
        assert_eq!((one.at(0), one.at(500), one.at(1000)), (1.5, 1.5, 1.5));
    }
}
