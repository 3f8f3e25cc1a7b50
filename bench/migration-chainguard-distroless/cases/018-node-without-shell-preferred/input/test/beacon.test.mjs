import test from "node:test";
import { access } from "node:fs/promises";

test("the beacon is there", () => access("src/beacon.mjs"));
