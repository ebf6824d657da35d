// Draws the charts when they come into sight, and gives the figures of all pictures as tables and files.
"use strict";
const unpack = async (id) => {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};

// What a picture gives, by the element that shows it: its columns, its PNG and its SVG.
const figures = new Map();

(() => {
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

  // A file has no page around it whose colours it could follow.
  const resolved = (content) => {
    const style = getComputedStyle(document.documentElement);
    return content.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  };
  const svg = async (place, scale) => {
    await drawOnce(place);
    return resolved(await views.get(place).toSVG(scale));
  };
  const png = async (place) => {
    const picture = new Image();
    picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(await svg(place, 2));
    await picture.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [picture.width, picture.height];
    canvas.getContext("2d").drawImage(picture, 0, 0);
    return canvas.toDataURL("image/png");
  };
  for (const place of places) {
    const columns = async () => (await loading).charts[Number(place.dataset.chart)].columns;
    figures.set(place, { columns, svg: () => svg(place), png: () => png(place) });
  }

  // A picture's figures without pointing at it: as a table, or as a file.
  const SHOWN_MAX = 500;
  const cell = (value) => (value === null || value === undefined ? "" : String(value));
  const quoted = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const lines = (sets) => Object.entries(sets).flatMap(([name, columns]) => {
    const heads = Object.keys(columns);
    return rows(columns).map((row) => [["set", name], ...heads.map((head) => [head, cell(row[head])])]);
  });
  const table = (sets, place, button) => {
    const shown = button.parentElement.nextElementSibling;
    const isShown = Boolean(shown?.dataset.table);
    button.setAttribute("aria-expanded", String(!isShown));
    if (isShown) return shown.remove();
    const made = document.createElement("div");
    made.dataset.table = "shown";
    made.className = "scroll";
    made.tabIndex = 0;
    made.role = "region";
    made.ariaLabel = place.getAttribute("aria-label");
    for (const [name, columns] of Object.entries(sets)) {
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
  const csv = (sets) => {
    const listed = lines(sets);
    const heads = [...new Set(listed.flatMap((line) => line.map(([key]) => key)))];
    const said = listed.map((line) => {
      const known = Object.fromEntries(line);
      return heads.map((head) => quoted(known[head] ?? "")).join(",");
    });
    return [heads.join(","), ...said].join("\n") + "\n";
  };
  const TOOLS = {
    Table: async (figure, place, button) => table(await figure.columns(), place, button),
    CSV: async (figure) => save("figure.csv", text(csv(await figure.columns()), "text/csv")),
    SVG: async (figure) => save("figure.svg", text(await figure.svg(), "image/svg+xml")),
    PNG: async (figure) => save("figure.png", await figure.png()),
  };
  for (const tools of document.querySelectorAll(".tools")) {
    const place = tools.previousElementSibling;
    tools.hidden = false;
    tools.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-tool]");
      if (button) TOOLS[button.dataset.tool](figures.get(place), place, button);
    });
  }
})();
