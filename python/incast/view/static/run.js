// A run as the page has it: what it asked once, and pieces of the samples around the time shown.
const PIECE_CELLS = 200_000;
const PIECES_MAX = 16;
const AGAIN_MS = 1000; // after which a piece that could not be had is asked for again
const WIDTHS = [360, 640, 960];
const PS = 1e12;

export class Run {
  constructor(source, name, version, arrived) {
    this.arrived = arrived;
    this.source = source;
    this.name = name;
    this.version = version;
    this.facts = null;
    this.levels = [];
    this.networks = new Map();
    this.pieces = new Map();
  }

  async load() {
    this.facts = await this.source.json("facts", { run: this.name });
    return this;
  }

  // The network for a picture of this width.
  async network(width) {
    const fits = WIDTHS.findLast((each) => each <= width * 1.2) ?? WIDTHS[0];
    if (!this.networks.has(fits)) {
      this.networks.set(fits, await this.source.json("network", { run: this.name, width: fits }));
    }
    return this.networks.get(fits);
  }

  async loadSamples() {
    const said = await this.source.json("samples", { run: this.name });
    this.levels = said.levels.map(([step, steps]) => ({ step, steps }));
    this.sampled = Int32Array.from(said.subjects);
    this.count = said.count;
    this.notes = said.notes;
    if (this.count) await this.piece(this.levels.length - 1, 0);
    this.flowMost = this.mostFlows();
  }

  // The highest level of the overview.
  get sampledMax() {
    return this.overview?.subarray(0, this.overview.length / 5).reduce((most, level) => Math.max(most, level || 0), 0);
  }

  get overview() {
    const piece = this.pieces.get(`${this.levels.length - 1}:0`);
    return piece instanceof Float32Array ? piece : null;
  }

  // The most that went through subjects of each kind in a step of the overview, as counted in its cells.
  mostFlows() {
    const most = {};
    if (!this.overview) return most;
    const flows = this.overview.subarray(this.overview.length / 5, (this.overview.length / 5) * 2);
    const step = this.levels.at(-1).step;
    this.facts.subjects.of.forEach((kind, subject) => {
      const { flow } = this.facts.words.of[kind];
      for (let at = this.sampled[subject]; at >= 0 && at < flows.length; at += this.count) {
        most[kind] = Math.max(most[kind] ?? 0, (flows[at] * flow.times * PS) / step);
      }
    });
    return most;
  }

  get end() {
    const last = this.levels[0];
    return Math.max(this.facts?.end_ps ?? 1, last ? last.step * last.steps : 0);
  }

  // The finest level whose steps are at least so long, so that no step is skipped.
  levelFor(span) {
    const found = this.levels.findIndex((each) => each.step >= span);
    return found < 0 ? this.levels.length - 1 : found;
  }

  // The cells of all sampled ports at a time, of the wished level or of the best that is there.
  at(time, wished) {
    for (let level = wished; level < this.levels.length; level += 1) {
      const { step, steps } = this.levels[level];
      const index = Math.max(0, Math.min(steps - 1, Math.ceil(time / step) - 1));
      const size = this.stepsOfPiece();
      const number = Math.floor(index / size);
      const piece = this.pieces.get(`${level}:${number}`);
      if (piece instanceof Float32Array) return this.cells(piece, index - number * size, step);
      if (!piece) this.piece(level, number).then(this.arrived).catch(() => {});
    }
    return null;
  }

  // Asks for what comes after a time, before it is needed.
  ahead(time, level) {
    const of = this.levels[level];
    if (!of) return;
    const number = Math.floor(time / of.step / this.stepsOfPiece()) + 1;
    const known = this.pieces.has(`${level}:${number}`);
    if (!known && number * this.stepsOfPiece() < of.steps) this.piece(level, number).catch(() => {});
  }

  stepsOfPiece() {
    return Math.max(1, Math.min(256, Math.floor(PIECE_CELLS / this.count)));
  }

  cells(piece, step, length) {
    const steps = piece.length / 5 / this.count;
    const of = (measure) => {
      const begin = (measure * steps + step) * this.count;
      return piece.subarray(begin, begin + this.count);
    };
    return { length, level: of(0), sent: of(1), drops: of(2), marks: of(3), paused: of(4) };
  }

  async piece(level, number) {
    const key = `${level}:${number}`;
    const size = this.stepsOfPiece();
    const said = { run: this.name, level, first: number * size, count: size };
    const coming = this.source.array("cells", said);
    this.pieces.set(key, coming);
    try {
      this.pieces.set(key, await coming);
    } catch (error) {
      setTimeout(() => this.pieces.delete(key), AGAIN_MS);
      throw error;
    }
    this.forget();
  }

  // Drops the pieces that came first, but for the overview.
  forget() {
    const kept = `${this.levels.length - 1}:0`;
    for (const key of this.pieces.keys()) {
      if (this.pieces.size <= PIECES_MAX) return;
      if (key !== kept) this.pieces.delete(key);
    }
  }

  // What is measured of the subjects of this kind.
  of(index) {
    return this.facts.words.of[this.facts.subjects.of[index]];
  }

  // A subject at a time: its level, its flow, the share of the highest flow, drops, pauses.
  value(index, cells) {
    const all = this.facts.subjects;
    const at = cells ? this.sampled[index] : -1;
    if (!cells) {
      const [level, flow, drops] = [all.level, all.flow, all.drops].map((totals) => totals[index] ?? 0);
      return { level, flow, share: flow, drops, paused: 0, known: all.level[index] !== null };
    }
    if (at < 0) return { level: 0, flow: 0, share: 0, drops: 0, paused: 0, known: false };
    const level = cells.level[at];
    const { flow, share } = this.flow(index, cells.sent[at], cells.length);
    return { level, flow, share, drops: cells.drops[at], paused: cells.paused[at] / cells.length, known: level === level };
  }

  // What was sent in a time as a flow: the share of a rate in use, or so much a second.
  flow(index, sent, length) {
    const { unit, times } = this.of(index).flow;
    const rate = this.facts.subjects.rate_bps[index];
    if (unit !== "share") {
      const flow = (sent * times * PS) / length;
      return { flow, share: Math.min(1, flow / (this.flowMost[this.facts.subjects.of[index]] || 1)) };
    }
    const flow = rate ? Math.min(1, (sent * 8 * PS) / rate / length) : null;
    return { flow, share: flow ?? 0 };
  }
}
