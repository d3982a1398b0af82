"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // ---------------------------------------------------------------- links into what is folded

  const reveal = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* then it is taken as it stands */ }
    const target = id && byId(id);
    if (!target) return;
    const rule = target.closest("details.rule");
    if (rule?.hidden) resetFilter();
    for (let part = target; part; part = part.parentElement?.closest("details")) if (part.matches("details")) part.open = true;
    target.scrollIntoView({block: target.matches("span") ? "center" : "start"});
    (target.matches("details") ? target.querySelector("summary") : target).focus({preventScroll: true});
  };
  addEventListener("hashchange", reveal);
  // A link to the place where the reader was last changes no hash.
  document.addEventListener("click", (event) => {
    if (event.target.closest("a[href^='#']")?.hash === location.hash) reveal();
  });

  // ---------------------------------------------------------------- filter

  const form = byId("filter"), query = byId("q");
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
        words.every((word) => texts.get(rule).includes(word));
      rule.hidden = !fits;
      const row = rows.get(rule.id);
      if (row) row.hidden = !fits;
      count += fits;
    }
    for (const chapter of all(".chapter")) chapter.hidden = all("details.rule", chapter).every((rule) => rule.hidden);
    for (const body of all("table.matrix tbody")) body.hidden = all("tr[data-rule]", body).every((row) => row.hidden);
    byId("nothing").hidden = count > 0;
    byId("shown").textContent = count === rules.length ? "" : `${count} of ${rules.length} rules shown`;
  };
  const resetFilter = () => { form.reset(); apply(); };
  let timer = 0;
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, 60); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));

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
  const causes = all("details.cause");
  let current = -1;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && document.activeElement === query) { query.value = ""; apply(); query.blur(); return; }
    if (event.target.matches("input, select, textarea")) return;
    if (event.key === "/") { event.preventDefault(); query.focus(); query.select(); }
    if ((event.key === "n" || event.key === "p") && causes.length) {
      current = Math.min(Math.max(current + (event.key === "n" ? 1 : -1), 0), causes.length - 1);
      causes[current].open = true;
      causes[current].scrollIntoView({block: "start"});
      causes[current].querySelector("summary").focus({preventScroll: true});
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
  addEventListener("beforeprint", () => causes.slice(0, 20).forEach((cause) => { cause.open = true; }));

  theme.hidden = false;
  all(".script").forEach((one) => { one.hidden = false; });
  reveal();
})();
