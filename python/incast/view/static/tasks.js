// The timeline of a run on a canvas: jobs on top, tasks below them by host, faults as marks on the axis.
import { moveByKeys, palette, sized } from "./elements.js";
import * as words from "./words.js";

const LEFT = 84;
const TOP = 22;
const JOB = 16;
const KINDS = 8;

export class Tasks {
  constructor(canvas, cursor, choose, say) {
    this.canvas = canvas;
    this.cursor = cursor;
    this.say = say;
    this.bars = [];
    this.followed = null;
    const follow = (bar) => choose(bar.task === undefined ? null : { kind: "task", name: String(bar.task) });
    canvas.addEventListener("click", (event) => {
      const bar = this.near(event);
      if (bar) follow(bar);
    });
    canvas.addEventListener("pointermove", (event) => say(this.words(this.near(event)), false));
    canvas.addEventListener("pointerleave", () => say("", false));
    moveByKeys(canvas, () => this.bars, (bar) => this.point(bar), follow);
  }

  show(run, end) {
    this.facts = run.facts;
    this.end = end;
    this.resize();
  }

  resize() {
    const width = this.canvas.clientWidth;
    if (!this.facts || !width) return;
    const { tasks, jobs } = this.facts;
    const rows = tasks.row.length ? Math.max(...tasks.row) + 1 : 0;
    const row = Math.max(3, Math.min(14, 300 / Math.max(rows, 1)));
    this.color = palette(this.canvas);
    this.width = width;
    this.row = row;
    this.first = TOP + jobs.job.length * JOB + 4;
    this.context = sized(this.canvas, width, this.first + rows * row + 6);
    this.bars = [...this.jobBars(), ...this.taskBars()];
    this.draw();
  }

  x(time) {
    return LEFT + (time / this.end) * (this.width - LEFT - 8);
  }

  jobBars() {
    const { job, kind, start_ps: start, stop_ps: stop, outcome } = this.facts.jobs;
    return job.map((name, index) => this.bar(start[index], stop[index], TOP + index * JOB, JOB - 3, {
      words: `Job ${name} (${kind[index]}), ${outcome[index] ?? "in progress"}`, label: name, shade: "job",
    }));
  }

  taskBars() {
    const of = this.facts.tasks;
    const kinds = [...new Set(of.kind)];
    this.kinds = kinds;
    return of.task.map((task, index) => {
      const inset = Math.min(of.depth[index], 2) * this.row * 0.2;
      const top = this.first + of.row[index] * this.row + inset;
      const open = of.end_ps[index] === null;
      return this.bar(of.start_ps[index], of.stop_ps[index], top, this.row - 1 - inset, {
        task, open, shade: `c${kinds.indexOf(of.kind[index]) % KINDS}`,
        words: `Task ${of.kind[index]} ${of.number[index]} on ${of.host[index]}${open ? ", did not end" : ""}`,
      });
    });
  }

  bar(start, stop, top, height, more) {
    const left = this.x(start);
    const width = Math.max(1, this.x(stop) - left);
    const took = `${words.time(stop - start)} from ${words.time(start)}`;
    return { left, top, width, height, x: left + width / 2, y: top + height / 2, took, ...more };
  }

  draw() {
    const { context, color } = this;
    context.clearRect(0, 0, this.width, this.canvas.clientHeight);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.axis();
    for (const bar of this.bars) {
      context.fillStyle = color(bar.shade);
      context.globalAlpha = bar.open ? 0.45 : 0.9;
      context.fillRect(bar.left, bar.top, bar.width, bar.height);
      context.globalAlpha = 1;
      if (bar.open) this.outline(bar, color("drop"), 1);
      if (bar.task !== undefined && String(bar.task) === this.followed) this.outline(bar, color("follow"), 2);
    }
    if (this.pointed) this.outline(this.pointed, color("ink"), 1.5);
    this.labels();
  }

  outline(bar, style, width) {
    this.context.strokeStyle = style;
    this.context.lineWidth = width;
    this.context.strokeRect(bar.left, bar.top, bar.width, bar.height);
  }

  axis() {
    const { context, color } = this;
    const count = this.width > 500 ? 5 : 2;
    context.textAlign = "center";
    for (let n = 0; n <= count; n += 1) {
      const time = (this.end * n) / count;
      context.fillStyle = color("line");
      context.fillRect(this.x(time), TOP - 4, 1, this.canvas.clientHeight);
      context.fillStyle = color("soft");
      context.textAlign = n === count ? "right" : "center";
      context.fillText(words.time(time), this.x(time) + (n === count ? 8 : 0), 8);
    }
    context.fillStyle = color("drop");
    for (const time of this.facts.events.time_ps) context.fillRect(this.x(time) - 1, TOP - 7, 2, 7);
  }

  labels() {
    const { context, color } = this;
    const { host, row } = this.facts.tasks;
    context.textAlign = "left";
    context.fillStyle = color("ink");
    this.bars.forEach((bar) => bar.label && this.label(bar.label, bar.y));
    let last = null;
    let free = 0;
    host.forEach((name, index) => {
      const y = this.first + (row[index] + 0.5) * this.row;
      if (name !== last && y >= free) {
        this.label(name, y);
        free = y + 11;
      }
      last = name;
    });
  }

  label(name, y) {
    const fits = name.length > 12 ? `${name.slice(0, 11)}…` : name;
    this.context.fillText(fits, 0, y, LEFT - 6);
  }

  // Moves the line that stands at the time shown.
  move(time) {
    if (this.width) this.cursor.style.transform = `translateX(${this.x(time)}px)`;
  }

  near({ offsetX: x, offsetY: y }) {
    return this.bars.findLast((bar) =>
      x >= bar.left - 2 && x <= bar.left + bar.width + 2 && y >= bar.top - 1 && y <= bar.top + bar.height + 1) ?? null;
  }

  point(bar) {
    this.pointed = bar;
    if (this.context) this.draw();
    this.say(this.words(bar), true);
  }

  words(bar) {
    return bar ? `${bar.words}: ${bar.took}` : "";
  }
}
