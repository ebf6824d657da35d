// The network on a canvas. Each port is the half of its link that starts at its node.
//
// Colour is the level (a queue), width the flow, a dashed line a pause, a dot a drop. In a large network hosts
// are tiles: the upper half is what a host sends, the lower half what it is sent. Nodes of programs on real
// hosts have a level of their own, and are boxes with a bar, or tiles where they are many.
import { moveByKeys, palette, sized } from "./elements.js";
import * as words from "./words.js";

export const STEPS = [0.01, 0.1, 0.3, 0.6, 0.85];
const WIDTHS = 5; // of lines, by the share in use
const SHADE = 100; // more than a line is wide: lines are drawn by shade, then by width
const TURNED = -75 * Math.PI / 180; // names of hosts
const LETTERS = 9; // of a turned name
const ROOM = 10; // pixels of width that a line needs to be as thick as its rate says
const THIN = 0.4; // of that, where there is no room
const CROWD = 40; // more lines without a level are faint, so that those behind them are seen
const FAINT = 0.4;
const TIERS = 0.5; // an edge between nodes closer than that in height is of one tier
const NAMED = 20; // a lower box has no room for a name
const [UNKNOWN, PLAIN] = [6, 7]; // shades behind those of levels: not sampled, and a flow without a level

export class Network {
  constructor(canvas, choose, say) {
    this.canvas = canvas;
    this.say = say;
    this.followed = { ports: new Set(), nodes: new Set() };
    this.pointed = null;
    this.places = [];
    canvas.addEventListener("click", (event) => {
      const found = this.near(event);
      if (found) choose(this.target(found));
    });
    canvas.addEventListener("pointermove", (event) => this.point(this.near(event)));
    canvas.addEventListener("pointerdown", (event) => this.point(this.near(event)));
    canvas.addEventListener("pointerleave", () => this.point(null));
    const chosen = (place) => choose(this.target(place));
    moveByKeys(canvas, () => this.places, (place) => this.point(place, true), chosen);
  }

  // `ratio` and `color` are those of the screen and of the page, unless it is drawn for something else.
  show(run, network, ratio, color) {
    this.run = run;
    this.net = network;
    this.names = run.facts.subjects.name;
    this.resize(ratio, color);
  }

  resize(ratio, color = palette(this.canvas)) {
    const width = this.canvas.clientWidth;
    if (!this.net || !width) return;
    this.scale = width / this.net.width;
    this.context = this.surface(this.canvas, width, this.net.height * this.scale, ratio);
    this.color = color;
    this.tint = null;
    const { ramp } = this.run.facts.words;
    this.shades = [0, 1, 2, 3, 4, 5].map((step) => this.color(`${ramp}${step}`));
    this.layOut();
    this.drawNodes(ratio);
  }

  // What is drawn on: a canvas of the page, unless it is wanted as something else.
  surface(...asked) {
    return sized(...asked);
  }

  // Where nodes and edges are drawn, in units of the canvas.
  layOut() {
    const k = this.scale;
    this.nodes = this.net.nodes.map(({ box, ...node }) => {
      const [x, y, width, height] = box.map((each) => each * k);
      return { ...node, x, y, width, height };
    });
    const widest = Math.max(...this.net.edges.map((edge) => edge.rate_bps), 1);
    const tiers = this.nodes.map((node) => node.tier);
    const isTile = (ends) => this.net.tiled && ends.some((end) => tiers[end] === 0);
    const lines = this.net.edges.filter((edge) => !isTile(edge.ends)).length;
    const thin = Math.min(1, Math.max(THIN, this.canvas.clientWidth / lines / ROOM));
    this.edges = this.net.edges.map(({ ends, subjects, rate_bps: rate, lane: [lane, lanes], whole }) => {
      const stroke = (2.5 + 4.5 * Math.sqrt(rate / widest)) * thin;
      const edge = { subjects, stroke, whole };
      const [a, b] = ends.map((end) => this.nodes[end]);
      if (isTile(ends)) this.tile(edge, a, b);
      else this.line(edge, a, b, (lane - (lanes - 1) / 2) * (stroke + 2));
      return edge;
    });
    this.share(this.edges.filter((edge) => edge.tile));
    this.places = [
      ...this.nodes.map((node, index) => ({ x: node.x, y: node.y, node: index })),
      ...this.edges.map((edge, index) => ({ x: edge.x, y: edge.y, edge: index })),
    ];
  }

