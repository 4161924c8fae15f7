"use strict";
(() => {
  const all = (what, where) => [...(where || document).querySelectorAll(what)];
  const isShown = (chart) => chart.getBoundingClientRect().width > 0;
  document.documentElement.classList.add("js");

  const tabs = all("[role=tab]");  // one output at a time; arrows move between their tabs
  const showTab = (shown) => tabs.forEach((tab, number) => {
    tab.setAttribute("aria-selected", String(number === shown));
    tab.tabIndex = number === shown ? 0 : -1;
    document.getElementById(tab.hash.slice(1)).classList.toggle("on", number === shown);
  });
  const showTabOfAddress = () => showTab(Math.max(0, tabs.findIndex((tab) => tab.hash === location.hash)));
  for (const when of ["hashchange", "load"]) addEventListener(when, showTabOfAddress);
  tabs.forEach((tab, number) => {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      history.replaceState(null, "", tab.hash);
      showTab(number);
    });
    tab.addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (!step) return;
      const next = (number + step + tabs.length) % tabs.length;
      showTab(next);
      tabs[next].focus();
    });
  });

  // The tree: a first press on a node makes every figure follow, a second one goes to it.
  const nodes = all(".node");
  const choose = (id) => {
    const chosen = nodes.find((node) => node.hash === "#" + id);
    if (!chosen) return false;
    const isRoot = id === "all";
    const regions = chosen.dataset.set.split(" ");
    for (const node of nodes) {
      if (node === chosen) node.setAttribute("aria-current", "true");
      else node.removeAttribute("aria-current");
    }
    const isChosen = (text) => text.split(" ").some((region) => regions.includes(region));
    for (const part of all("[data-r]")) {
      const of = part.dataset.r;
      part.classList.toggle("dim", !isRoot && of !== "all" && !isChosen(of));
    }
    for (const part of all("[data-of]")) {  // dots of single rows
      const of = part.dataset.of;
      part.classList.toggle("on", of === "all" ? isRoot : !isRoot && isChosen(of));
    }
    for (const part of all("[data-band]")) {  // of the rows' own curves, in one region
      part.classList.toggle("on", regions.length === 1 && isChosen(part.dataset.band));
    }
    for (const card of all(".card")) card.classList.toggle("on", card.id === id);
    return true;
  };
  const follow = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    if (!choose(id)) choose("all");
    const place = id && document.getElementById(id);
    const fold = place && place.closest("details");
    if (fold) fold.open = true;
  };
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);
  follow();
  nodes.forEach((node, number) => {
    node.addEventListener("click", (event) => {
      if (node.hasAttribute("aria-current")) return;
      event.preventDefault();
      history.pushState(null, "", node.hash);
      choose(node.hash.slice(1));
    });
    node.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      let next = number + step;
      while (nodes[next] && nodes[next].offsetParent === null) next += step;
      if (nodes[next]) nodes[next].focus();
    });
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !nodes.length || nodes[0].hasAttribute("aria-current")) return;
    history.pushState(null, "", "#all");
    choose("all");
  });

  // Values under the pointer or by arrow keys: they are read from the figure's table and replace its caption.
  const cellTexts = (table) => all("tr", table).map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  for (const plot of all(".plot")) {
    const figure = plot.closest(".ch");
    const out = figure.querySelector(".read");
    const caption = [...out.childNodes];
    const [heads, ...lines] = cellTexts(figure.querySelector("table"));
    let place = -1;  // along the axis, that is shown
    const shownChart = () => all("svg[data-x]", plot).find(isShown);
    const show = (wanted) => {
      place = Math.max(0, Math.min(lines.length - 1, wanted));
      const parts = lines[place].map((cell, i) => {
        const part = document.createElement("span");
        const value = document.createElement("b");
        part.className = "v";
        value.textContent = cell;
        part.append(heads[i] + " ", value);
        return cell === "" ? "" : part;
      });
      out.replaceChildren(...parts);
      for (const chart of all("svg[data-x]", plot)) {
        const cross = chart.querySelector(".cross");
        cross.setAttribute("transform", "translate(" + chart.dataset.x.split(" ")[place] + ")");
        cross.classList.add("on");
      }
    };
    const leave = () => {
      out.replaceChildren(...caption);
      for (const cross of all(".cross", plot)) cross.classList.remove("on");
    };
    plot.addEventListener("pointermove", (event) => {
      const chart = shownChart();
      if (!chart) return;
      const box = chart.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
      const distances = chart.dataset.x.split(" ").map((placeX) => Math.abs(placeX - x));
      show(distances.indexOf(Math.min(...distances)));
    });
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(place + step);
    });
    plot.addEventListener("pointerleave", leave);
    plot.addEventListener("blur", leave);
  }

  // Downloads: the figure as it is seen, with its colors written into it, and its numbers.
  const save = (name, blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const LOOKS = [
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-size", "font-weight",
    "font-style", "font-family", "paint-order", "display", "visibility",
  ];
  const standaloneSvg = (chart) => {
    const copy = chart.cloneNode(true);
    const copies = all("*", copy);
    const pairs = all("*", chart).map((shape, i) => [shape, copies[i]]);
    for (const [from, to] of pairs) {
      const look = getComputedStyle(from);
      for (const key of LOOKS) to.setAttribute(key, look.getPropertyValue(key));
    }
    const box = chart.viewBox.baseVal;
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    return new XMLSerializer().serializeToString(copy);
  };
  const png = (name, chart, text) => {
    const picture = new Image();
    const { width, height } = chart.viewBox.baseVal;
    picture.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 3 * width;
      canvas.height = 3 * height;
      const pen = canvas.getContext("2d");
      pen.fillStyle = getComputedStyle(document.body).backgroundColor;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => save(name, blob));
    };
    picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  };
  const quoted = (cell) => (/[",\n]/.test(cell) ? '"' + cell.replace(/"/g, '""') + '"' : cell);
  for (const tools of all(".tools")) {
    const figure = document.getElementById(tools.dataset.figure);
    const name = tools.dataset.name.replace(/[^\p{L}\p{N}_-]+/gu, "_");
    for (const button of all("button", tools)) {
      const kind = button.textContent;
      button.setAttribute("aria-label", kind + " of " + name);
      button.addEventListener("click", () => {
        if (kind === "CSV") {
          const lines = all("table", figure).flatMap((table, i) => cellTexts(table).slice(i ? 1 : 0));
          const text = lines.map((line) => line.map(quoted).join(",")).join("\n");
          return save(name + ".csv", new Blob([text + "\n"], { type: "text/csv" }));
        }
        const chart = all("svg.chart", figure).find(isShown);
        const text = standaloneSvg(chart);
        if (kind === "SVG") save(name + ".svg", new Blob([text], { type: "image/svg+xml" }));
        else png(name + ".png", chart, text);
      });
    }
  }

  // Sorting: the head of each column of a sortable table is a button.
  const sortKey = (cell) => {
    const value = cell.dataset.value;
    return value === undefined ? cell.textContent.trim() : Number(value);
  };
  const sort = (head, column) => {
    const body = head.closest("table").tBodies[0];
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const order = (a, b) => {
      if (typeof a === "number") return a - b;
      return String(a).localeCompare(String(b), "en", { numeric: true });
    };
    const sign = down ? -1 : 1;
    const rows = [...body.rows].sort((a, b) => sign * order(sortKey(a.cells[column]), sortKey(b.cells[column])));
    body.append(...rows);
  };
  for (const head of all("table.sortable thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(head, head.cellIndex));
  }
  addEventListener("beforeprint", () => {
    for (const fold of all("details.fold")) fold.open = true;
  });
})();
