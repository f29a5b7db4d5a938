// What a person sees of a row of the matrix that failed: a grid of steps and upstreams, then each fault once.

/** A faulty gateway fails in hundreds of cells for one reason; nobody reads more than so many reasons. */
const REASONS_MAX = 40;
const REASON_CHARS_MAX = 600;

const MARK = { fault: "X", untried: "-" };

const oneLine = (text) => {
  const line = text.replace(/\s*\n\s*/g, " / ");
  return line.length > REASON_CHARS_MAX ? `${line.slice(0, REASON_CHARS_MAX)}…` : line;
};

/** The grid: a line for each step that failed anywhere, a column for each upstream. */
const grid = (steps, columns, found) => {
  const width = Math.max(...steps.map((step) => step.length));
  const mark = (step, where) => MARK[found.find((each) => each.step === step && each.where === where)?.kind] ?? "·";
  const head = columns.map((name, index) => `${String(index + 1).padStart(2)} = ${name}`).join(", ");
  const numbers = columns.map((_, index) => String(index + 1).padStart(3)).join("");
  const lines = steps.map((step) => step.padEnd(width) + columns.map((name) => `  ${mark(step, name)}`).join(""));
  return [head, " ".repeat(width) + numbers, ...lines];
};

/** Faults that say the same, told once: `step: message (where, where; 5 times)`. */
const reasons = (found) => {
  const bySame = new Map();
  for (const { kind, step, message, where, prefix } of found) {
    if (kind === "untried") continue;
    // The same fault in two upstreams differs in their names only.
    const text = `${step}: ${oneLine(prefix ? message.replaceAll(prefix, "PREFIX") : message)}`;
    const same = bySame.get(text) ?? { places: new Set(), times: 0 };
    same.places.add(where);
    same.times += 1;
    bySame.set(text, same);
  }
  const all = [...bySame].map(
    ([text, { places, times }]) => `${text} (${[...places].join(", ")}; ${times === 1 ? "once" : `${times} times`})`,
  );
  return all.length > REASONS_MAX
    ? [...all.slice(0, REASONS_MAX), `and ${all.length - REASONS_MAX} reasons more`]
    : all;
};

/** Fails if there are faults. `found` is a list of `{kind, where, step, message?, prefix?}`. */
export const failFor = (found, columns) => {
  if (found.length === 0) return;
  const steps = [...new Set(found.filter(({ where }) => columns.includes(where)).map(({ step }) => step))];
  const lines = [...(steps.length > 0 ? [...grid(steps, columns, found), ""] : []), ...reasons(found)];
  throw new Error(
    `expected every step of every cell to pass\n       came ${found.filter(({ kind }) => kind === "fault").length} faults\n${lines.map((line) => `         ${line}`).join("\n")}`,
  );
};
