// Skills: those of the user and, once agreed to, of the project; loaded by a tool, as prompts, as resources, and by the extension.

import { createHash } from "node:crypto";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { atEnd, check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { FOLDER, NODE } from "../support/environment.mjs";
import { speakStdio } from "../support/modern_wire.mjs";
import { homely } from "../support/other_client.mjs";
import { atATerminal, clientApart } from "../support/person.mjs";
import { connect } from "../support/sdk_clients.mjs";
import { BUILT_IN, expectExit, runToEnd, start } from "../support/toolcrib.mjs";
import { Wire } from "../support/wire_stdio.mjs";

const home = path.join(FOLDER, "home");
const project = path.join(home, "work");
mkdirSync(path.join(project, ".git"), { recursive: true });
const options = { env: homely(home, { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" }), cwd: project };
const skill = (folder, name, body, more = "") => {
  const into = path.join(home, folder, name);
  mkdirSync(path.join(into, "references"), { recursive: true });
  const text = `---\nname: ${name}\ndescription: Use when: ${folder} is meant\n${more}---\n${body}\n`;
  writeFileSync(path.join(into, "SKILL.md"), text);
  return text;
};
const text = (result) => result.content.map((block) => block.text).join("\n");
const code = (result) => result._meta?.["toolcrib/error"]?.code;
const names = async (client) => (await client.list()).map((tool) => tool.name);
const invoke = (client, skill_name, more) => client.call("InvokeSkill", { skill_name, ...more });

const settings = path.join(home, ".config/toolcrib/toolcrib.toml");
mkdirSync(path.dirname(settings), { recursive: true });
const server = path.resolve(import.meta.dirname, "../fixtures/skills_server.mjs");
const table = (name, ...more) =>
  `[mcp.${name}]\ncommand = "${NODE}"\nargs = ${JSON.stringify([server, ...more])}\nsandbox.profile = "open"\n`;
const rule = (id, effect, tool) =>
  `[[policy.rules]]\nid = "${id}"\neffect = "${effect}"\ntools = ["${tool}"]\nwhy = "is not for agents"\n`;

let first;
await run({
  "there is no tool while there are no skills": async () => {
    first = await connect("v1", { ...clientApart(), ...options });
    checkSame("the tools", BUILT_IN, await names(first));
    await first.close();
    writeFileSync(settings, table("kit"));
    const served = await connect("v1", { ...clientApart(), ...options });
    await eventually("the tool for those of a server", async () => (await names(served)).includes("InvokeSkill"));
    await served.close();
    rmSync(settings);
  },

  "the user's are loaded with what they are called with, and nothing in them runs": async () => {
    const body = "Do $ARGUMENTS. !`touch ran` Then `sh ${CLAUDE_SKILL_DIR}/run.sh $1`.";
    skill(".claude/skills", "notes", body);
    writeFileSync(path.join(home, ".claude/skills/notes/references/style.md"), "Short.");
    skill(".agents/skills", "notes", "shadowed");
    skill(".config/toolcrib/skills", "for-people", "Ask first.", "disable-model-invocation: true\n");
    first = await connect("v1", { ...clientApart(), ...options });
    const tool = (await first.list()).find((tool) => tool.name === "InvokeSkill");
    checkHolds("its description", tool.description, "\n- notes: Use when: .claude/skills is meant");
    check(!tool.description.includes("for-people"), "what is for people not to be named");
    const loaded = text(await invoke(first, "notes", { arguments: "it $1" }));
    const folder = path.join(home, ".claude/skills/notes");
    checkHolds(
      "loaded",
      loaded,
      `Do it $1. !\`touch ran\` Then \`sh ${folder}/run.sh $1\`.`,
      "- references/style.md (6 bytes)",
    );
    checkSame("a file", "Short.", text(await invoke(first, "notes", { file: "references/style.md" })));
    for (const [args, expected, words] of [
      [{ file: "../../settings.json" }, "not_found", "load it without `file`"],
      [{ skill_name: "note" }, "unknown_skill", "the nearest are notes"],
      [{ skill_name: "../notes" }, "unknown_skill", "there is no skill of this name"],
      [{ skill_name: "for-people" }, "skill_unusable", "for people to start"],
    ]) {
      const refused = await invoke(first, "notes", args);
      checkSame(JSON.stringify(args), expected, code(refused));
      checkHolds(JSON.stringify(args), text(refused), words);
    }
  },

  "commands see one of the user's where the sandbox is told to show it": async () => {
    const folder = path.join(home, ".claude/skills/notes");
    const command = `cat ${folder}/references/style.md`;
    checkHolds("what is said", text(await invoke(first, "notes")), "Commands do not see this folder, unless `read` in");
    checkHolds("unseen", text(await first.call("Bash", { command })), "No such file or directory");
    writeFileSync(settings, `[sandbox]\nread = ["${path.dirname(folder)}"]\n`);
    const shown = await connect("v1", { ...clientApart(), ...options });
    checkHolds("shown", text(await shown.call("Bash", { command })), "Short.");
    await shown.close();
    rmSync(settings);
  },

  "they are prompts and resources": async () => {
    const { prompts } = await first.client.listPrompts();
    checkSame("the prompts", ["for-people", "notes"], prompts.map((prompt) => prompt.name).sort());
    const filled = await first.client.getPrompt({ name: "for-people", arguments: { arguments: "now" } });
    checkHolds("a prompt", filled.messages[0].content.text, "Ask first.", "ARGUMENTS: now");
    const { resources } = await first.client.listResources();
    const uris = resources.map((resource) => resource.uri).filter((uri) => uri.startsWith("skill:"));
    checkSame("the resources", ["skill://notes/SKILL.md"], uris);
    const read = await first.client.readResource({ uri: "skill://notes/references/style.md" });
    checkSame("a file", "Short.", read.contents[0].text);
    for (const uri of ["skill://notes/../x", "skill://for-people/SKILL.md"]) {
      const unread = await first.client.readResource({ uri }).then(
        () => undefined,
        (why) => why,
      );
      check(unread, `${uri} not to be read`);
    }
    await first.close();
  },

  "the extension lists them with the digests of their files": async () => {
    const wire = new Wire(start(["stdio", "--standalone"], options));
    const speak = async (method, params = {}) => (await speakStdio(wire)(method, params)).message;
    const { capabilities } = (await speak("server/discover")).result;
    checkSame("what is declared", { directoryRead: true }, capabilities.extensions["io.modelcontextprotocol/skills"]);
    const { result } = await speak("skills/list");
    checkSame("complete", "complete", result.resultType);
    const notes = result.skills.find((entry) => entry.frontmatter.name === "notes");
    check(
      !result.skills.some((entry) => entry.frontmatter.name === "for-people"),
      "what is for people not to be listed",
    );
    const style = notes.resources.find((file) => file.uri === "skill://notes/references/style.md");
    const digest = createHash("sha256").update("Short.").digest("hex");
    checkSame("a file", { uri: style.uri, digest: `sha256:${digest}`, size: 6 }, style);
    const got = await speak("skills/get", { uri: notes.uri });
    checkSame("the same entry", notes, got.result.skill);
    const others = ["skill://x/SKILL.md", "skill://for-people/SKILL.md", "skill://notes/references/style.md"];
    for (const uri of [...others, "file:///etc/passwd"])
      checkSame(uri, -32602, (await speak("skills/get", { uri })).error?.code);
    const directory = async (uri) => (await speak("resources/directory/read", { uri })).result?.resources;
    const child = (name, mimeType) => ({ uri: `skill://notes/${name}`, name: path.basename(name), mimeType });
    checkSame(
      "a skill's folder",
      [child("SKILL.md", "text/markdown"), child("references", "inode/directory")],
      await directory("skill://notes"),
    );
    checkSame(
      "a folder in it",
      [child("references/style.md", "text/markdown")],
      await directory("skill://notes/references"),
    );
    for (const uri of ["skill://notes/SKILL.md", "skill://notes/..", "skill://x", "file:///etc"])
      checkSame(uri, -32602, (await speak("resources/directory/read", { uri })).error?.code);
    wire.child.stdin.end();
  },

  "a server's are listed behind ours, under its prefix": async () => {
    writeFileSync(settings, `${table("kit")}${table("broken", "--broken")}${rule("a", "allow", "*")}`);
    const wire = new Wire(start(["stdio", "--standalone"], options));
    const speak = async (method, params = {}) => (await speakStdio(wire)(method, params)).message;
    const theirUri = "kit+skill://kit/notes/SKILL.md";
    await eventually("the server's", async () => !(await speak("skills/get", { uri: theirUri })).error);
    const all = [];
    for (let params = {}; params; ) {
      const { result } = await speak("skills/list", params);
      all.push(...result.skills);
      params = result.nextCursor && { cursor: result.nextCursor };
    }
    checkSame(
      "all skills",
      ["skill://notes/SKILL.md", "kit+skill://kit/notes/SKILL.md", "kit+skill://kit/tie-knots/SKILL.md"],
      all.map((entry) => entry.uri),
    );
    const [, theirs] = all;
    checkSame("the frontmatter", { name: "notes", description: "Use this to notes" }, theirs.frontmatter);
    checkSame("the same entry", theirs, (await speak("skills/get", { uri: theirs.uri })).result.skill);
    const [file] = theirs.resources;
    const read = (await speak("resources/read", { uri: file.uri })).result.contents[0].text;
    checkSame("its digest", file.digest, `sha256:${createHash("sha256").update(read).digest("hex")}`);
    const folder = await speak("resources/directory/read", { uri: "kit+skill://kit/notes" });
    checkSame(
      "its folder",
      ["kit+skill://kit/notes/SKILL.md", "kit+skill://kit/notes/templates"],
      folder.result.resources.map((entry) => entry.uri),
    );
    const ours = await speak("skills/get", { uri: "skill://notes/SKILL.md" });
    checkSame("ours", "skill://notes/SKILL.md", ours.result?.skill.uri);
    for (const uri of ["kit+skill://kit/x/SKILL.md", "broken+skill://kit/notes/SKILL.md", "skill://kit/notes/SKILL.md"])
      check((await speak("skills/get", { uri })).error, `${uri} not to be there`);
    checkSame("a wrong cursor", true, "error" in (await speak("skills/list", { cursor: "1" })));
    wire.child.stdin.end();
  },

  "a server's are loaded as what they are, and not if they are not what its list says": async () => {
    const all = [table("kit"), table("broken", "--broken"), table("odd", "--odd"), rule("a", "allow", "*")];
    writeFileSync(settings, all.join(""));
    const client = await connect("v1", { ...clientApart(), ...options });
    const loaded = text(await invoke(client, "kit_notes", { arguments: "now" }));
    const beside = "Beside it, to be read with `InvokeSkill` and `file`:\n- templates/one.md";
    checkHolds("loaded", loaded, "the text of the server `kit`", "Follow templates/one.md", "ARGUMENTS: now", beside);
    checkSame("a file", "One.\n", text(await invoke(client, "kit_notes", { file: "templates/one.md" })));
    checkHolds("its list", text(await invoke(client, "kit_")), "\n- kit_notes: Use this to notes");
    for (const [name, more, expected] of [
      ["kit_tie-knots", {}, "skill_changed"],
      ["kit_notes", { file: "../tie-knots/SKILL.md" }, "not_found"],
      ["kit_x", {}, "unknown_skill"],
      ["broken_notes", {}, "upstream_error"],
      ["notes", { file: "templates/one.md" }, "not_found"],
    ])
      checkSame(`${name} ${JSON.stringify(more)}`, expected, code(await invoke(client, name, more)));
    for (const [name, expected] of [
      ["odd_people", "skill_unusable"],
      ["odd_crowded", "unknown_skill"],
      ["odd_huge", "too_large"],
      ["odd_vague", "unknown_skill"],
    ])
      checkSame(name, expected, code(await invoke(client, name)));
    const [, ...listed] = text(await invoke(client, "odd_")).split("\n");
    checkSame("what is listed of them", ["- odd_huge: Use this to huge"], listed);
    const { stdout } = await expectExit(0, ["audit", "tail", "--json"], options);
    check(stdout.includes('"kit_skills_load"'), "the audit log to tell whose it was", stdout);
    await client.close();
    writeFileSync(settings, `${table("kit")}${rule("no", "deny", "kit_skills_load")}`);
    const denied = await connect("v1", { ...clientApart(), ...options });
    checkSame("denied", "unknown_skill", code(await invoke(denied, "kit_notes")));
    await denied.close();
    rmSync(settings);
  },

  "a project's wait for a person, and again after each change": async () => {
    skill("work/.claude/skills", "notes", "The project's.");
    symlinkSync(path.join(home, ".claude/skills/notes"), path.join(project, ".claude/skills/linked"));
    // Of the process that all clients share: a person's word reaches it at once.
    atEnd(() => runToEnd(["stop"], options));
    const apart = { command: "sh", args: clientApart().args.filter((word) => word !== "--standalone") };
    const client = await connect("v1", { ...apart, ...options });
    checkHolds("before", text(await invoke(client, "notes")), "Do .");
    const agree = (...seen) =>
      atATerminal(["trust"], [["agree to skill.notes?", "y"]], options).then(({ stdout, code }) => {
        checkHolds("what is asked", stdout, "skill.notes (.claude/skills/notes)", ...seen);
        checkSame("its exit code", 0, code);
      });
    await agree("tells agents how to: Use when: work/.claude/skills is meant", "files: 1, with");
    await eventually("the project's to be in force", async () =>
      text(await invoke(client, "notes")).includes("The project's."),
    );
    writeFileSync(path.join(project, ".claude/skills/notes/run.sh"), "true");
    const changed = await invoke(client, "notes");
    checkSame("after a change", "skill_unusable", code(changed));
    checkHolds("after a change", text(changed), "has changed since a person agreed", "toolcrib trust");
    await agree("which has changed since you agreed to it", "files: 2, with");
    await eventually("the project's to be in force", async () => !(await invoke(client, "notes")).isError);
    rmSync(path.join(project, ".claude/skills/notes"), { recursive: true });
    await client.close();
  },

  "a wrong one is told, and the set can be left out": async () => {
    skill(".claude/skills", "Wrong", "x");
    const { stderr } = await expectExit(0, ["config", "check"], options);
    checkHolds("what is said", stderr, '"Wrong" can be no skill: its name must have 1 to 64', "this skill is left out");
    writeFileSync(path.join(home, ".config/toolcrib/toolcrib.toml"), '[tools]\noffer = ["workspace"]\n');
    const client = await connect("v1", { ...clientApart(), ...options });
    check(!(await names(client)).includes("InvokeSkill"), "no tool");
    await client.close();
  },
});
