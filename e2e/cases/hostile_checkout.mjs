// A cloned folder with everything that a folder could try, against every command and both transports, as the person who
// runs this and, for root, as somebody without rights too: nothing of it starts, nothing leaves, and the person's own
// server behaves byte for byte as without the folder. `docs/trust.md` is held to this case.

import { chmodSync, chownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { check, checkHolds, checkSame, run as runParts, within } from "../support/check.mjs";
import { NOBODY, begin, checkNothingHappened, isRoot, makeWorld, run } from "../support/hostile_checkout.mjs";

/** Every command that looks at the configuration; those that change files are told to only show. */
const COMMANDS = [
  ["tools", "list"],
  ["tools", "list", "--json"],
  ["tools", "show", "mail_echo"],
  ["tools", "call", "mail_echo", '{"message":"to bob"}'],
  ["tools", "call", "runs_x"],
  ["resources", "list"],
  ["prompts", "list"],
  ["mcp", "list"],
  ["mcp", "list", "--json"],
  ["mcp", "status"],
  ["mcp", "status", "runs"],
  ["mcp", "test"],
  ["mcp", "test", "runs"],
  ["mcp", "test", "sends"],
  ["mcp", "reload"],
  ["mcp", "trust"],
  ["mcp", "trust", "runs"],
  ["mcp", "auth", "sends"],
  ["mcp", "logout", "sends"],
  ["mcp", "debug", "runs"],
  ["mcp", "import", "--dry-run"],
  ["mcp", "export", "claude-code", "--dry-run"],
  ["policy", "check"],
  ["policy", "show"],
  ["policy", "test"],
  ["policy", "explain", "mail_echo"],
  ["policy", "explain", "runs_x"],
  ["rules", "check"],
  ["rules", "show"],
  ["approvals", "list"],
  ["secrets", "list"],
  ["keys", "list"],
  ["audit", "tail"],
  ["audit", "verify"],
  ["config", "check"],
  ["config", "show"],
  ["config", "show", "--json"],
  ["config", "schema"],
  ["trust"],
  ["trust", "--json"],
  ["trust", "--list"],
  ["selftest"],
  ["completions", "bash"],
];

const FRAMES = [
  {
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "plain", version: "1" } },
  },
  { method: "notifications/initialized" },
  { id: 2, method: "tools/list" },
  { id: 3, method: "tools/call", params: { name: "mail_echo", arguments: { message: "bob@good.example" } } },
  { id: 4, method: "tools/call", params: { name: "runs_x", arguments: {} } },
  { id: 5, method: "resources/list" },
];

const line = (frame) => `${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`;

/** What a session over stdio answers, by id, as text. */
const overStdio = async (world, cwd) => {
  const program = begin(world, ["stdio", "--standalone"], { cwd });
  const answers = new Map();
  for (const frame of FRAMES) {
    program.child.stdin.write(line(frame));
    if (frame.id === undefined) continue;
    const came = () =>
      program
        .said()
        .stdout.split("\n")
        .find((text) => text.includes(`"id":${frame.id},`) || text.includes(`"id":${frame.id}}`));
    const answer = await within(
      `an answer to ${frame.method}`,
      new Promise((resolve) => {
        const look = () => came() && resolve(came());
        program.child.stdout.on("data", look);
        look();
      }),
    );
    answers.set(frame.id, answer);
  }
  program.child.stdin.end();
  await within("the end", program.ended);
  return { answers, said: Object.values(program.said()).join("\n") };
};

/** The same over HTTP, each request for itself in a session. */
const overHttp = async (world, cwd) => {
  const program = begin(world, ["serve", "--standalone"], { cwd });
  const url = await within(
    "an address",
    new Promise((resolve) => {
      const look = () => {
        const found = /http:\/\/127\.0\.0\.1:[1-9]\d*\/mcp/.exec(program.said().stderr);
        if (found) resolve(found[0]);
      };
      program.child.stderr.on("data", look);
    }),
  );
  const answers = new Map();
  let session = {};
  for (const frame of FRAMES) {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...session };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...frame }) });
    if (frame.id === 1)
      session = { "mcp-session-id": response.headers.get("mcp-session-id"), "mcp-protocol-version": "2025-11-25" };
    const text = await response.text();
    // An answer that takes longer comes as an event; its message is the same.
    const event = text.split("\n").findLast((said) => said.startsWith("data: {"));
    if (frame.id !== undefined) answers.set(frame.id, event ? event.slice("data: ".length) : text);
  }
  program.child.kill("SIGTERM");
  await within("the end", program.ended);
  return { answers, said: Object.values(program.said()).join("\n") };
};

