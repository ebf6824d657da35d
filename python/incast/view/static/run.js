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
    this.sampled = Int32Array.from(said.ports);
    this.count = said.count;
    this.notes = said.notes;
    if (this.count) await this.piece(this.levels.length - 1, 0);
  }

  // The longest queue of the overview.
  get sampledMax() {
    const piece = this.pieces.get(`${this.levels.length - 1}:0`);
    return piece instanceof Float32Array
      ? piece.subarray(0, piece.length / 5).reduce((most, queue) => (queue > most ? queue : most), 1) : 1;
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
    return { length, queue: of(0), sent: of(1), drops: of(2), marks: of(3), paused: of(4) };
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

  // What a port does at a time: its queue in bytes, the share of its rate, drops, pauses.
  port(index, cells) {
    const ports = this.facts.ports;
    const at = cells ? this.sampled[index] : -1;
    if (!cells) {
      const queue = ports.queue_max_bytes[index] ?? 0;
      return { queue, use: ports.utilisation[index] ?? 0, drops: ports.drops[index] ?? 0, paused: 0, known: true };
    }
    if (at < 0) return { queue: 0, use: 0, drops: 0, paused: 0, known: false };
    const rate = ports.rate_bps[index];
    const use = rate ? Math.min(1, (cells.sent[at] * 8 * PS) / rate / cells.length) : null;
    const queue = cells.queue[at];
    return { queue, use, drops: cells.drops[at], paused: cells.paused[at] / cells.length, known: queue === queue };
  }
}
