// Clients of every revision over Streamable HTTP, against servers of every revision over every transport.

import { runMatrix } from "../support/matrix.mjs";

await runMatrix("http");
