// What a network is drawn on where it is wanted as SVG: as much of a canvas's context as drawing it takes.
const MIDDLE = 0.35; // of a letter's height, below the middle of a line
const ANCHORS = { center: "middle", right: "end" };
const MARKUP = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => String(text).replace(/[&<>"]/g, (each) => MARKUP[each]);
const places = (...numbers) => numbers.map((each) => Math.round(each * 100) / 100).join(" ");

export class Paper {
  constructor(width, height) {
    Object.assign(this, { width, height, marks: [], way: "", dashes: [], moves: [], canvas: this, globalAlpha: 1 });
    this.ruler = document.createElement("canvas").getContext("2d");
  }

  get svg() {
    const [width, height] = [places(this.width), places(this.height)];
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${this.marks.join("")}</svg>`;
  }

  clearRect() {
    this.marks = [];
  }

  beginPath() {
    this.way = "";
  }

  moveTo(...at) {
    this.way += `M${places(...at)}`;
  }

  lineTo(...at) {
    this.way += `L${places(...at)}`;
  }

  quadraticCurveTo(...at) {
    this.way += `Q${places(...at)}`;
  }

  rect(x, y, width, height) {
    this.way += `M${places(x, y)}h${places(width)}v${places(height)}h${places(-width)}z`;
  }

  roundRect(x, y, width, height, r) {
    const [across, down] = [width - 2 * r, height - 2 * r];
    const turn = (dx, dy) => `a${places(r, r)} 0 0 1 ${places(dx, dy)}`;
    this.way += `M${places(x + r, y)}h${places(across)}${turn(r, r)}v${places(down)}${turn(-r, r)}`
      + `h${places(-across)}${turn(-r, -r)}v${places(-down)}${turn(r, -r)}z`;
  }

  // A whole circle, from its right.
  arc(x, y, r) {
    this.way += `M${places(x + r, y)}a${places(r, r)} 0 1 0 ${places(-2 * r, 0)}a${places(r, r)} 0 1 0 ${places(2 * r, 0)}`;
  }

  setLineDash(dashes) {
    this.dashes = dashes;
  }

  stroke() {
    const dashes = this.dashes.length ? ` stroke-dasharray="${this.dashes.join(" ")}"` : "";
    const line = `stroke="${escaped(this.strokeStyle)}" stroke-width="${places(this.lineWidth ?? 1)}"${dashes}`;
    this.mark(`<path d="${this.way}" fill="none" ${line}`);
  }

  fill() {
    this.mark(`<path d="${this.way}" fill="${escaped(this.fillStyle)}"`);
  }

  fillRect(x, y, width, height) {
    const size = `width="${places(width)}" height="${places(height)}"`;
    this.mark(`<rect x="${places(x)}" y="${places(y)}" ${size} fill="${escaped(this.fillStyle)}"`);
  }

  mark(begun) {
    const faint = this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
    if (this.way || !begun.startsWith("<path")) this.marks.push(`${begun}${faint}/>`);
  }

  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  fillText(text, x, y) {
    const moved = this.moves.length ? ` transform="${this.moves.join(" ")}"` : "";
    const anchor = ANCHORS[this.textAlign] ?? "start";
    const how = `text-anchor="${anchor}" dy="${MIDDLE}em" style="font: ${escaped(this.font)}"`;
    this.marks.push(`<text x="${places(x)}" y="${places(y)}" ${how} fill="${escaped(this.fillStyle)}"${moved}>`
      + `${escaped(text)}</text>`);
  }

  // Names are turned one by one: what is saved and restored is how, and how they are aligned.
  save() {
    this.saved = this.textAlign;
  }

  translate(x, y) {
    this.moves.push(`translate(${places(x, y)})`);
  }

  rotate(angle) {
    this.moves.push(`rotate(${places((angle * 180) / Math.PI)})`);
  }

  restore() {
    this.textAlign = this.saved;
    this.moves = [];
  }

  getTransform() {
    return { a: 1 };
  }

  drawImage(other) {
    this.marks.push(...other.marks);
  }
}
