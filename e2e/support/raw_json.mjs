// JSON as it stands: the text of each member or element, byte by byte. `JSON.parse` would take `1.0` and `1` for the same.

const OPENING = "{[";
const CLOSING = "}]";

/** Where the string that begins at `from` ends. */
const afterString = (text, from) => {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
};

/** What stands between the commas of an object or a list. */
const pieces = (text) => {
  const all = [];
  let depth = 0;
  let start = text.search(/[[{]/) + 1;
  for (let at = start - 1; at < text.length; at += 1) {
    if (text[at] === '"') at = afterString(text, at) - 1;
    else if (OPENING.includes(text[at])) depth += 1;
    else if (CLOSING.includes(text[at])) depth -= 1;
    if ((text[at] === "," && depth === 1) || depth === 0) {
      all.push(text.slice(start, at).trim());
      start = at + 1;
    }
    if (depth === 0) break;
  }
  return all.filter((piece) => piece !== "");
};

/** The elements of a list. */
export const elements = pieces;

/** The members of an object, each with its text. */
export const members = (text) =>
  Object.fromEntries(
    pieces(text).map((piece) => {
      const end = afterString(piece, 0);
      return [JSON.parse(piece.slice(0, end)), piece.slice(end).replace(/^\s*:/, "").trim()];
    }),
  );
