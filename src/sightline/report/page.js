"use strict";
(function () {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("theme");

  function remembered() {
    try { return window.localStorage.getItem("sightline-theme"); } catch (_) { return null; }
  }
  function isDark() {
    const chosen = root.dataset.theme;
    return chosen ? chosen === "dark" : dark.matches;
  }
  function label() {
    toggle.textContent = isDark() ? "Light mode" : "Dark mode";
  }
  const before = remembered();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  label();
  dark.addEventListener("change", label);
  toggle.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { window.localStorage.setItem("sightline-theme", root.dataset.theme); } catch (_) { /* */ }
    label();
  });
  document.getElementById("print").addEventListener("click", function () { window.print(); });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (one) { one.open = true; });
  });

  // Tables: a click on a head sorts by its column, a second one turns the order round.
  function key(row, column) {
    const cell = row.cells[column];
    const given = cell.dataset.value;
    if (given === undefined) return (cell.firstChild ? cell.firstChild.textContent : "").trim();
    return given === "" ? null : Number(given);
  }
  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }
  function sort(table, column, down) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows).filter(function (row) { return !row.dataset.fixed; });
    const fixed = Array.from(body.rows).filter(function (row) { return row.dataset.fixed; });
    const keyed = rows.map(function (row) { return [key(row, column), row]; });
    keyed.sort(function (a, b) {
      if (a[0] === null || b[0] === null) return (a[0] === null) - (b[0] === null);
      return down ? compare(b[0], a[0]) : compare(a[0], b[0]);
    });
    keyed.forEach(function (pair) { body.appendChild(pair[1]); });
    fixed.forEach(function (row) { body.appendChild(row); });
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", function () {
        const now = head.getAttribute("aria-sort");
        const first = head.classList.contains("num") ? "descending" : "ascending";
        const other = first === "descending" ? "ascending" : "descending";
        const next = now === first ? other : first;
        heads.forEach(function (one) { one.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", next);
        sort(table, column, next === "descending");
      });
    });
  });

  // What is wider than the screen can be reached by the keyboard, too.
  function reachable() {
    document.querySelectorAll(".scroll, .paper, pre").forEach(function (one) {
      const wide = one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 1;
      if (wide) one.tabIndex = 0; else one.removeAttribute("tabindex");
    });
  }
  reachable();
  window.addEventListener("resize", reachable);

  // The contents show where the reader is.
  const links = new Map();
  document.querySelectorAll("nav.contents a").forEach(function (link) {
    links.set(link.getAttribute("href").slice(1), link);
  });
  if ("IntersectionObserver" in window) {
    const seen = new Set();
    const watch = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        if (entry.isIntersecting) seen.add(entry.target.id); else seen.delete(entry.target.id);
      });
      let current = null;
      links.forEach(function (link, id) {
        link.removeAttribute("aria-current");
        if (current === null && seen.has(id)) current = link;
      });
      if (current) current.setAttribute("aria-current", "true");
    }, { rootMargin: "-8% 0px -70% 0px" });
    links.forEach(function (_, id) {
      const section = document.getElementById(id);
      if (section) watch.observe(section);
    });
  }
})();
