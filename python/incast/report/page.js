// Draws the charts when they come into sight, gives their figures as tables and files, and colours the
// topology for the chosen run.
"use strict";
(async () => {
  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const loading = unpack("data").then(JSON.parse);

  // The library is a script of this page: its hash is in the page's policy.
  const library = (() => {
    let loading;
    return () => (loading ??= unpack("library").then((text) => {
      const script = document.createElement("script");
      script.textContent = text;
      document.head.append(script);
    }));
  })();

  const rows = (columns) => {
    const names = Object.keys(columns);
    const length = names.length ? columns[names[0]].length : 0;
    return Array.from({ length }, (_, i) =>
      Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  };

  const views = new Map();
  const draw = async (place) => {
    const chart = (await loading).charts[Number(place.dataset.chart)];
    const datasets = Object.fromEntries(
      Object.entries(chart.columns).map(([name, columns]) => [name, rows(columns)]));
    const options = {
      actions: false, renderer: "svg", ast: true, defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
    };
    try {
      await library();
      views.set(place, (await vegaEmbed(place, { ...chart.spec, datasets }, options)).view);
      // The place has the chart's name, and its figures are a table's.
      place.querySelector("svg").setAttribute("aria-hidden", "true");
    } catch (error) {
      place.textContent = "This chart could not be drawn: " + error.message;
    }
  };

  const places = [...document.querySelectorAll("[data-chart]")];
  const drawing = new Map();
  const drawOnce = (place) => {
    if (!drawing.has(place)) drawing.set(place, draw(place));
    return drawing.get(place);
  };
  const sight = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) drawOnce(entry.target);
  }, { rootMargin: "600px" });
  places.forEach((place) => sight.observe(place));
  addEventListener("beforeprint", () => places.forEach(drawOnce));
  const data = await loading;

  // A chart's figures without pointing at it: as a table, or as a file.
  const SHOWN_MAX = 500;
  const cell = (value) => (value === null || value === undefined ? "" : String(value));
  const quoted = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const lines = (chart) => Object.entries(chart.columns).flatMap(([name, columns]) => {
    const heads = Object.keys(columns);
    return rows(columns).map((row) => [["set", name], ...heads.map((head) => [head, cell(row[head])])]);
  });
  const table = (place, button) => {
    const shown = place.parentElement.querySelector(`[data-table="${place.dataset.chart}"]`);
    button.setAttribute("aria-expanded", String(!shown));
    if (shown) return shown.remove();
    const made = document.createElement("div");
    made.dataset.table = place.dataset.chart;
    made.className = "scroll";
    made.tabIndex = 0;
    made.role = "region";
    made.ariaLabel = place.getAttribute("aria-label");
    for (const [name, columns] of Object.entries(data.charts[Number(place.dataset.chart)].columns)) {
      const listed = rows(columns);
      if (!listed.length) continue;
      const drawn = document.createElement("table");
      const caption = drawn.createCaption();
      caption.textContent = name + (listed.length > SHOWN_MAX ? `: ${SHOWN_MAX} of ${listed.length}, CSV has all` : "");
      const head = drawn.createTHead().insertRow();
      for (const key of Object.keys(columns)) {
        const title = document.createElement("th");
        title.scope = "col";
        title.textContent = key;
        head.append(title);
      }
      const body = drawn.createTBody();
      for (const row of listed.slice(0, SHOWN_MAX)) {
        const line = body.insertRow();
        for (const value of Object.values(row)) line.insertCell().textContent = cell(value);
      }
      made.append(drawn);
    }
    button.parentElement.after(made);
  };
  const save = (name, href) => {
    const link = document.createElement("a");
    link.download = name;
    link.href = href;
    link.click();
  };
  const text = (content, kind) => URL.createObjectURL(new Blob([content], { type: kind }));
  const csv = (chart) => {
    const listed = lines(chart);
    const heads = [...new Set(listed.flatMap((line) => line.map(([key]) => key)))];
    const said = listed.map((line) => {
      const known = Object.fromEntries(line);
      return heads.map((head) => quoted(known[head] ?? "")).join(",");
    });
    return [heads.join(","), ...said].join("\n") + "\n";
  };
  // A file has no page around it whose colours it could follow.
  const resolved = (content) => {
    const style = getComputedStyle(document.documentElement);
    return content.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  };
  const TOOLS = {
    Table: table,
    CSV: (place) => save("chart.csv", text(csv(data.charts[Number(place.dataset.chart)]), "text/csv")),
    SVG: async (place) =>
      save("chart.svg", text(resolved(await views.get(place).toSVG()), "image/svg+xml")),
    PNG: async (place) => {
      const picture = new Image();
      picture.src = "data:image/svg+xml;charset=utf-8," +
        encodeURIComponent(resolved(await views.get(place).toSVG(2)));
      await picture.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [picture.width, picture.height];
      canvas.getContext("2d").drawImage(picture, 0, 0);
      save("chart.png", canvas.toDataURL("image/png"));
    },
  };
  for (const tools of document.querySelectorAll("[data-tools]")) {
    const place = tools.parentElement.querySelector(`[data-chart="${tools.dataset.tools}"]`);
    tools.hidden = false;
    tools.addEventListener("click", async ({ target }) => {
      const button = target.closest("[data-tool]");
      if (!button) return;
      await drawOnce(place);
      TOOLS[button.dataset.tool](place, button);
    });
  }

  const tip = document.getElementById("tip");
  const figures = [...document.querySelectorAll("[data-net]")];

  const show = (run) => {
    for (const figure of figures) {
      const net = data.nets[Number(figure.dataset.net)];
      const loads = net.loads[run];
      figure.hidden = !loads;
      if (!loads) continue;
      figure.dataset.run = run;
      const [hot, told] = net.hottest[run];
      figure.querySelector(".hottest").textContent = told;
      for (const mark of figure.querySelectorAll("[data-p]")) {
        const index = Number(mark.dataset.p);
        mark.setAttribute("class", `${mark.classList[0]} u${loads[index][0]}${index === hot ? " hot" : ""}`);
      }
    }
  };

  const told = (figure, index) => {
    const net = data.nets[Number(figure.dataset.net)];
    return `${net.names[index]}: ${net.loads[figure.dataset.run][index].slice(2)}`;
  };
  const point = (mark, x, y) => {
    const figure = mark.closest("[data-net]");
    tip.hidden = false;
    tip.textContent = told(figure, Number(mark.dataset.p));
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${Math.max(8, y - tip.offsetHeight - 12)}px`;
  };
  const hover = (event) => {
    const mark = event.target.closest?.("[data-p]");
    tip.hidden = !mark;
    if (mark) point(mark, event.clientX, event.clientY);
  };
  // With the keyboard: from link to link, by name.
  const step = (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const figure = event.currentTarget;
    if (event.key === "Escape") tip.hidden = true;
    if (!by || event.target !== figure) return;
    event.preventDefault();
    const count = data.nets[Number(figure.dataset.net)].names.length;
    const at = (Number(figure.dataset.at ?? (by > 0 ? -1 : 0)) + by + count) % count;
    figure.dataset.at = at;
    const mark = [...figure.querySelectorAll(`[data-p="${at}"]`)].find((each) => each.getClientRects().length);
    figure.querySelectorAll(".chosen").forEach((each) => each.classList.remove("chosen"));
    mark.classList.add("chosen");
    const box = mark.getBoundingClientRect();
    point(mark, box.right, box.top);
  };

  for (const figure of figures) {
    figure.addEventListener("pointermove", hover);
    figure.addEventListener("pointerdown", hover);
    figure.addEventListener("pointerleave", () => { tip.hidden = true; });
    figure.addEventListener("keydown", step);
    figure.addEventListener("blur", () => { tip.hidden = true; });
  }
  const picks = [...document.querySelectorAll("input[name=load]")];
  picks.forEach((pick) => pick.addEventListener("change", () => show(pick.value)));
  const picked = picks.find((pick) => pick.checked);
  if (data.nets.length) show(picked ? picked.value : Object.keys(data.nets[0].loads)[0]);
})();
