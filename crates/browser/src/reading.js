(() => {
  const textMost = 1000000;
  const visibleMost = 50000;
  const well = (text) => String(text ?? "").slice(0, textMost).toWellFormed();
  const told = {
    url: well(location.href),
    base: well(document.baseURI),
    title: well(document.title),
    mediaType: well(document.contentType),
    html: "",
    isCut: false,
  };
  const body = document.body ?? document.documentElement;
  if (!body) return told;
  for (const details of body.querySelectorAll("details")) details.open = true;
  const noise = "script,style,noscript,template,svg,canvas,iframe,object,embed,video,audio,link,meta";
  for (const element of body.querySelectorAll(noise)) element.remove();
  const all = body.querySelectorAll("*");
  if (all.length <= visibleMost) {
    const hidden = [...all].filter((element) => !element.checkVisibility() && element.localName !== "br");
    for (const element of hidden) element.remove();
  }
  const html = body.outerHTML;
  told.isCut = html.length > textMost;
  told.html = well(html);
  return told;
})()
