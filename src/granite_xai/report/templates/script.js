"use strict";
(() => {
  const all = (where, what) => [...where.querySelectorAll(what)];

  // Region selector: one view of each figure at a time. Without script every view is shown.
  const selector = document.getElementById("selector");
  const show = (region) => {
    for (const view of all(document, ".view")) view.hidden = view.dataset.region !== region;
  };
  if (selector) {
    const chosen = () => (selector.querySelector("input:checked") || {}).value || "all";
    selector.addEventListener("change", () => show(chosen()));
    show(chosen());
  }

  // Sorting: the head of each column of a sortable table is a button.
  const cell = (row, at) => row.cells[at];
  const worth = (part) => {
    const raw = part.dataset.value === undefined ? part.textContent.trim() : part.dataset.value;
    const size = Number(raw.replace(/[ ,%]/g, ""));
    return raw !== "" && Number.isFinite(size) ? size : raw;
  };
  const compare = (one, two) => {
    const numbers = typeof one === "number" && typeof two === "number";
    return numbers ? one - two : String(one).localeCompare(String(two), "en", { numeric: true });
  };
  const sort = (head, at) => {
    const body = head.closest("table").tBodies[0];
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].map((row, i) => [worth(cell(row, at)), i, row]);
    rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]) || a[1] - b[1]);
    body.append(...rows.map((entry) => entry[2]));
  };
  for (const table of all(document, "table.sortable")) {
    all(table, "thead th").forEach((head, at) => {
      if (head.classList.contains("bars")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(head, at));
    });
  }

  // Zoom: the visible view of a figure in a dialog; Escape closes it.
  const dialog = document.getElementById("zoom");
  const stage = document.getElementById("stage");
  if (dialog && typeof dialog.showModal === "function") {
    for (const button of all(document, "button.zoom")) {
      button.hidden = false;
      button.addEventListener("click", () => {
        const figure = button.closest("figure");
        const title = document.createElement("h2");
        title.textContent = figure.querySelector("figcaption bdi").textContent;
        const views = all(figure, ".view").filter((view) => !view.hidden);
        stage.replaceChildren(title, ...views.map((view) => view.cloneNode(true)));
        dialog.showModal();
      });
    }
    document.getElementById("close").addEventListener("click", () => dialog.close());
  }
})();
