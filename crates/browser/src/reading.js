// Copies what a reader sees of the page, which stays as it is: to take something out or to move it would call the page's scripts.
// What lies in open shadow roots and in frames of the page's own origin stands in its place; what cannot be read is counted.
(() => {
  const textMost = 1000000;
  const visibleMost = 50000;
  const framesTold = 5;
  const addressMost = 300;
  // In pixels, each way: a smaller frame has nothing to read.
  const frameLeast = 16;
  const noise = new Set("script,style,noscript,template,svg,canvas,object,embed,video,audio,link,meta".split(","));
  const addresses = { a: "href", area: "href", img: "src" };
  // What may have a shadow root, beside elements that a page has made up.
  const hosts = new Set("article,aside,blockquote,body,div,footer,header,main,nav,p,section,span".split(","));
  const well = (text) => String(text ?? "").slice(0, textMost).toWellFormed();

  // What a document holds hides what a document can do, if it is called so; the same with a form and its fields.
  const getter = (prototype, name) => {
    const { get } = Object.getOwnPropertyDescriptor(prototype, name);
    return (node) => get.call(node);
  };
  const { appendChild } = Node.prototype;
  const { attachShadow, checkVisibility, querySelectorAll: inElement } = Element.prototype;
  const { querySelectorAll: inRoot } = DocumentFragment.prototype;
  const documentBody = getter(Document.prototype, "body");
  const rootElement = getter(Document.prototype, "documentElement");
  const nodeType = getter(Node.prototype, "nodeType");
  const childNodes = getter(Node.prototype, "childNodes");
  const parentNode = getter(Node.prototype, "parentNode");
  const textContent = getter(Node.prototype, "textContent");
  const ownerDocument = getter(Node.prototype, "ownerDocument");
  const localName = getter(Element.prototype, "localName");
  const shadowRoot = getter(Element.prototype, "shadowRoot");

  const told = {
    url: well(location.href),
    base: well(getter(Node.prototype, "baseURI")(document)),
    title: well(getter(Document.prototype, "title")(document)),
    mediaType: well(getter(Document.prototype, "contentType")(document)),
    html: "",
    isCut: false,
    closedRoots: 0,
    otherFrames: 0,
    frameAddresses: [],
  };
  const bodyOf = (page) => documentBody(page) ?? rootElement(page);
  const body = bodyOf(document);
  if (!body) return told;

  const isFrame = (element, name = localName(element)) =>
    (name === "iframe" || name === "frame") && "contentDocument" in element;
  const frameBody = (frame) => (frame.contentDocument ? bodyOf(frame.contentDocument) : null);
  const mayHaveRoot = (name) => hosts.has(name) || name.includes("-");

  // The page's tree and those in it, each with its details open: of some that share a name only one would be.
  const trees = [[body, ...inElement.call(body, "*")]];
  let elements = 0;
  for (const tree of trees) {
    elements += tree.length;
    for (const element of tree) {
      const name = localName(element);
      if (name === "details") {
        element.removeAttribute("name");
        element.open = true;
      }
      const root = mayHaveRoot(name) ? shadowRoot(element) : null;
      const inner = isFrame(element, name) ? frameBody(element) : null;
      if (root) trees.push([...inRoot.call(root, "*")]);
      if (inner) trees.push([inner, ...inElement.call(inner, "*")]);
    }
  }

  const isShown = (element, name) =>
    elements > visibleMost ||
    checkVisibility.call(element) ||
    name === "br" ||
    getComputedStyle(element).display === "contents";

  // What is not shown; what is not copied in one go, since it has something in it that is not shown or that lies elsewhere; and
  // what may have a closed root.
  const [unseen, mixed, rootless] = [new Set(), new Set(), []];
  const mix = (element) => {
    for (let above = element; above && !mixed.has(above); above = parentNode(above)) mixed.add(above);
  };
  for (const tree of trees) {
    for (const element of tree) {
      const name = localName(element);
      if (unseen.has(parentNode(element))) unseen.add(element);
      else if (noise.has(name) || (element !== body && !isShown(element, name))) {
        unseen.add(element);
        mix(element);
      } else if (name === "slot" || name === "frameset" || isFrame(element, name)) mix(element);
      else if (mayHaveRoot(name)) {
        if (shadowRoot(element)) mix(element);
        else rootless.push(element);
      }
    }
  }

  const tellOfFrame = (frame) => {
    if (frame.offsetWidth < frameLeast || frame.offsetHeight < frameLeast) return;
    told.otherFrames += 1;
    const isAddress = /^https?:/.test(frame.src) && frame.src.length <= addressMost;
    const isNew = isAddress && !told.frameAddresses.includes(frame.src);
    if (isNew && told.frameAddresses.length < framesTold) told.frameAddresses.push(well(frame.src));
  };
  const childrenOf = (element, name) => {
    if (isFrame(element)) {
      const inner = frameBody(element);
      if (!inner) tellOfFrame(element);
      return inner ? [inner] : [];
    }
    const root = shadowRoot(element);
    const placed = name === "slot" ? element.assignedNodes() : [];
    return placed.length > 0 ? placed : childNodes(root ?? element);
  };

  const inert = getter(Document.prototype, "implementation")(document).createHTMLDocument("");
  const copyOf = (element, name) => {
    const isInFrame = ownerDocument(element) !== document;
    // What reads this looks for nothing within these, and for one main part.
    const isPlain = isFrame(element) || name === "frameset" || (isInFrame && ["main", "article"].includes(name));
    const copy = isPlain ? inert.createElement("div") : inert.importNode(element);
    const address = addresses[name];
    if (isInFrame && copy.getAttribute("role") === "main") copy.removeAttribute("role");
    // Addresses in a frame are relative to the frame's.
    if (isInFrame && address && copy.hasAttribute(address)) copy.setAttribute(address, element[address]);
    return copy;
  };
  const whole = inert.createElement("div");
  const left = [[body, whole]];
  let length = 0;
  while (left.length > 0 && length <= textMost) {
    const [node, parent] = left.pop();
    const type = nodeType(node);
    if (![Node.TEXT_NODE, Node.ELEMENT_NODE].includes(type) || unseen.has(node)) continue;
    const isWhole = type === Node.TEXT_NODE || (!mixed.has(node) && ownerDocument(node) === document);
    const name = isWhole ? "" : localName(node);
    const copy = isWhole ? inert.importNode(node, true) : copyOf(node, name);
    length += isWhole ? textContent(copy).length : name.length;
    appendChild.call(parent, copy);
    const children = isWhole ? [] : childrenOf(node, name);
    for (let nth = children.length - 1; nth >= 0; nth -= 1) left.push([children[nth], copy]);
  }
  // No reader sees them, and they can be larger than all else.
  const comments = inert.createNodeIterator(whole, NodeFilter.SHOW_COMMENT);
  for (let comment = comments.nextNode(); comment; comment = comments.nextNode()) comment.remove();
  const html = whole.innerHTML;
  told.isCut = html.length > textMost;
  told.html = well(html);

  // An element with a closed root says that it has none, and takes no other.
  for (const element of elements > visibleMost ? [] : rootless) {
    try {
      attachShadow.call(element, { mode: "open" });
    } catch {
      told.closedRoots += 1;
    }
  }
  return told;
})()
