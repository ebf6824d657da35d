// What is followed: its facts, its series, its flows, in each run shown.
import { Chart } from "./charts.js";
import { element } from "./elements.js";

const HEADS = ["Flow", "Job", "From → to", "Size", "Started at", "Took"];

export class Follow {
  constructor(place, choose, seek) {
    this.place = place;
    this.choose = choose;
    this.seek = seek;
    this.charts = [];
    this.asked = 0;
  }

  clear() {
    this.asked += 1;
    this.charts = [];
    this.place.replaceChildren();
  }

  // Shows it as each run has it; returns what to emphasise in each.
  async show(runs, target) {
    this.asked += 1;
    const asked = this.asked;
    const said = await Promise.all(runs.map((run) =>
      run.source.json("follow", { run: run.name, ...target }).catch((error) => ({ problem: error.message }))));
    if (asked !== this.asked) return null;
    this.charts = [];
    this.place.replaceChildren(...runs.map(() => element("div", { class: "followed" })));
    said.forEach((each, index) => this.fill(this.place.children[index], runs[index], each, runs.length > 1));
    this.resize(); // Charts are as wide as all of them together leave room for.
    return said;
  }

  fill(place, run, said, several) {
    if (several) place.append(element("h3", {}, run.name));
    if (said.problem) {
      place.append(element("p", { class: "alert" }, said.problem));
      return;
    }
    place.append(element("p", { class: "title" }, said.title));
    const facts = said.facts.flatMap(([name, value]) =>
      [element("div", {}, element("dt", {}, name), element("dd", {}, value))]);
    place.append(element("dl", {}, ...facts));
    const charts = element("div", { class: "charts" });
    place.append(charts);
    for (const chart of said.charts) this.charts.push(new Chart(charts, chart, this.seek));
    if (!said.charts.length) place.append(element("p", { class: "note" }, "No samples of it were taken."));
    if (said.flows) place.append(this.flows(said));
  }

  flows(said) {
    if (!said.flows.length) return element("p", { class: "note" }, "It has no flows.");
    const rows = said.flows.map(([flow, ...cells]) => {
      const target = { kind: "flow", name: String(flow) };
      const button = element("button", { type: "button", class: "link", onclick: () => this.choose(target) },
        String(flow));
      const head = element("th", { scope: "row" }, button);
      return element("tr", {}, head, ...cells.map((cell, n) => element("td", { class: n < 2 && "words" }, cell)));
    });
    const heads = HEADS.map((head, n) => element("th", { scope: "col", class: n < 3 && "words" }, head));
    const caption = `Flows, the longest first${said.flows_left ? `; ${said.flows_left} are left out` : ""}`;
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Flows" },
      element("table", {}, element("caption", {}, caption),
        element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows)));
  }

  move(time) {
    for (const chart of this.charts) chart.move(time);
  }

  resize() {
    for (const chart of this.charts) chart.draw();
  }
}
