// The page that `ffn-train report`, `watch` and `inspect -o` write: hover, legends that hide series, axes that switch, sortable tables.
// The page can be read without it.
"use strict";
(() => {
  const tip = document.createElement("div");
  tip.id = "tip"; tip.hidden = true; document.body.append(tip);
  const show = (text, event) => {
    tip.textContent = text; tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, room)) + scrollX + "px";
    const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
    tip.style.top = event.clientY + scrollY + (below ? 18 : -tip.offsetHeight - 10) + "px";
  };
  const hide = () => { tip.hidden = true; };

  for (const svg of document.querySelectorAll("figure svg[role=img], td svg[role=img]")) {
    // A <title> would be a second tooltip.
    const title = svg.querySelector("title");
    svg.setAttribute("aria-label", title.textContent);
    svg.removeAttribute("aria-labelledby");
    svg.setAttribute("aria-description", svg.querySelector("desc").textContent);
    title.remove();

    const cursor = svg.querySelector("[data-cursor]"), marks = [...svg.querySelectorAll("[data-tip]")];
    const steps = cursor ? cursor.dataset.cursor.split(";").map(part => {
      const at = part.indexOf("=");
      return [Number(part.slice(0, at)), part.slice(at + 1).replaceAll("|", "\n")];
    }) : [];
    let line = null;
    if (cursor) {
      line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      line.setAttribute("class", "ax"); line.setAttribute("visibility", "hidden"); svg.append(line);
    }
    const near = event => {
      let best = null, least = 18;
      for (const mark of marks) {
        if (mark.closest("[style*=none]")) continue;
        const box = mark.getBoundingClientRect();
        const away = Math.hypot(event.clientX - box.x - box.width / 2, event.clientY - box.y - box.height / 2);
        if (away < least) { best = mark; least = away; }
      }
      return best;
    };
    svg.addEventListener("pointermove", event => {
      const mark = near(event);
      if (mark) { if (line) line.setAttribute("visibility", "hidden"); show(mark.dataset.tip, event); return; }
      if (!steps.length || event.target !== cursor) { if (line) line.setAttribute("visibility", "hidden"); hide(); return; }
      const box = svg.getBoundingClientRect(), x = (event.clientX - box.x) * svg.viewBox.baseVal.width / box.width;
      const step = steps.reduce((a, b) => Math.abs(a[0] - x) <= Math.abs(b[0] - x) ? a : b);
      const top = Number(cursor.getAttribute("y")), height = Number(cursor.getAttribute("height"));
      line.setAttribute("d", `M${step[0]} ${top}v${height}`); line.setAttribute("visibility", "visible");
      show(step[1], event);
    });
    svg.addEventListener("pointerleave", () => { hide(); if (line) line.setAttribute("visibility", "hidden"); });
  }

  for (const box of document.querySelectorAll("[data-axis]")) {
    box.closest(".switches").hidden = false;
    box.addEventListener("change", () => {
      box.closest("figure").setAttribute("data-" + box.dataset.axis, box.checked ? "log" : "lin");
    });
  }

  for (const key of document.querySelectorAll(".legend .key")) {
    const button = document.createElement("button");
    button.className = "key"; button.type = "button"; button.dataset.series = key.dataset.series;
    button.append(...key.childNodes); button.setAttribute("aria-pressed", "true");
    key.replaceWith(button);
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const part of button.closest("figure").querySelectorAll(".panels .v" + button.dataset.series)) part.style.display = shown ? "" : "none";
    });
  }

  for (const head of document.querySelectorAll(".sortable th")) {
    const column = [...head.parentNode.children].indexOf(head), table = head.closest("table"), body = table.querySelector("tbody");
    const button = document.createElement("button");
    button.type = "button"; button.className = "key"; button.append(...head.childNodes); head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = row => { const cell = row.children[column]; return "v" in cell.dataset ? Number(cell.dataset.order ?? cell.dataset.v) : cell.textContent; };
      const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
      body.append(...[...body.children].sort((a, b) => (down ? -1 : 1) * order(value(a), value(b))));
    });
  }

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const part of closed) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of closed) part.open = false; });
})();

// What `ffn-train watch` writes is loaded again every five seconds. What the reader has unfolded, hidden and switched stays so.
if (document.querySelector("main[data-live]")) {
  const idOf = element => { const part = element.closest("[id]"); return part ? part.id : ""; };
  const nameOf = part => idOf(part) + part.querySelector("summary").textContent;
  const keyOf = button => idOf(button) + button.dataset.series;
  const axisOf = box => idOf(box) + box.dataset.axis;
  const kept = JSON.parse(sessionStorage.getItem(location.pathname) ?? "{}");
  for (const part of document.querySelectorAll("details")) part.open = (kept.open ?? []).includes(nameOf(part));
  for (const button of document.querySelectorAll("button.key[data-series]")) if ((kept.hidden ?? []).includes(keyOf(button))) button.click();
  for (const box of document.querySelectorAll("[data-axis]")) if (axisOf(box) in (kept.axes ?? {}) && box.checked !== kept.axes[axisOf(box)]) box.click();
  setInterval(() => {
    if (document.hidden) return;
    sessionStorage.setItem(location.pathname, JSON.stringify({
      open: [...document.querySelectorAll("details[open]")].map(nameOf),
      hidden: [...document.querySelectorAll("button.key[aria-pressed=false]")].map(keyOf),
      axes: Object.fromEntries([...document.querySelectorAll("[data-axis]")].map(box => [axisOf(box), box.checked])),
    }));
    location.reload();
  }, 5000);
}
