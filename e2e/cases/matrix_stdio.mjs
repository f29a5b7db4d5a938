// Clients of every revision over stdio, against servers of every revision over every transport.

import { runMatrix } from "../support/matrix.mjs";

await runMatrix("stdio");
