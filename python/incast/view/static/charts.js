// Series of what is followed, by uPlot; a band lies between the least and the longest of each step.
/* global uPlot */
import { element, palette } from "./elements.js";
import * as words from "./words.js";

const HEIGHT = 150;

export class Chart {
  constructor(place, said, seek) {
    this.said = said;
    this.say = words.units[said.unit];
    this.values = said.lines.map(() => element("b"));
    const keys = said.lines.map((line, index) => element("li", {},
      element("span", { class: `key k${index}` }), `${line.name} `, this.values[index]));
    this.place = element("div", { class: "chart", role: "img", "aria-label": this.summary() });
    place.append(element("figure", {},
      element("figcaption", {}, said.title), element("ul", { class: "keys" }, ...keys), this.place));
    this.seek = seek;
  }

  summary() {
    const parts = this.said.lines.map((line) => {
      const most = line.high.reduce((best, each, index) => (each > (line.high[best] ?? -1) ? index : best), 0);
      return `${line.name} at most ${this.say(line.high[most])} at ${words.time(this.said.times[most])}`;
    });
    return `${this.said.title} over time: ${parts.join("; ")}.`;
  }

  draw() {
    this.plot?.destroy();
    const color = palette(this.place);
    const axis = { stroke: color("soft"), grid: { stroke: color("line"), width: 1 }, font: "11px system-ui" };
    const [series, bands, data] = [[{}], [], [this.said.times]];
    this.said.lines.forEach((line, index) => {
      const shade = color(`c${index}`);
      series.push({ stroke: shade, width: 1.5, points: { show: false } });
      data.push(line.high);
      if (!line.low) return;
      series.push({ stroke: "transparent", points: { show: false } });
      data.push(line.low);
      bands.push({ series: [data.length - 2, data.length - 1], fill: `${shade}33` });
    });
    this.plot = new uPlot({
      width: this.place.clientWidth || 300, height: HEIGHT, series, bands,
      legend: { show: false }, cursor: { drag: { x: false } }, scales: { x: { time: false }, y: { range: fromZero } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map(words.time), space: 70 },
        { ...axis, values: (_, ticks) => ticks.map(this.say), size: 68 },
      ],
    }, data, this.place);
    this.now = element("div", { class: "now" });
    this.plot.over.append(this.now);
    this.plot.over.addEventListener("click", (event) => this.seek(this.plot.posToVal(event.offsetX, "x")));
  }

  move(time) {
    const at = this.plot.valToPos(time, "x");
    this.now.hidden = !(at >= 0 && at <= this.plot.over.clientWidth);
    this.now.style.transform = `translateX(${at}px)`;
    const index = this.said.times.findIndex((each) => each >= time);
    this.said.lines.forEach((line, n) => {
      this.values[n].textContent = this.say(line.high[index] ?? null);
    });
  }
}

const fromZero = (_, __, most) => [0, most > 0 ? most * 1.05 : 1];
