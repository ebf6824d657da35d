// The network with what whole runs came to, as a report shows it: a link's colour is the share of the time that
// it was busy. The report names and describes its links.
import { Network } from "./network.js";
import { Paper } from "./paper.js";

const BUSY_LEAST = 0.01; // below that a link counts as idle
const PRINTED = 4; // dots of paper for one of the page
const GLOW = 5;

export class Totals extends Network {
  // `pictures` are laid out for several widths, the narrowest first; `say` is told where its words belong.
  constructor(canvas, pictures, links, say) {
    super(canvas, () => {}, (text) => say(text, this.pointed && this.spot));
    this.pictures = pictures;
    this.links = links;
  }

  // Shows the loads of a run: [share of the time busy, packets dropped, words] of each link.
  load(loads, hottest) {
    this.loads = loads;
    this.followed.ports = new Set([hottest]);
    const value = (index) => {
      const [busy, drops] = loads[index];
      return { level: busy < BUSY_LEAST ? 0 : busy, flow: busy, share: 1, drops, paused: 0, known: true };
    };
    const subjects = { name: this.links.map((_, index) => index) };
    this.run = { value, of: () => ({ level: "busy" }), facts: { subjects, words: { ramp: "u" } } };
    this.fit();
  }

  // Draws the picture that was laid out for about this width.
  fit(ratio, color) {
    this.canvas.style.maxWidth = "";
    const width = this.canvas.clientWidth;
    if (!width || !this.run) return;
    this.show(this.run, this.pictures.findLast((each) => each.width <= width * 1.2) ?? this.pictures[0], ratio, color);
    this.draw(null, 1);
  }

  // Draws as finely as paper shows it, as large as on the page, in the colours of a light one.
  print(color) {
    this.fit(PRINTED, color);
    this.canvas.style.maxWidth = `${this.canvas.clientWidth}px`;
  }

  // The picture as finely, as a file.
  png() {
    this.fit(PRINTED);
    const file = this.canvas.toDataURL("image/png");
    this.fit();
    return file;
  }

  // The picture as SVG, which knows no glow.
  svg() {
    this.surface = (_, width, height) => new Paper(width, height);
    this.fit();
    const file = this.context.svg;
    delete this.surface;
    this.fit();
    return file;
  }

  // The hottest link glows.
  rim(edges, nodes, color) {
    this.context.shadowColor = color;
    this.context.shadowBlur = GLOW * this.context.getTransform().a;
    super.rim(edges, nodes, color);
    this.context.shadowBlur = 0;
  }

  point(place, aloud) {
    super.point(place, aloud);
    this.draw(null, 1);
  }

  // The middle of what is pointed at.
  get spot() {
    const { node, edge } = this.pointed;
    return node >= 0 ? this.nodes[node] : this.edges[edge];
  }

  words(place) {
    if (place.node >= 0) return super.words(place);
    const [index] = this.edges[place.edge].subjects;
    return `${this.links[index]}: ${this.loads[index][2]}`;
  }
}
