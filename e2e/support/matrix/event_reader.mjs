// Reads an event stream piece by piece.

/** Calls `take({event, id, data})` for each whole event of what `feed(text)` brings. */
export const readEvents = (take) => {
  let rest = "";
  return (text) => {
    rest += text;
    for (let end; (end = /\r?\n\r?\n/.exec(rest)); ) {
      const block = rest.slice(0, end.index);
      rest = rest.slice(end.index + end[0].length);
      const event = {};
      for (const line of block.split(/\r?\n/)) {
        const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
        if (name === "") continue; // A comment, which keeps the connection alive.
        event[name] = name === "data" && event.data !== undefined ? `${event.data}\n${value}` : value;
      }
      if (Object.keys(event).length > 0) take(event);
    }
  };
};
