"""A rubric in Python: it passes every answer, and counts its fields."""

import json

from wit_world.exports import Scoring as Contract
from wit_world.imports.types import BenchScore


class Scoring(Contract):
    def score(self, case, output):
        fields = float(len(json.loads(output.json)))
        return BenchScore(True, 1.0, [("fields", fields)], [], output.cost_usd, output.duration_seconds)
