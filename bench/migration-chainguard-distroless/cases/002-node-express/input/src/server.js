const { createApp } = require("./app");

const server = createApp().listen(3000, () => console.log("listening on 3000"));
process.on("SIGTERM", () => server.close());
