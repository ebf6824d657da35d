// Numbers as people read them, as `incast.text` writes them.
const TIMES = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]];
const SIZES = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
const PACES = [[1e9, "G/s"], [1e6, "M/s"], [1e3, "k/s"], [1, "/s"]];
const RATES = [[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1e3, "kb/s"], [1, "b/s"]];

const digits = (value) => {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
  if (size < 0.01) return value.toPrecision(1);
  return String(Number(value.toFixed(size >= 10 ? 1 : 2)));
};

const scaled = (units) => (value) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return units === TIMES ? "0 s" : `0 ${units.at(-1)[1]}`;
  const [scale, unit] = units.find((each) => Math.abs(value) >= each[0] * 0.9995) ?? units.at(-1);
  return `${digits(value / scale)} ${unit}`;
};

export const time = scaled(TIMES);
export const size = scaled(SIZES);
export const rate = scaled(RATES);
export const count = (value) => (value === null || Number.isNaN(value) ? "–" : digits(value));
export const share = (part) => {
  if (part === null || Number.isNaN(part)) return "–";
  const value = part * 100;
  return value > 0 && value < 0.01 ? "< 0.01 %" : `${value >= 10 ? Math.round(value) : digits(value)} %`;
};
export const pace = scaled(PACES);
export const units = { time, size, rate, count, share, pace };

// What is measured of a subject, in words: each measure that it has, by its name.
export const measured = (of, now) => {
  if (!now.known) return "not sampled";
  const said = [];
  if (of.level) said.push(`${of.level.name.toLowerCase()} ${units[of.level.unit](now.level)}`);
  said.push(`${of.flow.name.toLowerCase()} ${units[of.flow.unit](now.flow)}`);
  if (of.drops && now.drops) said.push(`${of.drops.name.toLowerCase()} ${units[of.drops.unit](now.drops)}`);
  if (of.paused && now.paused > 0) said.push(`${of.paused.name.toLowerCase()} ${share(now.paused)}`);
  return said.join(", ");
};

// The time `ps` with as many digits as tell steps of `step` apart.
export const moment = (ps, step) => {
  const [scale, unit] = TIMES.find((each) => ps >= each[0]) ?? TIMES.at(-1);
  const places = Math.max(0, Math.min(6, Math.ceil(Math.log10(scale / Math.max(step, 1)))));
  return ps ? `${(ps / scale).toFixed(places)} ${unit}` : "0 s";
};
