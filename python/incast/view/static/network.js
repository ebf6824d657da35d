// The network on a canvas. Each port is the half of its link that starts at its node.
//
// Colour is the queue, width the share of the rate in use, a dashed line a pause, a dot a drop. In a large
// network hosts are tiles: the upper half is what a host sends, the lower half what it is sent.
import { moveByKeys, palette, sized } from "./elements.js";
import * as words from "./words.js";

export const STEPS = [0.01, 0.1, 0.3, 0.6, 0.85];
const WIDTHS = 5; // of lines, by the share in use
const TURNED = -75 * Math.PI / 180; // names of hosts
const LETTERS = 9; // of a turned name
const TIERS = 0.5; // an edge between nodes closer than that in height is of one tier

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
    this.names = run.facts.ports.port;
    this.resize(ratio, color);
  }

  resize(ratio, color = palette(this.canvas)) {
    const width = this.canvas.clientWidth;
    if (!this.net || !width) return;
    this.scale = width / this.net.width;
    this.context = sized(this.canvas, width, this.net.height * this.scale, ratio);
    this.color = color;
    this.tint = null;
    this.shades = [0, 1, 2, 3, 4, 5].map((step) => this.color(`u${step}`));
    this.layOut();
    this.drawNodes(ratio);
  }

  // Where nodes and edges are drawn, in units of the canvas.
  layOut() {
    const k = this.scale;
    this.nodes = this.net.nodes.map(([label, tier, count, x, y, width, height]) => ({
      label, tier, count, x: x * k, y: y * k, width: width * k, height: height * k,
    }));
    const widest = Math.max(...this.net.edges.map((edge) => edge[3]), 1);
    const thin = this.net.edges.length > 300 ? 0.6 : 1;
    this.edges = this.net.edges.map(([source, target, ports, rate, lane, lanes]) => {
      const stroke = (2.5 + 4.5 * Math.sqrt(rate / widest)) * thin;
      const edge = { ports, stroke };
      const [a, b] = [this.nodes[source], this.nodes[target]];
      if (this.net.tiled && (a.tier === 0 || b.tier === 0)) this.tile(edge, a, b);
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
    edge.path = [upper === a ? top : end, middle];
    edge.x = (edge.path[0][0] + 2 * middle[0]) / 3;
    edge.y = (edge.path[0][1] + 2 * middle[1]) / 3;
    return edge;
  }

  // Half of an arch over nodes of one tier, a loop within a group.
  arc(edge, a, b, shift) {
    if (a === b) return this.loop(edge, a);
    const rise = Math.min(64, 36 + Math.abs(a.x - b.x) * 0.06) * this.scale + shift;
    const start = [a.x, a.y - a.height / 2];
    const peak = [(a.x + b.x) / 2, Math.min(a.y, b.y) - a.height / 2 - rise];
    edge.path = [start, [(start[0] + peak[0]) / 2, peak[1] + rise * 0.1], peak];
    [edge.x, edge.y] = edge.path[1];
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
    const context = sized(layer, this.canvas.clientWidth, this.net.height * this.scale, ratio);
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const node of this.nodes) {
      if (this.net.tiled && node.tier === 0) continue;
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
    this.layer = layer;
  }

  name(context, node) {
    const room = node.width - 4;
    let label = node.label;
    if (context.measureText(label).width > room) label = /\d+$/.exec(label)?.[0] ?? `${label.slice(0, 3)}…`;
    if (context.measureText(label).width > Math.max(room, 14)) return;
    context.fillText(label, node.x, node.y);
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

  // Draws the cells of a time, or the totals without; `queueMax` is the queue of the darkest colour.
  draw(cells, queueMax) {
    if (!this.context) return;
    this.cells = cells;
    const { context, canvas, net } = this;
    const height = net.height * this.scale;
    context.clearRect(0, 0, canvas.clientWidth, height);
    const batches = Array.from({ length: 7 * (WIDTHS + 1) }, () => []);
    const paused = [];
    const dropping = [];
    for (const edge of this.edges) {
      const now = this.now(edge, cells);
      const shade = now.known ? this.shade(now.queue, queueMax) : 6;
      if (edge.tile) this.fill(edge, shade, now);
      else batches[shade * (WIDTHS + 1) + Math.ceil(now.use * WIDTHS)].push(edge);
      if (now.paused > 0.001) paused.push(edge);
      if (now.drops > 0) dropping.push(edge);
    }
    this.emphasis();
    batches.forEach((edges, key) => {
      if (edges.length) this.stroke(edges, Math.floor(key / (WIDTHS + 1)), (key % (WIDTHS + 1)) / WIDTHS);
    });
    this.overlay(paused, dropping);
    context.drawImage(this.layer, 0, 0, canvas.clientWidth, height);
  }

  shade(queue, queueMax) {
    return queue > 0 ? Math.max(1, STEPS.filter((step) => queue / queueMax >= step).length) : 0;
  }

  // What the ports of an edge do together.
  now(edge, cells) {
    if (edge.ports.length === 1) return this.run.port(edge.ports[0], cells);
    const all = edge.ports.map((port) => this.run.port(port, cells));
    return {
      queue: Math.max(...all.map((each) => each.queue)),
      use: all.reduce((sum, each) => sum + each.use, 0) / all.length,
      drops: all.reduce((sum, each) => sum + each.drops, 0),
      paused: Math.max(...all.map((each) => each.paused)),
      known: all.some((each) => each.known),
    };
  }

  paint(shade) {
    return shade === 6 ? this.color("none") : this.shades[shade];
  }

  fill(edge, shade, now) {
    const { context } = this;
    const [x, y, width, height] = edge.tile;
    context.fillStyle = this.tint ??= this.color("none");
    context.fillRect(x, y, width, height);
    const used = now.known ? Math.max(now.use * height, shade ? 2 : 0) : 0;
    context.fillStyle = this.paint(shade);
    context.fillRect(x, y + height - used, width, used);
  }

  stroke(edges, shade, use) {
    const { context } = this;
    context.strokeStyle = this.paint(shade);
    context.setLineDash([]);
    context.lineWidth = shade === 6 ? 1 : 1.2 + use * edges[0].stroke;
    context.beginPath();
    for (const edge of edges) this.trace(edge);
    context.stroke();
  }

  trace(edge) {
    const [from, by, to] = edge.path;
    this.context.moveTo(...from);
    if (to) this.context.quadraticCurveTo(...by, ...to);
    else this.context.lineTo(...by);
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
    context.fillStyle = this.color("drop");
    context.strokeStyle = this.color("paper");
    context.lineWidth = 1;
    context.beginPath();
    for (const edge of dropping) {
      context.moveTo(edge.x + 4, edge.y);
      context.arc(edge.x, edge.y, 4, 0, 7);
    }
    context.fill();
    context.stroke();
  }

  // Lies around what is followed, and what the pointer or the keys are at.
  emphasis() {
    const names = this.names;
    const edges = this.edges.filter((edge) => edge.ports.some((port) => this.followed.ports.has(names[port])));
    const nodes = this.nodes.filter((node) => this.followed.nodes.has(node.label));
    this.ring(edges, nodes, this.color("follow"));
    const at = this.pointed;
    if (at) this.ring(at.edge >= 0 ? [this.edges[at.edge]] : [], at.node >= 0 ? [this.nodes[at.node]] : [],
      this.color("ink"));
  }

  ring(edges, nodes, color) {
    const { context } = this;
    context.strokeStyle = color;
    context.lineWidth = (edges[0]?.stroke ?? 0) + 5;
    context.beginPath();
    for (const edge of edges) if (!edge.tile) this.trace(edge);
    context.stroke();
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
      const far = edge.tile ? outside(edge.tile, x, y) : distance(edge.path, x, y);
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
    const { ports } = this.edges[place.edge];
    const queue = (port) => this.run.port(port, this.cells).queue;
    const longest = ports.reduce((best, port) => (queue(port) > queue(best) ? port : best), ports[0]);
    return { kind: "port", name: this.names[longest] };
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
      return node.count > 1 ? `${node.label}, drawn together` : `${node.tier ? "Switch" : "Host"} ${node.label}`;
    }
    const edge = this.edges[place.edge];
    const now = this.now(edge, this.cells);
    const name = edge.ports.length > 1 ? `${edge.ports.length} ports` : `Port ${this.names[edge.ports[0]]}`;
    if (!now.known) return `${name}: not sampled`;
    const said = [`queue ${words.size(now.queue)}`, `${words.share(now.use)} in use`];
    if (now.drops) said.push(`${words.count(now.drops)} drops`);
    if (now.paused > 0) said.push(`paused ${words.share(now.paused)} of the time`);
    return `${name}: ${said.join(", ")}`;
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
