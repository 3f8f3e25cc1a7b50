//! How far two texts are the same, eight bytes at a time: in a component a comparison byte by byte takes longer than
//! reading the text as JSON.

/// How many bytes two texts have in common from their start.
#[must_use]
pub fn common_start(a: &[u8], b: &[u8]) -> usize {
    let (chunks, _) = a.as_chunks::<8>();
    let (others, _) = b.as_chunks::<8>();
    let same = |(a, b): &(&[u8; 8], &[u8; 8])| u64::from_le_bytes(**a) == u64::from_le_bytes(**b);
    let whole = 8 * chunks.iter().zip(others).take_while(same).count();
    whole + a[whole..].iter().zip(&b[whole..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes two texts have in common from their end.
#[must_use]
pub fn common_end(a: &[u8], b: &[u8]) -> usize {
    let (_, chunks) = a.as_rchunks::<8>();
    let (_, others) = b.as_rchunks::<8>();
    let same = |(a, b): &(&[u8; 8], &[u8; 8])| u64::from_le_bytes(**a) == u64::from_le_bytes(**b);
    let whole = 8 * chunks.iter().rev().zip(others.iter().rev()).take_while(same).count();
    let rest = a[..a.len() - whole].iter().rev().zip(b[..b.len() - whole].iter().rev());
    whole + rest.take_while(|(a, b)| a == b).count()
}

/// Whether a text begins with another one.
#[must_use]
pub fn begins_with(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|head| common_start(head, start) == start.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8; 20] = b"0123456789abcdef0123";

    #[test]
    fn texts_are_compared_to_the_last_byte() {
        for length in 0..TEXT.len() {
            assert!(begins_with(TEXT, &TEXT[..length]));
            assert_eq!(common_start(TEXT, &TEXT[..length]), length);
            assert_eq!(common_end(TEXT, &TEXT[length..]), TEXT.len() - length);
        }
        assert!(!begins_with(&TEXT[..19], TEXT));
    }

    #[test]
    fn a_byte_that_differs_is_found_wherever_it_is() {
        for at in 0..TEXT.len() {
            let mut other = *TEXT;
            other[at] = b'!';
            assert!(!begins_with(TEXT, &other), "{at}");
            assert_eq!((common_start(TEXT, &other), common_end(TEXT, &other)), (at, TEXT.len() - at - 1));
        }
    }
}
