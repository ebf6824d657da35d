// The networks with the loads of the chosen run, drawn by the modules of `incast view`.
(async () => {
  const { Totals } = of_totals();
  const nets = JSON.parse(await unpack("nets"));
  const tip = document.getElementById("tip");

  const shown = [...document.querySelectorAll("[data-net]")].map((figure) => {
    const net = nets[Number(figure.dataset.net)];
    const canvas = figure.querySelector("canvas");
    const say = (text, spot) => {
      tip.hidden = !text;
      tip.textContent = text;
      if (!text) return;
      const { left, top } = canvas.getBoundingClientRect();
      tip.style.left = `${Math.max(8, Math.min(left + spot.x + 14, innerWidth - tip.offsetWidth - 8))}px`;
      tip.style.top = `${Math.max(8, top + spot.y - tip.offsetHeight - 12)}px`;
    };
    const drawn = new Totals(canvas, net.pictures, net.links, say);
    figures.set(canvas, {
      columns: async () => {
        const { loads } = net.runs[figure.dataset.run];
        const of = (column) => loads.map((load) => load[column]);
        return { [net.title]: { link: net.links, busy: of(0), drops: of(1), load: of(2) } };
      },
      png: async () => drawn.png(),
      svg: async () => drawn.svg(),
    });
    return { figure, net, drawn };
  });

  const show = (number) => {
    for (const { figure, net, drawn } of shown) {
      const run = net.runs[number];
      figure.hidden = !run;
      if (!run) continue;
      figure.dataset.run = number;
      figure.querySelector(".hottest").textContent = run.told;
      drawn.load(run.loads, run.hottest);
    }
  };
  const picks = [...document.querySelectorAll("input[name=load]")];
  picks.forEach((pick) => pick.addEventListener("change", () => show(pick.value)));
  show(picks.find((pick) => pick.checked)?.value ?? Object.keys(nets[0].runs)[0]);
  performance.mark("incast-network");

  const all = (call) => () => shown.forEach(({ drawn }) => call(drawn));
  addEventListener("resize", all((drawn) => drawn.fit()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all((drawn) => drawn.fit()));
  // The first rule of the page's style has the colours of the light page, whatever the screen has.
  const light = (name) => document.styleSheets[0].cssRules[0].style.getPropertyValue(`--${name}`).trim();
  addEventListener("beforeprint", all((drawn) => drawn.print(light)));
  addEventListener("afterprint", all((drawn) => drawn.fit()));
})();
