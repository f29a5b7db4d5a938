// One HTTP connection that is kept: a request, its whole answer, the next request. It knows only what it needs of
// HTTP, so that a hundred thousand calls cost the client little.

import net from "node:net";
import { atEnd } from "./check.mjs";

const HEAD_END = "\r\n\r\n";

/** The body of an answer: `{body, end}` once all of it is in `bytes`, which begins behind the head. */
const bodyOf = (head, bytes) => {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (length) {
    const end = Number(length[1]);
    return bytes.length < end ? undefined : { body: bytes.toString("utf8", 0, end), end };
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return { body: "", end: 0 };
  const pieces = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
    at = line + 2 + size + 2;
    if (bytes.length < at) return undefined;
    if (size === 0) return { body: Buffer.concat(pieces).toString("utf8"), end: at };
    pieces.push(bytes.subarray(line + 2, at - 2));
  }
};

/** Connects; `ask(headers, body)` resolves with `{status, head, body}`. One request at a time. */
export const keepConnection = async (url) => {
  const { hostname, port, pathname, host } = new URL(url);
  const socket = net.connect(Number(port), hostname).setNoDelay();
  atEnd(() => socket.destroy());
  let bytes = Buffer.alloc(0);
  let waiting;
  const settle = (error, value) => {
    const { resolve, reject } = waiting ?? { reject: () => {} };
    waiting = undefined;
    return error ? reject(error) : resolve(value);
  };
  socket.on("error", (error) => settle(error));
  socket.on("close", () => settle(new Error("expected an answer\n       came the end of the connection")));
  socket.on("data", (piece) => {
    bytes = bytes.length === 0 ? piece : Buffer.concat([bytes, piece]);
    const headEnd = bytes.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = bytes.toString("latin1", 0, headEnd);
    const whole = bodyOf(head, bytes.subarray(headEnd + HEAD_END.length));
    if (!whole) return;
    bytes = bytes.subarray(headEnd + HEAD_END.length + whole.end);
    settle(undefined, { status: Number(head.slice(9, 12)), head, body: whole.body });
  });
  await new Promise((resolve) => socket.once("connect", resolve));
  const ask = (headers, body) =>
    new Promise((resolve, reject) => {
      waiting = { resolve, reject };
      const length = Buffer.byteLength(body);
      socket.write(`POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\n${headers}content-length: ${length}\r\n\r\n${body}`);
    });
  return { ask };
};
