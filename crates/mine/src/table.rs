//! Large itemsets and rules as text with commas between columns (RFC 4180), for files.
//!
//! The items of an itemset have blanks between them. A name that holds a blank or a quote, or nothing, is in
//! quotes, so an itemset is itself a row of text with blanks between columns. Not here: other forms, which
//! libraries write.

use crate::items::Item;
use crate::rules::{Measures, Rule};
use std::io::Write;

/// The first line of itemsets.
pub const ITEMSETS: &str = "itemset,count,support\n";

/// Columns of rules behind the antecedents and consequents.
pub const MEASURES: [&str; 12] = [
    "antecedent support",
    "consequent support",
    "support",
    "confidence",
    "lift",
    "representativity",
    "leverage",
    "conviction",
    "zhangs_metric",
    "jaccard",
    "certainty",
    "kulczynski",
];

/// The first line of rules.
pub fn rules_head() -> String {
    format!("antecedents,consequents,{}\n", MEASURES.join(","))
}

/// Writes rows; items have names or are written as numbers.
pub struct Rows<'a> {
    /// Transactions of which supports are shares.
    pub transactions: u64,
    /// The name of each item.
    pub names: Option<&'a [String]>,
}

impl Rows<'_> {
    /// Appends a large itemset.
    pub fn large(&self, itemset: &[Item], count: u64, text: &mut Vec<u8>) {
        self.itemset(itemset, text);
        let support = count as f64 / self.transactions as f64;
        writeln!(text, ",{count},{support}").expect("memory takes all");
    }

    /// Appends a rule.
    pub fn rule(&self, rule: &Rule, text: &mut Vec<u8>) {
        self.itemset(&rule.antecedent, text);
        text.push(b',');
        self.itemset(&rule.consequent, text);
        for value in columns(&rule.measures(self.transactions)) {
            write!(text, ",{value}").expect("memory takes all");
        }
        text.push(b'\n');
    }

    fn itemset(&self, itemset: &[Item], text: &mut Vec<u8>) {
        let start = text.len();
        for (at, item) in itemset.iter().enumerate() {
            if at > 0 {
                text.push(b' ');
            }
            match self.names {
                Some(names) => name(&names[*item as usize], text),
                None => write!(text, "{item}").expect("memory takes all"),
            }
        }
        if self.names.is_some()
            && text[start..].iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'))
        {
            let itemset = text.split_off(start);
            quoted(&itemset, text);
        }
    }
}

/// A name among others with blanks between them.
fn name(name: &str, text: &mut Vec<u8>) {
    if name.is_empty() || name.contains(|letter: char| letter.is_whitespace() || letter == '"') {
        quoted(name.as_bytes(), text);
    } else {
        text.extend_from_slice(name.as_bytes());
    }
}

/// In quotes, with those that it has doubled (RFC 4180, 2.7).
fn quoted(bytes: &[u8], text: &mut Vec<u8>) {
    text.push(b'"');
    for byte in bytes {
        text.extend_from_slice(if *byte == b'"' { b"\"\"" } else { std::slice::from_ref(byte) });
    }
    text.push(b'"');
}

/// Measures in the order of [`MEASURES`]; representativity is 1, because no transaction lacks values.
pub fn columns(measures: &Measures) -> [f64; MEASURES.len()] {
    [
        measures.antecedent_support,
        measures.consequent_support,
        measures.support,
        measures.confidence,
        measures.lift,
        1.0,
        measures.leverage,
        measures.conviction,
        measures.zhangs_metric,
        measures.jaccard,
        measures.certainty,
        measures.kulczynski,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn itemsets_are_rows_and_names_are_quoted_where_they_must() {
        let names = ["beer", "salt, fine", "6\" nails"].map(String::from);
        let mut text = ITEMSETS.as_bytes().to_vec();
        for names in [Some(&names[..]), None] {
            let rows = Rows { transactions: 4, names };
            rows.large(&[0, 1], 3, &mut text);
            rows.large(&[1, 2], 1, &mut text);
        }
        let wanted = concat!(
            "itemset,count,support\n",
            "\"beer \"\"salt, fine\"\"\",3,0.75\n",
            "\"\"\"salt, fine\"\" \"\"6\"\"\"\" nails\"\"\",1,0.25\n",
            "0 1,3,0.75\n1 2,1,0.25\n",
        );
        assert_eq!(String::from_utf8(text).unwrap(), wanted);
    }

    #[test]
    fn a_rule_has_a_value_for_each_column() {
        let rule = Rule {
            antecedent: vec![7],
            consequent: vec![8, 9],
            both: 2,
            with_antecedent: 2,
            with_consequent: 4,
        };
        let mut text = Vec::new();
        Rows { transactions: 4, names: None }.rule(&rule, &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), "7,8 9,0.5,1,0.5,1,1,1,0,inf,0,0.5,0,0.75\n");
        assert_eq!(rules_head().split(',').count(), 14);
    }
}