  line(edge, a, b, shift) {
    if (Math.abs(a.y - b.y) < TIERS) return this.arc(edge, a, b, shift);
    const [upper, lower] = a.y < b.y ? [a, b] : [b, a];
    const under = Math.abs(lower.x - upper.x) < upper.width / 2 && lower.tier === 0;
    const top = [(under ? lower.x : upper.x) + shift, upper.y + upper.height / 2];
    const end = [lower.x + shift, lower.y - lower.height / 2];
    const middle = [(top[0] + end[0]) / 2, (top[1] + end[1]) / 2];
    const [from, to] = upper === a ? [top, end] : [end, top];
    edge.path = [from, edge.whole ? to : middle];
    edge.x = (from[0] + 2 * middle[0]) / 3;
    edge.y = (from[1] + 2 * middle[1]) / 3;
    return edge;
  }

  // Half of an arch over nodes of one tier, or all of it; a loop within a group.
  arc(edge, a, b, shift) {
    if (a === b) return this.loop(edge, a);
    const rise = Math.min(64, 36 + Math.abs(a.x - b.x) * 0.06) * this.scale + shift;
    const start = [a.x, a.y - a.height / 2];
    const peak = [(a.x + b.x) / 2, Math.min(a.y, b.y) - a.height / 2 - rise];
    const way = [(start[0] + peak[0]) / 2, peak[1] + rise * 0.1];
    edge.path = [start, way, peak];
    [edge.x, edge.y] = [0, 1].map((axis) => (start[axis] + 2 * way[axis] + peak[axis]) / 4);
    if (edge.whole) edge.rest = [[b.x, start[1]], [2 * peak[0] - way[0], way[1]], peak];
    return edge;
  }

  loop(edge, { x, y, height }) {
    const [foot, peak] = [y - height / 2, y - height / 2 - 36 * this.scale];
    edge.path = [[x - 14, foot], [x, 2 * peak - foot], [x + 14, foot]];
    [edge.x, edge.y] = [x, peak];
    return edge;
  }

  tile(edge, a, b) {
    const host = a.tier === 0 ? a : b;
    const half = host.height / 2;
    const top = host === a ? host.y - half : host.y + 0.3;
    edge.tile = [host.x - host.width / 2, top, host.width, half - 0.6];
    edge.x = host.x;
    edge.y = top + half / 2;
    return edge;
  }

  // Several links of a host share its tile.
  share(edges) {
    const halves = Map.groupBy(edges, (edge) => `${edge.tile[0]} ${edge.tile[1]}`);
    for (const half of halves.values()) {
      half.forEach((edge, index) => {
        edge.tile[2] /= half.length;
        edge.tile[0] += index * edge.tile[2];
        edge.x = edge.tile[0] + edge.tile[2] / 2;
      });
    }
  }

