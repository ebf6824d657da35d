// The whole view: which runs, which time, what is followed; it plays, and keeps its state in the address.
//
// `source` answers questions ({json, array}), `address` keeps the state ({read, write, changed}). Both differ
// between the page and a notebook; everything else is the same.
import { element } from "./elements.js";
import { Follow } from "./follow.js";
import { Pane } from "./pane.js";
import * as words from "./words.js";

const SPEEDS = [5, 10, 20, 60, 300, 1800]; // seconds that the whole run takes
const RATE = 60; // pictures a second that a level is chosen for
const TICKS = 1000;
const LOOK_MS = 1000;
const SAY_MS = 250;
const KINDS = ["port", "node", "flow", "task"]; // of what can be followed

export const start = (root, source, address) => {
  const view = new View(root, source, address);
  view.open();
  return view;
};

class View {
  constructor(root, source, address) {
    this.source = source;
    this.address = address;
    this.root = root;
    this.state = { time: 0, speed: 20, target: null };
    this.panes = [];
    this.pictures = 0;
    // A notebook may have several views.
    const mark = document.getElementById("time") ? `-${crypto.getRandomValues(new Uint32Array(1))}` : "";
    this.id = (name) => `${name}${mark}`;
    this.build();
  }

  build() {
    this.problem = element("p", { class: "alert", role: "alert", hidden: true });
    this.live = element("p", { class: "unseen", role: "status" });
    this.runs = element("select", { id: this.id("run"), onchange: () => this.choose() });
    this.others = element("select", { id: this.id("with"), onchange: () => this.choose() });
    this.play = element("button", { type: "button", class: "play", onclick: () => this.toggle() }, "Play");
    this.slider = element("input", {
      type: "range", id: this.id("time"), min: "0", max: String(TICKS), step: "1", value: "0",
      oninput: () => this.go((this.slider.value / TICKS) * this.end),
    });
    this.clock = element("output", { for: this.id("time"), class: "clock" });
    this.speeds = element("select", { id: this.id("speed"), onchange: () => this.pace(Number(this.speeds.value)) },
      ...SPEEDS.map((each) => element("option", { value: each }, `in ${each < 60 ? `${each} s` : `${each / 60} min`}`)));
    this.panesPlace = element("div", { class: "panes" });
    this.following = element("h2", { id: this.id("follow") }, "Follow");
    this.followPlace = element("div", { class: "follows" });
    this.follow = new Follow(this.followPlace, (target) => this.target(target), (time) => this.go(time));
    this.root.classList.add("incast-view");
    this.root.append(
      element("header", {}, element("h1", {}, "incast view"), this.picker("Run", this.runs),
        this.picker("Next to it", this.others)),
      this.problem, this.live,
      element("div", { class: "controls", role: "group", "aria-label": "Playback" }, this.play,
        element("label", { for: this.id("time"), class: "unseen" }, "Time"), this.slider, this.clock,
        this.picker("Whole run", this.speeds)),
      this.panesPlace,
      element("section", { "aria-labelledby": this.id("follow") },
        this.following, this.form(), this.followPlace),
    );
    this.root.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.panesPlace);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.resize(true));
    this.address.changed(() => this.restore());
  }

  picker(text, select) {
    return element("label", { class: "pick" }, `${text} `, select);
  }

  form() {
    this.kind = element("select", { id: this.id("kind"), onchange: () => this.suggest() });
    this.name = element("input", { id: this.id("name"), list: this.id("names"), autocomplete: "off", spellcheck: "false" });
    this.names = element("datalist", { id: this.id("names") });
    const submit = (event) => {
      event.preventDefault();
      if (this.name.value.trim()) this.target({ kind: this.kind.value, name: this.name.value.trim() });
    };
    return element("form", { onsubmit: submit }, this.picker("What", this.kind), this.picker("Name", this.name),
      this.names, element("button", { type: "submit" }, "Follow"),
      element("button", { type: "button", onclick: () => this.target(null) }, "Follow nothing"));
  }

  // Shows what the address says, or the first run, or two if two results were given.
  async open() {
    try {
      await this.list();
      await this.restore();
    } catch (error) {
      this.fail(error); // A run may be moved while it is loaded, and come back.
    }
    this.ask();
  }

  // Asks which runs there are.
  async list() {
    const said = await this.source.json("runs");
    const before = JSON.stringify(this.listed?.map((run) => run.name));
    [this.listed, this.second] = [said.runs, said.second];
    if (JSON.stringify(this.listed.map((run) => run.name)) !== before) this.offer(this.runs.value, this.others.value);
  }

  // Offers all runs, with these two chosen; one that is not there now stays, as it may come back.
  offer(first, second) {
    const names = new Set([...this.listed.map((run) => run.name), first, second].filter(Boolean));
    const options = () => [...names].map((name) => element("option", { value: name }, name));
    this.runs.replaceChildren(...options());
    this.others.replaceChildren(element("option", { value: "" }, "nothing"), ...options());
    if (first) this.runs.value = first;
    this.others.value = second;
  }

  async restore() {
    const said = this.address.read();
    const second = said.has("run") || said.has("with") ? said.get("with") : this.second;
    this.offer(said.get("run") || this.listed[0].name, second ?? "");
    const speed = Number(said.get("speed"));
    this.state.speed = SPEEDS.includes(speed) ? speed : 20;
    this.speeds.value = String(this.state.speed);
    const time = Number(said.get("t"));
    this.state.time = Number.isFinite(time) && time > 0 ? time : 0;
    this.untouched = !said.has("t");
    const kind = KINDS.find((each) => said.has(each));
    this.state.target = kind ? { kind, name: said.get(kind) } : null;
    await this.load();
    if (this.isNews()) this.seek(this.end);
  }

  // Whether a run goes on and nobody has gone to a time yet: then its latest moment is shown.
  isNews() {
    return this.untouched && this.panes.some((pane) => pane.ready && pane.run.facts.in_progress);
  }

  async choose() {
    this.remember();
    await this.load().catch((error) => this.fail(error));
  }

  // Loads the chosen runs, each into a pane of its own.
  async load() {
    const names = [...new Set([this.runs.value, this.others.value].filter(Boolean))];
    const chosen = names.map((name) => this.listed.find((run) => run.name === name) ?? { name, version: null });
    this.panes = chosen.map((_, number) => this.panes[number]
      ?? new Pane(this.id(`run${number}`), (target) => target && this.target(target), (time) => this.go(time),
        (text) => this.announce(text)));
    this.panesPlace.replaceChildren(...this.panes.map((pane) => pane.place));
    this.panesPlace.classList.toggle("two", this.panes.length > 1);
    this.loading = true;
    this.unloaded = true;
    try {
      await Promise.all(this.panes.map((pane, number) =>
        pane.load(this.source, chosen[number], () => this.arrange(), () => this.arrived())));
    } finally {
      this.loading = false;
    }
    this.unloaded = false;
    this.arrange();
    this.offerKinds();
    this.suggest();
    document.title = `${names.join(" and ")}: incast view`;
    await this.showTarget();
  }

  // Sets what all panes share: the length of time, and the scale of levels of those that have the same.
  arrange() {
    // A run that is being loaded, or is gone for now, may seem shorter than it is.
    const settled = !this.loading && this.panes.every((pane) => pane.ready);
    const end = Math.max(...this.panes.map((pane) => pane.end));
    this.end = settled ? end : Math.max(end, this.end ?? 0);
    if (settled) this.state.time = Math.min(this.state.time, end);
    const ready = this.panes.filter((pane) => pane.ready);
    const alike = Map.groupBy(ready, (pane) => pane.scaleName);
    this.levelMax = new Map([...alike.values()].flatMap((panes) => {
      const most = Math.max(...panes.map((pane) => pane.levelMax));
      return panes.map((pane) => [pane, most]);
    }));
    for (const pane of this.panes) pane.scale(this.end, this.levelMax.get(pane));
    this.draw();
    this.describe();
  }

  // How much of the run's time one picture stands for.
  get span() {
    return this.end / this.state.speed / RATE;
  }

  draw() {
    for (const pane of this.panes) pane.draw(this.state.time, this.span, this.levelMax?.get(pane) ?? 1);
    this.slider.value = String(Math.round((this.state.time / this.end) * TICKS));
    this.clock.value = words.moment(this.state.time, this.end / 1000);
    this.follow.move(this.state.time);
    this.pictures += 1;
  }

  // Shows samples that came after their time was shown.
  arrived() {
    if (this.playing) return;
    this.draw();
    this.describe();
  }

  describe() {
    this.slider.setAttribute("aria-valuetext", this.clock.value);
    for (const pane of this.panes) pane.describe();
  }

  toggle() {
    this.playing = !this.playing;
    this.untouched = false;
    this.atEnd = false;
    this.play.textContent = this.playing ? "Pause" : "Play";
    if (!this.playing) {
      this.stopped();
      return;
    }
    if (this.state.time >= this.end) this.state.time = 0;
    this.last = null;
    this.said = 0;
    requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    if (!this.playing) return;
    const passed = this.last === null ? 0 : Math.min(now - this.last, 250);
    this.last = now;
    if (this.loading) {
      requestAnimationFrame((next) => this.frame(next));
      return;
    }
    this.state.time = Math.min(this.end, this.state.time + (passed / 1000 / this.state.speed) * this.end);
    this.draw();
    if (now - this.said > SAY_MS) {
      this.said = now;
      this.describe();
    }
    if (this.state.time >= this.end) this.toggle();
    else requestAnimationFrame((next) => this.frame(next));
  }

  stopped() {
    this.describe();
    this.remember();
    this.announce(`Paused at ${this.clock.value}`);
  }

  // Goes to a time that somebody chose. Who chooses the end while more is loaded gets the new end.
  go(time) {
    this.untouched = false;
    this.atEnd = time >= this.end;
    this.seek(time);
  }

  seek(time) {
    this.state.time = Math.max(0, Math.min(this.end, time));
    this.draw();
    if (!this.playing) {
      this.describe();
      this.settle();
    }
  }

  // Pieces of samples that were asked for may come later, so the picture is drawn again; once, at the end.
  settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      this.draw();
      this.describe();
      this.remember();
    }, 150);
  }

  pace(speed) {
    this.state.speed = speed;
    this.seek(this.state.time);
  }

  async target(target) {
    this.state.target = target;
    this.remember();
    await this.showTarget();
    if (target) this.announce(`Following ${target.kind} ${target.name}`);
  }

  async showTarget() {
    const { target } = this.state;
    const ready = this.panes.filter((pane) => pane.ready);
    if (target) {
      this.kind.value = target.kind;
      this.name.value = target.name;
      this.suggest();
    }
    if (!target) this.follow.clear();
    const said = target ? await this.follow.show(ready.map((pane) => pane.run), target) : [];
    if (said === null) return;
    ready.forEach((pane, index) => pane.emphasise(target, said[index]));
    this.draw();
  }

  // The kinds of what can be followed in the runs that are shown.
  offerKinds() {
    const said = this.panes.filter((pane) => pane.ready).map((pane) => pane.run.facts.words);
    const kinds = new Map(said.toReversed().flatMap((each) => Object.entries(each.kinds)));
    const before = this.kind.value;
    this.kind.replaceChildren(...[...kinds].map(([value, text]) => element("option", { value }, text)));
    if (kinds.has(before)) this.kind.value = before;
    this.following.textContent = said[0]?.following ?? "Follow";
  }

  // Names to choose from, where there are names.
  suggest() {
    const subjects = this.panes.find((pane) => pane.ready)?.run.facts.subjects;
    const kind = this.kind.value;
    const all = { port: subjects?.name.filter((_, index) => subjects.of[index] === "port"), node: subjects?.node };
    const names = [...new Set(all[kind] ?? [])];
    this.names.replaceChildren(...names.slice(0, 2000).map((name) => element("option", { value: name })));
  }

  remember() {
    const state = new URLSearchParams();
    state.set("run", this.runs.value);
    if (this.others.value) state.set("with", this.others.value);
    state.set("t", String(Math.round(this.state.time)));
    state.set("speed", String(this.state.speed));
    if (this.state.target) state.set(this.state.target.kind, this.state.target.name);
    this.address.write(state);
  }

  // Looks whether runs in progress have written more, or something was removed.
  async ask() {
    if (this.ended) return;
    try {
      await this.list();
      this.problem.hidden = true;
      const shown = this.panes.map((pane) => pane.run).filter(Boolean);
      const now = (run) => this.listed.find((each) => each.name === run.name)?.version ?? null;
      if (!this.panes.length) await this.restore();
      else if (this.unloaded || shown.some((run) => now(run) !== run.version)) await this.refresh();
    } catch (error) {
      this.fail(error);
    }
    setTimeout(() => this.ask(), LOOK_MS);
  }

  // Ends the questions: what was shown is gone.
  stop() {
    this.ended = true;
    this.playing = false;
  }

  async refresh() {
    const grows = this.panes.some((pane) => pane.run?.facts?.in_progress);
    // What was to be shown when a load failed still is.
    if (!this.unloaded) this.atEnd = grows && this.state.time >= this.end && !this.playing;
    await this.load();
    if (this.atEnd || this.isNews()) this.seek(this.end);
  }

  fail(error) {
    this.problem.textContent = error.message;
    this.problem.hidden = false;
  }

  announce(text) {
    this.live.textContent = text;
  }

  async resize(always = false) {
    const width = this.panesPlace.clientWidth;
    if (width === this.width && !always) return;
    this.width = width;
    await Promise.all(this.panes.map((pane) => pane.resize()));
    this.follow.resize();
    if (this.panes.some((pane) => pane.ready)) this.arrange();
  }

  key(event) {
    const typing = event.target.closest("input:not([type=range]), select, button, summary, a");
    if (event.key !== " " || typing) return;
    event.preventDefault();
    this.toggle();
  }
}
