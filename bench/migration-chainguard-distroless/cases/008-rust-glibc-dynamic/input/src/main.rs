use std::io::Write;
use std::net::TcpListener;

fn code(mut number: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut digits = Vec::new();
    loop {
        digits.push(DIGITS[(number % 36) as usize]);
        number /= 36;
        if number == 0 {
            break;
        }
    }
    digits.reverse();
    String::from_utf8(digits).expect("digits are ASCII")
}

fn main() -> std::io::Result<()> {
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "0.0.0.0:8080".into());
    for (number, stream) in TcpListener::bind(address)?.incoming().enumerate() {
        write!(stream?, "HTTP/1.0 200 OK\r\n\r\n{}\n", code(number as u64))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_base_36() {
        assert_eq!(super::code(35), "z");
        assert_eq!(super::code(36), "10");
    }
}