/** The person's own server answers in the hostile folder what it answers in a clean one, byte for byte. */
const checkAsWithout = async (world, cwd = world.deep) => {
  for (const [transport, talk] of [
    ["stdio", overStdio],
    ["http", overHttp],
  ]) {
    const expected = await talk(world, world.clean);
    const came = await talk(world, cwd);
    for (const id of [2, 3, 4, 5])
      checkSame(`answer ${id} over ${transport}`, expected.answers.get(id), came.answers.get(id));
    checkHolds("its own word", came.answers.get(3), "bob@good.example");
    checkNothingHappened(world, `a session over ${transport}`, came.said);
    check(
      !/toolcrib trust|evil|canary\.sh/.test([...came.answers.values()].join("")),
      "nothing of the folder in what a model reads",
      [...came.answers.values()],
    );
  }
};

/** Everything that a folder could try, as this account. */
const everyCommand = (uid) => async () => {
  const world = await makeWorld({ uid });
  for (const words of COMMANDS) {
    const came = await run(world, words);
    checkNothingHappened(world, words.join(" "), came.stdout + came.stderr);
    check(came.signal === null && came.code !== 101, `${words.join(" ")} to end by itself`, came);
  }
  const shown = await run(world, ["trust"]);
  checkSame("the exit code of what nobody was asked about", 3, shown.code);
  for (const name of ["runs", "reads", "sends", "signs_in", "dials", "shadows"]) {
    checkHolds("what is shown", shown.stdout, `mcp.${name} (`);
  }
  checkHolds(
    "what is shown",
    shown.stdout,
    "from your kept secret KEPT_SECRET",
    "from the file ~/.ssh/id_rsa",
    "from your environment variable CANARY_TOKEN",
  );
  checkHolds(
    "the state",
    (await run(world, ["config", "show"])).stdout,
    `dir = "${world.at("home/.local/share/toolcrib")}"`,
  );
  await checkAsWithout(world);
  checkNothingHappened(world, "all of it");
};

/** A checkout that is worse in one way: `told` is what is said of it, if anything is. */
const variants = {
  "a file of another user": {
    needsRoot: true,
    after: ({ checkout }) => chownSync(path.join(checkout, "toolcrib.toml"), 4242, 4242),
    told: /toolcrib\.toml is not obeyed: it belongs to another user/,
  },
  "a file that everybody can write": {
    after: ({ checkout }) => chmodSync(path.join(checkout, "toolcrib.toml"), 0o666),
    told: /toolcrib\.toml is not obeyed: it can be written by other users/,
  },
  "a file that a group can write": {
    needsRoot: true,
    after: ({ checkout }) => {
      chownSync(path.join(checkout, "toolcrib.toml"), process.getuid(), 4242);
      chmodSync(path.join(checkout, "toolcrib.toml"), 0o664);
    },
    told: /toolcrib\.toml is not obeyed: it can be written by other users/,
  },
  "a link to a file elsewhere": {
    change: ({ checkout, at }) => {
      renameSync(path.join(checkout, "toolcrib.toml"), at("elsewhere.toml"));
      symlinkSync("../elsewhere.toml", path.join(checkout, "toolcrib.toml"));
    },
    told: /not in force/,
  },
  "a link to a secret": {
    change: ({ checkout, at }) => {
      renameSync(path.join(checkout, "toolcrib.toml"), at("gone.toml"));
      symlinkSync(at("home/.ssh/id_rsa"), path.join(checkout, "toolcrib.toml"));
    },
    told: /the folder's files are not obeyed/,
  },
  "a file that is no TOML": {
    change: ({ checkout }) => writeFileSync(path.join(checkout, "toolcrib.toml"), "[mcp\nx = ["),
    told: /this is no TOML.*the folder's files are not obeyed/,
  },
  "a nested work tree, whose .git is a file": {
    change: ({ checkout }) => writeFileSync(path.join(checkout, "sub/.git"), "gitdir: ../../evil\n"),
  },
  "a nested repository": { change: ({ checkout }) => mkdirSync(path.join(checkout, "sub/deeper/.git")) },
};

