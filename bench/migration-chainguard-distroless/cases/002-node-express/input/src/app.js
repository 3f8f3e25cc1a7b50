const express = require("express");

function createApp() {
  const app = express();
  app.get("/orders/:id", (req, res) => res.json({ id: Number(req.params.id), state: "open" }));
  return app;
}

module.exports = { createApp };
