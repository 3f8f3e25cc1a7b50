const test = require("node:test");
const assert = require("node:assert");
const { createApp } = require("../src/app");

test("an order has its number", async () => {
  const server = createApp().listen(0);
  const response = await fetch(`http://127.0.0.1:${server.address().port}/orders/7`);
  assert.deepStrictEqual(await response.json(), { id: 7, state: "open" });
  server.close();
});