  // Boxes and names do not change from picture to picture, so they are drawn once.
  drawNodes(ratio) {
    const layer = document.createElement("canvas");
    const context = this.surface(layer, this.canvas.clientWidth, this.net.height * this.scale, ratio);
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const node of this.nodes) {
      if ((this.net.tiled && node.tier === 0) || node.height < NAMED && node.subject >= 0) continue;
      context.fillStyle = this.color("node");
      context.strokeStyle = this.color("node-line");
      context.beginPath();
      context.roundRect(node.x - node.width / 2, node.y - node.height / 2, node.width, node.height, 3);
      context.fill();
      context.stroke();
      context.fillStyle = this.color("ink");
      if (node.tier) this.name(context, node);
    }
    if (!this.net.tiled) this.nameHosts(context, this.nodes.filter((node) => node.tier === 0));
    this.layer = context.canvas;
  }

  name(context, node) {
    const room = node.width - 4;
    const { label } = node;
    const number = /^\d+|\d+$/.exec(label)?.[0];
    const fits = [label, number, `${label.slice(0, 3)}…`].find((text) => text && context.measureText(text).width <= room);
    if (fits) context.fillText(fits, node.x, node.subject < 0 ? node.y : node.y - node.height * 0.27);
  }

  // Below the hosts, turned where room is short; the layout leaves the room for either.
  nameHosts(context, hosts) {
    const xs = hosts.map((host) => host.x).sort((a, b) => a - b);
    const room = Math.min(...xs.slice(1).map((x, index) => x - xs[index]), 120) - 2;
    const upright = hosts.every((host) => context.measureText(host.label).width <= room);
    for (const { label, x, y } of hosts) {
      if (upright) {
        context.fillText(label, x, y + 14);
        continue;
      }
      context.save();
      context.translate(x, y + 10);
      context.rotate(TURNED);
      context.textAlign = "right";
      context.fillText(label.length > LETTERS ? `${label.slice(0, LETTERS - 1)}…` : label, 0, 0);
      context.restore();
    }
  }

  // Draws the cells of a time, or the totals without; `levelMax` is the level of the darkest colour.
  draw(cells, levelMax) {
    if (!this.context) return;
    this.cells = cells;
    const { context, canvas, net } = this;
    const height = net.height * this.scale;
    context.clearRect(0, 0, canvas.clientWidth, height);
    const lines = [];
    const paused = [];
    const dropping = [];
    for (const edge of this.edges) {
      const now = this.now(edge, cells);
      const shade = this.shade(edge.subjects[0], now, levelMax);
      if (edge.tile) this.fill(edge, shade, now);
      else {
        edge.shade = shade;
        edge.width = shade === UNKNOWN ? 1 : 1.2 + (Math.ceil(now.share * WIDTHS) / WIDTHS) * edge.stroke;
        lines.push(edge);
      }
      if (now.paused > 0.001) paused.push(edge);
      if (now.drops > 0) dropping.push(edge);
    }
    const alike = Map.groupBy(lines, ({ shade, width }) => shade * SHADE + width);
    for (const key of [...alike.keys()].sort((a, b) => a - b)) {
      context.globalAlpha = key >= PLAIN * SHADE && lines.length > CROWD ? FAINT : 1;
      this.stroke(alike.get(key));
    }
    context.globalAlpha = 1;
    this.emphasis();
    this.overlay(paused, dropping);
    context.drawImage(this.layer, 0, 0, canvas.clientWidth, height);
    for (const node of this.nodes) if (node.subject >= 0) this.gauge(node, levelMax);
  }

  // The level of a node: as a number and a bar in its box, or as the colour of its tile.
  gauge(node, levelMax) {
    const { context } = this;
    const now = this.run.value(node.subject, this.cells);
    const [left, top] = [node.x - node.width / 2, node.y - node.height / 2];
    const shade = this.paint(this.shade(node.subject, now, levelMax));
    if (node.height < NAMED) {
      context.fillStyle = shade;
      context.fillRect(left, top, node.width, node.height);
    } else {
      const room = node.width - 10;
      context.fillStyle = this.color("none");
      context.fillRect(left + 5, top + node.height - 9, room, 5);
      context.fillStyle = shade;
      context.fillRect(left + 5, top + node.height - 9, now.known ? room * Math.min(1, now.level / levelMax) : 0, 5);
      context.fillStyle = this.color("soft");
      context.font = "11px system-ui, sans-serif";
      context.textAlign = "center";
      context.textBaseline = "middle";
      const { level } = this.run.of(node.subject);
      context.fillText(now.known ? words.units[level.unit](now.level) : "–", node.x, node.y + node.height * 0.08);
    }
    if (now.drops > 0) this.dots([{ x: left + node.width - 2, y: top + 2 }]);
  }

  shade(subject, { known, level, flow }, levelMax) {
    if (!known) return UNKNOWN;
    if (!this.run.of(subject).level) return flow > 0 ? PLAIN : UNKNOWN;
    return level > 0 ? Math.max(1, STEPS.filter((step) => level / levelMax >= step).length) : 0;
  }

  // What the subjects of an edge do together.
  now(edge, cells) {
    if (edge.subjects.length === 1) return this.run.value(edge.subjects[0], cells);
    const all = edge.subjects.map((subject) => this.run.value(subject, cells));
    return {
      level: Math.max(...all.map((each) => each.level)),
      flow: all.reduce((sum, each) => sum + each.flow, 0) / all.length,
      share: all.reduce((sum, each) => sum + each.share, 0) / all.length,
      drops: all.reduce((sum, each) => sum + each.drops, 0),
      paused: Math.max(...all.map((each) => each.paused)),
      known: all.some((each) => each.known),
    };
  }

  paint(shade) {
    return shade === UNKNOWN ? this.color("none") : shade === PLAIN ? this.color("c2") : this.shades[shade];
  }

  fill(edge, shade, now) {
    const { context } = this;
    const [x, y, width, height] = edge.tile;
    context.fillStyle = this.tint ??= this.color("none");
    context.fillRect(x, y, width, height);
    const used = now.known ? Math.max(now.share * height, shade ? 2 : 0) : 0;
    context.fillStyle = this.paint(shade);
    context.fillRect(x, y + height - used, width, used);
  }

  // Strokes edges of the same colour and width.
  stroke(edges) {
    const { context } = this;
    const [{ shade, width }] = edges;
    context.strokeStyle = this.paint(shade);
    context.setLineDash([]);
    context.lineWidth = width;
    context.beginPath();
    for (const edge of edges) this.trace(edge);
    context.stroke();
  }

  trace(edge) {
    for (const [from, by, to] of edge.rest ? [edge.path, edge.rest] : [edge.path]) {
      this.context.moveTo(...from);
      if (to) this.context.quadraticCurveTo(...by, ...to);
      else this.context.lineTo(...by);
    }
  }

  overlay(paused, dropping) {
    const { context } = this;
    context.strokeStyle = this.color("pause");
    context.lineWidth = 2;
    context.setLineDash([4, 4]);
    context.beginPath();
    for (const edge of paused) {
      if (edge.tile) context.rect(...edge.tile);
      else this.trace(edge);
    }
    context.stroke();
    context.setLineDash([]);
    this.dots(dropping);
  }

  dots(places) {
    const { context } = this;
    context.fillStyle = this.color("drop");
    context.strokeStyle = this.color("paper");
    context.lineWidth = 1;
    context.beginPath();
    for (const { x, y } of places) {
      context.moveTo(x + 4, y);
      context.arc(x, y, 4, 0, 7);
    }
    context.fill();
    context.stroke();
  }

  // Raises what is followed, and what the pointer or the keys are at, above all lines, with a rim.
  emphasis() {
    const names = this.names;
    const edges = this.edges.filter((edge) => edge.subjects.some((subject) => this.followed.ports.has(names[subject])));
    const nodes = this.nodes.filter((node) => this.followed.nodes.has(node.label));
    this.raise(edges, nodes, this.color("follow"));
    const at = this.pointed;
    if (at) this.raise(at.edge >= 0 ? [this.edges[at.edge]] : [], at.node >= 0 ? [this.nodes[at.node]] : [],
      this.color("ink"));
  }

  raise(edges, nodes, color) {
    this.rim(edges, nodes, color);
    for (const edge of edges) if (!edge.tile) this.stroke([edge]);
  }

  rim(edges, nodes, color) {
    const { context } = this;
    context.strokeStyle = color;
    for (const edge of edges.filter((each) => !each.tile)) {
      context.lineWidth = edge.width + 5;
      context.beginPath();
      this.trace(edge);
      context.stroke();
    }
    context.lineWidth = 2.5;
    context.beginPath();
    for (const edge of edges) if (edge.tile) context.rect(...edge.tile);
    for (const node of nodes) {
      context.rect(node.x - node.width / 2 - 2, node.y - node.height / 2 - 2, node.width + 4, node.height + 4);
    }
    context.stroke();
  }

  // The place at or next to a pointer.
  near({ offsetX: x, offsetY: y }) {
    const inside = this.nodes?.findIndex((node) =>
      Math.abs(x - node.x) <= Math.max(node.width / 2, 5) && Math.abs(y - node.y) <= Math.max(node.height / 2, 5)
      && !(this.net.tiled && node.tier === 0)) ?? -1;
    if (inside >= 0) return { node: inside };
    let [best, least] = [-1, 8];
    this.edges?.forEach((edge, index) => {
      const far = edge.tile ? outside(edge.tile, x, y)
        : Math.min(distance(edge.path, x, y), edge.rest ? distance(edge.rest, x, y) : Infinity);
      if (far < least) [best, least] = [index, far];
    });
    return best < 0 ? null : { edge: best };
  }

  // What following a place means: a port, a node, or nothing for a group of nodes.
  target(place) {
    if (place.node >= 0) {
      const node = this.nodes[place.node];
      return node.count === 1 ? { kind: "node", name: node.label } : null;
    }
    const { subjects } = this.edges[place.edge];
    const level = (subject) => this.run.value(subject, this.cells).level;
    const highest = subjects.reduce((best, each) => (level(each) > level(best) ? each : best), subjects[0]);
    return { kind: "port", name: this.names[highest] };
  }

  point(place, aloud = false) {
    const same = place?.node === this.pointed?.node && place?.edge === this.pointed?.edge;
    if (same && !aloud) return;
    this.pointed = place;
    this.say(place ? this.words(place) : "", aloud);
  }

  words(place) {
    if (place.node >= 0) {
      const node = this.nodes[place.node];
      if (node.count > 1) return `${node.label}, drawn together`;
      if (node.subject < 0) return `${node.what} ${node.label}`;
      const now = this.run.value(node.subject, this.cells);
      return `${node.what} ${node.label}: ${words.measured(this.run.of(node.subject), now)}`;
    }
    const { subjects } = this.edges[place.edge];
    const of = this.run.of(subjects[0]);
    const several = `${subjects.length} ${of.name.toLowerCase()}s`;
    const name = subjects.length > 1 ? several : `${of.name} ${this.names[subjects[0]]}`;
    return `${name}: ${words.measured(of, this.now(this.edges[place.edge], this.cells))}`;
  }
}

const outside = ([left, top, width, height], x, y) =>
  Math.hypot(Math.max(left - x, 0, x - left - width), Math.max(top - y, 0, y - top - height));

const distance = ([[ax, ay], [bx, by], last], x, y) => {
  const [dx, dy] = [bx - ax, by - ay];
  const along = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
  const first = Math.hypot(x - ax - along * dx, y - ay - along * dy);
  return last ? Math.min(first, distance([[bx, by], last], x, y)) : first;
};
