// What would leave a screen reader's user in the dark: missing names, labels, heads, and links that lead nowhere.
() => {
  const found = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const ids = new Set();
  for (const one of all("[id]")) {
    if (ids.has(one.id)) found.push(`twice: ${one.id}`);
    ids.add(one.id);
  }
  for (const one of all("[aria-labelledby]"))
    for (const id of one.getAttribute("aria-labelledby").split(" ")) if (!ids.has(id)) found.push(`no label: ${id}`);
  for (const one of all("a[href^='#']")) {
    const id = decodeURIComponent(one.getAttribute("href").slice(1));
    if (!ids.has(id) && !one.dataset.number) found.push(`leads nowhere: ${id}`);
  }
  for (const one of all("input, select")) if (!one.labels.length) found.push(`no label: ${one.outerHTML}`);
  for (const one of all("svg"))
    if (!one.getAttribute("aria-label") && !one.closest("[aria-hidden]")) found.push("no text: svg");
  for (const one of all("table")) if (!one.querySelector("th")) found.push("no heads: table");
  for (const one of all("button, a, summary")) if (!one.textContent.trim()) found.push(`no name: ${one.outerHTML}`);
  let level = 1;
  for (const one of all("h1, h2, h3, h4")) {
    const now = Number(one.tagName[1]);
    if (now > level + 1) found.push(`level skipped: ${one.textContent}`);
    level = now;
  }
  return found;
}
