"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const exchanges = JSON.parse(byId("exchanges").textContent);

  // Everything that shows text of a server goes through here: it is text, never markup.
  const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  };
  // Characters that no reader sees, or that reorder what is seen, are spelled out.
  const visible = (text) => text.replace(/[^\P{C}\n\t]|[\u00a0\u2028\u2029]/gu,
    (letter) => "\\u" + letter.codePointAt(0).toString(16).padStart(4, "0"));

  // ---------------------------------------------------------------- exchanges

  // Lines of a pretty-printed JSON value, each with the pointer of the value it starts; numbers stay as they were sent.
  const lines = (text) => {
    const found = [];
    const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) || [];
    let at = 0;
    const scalar = (token) => element("span", {class: token[0] === '"' ? "str" : "lit"}, visible(token));
    const value = (pointer, indent, head, depth) => {
      const token = tokens[at++];
      if (token !== "{" && token !== "[") {
        found.push({pointer, parts: [indent, ...head, scalar(token ?? "")]});
        return;
      }
      const end = token === "{" ? "}" : "]";
      if (tokens[at] === end) {
        at++;
        found.push({pointer, parts: [indent, ...head, token + end]});
        return;
      }
      found.push({pointer, parts: [indent, ...head, token]});
      for (let index = 0; at < tokens.length; index++) {
        let name = String(index), start = [];
        if (token === "{") {
          const key = tokens[at++];
          try { name = JSON.parse(key); } catch { name = key; }
          at++;
          start = [element("span", {class: "key"}, visible(key)), ": "];
        }
        if (depth > 200) throw new Error("too deep");
        value(`${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`, indent + "  ", start, depth + 1);
        const comma = tokens[at] === ",";
        if (comma) found[found.length - 1].parts.push(",");
        if (tokens[at++] !== ",") break;
      }
      found.push({pointer: pointer + "/", parts: [indent, end]});
    };
    value("", "", [], 0);
    return found;
  };
  const textOf = (line) => line.parts.map((part) => typeof part === "string" ? part : part.textContent).join("").replace(/,$/, "");

  // Which of `mine` is in no longest common subsequence with `theirs`.
  const different = (mine, theirs) => {
    const table = Array.from({length: mine.length + 1}, () => new Uint16Array(theirs.length + 1));
    for (let i = mine.length - 1; i >= 0; i--)
      for (let j = theirs.length - 1; j >= 0; j--)
        table[i][j] = mine[i] === theirs[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    const out = new Set();
    for (let i = 0, j = 0; i < mine.length;) {
      if (j < theirs.length && mine[i] === theirs[j]) { i++; j++; }
      else if (j < theirs.length && table[i][j + 1] > table[i + 1][j]) j++;
      else out.add(i++);
    }
    return out;
  };

  const prettyLines = (body) => {
    if (!body || body.text === undefined || body.cut) return null;
    try { JSON.parse(body.text); return lines(body.text); } catch { return null; }
  };
  const bodyBlock = (body, got, other) => {
    if (!body || !body.size) return element("p", {class: "muted"}, "no body");
    const note = body.cut ? element("p", {class: "muted"}, `${body.size.toLocaleString("en")} bytes; the start is shown`) : null;
    if (body.text === undefined) return element("div", {}, note, element("p", {class: "muted"}, "no UTF-8 text; as base64:"), element("pre", {tabindex: "0"}, body.base64 || ""));
    const pretty = prettyLines(body);
    if (!pretty) return element("div", {}, note, element("pre", {tabindex: "0"}, visible(body.text)));
    const pointer = (/^(\/[^:\s]*):/.exec(got || "") || /, (\/[^:\s]*): /.exec(got || "") || [])[1];
    const theirs = other && prettyLines(other);
    const changed = theirs && pretty.length < 800 && theirs.length < 800 ? different(pretty.map(textOf), theirs.map(textOf)) : new Set();
    const block = element("pre", {tabindex: "0"});
    pretty.forEach((line, index) => {
      const hit = pointer && line.pointer === pointer;
      block.append(element("span", {class: "line" + (changed.has(index) ? " other" : "") + (hit ? " hit" : "")}, ...line.parts));
    });
    return element("div", {}, note, block);
  };
  const headerTable = (headers) => element("table", {class: "headers"}, element("tbody", {}, ...headers.map(([name, value]) =>
    element("tr", {}, element("th", {scope: "row"}, visible(name)), element("td", {}, visible(value))))));

  const rendered = (number, got, siblings) => {
    const one = exchanges[number];
    if (!one) return element("p", {class: "muted"}, `Exchange ${number} is not in this page, which holds as many as fit, violations first; look in results.json.`);
    // Another answer to the same request is worth comparing with: replays, races, repeated reads.
    const twin = siblings.map((other) => exchanges[other]).find((other) => other && other !== one && other.method === one.method && other.target === one.target &&
      other.request_body.text === one.request_body.text && other.response_body.size);
    const status = one.status === null ? `no answer: ${one.error || ""}` : `${one.status}`;
    const words = [`${(one.elapsed * 1000).toFixed(one.elapsed < 0.01 ? 1 : 0)} ms`];
    if (one.attempts > 1) words.push(`${one.attempts} attempts`);
    if (one.organization !== "primary") words.push(`as ${one.organization}`);
    const request = element("div", {}, element("h4", {}, "Sent"),
      element("p", {}, element("code", {}, visible(`${one.method} ${one.target}`))), headerTable(one.request_headers), bodyBlock(one.request_body), one.signed ? element("p", {}, element("b", {}, "signed "), element("code", {}, visible(one.signed))) : "");
    const response = element("div", {}, element("h4", {}, "Received"),
      element("p", {}, element("code", {class: "status " + kind(one.status)}, visible(status)), " ", element("span", {class: "muted"}, words.join(", "))),
      headerTable(one.response_headers), bodyBlock(one.response_body, got, twin && twin.response_body));
    if (twin && prettyLines(one.response_body) && prettyLines(twin.response_body)) {
      const same = !response.querySelector(".line.other");
      response.append(element("p", {class: "muted"},
        same ? `Exchange #${twin.number}, the same request, was answered alike.` : `Marked lines differ from the answer in exchange #${twin.number}.`));
    }
    return element("div", {class: "sides"}, request, response);
  };
  const kind = (status) => status === null ? "none" : status < 300 ? "ok" : status < 500 ? "client" : "server";

  const fill = (details) => {
    if (details.dataset.filled || !details.open) return;
    details.dataset.filled = "yes";
    const siblings = all("details.exchange", details.parentElement).map((one) => one.dataset.number);
    details.querySelector(".inside").replaceChildren(rendered(details.dataset.number, details.dataset.got, siblings));
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("details.exchange")) fill(event.target);
  }, true);
  const first = document.querySelector("details.exchange[data-decisive]");
  if (first) first.open = true;

  // An exchange of a case opens under its row.
  const showUnder = (link) => {
    const row = link.closest("tr"), number = link.dataset.number, id = `${row.id}#${number}`;
    const old = byId(id);
    if (old) { old.remove(); link.setAttribute("aria-expanded", "false"); return; }
    const got = row.querySelector(".got dd")?.textContent || "";
    const siblings = all("a[data-number]", row).map((one) => one.dataset.number);
    const details = element("details", {class: "exchange", open: ""}, element("summary", {}, element("b", {}, `#${number} `), visible(exchanges[number]?.purpose || "")),
      element("div", {class: "inside"}, rendered(number, got, siblings)));
    details.dataset.filled = "yes";
    row.after(element("tr", {id}, element("td", {colspan: "4"}, details)));
    link.setAttribute("aria-expanded", "true");
  };
  all("a[data-number]").forEach((link) => { link.setAttribute("role", "button"); link.setAttribute("aria-expanded", "false"); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-number]");
    if (link) { event.preventDefault(); showUnder(link); }
  });

  // ---------------------------------------------------------------- links to a rule or a case

  const reveal = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* then it is taken as it stands */ }
    const target = id && byId(id);
    if (!target) return;
    const rule = target.closest("details.rule");
    if (rule) {
      if (rule.hidden) resetFilter();
      rule.open = true;
    }
    all(".target").forEach((one) => one.classList.remove("target"));
    if (target.matches("details.rule")) target.classList.add("target");
    target.scrollIntoView({block: target.matches("tr") ? "center" : "start"});
    (target.matches("details.rule") ? target.querySelector("summary") : target).focus({preventScroll: true});
  };
  addEventListener("hashchange", reveal);

  // ---------------------------------------------------------------- filter

  const form = byId("filter"), query = byId("q"), operation = byId("operation"), shown = byId("shown");
  const rules = all("details.rule");
  const texts = new Map(rules.map((rule) => [rule, rule.textContent.toLowerCase()]));
  const rows = new Map(all("table.matrix tr[data-rule]").map((row) => [row.dataset.rule, row]));
  const checked = (name) => new Set(all(`input[name=${name}]:checked`, form).map((box) => box.value));
  const apply = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const levels = checked("level"), verdicts = checked("verdict");
    let count = 0;
    for (const rule of rules) {
      const fits = levels.has(rule.dataset.level) && rule.dataset.verdicts.split(" ").some((one) => verdicts.has(one)) &&
        (!operation.value || rule.dataset.operations.split(" ").includes(operation.value)) && words.every((word) => texts.get(rule).includes(word));
      rule.hidden = !fits;
      const row = rows.get(rule.id);
      if (row) row.hidden = !fits;
      for (const cell of all("table.cells tr[data-verdict]", rule))
        cell.hidden = Boolean(operation.value && !cell.id.endsWith("@" + operation.value)) || !verdicts.has(cell.dataset.verdict);
      count += fits;
    }
    for (const chapter of all(".chapter")) chapter.hidden = all("details.rule", chapter).every((rule) => rule.hidden);
    for (const body of all("table.matrix tbody")) body.hidden = all("tr[data-rule]", body).every((row) => row.hidden);
    byId("nothing").hidden = count > 0;
    shown.textContent = count === rules.length ? "" : `${count} of ${rules.length} rules shown`;
  };
  const resetFilter = () => { form.reset(); apply(); };
  let timer = 0;
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, 60); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  byId("only-broken").addEventListener("click", () => {
    for (const box of all("input[name=verdict]", form)) box.checked = ["failed", "warning", "error"].includes(box.value);
    apply();
  });

  // ---------------------------------------------------------------- keyboard

  const grid = document.querySelector("table.matrix");
  const links = all("td a", grid);
  links.forEach((link, index) => { link.tabIndex = index ? -1 : 0; });
  grid.addEventListener("focusin", (event) => {
    if (!event.target.matches("td a")) return;
    links.forEach((link) => { link.tabIndex = -1; });
    event.target.tabIndex = 0;
  });
  grid.addEventListener("keydown", (event) => {
    const step = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0]}[event.key];
    const cell = event.target.closest("td");
    if (!step || !cell) return;
    event.preventDefault();
    const visibleRows = all("tr[data-rule]", grid).filter((row) => !row.hidden && !row.parentElement.hidden);
    let y = visibleRows.indexOf(cell.parentElement), x = cell.cellIndex;
    for (;;) {
      y += step[0]; x += step[1];
      const next = visibleRows[y]?.cells[x];
      if (!next || x < 1) return;
      const link = next.querySelector("a");
      if (link) { link.focus(); link.scrollIntoView({block: "nearest", inline: "nearest"}); return; }
    }
  });
  const causes = all("article.cause");
  let current = -1;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && document.activeElement === query) { query.value = ""; apply(); query.blur(); return; }
    if (event.target.matches("input, select, textarea")) return;
    if (event.key === "/") { event.preventDefault(); query.focus(); query.select(); }
    if ((event.key === "n" || event.key === "p") && causes.length) {
      current = Math.min(Math.max(current + (event.key === "n" ? 1 : -1), 0), causes.length - 1);
      causes[current].scrollIntoView({block: "start"});
      causes[current].focus({preventScroll: true});
    }
  });

  // ---------------------------------------------------------------- theme, print

  const theme = byId("theme"), themes = ["automatic", "light", "dark"];
  const stored = () => { try { return localStorage.getItem("conformance-theme"); } catch { return null; } };
  const setTheme = (name) => {
    if (name === "automatic") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    theme.textContent = `Theme: ${name}`;
    theme.dataset.now = name;
    try { localStorage.setItem("conformance-theme", name); } catch { /* a page from a file may not store */ }
  };
  setTheme(themes.includes(stored()) ? stored() : "automatic");
  theme.addEventListener("click", () => setTheme(themes[(themes.indexOf(theme.dataset.now) + 1) % 3]));
  addEventListener("beforeprint", () => all("details.exchange[data-decisive]").slice(0, 20).forEach((one) => { one.open = true; fill(one); }));

  theme.hidden = false;
  all(".script").forEach((one) => { one.hidden = false; });
  reveal();
})();
