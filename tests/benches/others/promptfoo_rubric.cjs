// The small rubric of the benchmarks as an assertion of promptfoo: tests/guests/shared/small.rs says the same in Rust.

const { readFileSync } = require("node:fs");

module.exports = (output, { vars }) => {
  const answer = JSON.parse(output);
  const right = readFileSync(vars.fact, "utf8").trimEnd().split("\n");
  const facts = [
    ["wrong_package", right[0] === answer.package],
    ["wrong_version", right[1] === answer.version],
    ["wrong_files", JSON.stringify(right.slice(2)) === JSON.stringify(answer.files)],
  ];
  const holding = facts.filter(([, holds]) => holds).length;
  const wrong = facts.filter(([, holds]) => !holds).map(([mode]) => mode);
  return { pass: holding === facts.length, score: holding / facts.length, reason: wrong.join(" ") };
};