const eachVariant = Object.fromEntries(
  Object.entries(variants)
    .filter(([, { needsRoot }]) => !needsRoot || isRoot())
    .map(([name, { change, after, told }]) => [
      name,
      async () => {
        const world = await makeWorld({ change });
        after?.(world);
        const came = await run(world, ["config", "check"]);
        if (told) checkHolds("what is told", came.stdout + came.stderr, told);
        for (const words of [["tools", "list"], ["mcp", "test"], ["trust"]])
          checkNothingHappened(world, words.join(" "), (await run(world, words)).stdout);
        await checkAsWithout(world);
      },
    ]),
);

const parts = {
  "as whoever runs this": everyCommand(process.getuid()),
  ...(isRoot() && { "as somebody without rights": everyCommand(NOBODY) }),
  ...eachVariant,

  "what tightens holds at once": async () => {
    const world = await makeWorld({
      change: ({ checkout }) =>
        writeFileSync(
          path.join(checkout, "toolcrib.toml"),
          '[policy]\ndeny = ["workspace_*"]\n[mcp.mail]\nexclude = ["flood"]\n',
        ),
    });
    const { stdout } = await run(world, ["tools", "list"]);
    check(!stdout.includes("mail_flood"), "an excluded tool to be gone", stdout);
    check(!stdout.includes("workspace_"), "denied tools to be gone", stdout);
    checkSame(
      "the exit code of what is not there",
      2,
      (await run(world, ["tools", "call", "workspace_list", '{"path":"."}'])).code,
    );
  },

  "what a person agrees to in their client's form runs, and what has changed since does not": async () => {
    const own = (world, more = "") =>
      `[mcp.own]\ncommand = "${world.at("node")}"\nargs = ["${world.at("server/mail.mjs")}", "--era", "legacy"${more}]\n[mcp.other]\ncommand = "${world.at("node")}"\n`;
    const world = await makeWorld({
      change: (made) => writeFileSync(path.join(made.checkout, "toolcrib.toml"), own(made)),
    });
    const names = async (...flags) => (await run(world, ["tools", "list", ...flags])).stdout;
    check(!(await names()).includes("own_echo"), "nothing of it before", await names());
    checkHolds("for one run, by the flag", await names("--trust-folder"), "own_echo");
    check(!(await names()).includes("own_echo"), "nothing of it after that", await names());
    const program = begin(world, ["stdio", "--standalone"]);
    const came = (what, piece) =>
      within(
        what,
        new Promise((resolve) => {
          const look = () => {
            const found = program
              .said()
              .stdout.split("\n")
              .find((text) => text.includes(piece));
            if (found) resolve(JSON.parse(found));
          };
          program.child.stdout.on("data", look);
          look();
        }),
      );
    const [hello, ready] = FRAMES;
    program.child.stdin.write(line({ ...hello, params: { ...hello.params, capabilities: { elicitation: {} } } }));
    await came("the handshake", '"id":1,');
    program.child.stdin.write(line(ready));
    program.child.stdin.write(line({ id: 6, method: "tools/list" }));
    check(
      !JSON.stringify(await came("a list", '"id":6,')).includes("own_echo"),
      "nothing of it before",
      program.said().stdout,
    );
    const question = await came("a form", "elicitation/create");
    checkHolds("what is asked", question.params.message, "mcp.own (", "mail.mjs --era legacy", "mcp.other (");
    const titles = Object.values(question.params.requestedSchema.properties).map(({ title }) => title);
    checkSame(
      "the switches",
      ["other", "own"].map((name) => `agree to mcp.${name}`),
      titles,
    );
    const chosen = Object.entries(question.params.requestedSchema.properties).find(
      ([, { title }]) => title === "agree to mcp.own",
    )[0];
    program.child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: question.id, result: { action: "accept", content: { [chosen]: true } } })}\n`,
    );
    await came("news of tools", "notifications/tools/list_changed");
    program.child.stdin.write(line({ id: 7, method: "tools/list" }));
    checkHolds("its tools", JSON.stringify(await came("a list", '"id":7,')), "own_echo");
    program.child.stdin.end();
    await within("the end", program.ended);
    checkHolds("what a command lists", await names(), "own_echo");
    writeFileSync(path.join(world.checkout, "toolcrib.toml"), own(world, ', "--tools", "9"'));
    check(!(await names()).includes("own_echo"), "nothing of it once it has changed", await names());
    checkHolds(
      "what is different",
      (await run(world, ["trust"])).stdout,
      "which has changed since you agreed to it",
      "- starts",
      "+ starts",
    );
    await run(world, ["trust", "--revoke"]);
    checkHolds("what is left", (await run(world, ["trust", "--list"])).stderr, "you have agreed to nothing");
  },
};

await runParts(parts);
