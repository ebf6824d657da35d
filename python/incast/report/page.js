// Draws the charts when they come into sight, and colours the topology for the chosen run.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  const rows = (columns) => {
    const names = Object.keys(columns);
    const length = names.length ? columns[names[0]].length : 0;
    return Array.from({ length }, (_, i) =>
      Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  };

  const draw = (place) => {
    const chart = data.charts[Number(place.dataset.chart)];
    const datasets = Object.fromEntries(
      Object.entries(chart.columns).map(([name, columns]) => [name, rows(columns)]));
    const options = {
      actions: false, renderer: "svg", ast: true, defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
    };
    return vegaEmbed(place, { ...chart.spec, datasets }, options).catch((error) => {
      place.textContent = "This chart could not be drawn: " + error.message;
    });
  };

  const places = [...document.querySelectorAll("[data-chart]")];
  const waiting = new Set(places);
  const drawOnce = (place) => waiting.delete(place) && draw(place);
  const sight = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) drawOnce(entry.target);
  }, { rootMargin: "600px" });
  places.forEach((place) => sight.observe(place));
  addEventListener("beforeprint", () => [...waiting].forEach(drawOnce));

  const tip = document.getElementById("tip");
  const figures = [...document.querySelectorAll("[data-net]")];

  const show = (run) => {
    for (const figure of figures) {
      const loads = data.nets[Number(figure.dataset.net)].loads[run];
      figure.hidden = !loads;
      if (!loads) continue;
      figure.dataset.run = run;
      for (const mark of figure.querySelectorAll("[data-p]")) {
        mark.setAttribute("class", `${mark.classList[0]} u${loads[Number(mark.dataset.p)][0]}`);
      }
    }
  };

  const hover = (event) => {
    const mark = event.target.closest?.("[data-p]");
    tip.hidden = !mark;
    if (!mark) return;
    const figure = mark.closest("[data-net]");
    const net = data.nets[Number(figure.dataset.net)];
    const index = Number(mark.dataset.p);
    const load = net.loads[figure.dataset.run][index];
    tip.textContent = `${net.names[index]}: ${load.slice(2)}`;
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, x)}px`;
    tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 12)}px`;
  };

  for (const figure of figures) {
    figure.addEventListener("pointermove", hover);
    figure.addEventListener("pointerdown", hover);
    figure.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
  const picks = [...document.querySelectorAll("input[name=load]")];
  picks.forEach((pick) => pick.addEventListener("change", () => show(pick.value)));
  const picked = picks.find((pick) => pick.checked);
  if (data.nets.length) show(picked ? picked.value : Object.keys(data.nets[0].loads)[0]);
})();
