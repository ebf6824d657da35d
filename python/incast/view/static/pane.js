// One run on the page: its network, its timeline, the subjects that stand out at the time shown.
import { element } from "./elements.js";
import { Network, STEPS } from "./network.js";
import { Run } from "./run.js";
import { Tasks } from "./tasks.js";
import * as words from "./words.js";

const ROWS = 8;
const KEYS_HELP = "Arrow keys move from one to the next, Enter follows it.";

export class Pane {
  constructor(id, choose, seek, announce) {
    this.seek = seek;
    this.choose = choose;
    this.announce = announce;
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
    this.heads = element("tr");
    this.rows = element("tbody");
    this.listed = element("summary");
    this.caption = element("caption", { class: "unseen" });
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
    this.scroll = element("div", { class: "scroll", tabindex: "0", role: "region" },
      element("table", {}, this.caption, element("thead", {}, this.heads), this.rows));
    return element("details", { open: true }, this.listed, this.scroll);
  }

  // What the table is of: subjects of one kind, with the measures that they have.
  columns() {
    const { words: said } = this.run.facts;
    const of = said.of[said.listed];
    this.measures = ["level", "flow", "drops", "paused"].filter((each) => of[each]);
    const heads = [of.name, ...this.measures.map((each) => of[each].name)];
    this.heads.replaceChildren(...heads.map((head) => element("th", { scope: "col" }, head)));
    this.scroll.setAttribute("aria-label", said.heading);
    for (const each of [this.listed, this.caption]) each.textContent = `${said.heading} at this time`;
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
    this.columns();
    await this.fit();
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

  // What has the level of the darkest colour, in words that runs with the same share.
  get scaleName() {
    const { words: said } = this.run.facts;
    return `${said.of[said.listed].level.name} ${said.listed}`;
  }

  // The level of the darkest colour: a fixed one, or the highest of what is sampled.
  get levelMax() {
    const { sampled, count, facts } = this.run;
    const { most } = facts.words.of[facts.words.listed].level;
    if (most !== null) return most;
    // While a run goes on there are no totals, and some programs never have any.
    return facts.subjects.level.reduce(
      (highest, level, index) => (count && sampled[index] < 0 ? highest : Math.max(highest, level ?? 0)),
      Math.max(1, this.run.sampledMax ?? 0));
  }

  scale(end, levelMax) {
    if (!this.ready) return;
    this.tasks.show(this.run, end);
    this.legend(levelMax);
    this.kinds.replaceChildren(...this.tasks.kinds.map((kind, index) =>
      element("li", {}, element("span", { class: `key k${index % 8}` }), kind)));
  }

  legend(levelMax) {
    const { words: said } = this.run.facts;
    const kinds = Object.values(said.of);
    const { level } = said.of[said.listed];
    const key = (measure) => kinds.map((of) => of[measure]?.key).find(Boolean);
    const steps = [level.key, ...STEPS.map((step) => `from ${words.units[level.unit](step * levelMax)}`)];
    const wide = kinds.some((of) => !of.level) ? "wide plain" : "wide";
    const extra = [[wide, key("flow")], ["pause", key("paused")], ["drop", key("drops")]].filter((each) => each[1]);
    if (this.network.net?.tiled) extra.push(["tile", "a host: above what it sends, below what it is sent"]);
    this.keys.replaceChildren(
      ...steps.map((text, index) => element("li", {}, element("span", { class: `key ${said.ramp}${index}` }), text)),
      ...extra.map(([kind, text]) => element("li", {}, element("span", { class: `key ${kind}` }), text)));
  }

  // The picture of a time; `span` is how much of it one picture has to show.
  draw(time, span, levelMax) {
    if (!this.ready) return;
    const { run } = this;
    const level = run.levels.length ? run.levelFor(span) : 0;
    // What comes later is drawn when it is there: totals next to samples would mislead.
    this.cells = run.levels.length ? run.at(Math.min(time, run.end), level) ?? this.cells : null;
    this.network.draw(this.cells, levelMax);
    this.tasks.move(Math.min(time, run.end));
    if (run.levels.length) run.ahead(time, level);
  }

  // What the picture says in words; not with every picture, as nobody could read that.
  describe() {
    if (!this.ready) return;
    const { run, cells } = this;
    const { words: said, subjects } = run.facts;
    const listed = subjects.name.map((name, index) => ({ name, kind: subjects.of[index], ...run.value(index, cells) }))
      .filter((each) => each.known && each.kind === said.listed);
    const way = said.rising ? -1 : 1;
    listed.sort((a, b) => way * (b.level - a.level) || b.flow - a.flow);
    this.rows.replaceChildren(...listed.slice(0, ROWS).map((each) => this.row(each)));
    this.step.textContent = cells ? `Each picture shows ${words.time(cells.length)}: ${said.picture}.` : said.totals;
  }

  row(subject) {
    const follow = () => this.choose({ kind: subject.kind, name: subject.name });
    const of = this.run.facts.words.of[subject.kind];
    const cells = this.measures.map((each) => words.units[of[each].unit](subject[each]));
    return element("tr", {},
      element("th", { scope: "row" },
        element("button", { type: "button", class: "link", onclick: follow }, subject.name)),
      ...cells.map((text) => element("td", {}, text)));
  }

  emphasise(target, said) {
    this.network.followed = { ports: new Set(said?.ports), nodes: new Set(said?.nodes) };
    this.tasks.followed = target?.kind === "task" ? target.name : null;
    if (this.ready && this.tasks.context) this.tasks.draw();
  }

  // Draws the network for the width that the canvas has, also if that changes while the answer comes.
  async fit() {
    const { run, canvas } = this;
    let width = null;
    let network = null;
    while (width !== canvas.clientWidth) {
      width = canvas.clientWidth;
      network = await run.network(width);
    }
    if (run === this.run) this.network.show(run, network);
  }

  async resize() {
    if (!this.ready) return;
    await this.fit();
    this.tasks.resize();
  }
}
