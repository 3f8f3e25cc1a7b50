//! Uses the network, and so imports it.

use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, perfect, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    drop(std::net::TcpStream::connect("192.0.2.1:80"));
    Ok(perfect(output))
}
