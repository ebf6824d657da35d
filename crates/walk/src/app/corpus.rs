//! A corpus: each walk a line of node numbers, as programs that learn word vectors read it.
//!
//! B. Perozzi, R. Al-Rfou and S. Skiena, "DeepWalk: online learning of social representations", KDD 2014: a
//! node is a word, a walk a sentence.

/// Appends a walk as a line.
pub fn line(path: &[u32], out: &mut String) {
    let mut first = true;
    for node in path {
        if !std::mem::take(&mut first) {
            out.push(' ');
        }
        decimal(*node, out);
    }
    out.push('\n');
}

/// Digits from the last to the first: writing is most of the time of a corpus.
fn decimal(mut number: u32, out: &mut String) {
    let mut digits = [0u8; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().map(|&digit| char::from(digit)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_a_line() {
        let mut text = String::new();
        line(&[0, 7, 4_294_967_295, 10], &mut text);
        line(&[3], &mut text);
        assert_eq!(text, "0 7 4294967295 10\n3\n");
    }
}
