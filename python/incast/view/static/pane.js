// One run on the page: its network, its timeline, the ports that are busiest at the time shown.
import { element } from "./elements.js";
import { Network, STEPS } from "./network.js";
import { Run } from "./run.js";
import { Tasks } from "./tasks.js";
import * as words from "./words.js";

const BUSIEST = 8;
const KEYS_HELP = "Arrow keys move from one to the next, Enter follows it.";

export class Pane {
  constructor(number, choose, seek, announce) {
    this.seek = seek;
    this.choose = choose;
    this.announce = announce;
    const id = `run${number}`;
    this.heading = element("h2", { id });
    this.alerts = element("div");
    this.notes = element("ul", { class: "notes" });
    this.tip = element("p", { class: "tip" });
    this.keys = element("ul", { class: "keys legend", "aria-label": "Meaning of colours and widths" });
    this.step = element("p", { class: "note" });
    this.canvas = this.picture("Network");
    this.timeline = this.picture("Timeline of jobs and tasks");
    this.cursor = element("div", { class: "now" });
    this.kinds = element("ul", { class: "keys", "aria-label": "Colours of tasks" });
    this.busiest = element("tbody");
    this.faults = element("details", { hidden: true });
    const pictures = element("div", { class: "pictures" },
      element("div", {}, this.canvas, this.tip, this.keys, this.step),
      element("div", {}, element("div", { class: "timeline" }, this.timeline, this.cursor), this.kinds,
        this.table(), this.faults));
    this.body = element("div", {}, pictures);
    this.place = element("section", { class: "pane", "aria-labelledby": id },
      this.heading, this.alerts, this.notes, this.body);
    const say = (text, aloud) => {
      this.tip.textContent = text;
      if (aloud) announce(text);
    };
    this.network = new Network(this.canvas, choose, say);
    this.tasks = new Tasks(this.timeline, this.cursor, choose, say);
  }

  picture(what) {
    return element("canvas", { role: "img", tabindex: "0", "aria-label": `${what}. ${KEYS_HELP}` });
  }

  table() {
    const heads = ["Port", "Queue", "In use", "Drops", "Paused"];
    return element("details", { open: true }, element("summary", {}, "Longest queues at this time"),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Longest queues" },
        element("table", {}, element("caption", { class: "unseen" }, "Longest queues at this time"),
          element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
          this.busiest)));
  }

  // Draws the network at once, and what the samples say as soon as they are there.
  async load(source, { name, version }, redraw, arrived) {
    this.heading.textContent = name;
    const run = new Run(source, name, version, arrived);
    await run.load();
    this.run = run;
    this.drawn = null;
    this.cells = null;
    this.body.hidden = Boolean(run.facts.problem);
    this.say(run.facts.problem ? [run.facts.problem] : run.facts.alerts, run.facts.notes ?? []);
    if (run.facts.problem) return;
    this.listFaults();
    this.network.show(run, await run.network(this.canvas.clientWidth));
    redraw();
    performance.mark("incast-network");
    await run.loadSamples();
    this.say(run.facts.alerts, [...run.facts.notes, ...run.notes]);
    redraw();
    performance.mark("incast-samples");
  }

  say(alerts, notes) {
    this.alerts.replaceChildren(...alerts.map((text) => element("p", { class: "alert" }, text)));
    this.notes.replaceChildren(...notes.map((text) => element("li", {}, text)));
  }

  // Faults and what PFC's watchdog found, each with a button that shows the network at that time.
  listFaults() {
    const { time_ps: times, what, where } = this.run.facts.events;
    const items = times.map((time, index) => element("li", {},
      element("button", { type: "button", class: "link", onclick: () => this.seek(time) }, words.time(time)),
      ` ${what[index]} ${where[index]}`));
    this.faults.hidden = !items.length;
    this.faults.replaceChildren(element("summary", {}, "Faults"), element("ul", { class: "notes" }, ...items));
  }

  get ready() {
    return this.run?.facts && !this.run.facts.problem;
  }

  get end() {
    return this.ready ? this.run.end : 1;
  }

  // The longest queue of the ports whose queues are shown: the scale of the colours.
  get queueMax() {
    if (!this.ready) return 1;
    const { sampled, count, facts } = this.run;
    // While a run goes on there are no totals.
    return facts.ports.queue_max_bytes.reduce(
      (most, queue, index) => (count && sampled[index] < 0 ? most : Math.max(most, queue ?? 0)),
      facts.in_progress ? this.run.sampledMax : 1);
  }

  scale(end, queueMax) {
    if (!this.ready) return;
    this.tasks.show(this.run, end);
    this.legend(queueMax);
    this.kinds.replaceChildren(...this.tasks.kinds.map((kind, index) =>
      element("li", {}, element("span", { class: `key k${index % 8}` }), kind)));
  }

  legend(queueMax) {
    const steps = ["no queue", ...STEPS.map((step) => `from ${words.size(step * queueMax)}`)];
    const extra = [["wide", "much of the rate in use"], ["pause", "paused by PFC"], ["drop", "drops"]];
    if (this.network.net?.tiled) extra.push(["tile", "a host: above what it sends, below what it is sent"]);
    this.keys.replaceChildren(
      ...steps.map((text, index) => element("li", {}, element("span", { class: `key u${index}` }), text)),
      ...extra.map(([kind, text]) => element("li", {}, element("span", { class: `key ${kind}` }), text)));
  }

  // The picture of a time; `span` is how much of it one picture has to show.
  draw(time, span, queueMax) {
    if (!this.ready) return;
    const { run } = this;
    const level = run.levels.length ? run.levelFor(span) : 0;
    // What comes later is drawn when it is there: totals next to samples would mislead.
    this.cells = run.levels.length ? run.at(Math.min(time, run.end), level) ?? this.cells : null;
    this.network.draw(this.cells, queueMax);
    this.tasks.move(Math.min(time, run.end));
    if (run.levels.length) run.ahead(time, level);
  }

  // What the picture says in words; not with every picture, as nobody could read that.
  describe() {
    if (!this.ready) return;
    const { run, cells } = this;
    const ports = run.facts.ports.port.map((name, index) => ({ name, ...run.port(index, cells) }));
    const longest = ports.filter((port) => port.known).sort((a, b) => b.queue - a.queue || b.use - a.use);
    this.busiest.replaceChildren(...longest.slice(0, BUSIEST).map((port) => this.row(port)));
    this.step.textContent = cells
      ? `Each picture shows ${words.time(cells.length)}: the longest queue, and what was sent and dropped.`
      : "Totals of the whole run: the longest queue, the share of the time in use, drops.";
  }

  row(port) {
    const follow = () => this.choose({ kind: "port", name: port.name });
    const cells = [words.size(port.queue), words.share(port.use), words.count(port.drops), words.share(port.paused)];
    return element("tr", {},
      element("th", { scope: "row" },
        element("button", { type: "button", class: "link", onclick: follow }, port.name)),
      ...cells.map((text) => element("td", {}, text)));
  }

  emphasise(target, said) {
    this.network.followed = { ports: new Set(said?.ports), nodes: new Set(said?.nodes) };
    this.tasks.followed = target?.kind === "task" ? target.name : null;
    if (this.ready && this.tasks.context) this.tasks.draw();
  }

  async resize() {
    if (!this.ready) return;
    this.network.show(this.run, await this.run.network(this.canvas.clientWidth));
    this.tasks.resize();
  }
}
