// A rubric in JavaScript: it passes every answer, and counts its fields.
export const scoring = {
  score(_case, output) {
    const fields = Object.keys(JSON.parse(output.json)).length;
    const { costUsd, durationSeconds } = output;
    return { passed: true, score: 1, breakdown: [["fields", fields]], failureModes: [], costUsd, durationSeconds };
  },
};
