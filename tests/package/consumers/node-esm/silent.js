// The pure core asks for no network.

import net from "node:net";

const asked = [];
const forbidden = (name) => () => {
  asked.push(name);
  throw new Error(`${name} was called`);
};
globalThis.fetch = forbidden("fetch");
globalThis.WebSocket = forbidden("WebSocket");
globalThis.XMLHttpRequest = forbidden("XMLHttpRequest");
net.connect = net.createConnection = net.Socket.prototype.connect = forbidden("a socket");

const core = await import("statewright");
const { pure } = await import("./exercise.js");
pure(core);
console.log(JSON.stringify(asked));
