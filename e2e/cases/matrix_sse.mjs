// Clients of 2024-11-05 over HTTP with server-sent events, against servers of every revision over every transport.

import { runMatrix } from "../support/matrix.mjs";

await runMatrix("sse");
