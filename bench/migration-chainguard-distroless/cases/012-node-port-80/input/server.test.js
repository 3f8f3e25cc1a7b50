const test = require("node:test");
const assert = require("node:assert");

test("the port is a number", () => assert.ok(Number.isInteger(Number("8080"))));
