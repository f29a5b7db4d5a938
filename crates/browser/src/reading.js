(() => {
  const textMost = 1000000;
  const visibleMost = 50000;
  const well = (text) => String(text ?? "").slice(0, textMost).toWellFormed();
  // What a document holds hides what a document can do, if it is called so; the same with a form and its fields.
  const get = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get.call(document);
  const { querySelectorAll, remove, checkVisibility } = Element.prototype;
  const all = (within, selector) => [...querySelectorAll.call(within, selector)];
  const told = {
    url: well(location.href),
    base: well(get(Node.prototype, "baseURI")),
    title: well(get(Document.prototype, "title")),
    mediaType: well(get(Document.prototype, "contentType")),
    html: "",
    isCut: false,
  };
  const body = get(Document.prototype, "body") ?? get(Document.prototype, "documentElement");
  if (!body) return told;
  for (const details of all(body, "details")) details.open = true;
  const noise = "script,style,noscript,template,svg,canvas,iframe,object,embed,video,audio,link,meta";
  for (const element of all(body, noise)) remove.call(element);
  const elements = all(body, "*");
  if (elements.length <= visibleMost) {
    const hidden = elements.filter((element) => !checkVisibility.call(element) && element.localName !== "br");
    for (const element of hidden) remove.call(element);
  }
  const html = body.outerHTML;
  told.isCut = html.length > textMost;
  told.html = well(html);
  return told;
})()
