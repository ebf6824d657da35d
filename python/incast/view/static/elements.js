// Elements of the page. Texts become text nodes, so a name from a file is never markup.
export const element = (tag, attributes = {}, ...inside) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...inside);
  return made;
};

// The colours of the page by their names in view.css, read again when the theme changes.
export const palette = (root) => {
  const style = getComputedStyle(root);
  return (name) => style.getPropertyValue(`--${name}`).trim();
};

// Makes a canvas as sharp as the screen, or as wished; returns its context, in units of the page.
export const sized = (canvas, width, height, ratio = Math.min(globalThis.devicePixelRatio || 1, 2)) => {
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
};

// Lets arrow keys move from place to place ({x, y}) of a picture, and Enter choose one.
export const moveByKeys = (canvas, places, moved, chosen) => {
  let at = -1;
  const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    const all = places();
    const way = directions[event.key];
    if (way && all.length) {
      at = at < 0 || at >= all.length ? 0 : next(all, at, way);
      moved(all[at]);
    } else if (event.key === "Enter" && all[at]) chosen(all[at]);
    else if (event.key === "Escape") moved(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  canvas.addEventListener("blur", () => moved(null));
};

const next = (all, at, [dx, dy]) => {
  const from = all[at];
  let best = at;
  let least = Infinity;
  all.forEach((to, index) => {
    const along = (to.x - from.x) * dx + (to.y - from.y) * dy;
    const across = Math.abs((to.x - from.x) * dy) + Math.abs((to.y - from.y) * dx);
    const far = along + 3 * across;
    if (along > 0.5 && far < least) [best, least] = [index, far];
  });
  return best;
};
