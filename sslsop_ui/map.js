// The map: points coloured by their outputs, iteration by iteration. One instance per mounted element.
//
// data.geometry  {version, n, k, xy, neighbors, stretch, names, colors, thumbs}, sent when it changes
// data.frames    {run, first, count, bytes, cells}: one cell per point and iteration, laid out as
//                0 = no output, c + 1 = output c; highest bit = just changed, next bit = wrong
// data.overlay   {labeled, truth, margins, texts, selection, sources, live, note}
// Text from data enters the page through textContent only.

const SHAPES = ["circle", "square", "triangle", "diamond"];
const GLYPHS = ["●", "■", "▲", "◆"];
const RAMP = ["#30267a", "#445fce", "#2f9fc0", "#46c48a", "#c8dd5a"];
const MODES = { output: "Output", truth: "True output", wrong: "Right or wrong", last: "Last change", margin: "Margin" };

const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const as = (Type, text) => { const b = bytesOf(text); return new Type(b.buffer, 0, b.byteLength / Type.BYTES_PER_ELEMENT); };
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

class OutputMap {
  constructor(root) {
    this.root = root;
    this.$ = (name) => root.querySelector(name);
    this.canvas = this.$(".stage > canvas");
    this.edgeLayer = document.createElement("canvas");
    this.frames = new Map();
    this.view = { x: 0, y: 0, zoom: 1 };
    this.at = 0; this.last = 0; this.mode = "output"; this.edges = true; this.lassoing = false;
    this.playing = false; this.hover = -1; this.only = -1; this.selection = []; this.path = null;
    this.sprites = new Map();
    this.listen();
  }

  // --- what comes from Python -------------------------------------------------------------------

  update({ data, setStateValue, setTriggerValue }) {
    this.tell = setStateValue;
    const { geometry, frames, overlay } = data;
    if (geometry) this.setGeometry(geometry);
    if (!this.geo || this.geo.version !== data.version) {
      if (this.asked !== data.version) { this.asked = data.version; setTriggerValue("missing", data.version); }
      return;
    }
    this.root.querySelector(".map").classList.toggle("big", !!data.big);
    this.height = data.height; this.around = data.around;
    this.setOverlay(overlay);
    this.setFrames(frames);
    this.resize();
    this.refreshControls();
    this.draw();
  }

  setGeometry(g) {
    const xy = as(Uint16Array, g.xy);
    const n = g.n, x = new Float32Array(n), y = new Float32Array(n);
    for (let i = 0; i < n; i++) { x[i] = xy[2 * i] / 65535; y[i] = 1 - xy[2 * i + 1] / 65535; }
    const moved = !this.geo || this.geo.n !== n;
    this.geo = { ...g, x, y, neighbors: as(Uint32Array, g.neighbors), thumbs: g.thumbs && {
      ...g.thumbs, pixels: bytesOf(g.thumbs.pixels) } };
    this.sprites.clear();
    if (moved) { this.view = { x: 0, y: 0, zoom: 1 }; this.selection = []; }
    this.edgesStale = true;
  }

  setOverlay(o) {
    this.over = { ...o, labeled: bytesOf(o.labeled), truth: o.truth && as(Uint16Array, o.truth),
      margins: o.margins && bytesOf(o.margins) };
    this.selection = o.selection ?? this.selection;
  }

  setFrames(f) {
    if (f.run !== this.run) { this.frames.clear(); this.run = f.run; this.at = this.last = 0; this.fresh = true; }
    const cells = f.bytes === 1 ? bytesOf(f.cells) : as(Uint16Array, f.cells);
    this.high = f.bytes === 1 ? 128 : 32768;
    const wasAtEnd = this.at >= this.last;
    for (let t = 0; t < f.count; t++) this.frames.set(f.first + t, cells.subarray(t * this.geo.n, (t + 1) * this.geo.n));
    this.last = f.first + f.count - 1;
    this.at = Math.min(this.at, this.last);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const follows = wasAtEnd || this.fresh;
    if (follows && still) this.at = this.last;
    else if (follows && this.at < this.last) this.play(true);
    this.fresh = false;
  }

  frame(t) { // a live update may have skipped an iteration: show the one before it
    while (t > 0 && !this.frames.has(t)) t--;
    return this.frames.get(t);
  }

  code(cell) { return (cell & (this.high / 2 - 1)) - 1; }

  // --- drawing ----------------------------------------------------------------------------------

  resize() {
    this.$(".stage").style.height = (this.height ?? clamp(window.innerHeight - this.around, 280, 760)) + "px";
    const box = this.$(".stage").getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!box.width || !this.geo) return;
    const w = Math.round(box.width * ratio), h = Math.round(box.height * ratio);
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w; this.canvas.height = h;
      this.edgeLayer.width = w; this.edgeLayer.height = h; this.edgesStale = true;
    }
    this.ratio = ratio;
    this.place();
  }

  place() { // screen coordinates of all points
    const { x, y, n, stretch, aspect } = this.geo, { width: W, height: H } = this.canvas;
    const pad = 22 * this.ratio;
    let w = W - 2 * pad, h = H - 2 * pad;
    const fit = stretch ? clamp(w / h, aspect / 2.4, aspect * 2.4) : aspect;
    if (w / h > fit) w = h * fit; else h = w / fit;
    const z = this.view.zoom, left = W / 2 + this.view.x - w * z / 2, top = H / 2 + this.view.y - h * z / 2;
    this.px = new Float32Array(n); this.py = new Float32Array(n);
    for (let i = 0; i < n; i++) { this.px[i] = left + x[i] * w * z; this.py[i] = top + y[i] * h * z; }
  }

  theme() {
    const style = getComputedStyle(this.$(".map"));
    const read = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
    return { text: read("--st-text-color", "#222"), back: read("--st-background-color", "#fff"),
      line: read("--st-border-color", "#ddd"), strong: read("--st-primary-color", "#4056d6") };
  }

  drawEdges(theme) {
    if (!this.edgesStale) return;
    const c = this.edgeLayer.getContext("2d"), { n, k, neighbors } = this.geo;
    c.clearRect(0, 0, this.edgeLayer.width, this.edgeLayer.height);
    c.strokeStyle = theme.text; c.globalAlpha = clamp(260 / Math.sqrt(n * k) * 0.06, 0.03, 0.22); c.lineWidth = 0.7 * this.ratio;
    c.beginPath();
    for (let i = 0; i < n; i++) for (let r = 0; r < k; r++) {
      const j = neighbors[i * k + r];
      if (j > i || (j < i && !this.lists(j, i))) { c.moveTo(this.px[i], this.py[i]); c.lineTo(this.px[j], this.py[j]); }
    }
    c.stroke();
    this.edgesStale = false;
  }

  lists(j, i) { const { k, neighbors } = this.geo; return neighbors.subarray(j * k, j * k + k).includes(i); }

  sprite(color, shape, size, ring) {
    const key = `${color}|${shape}|${size}|${ring}`;
    let s = this.sprites.get(key);
    if (s) return s;
    const r = size * this.ratio, side = Math.ceil(2 * r + 6 * this.ratio);
    s = document.createElement("canvas"); s.width = s.height = side;
    const c = s.getContext("2d"), m = side / 2;
    c.beginPath();
    if (shape === "circle") c.arc(m, m, r, 0, 7);
    else if (shape === "square") c.rect(m - r * .88, m - r * .88, r * 1.76, r * 1.76);
    else { const a = shape === "triangle" ? [[0, -1.2], [1.1, .8], [-1.1, .8]] : [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]];
      a.forEach(([u, v], i) => c[i ? "lineTo" : "moveTo"](m + u * r, m + v * r)); c.closePath(); }
    c.fillStyle = color; c.fill();
    if (ring) { c.lineWidth = 1.6 * this.ratio; c.strokeStyle = ring; c.stroke(); }
    this.sprites.set(key, s);
    return s;
  }

  look(i, cell, theme) { // [colour, shape, dimmed]
    const grey = "#9aa3b2", code = this.code(cell);
    const of = (c) => c < 0 ? [grey, "circle", false]
      : [this.geo.colors[c % this.geo.colors.length], SHAPES[Math.floor(c / this.geo.colors.length) % 4], this.only >= 0 && this.only !== c];
    if (this.mode === "truth") return of(this.over.truth[i] - 1);
    if (this.mode === "wrong") return code < 0 || !this.over.truth[i] ? [grey, "circle", false]
      : cell & (this.high / 2) ? ["#f33143", "diamond", this.only === 0] : ["#009d7d", "circle", this.only === 1];
    if (this.mode === "last") return code < 0 ? [grey, "circle", false]
      : [this.ramp(this.changedAt[i] / Math.max(1, this.last)), "circle", false];
    if (this.mode === "margin") return code < 0 ? [grey, "circle", false] : [this.ramp(this.over.margins[i] / 255), "circle", false];
    return of(code);
  }

  ramp(u) { return RAMP[clamp(Math.round(u * (RAMP.length * 4 - 4)) / 4 | 0, 0, RAMP.length - 1)]; }

  lastChanges() {
    const at = new Uint16Array(this.geo.n);
    for (let t = 1; t <= this.at; t++) { const f = this.frames.get(t); if (f) for (let i = 0; i < at.length; i++) if (f[i] & this.high) at[i] = t; }
    return at;
  }

  draw() {
    if (!this.geo || !this.px || this.pending) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.paint(); });
  }

  paint() {
    const cells = this.frame(this.at);
    if (!cells || !this.canvas.width) return;
    const theme = this.theme(), c = this.canvas.getContext("2d"), { n } = this.geo, { labeled } = this.over;
    if (theme.text !== this.ink) { this.ink = theme.text; this.edgesStale = true; }
    if (this.mode === "last") this.changedAt = this.lastChanges();
    c.fillStyle = theme.back; c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    if (this.edges) { if (!this.moving) { this.drawEdges(theme); c.drawImage(this.edgeLayer, 0, 0); } }
    const size = clamp(130 / Math.sqrt(n), 1.6, 5) * clamp(Math.sqrt(this.view.zoom), 1, 2.2) * (this.geo.big ? 1.4 : 1);
    const dot = (i, r, ring) => {
      const [color, shape, dim] = this.look(i, cells[i], theme), s = this.sprite(color, shape, r, ring);
      c.globalAlpha = dim ? 0.1 : this.code(cells[i]) < 0 && this.mode !== "truth" ? 0.5 : 1;
      c.drawImage(s, this.px[i] - s.width / 2, this.py[i] - s.height / 2);
    };
    for (let i = 0; i < n; i++) if (!labeled[i]) dot(i, size, "");
    this.paintChanged(c, cells, size, theme);
    for (let i = 0; i < n; i++) if (labeled[i]) dot(i, size * 1.5 + 0.6, theme.text);
    c.globalAlpha = 1;
    this.paintSelection(c, size, theme);
    if (this.path) this.paintLasso(c, theme);
    this.canvas.dataset.iteration = this.at;
  }

  paintChanged(c, cells, size, theme) {
    if (this.at === 0) return;
    c.globalAlpha = 0.75; c.strokeStyle = theme.text; c.lineWidth = this.ratio;
    c.beginPath();
    for (let i = 0; i < cells.length; i++) if (cells[i] & this.high && !this.over.labeled[i]) {
      const r = (size + 2.2) * this.ratio; c.moveTo(this.px[i] + r, this.py[i]); c.arc(this.px[i], this.py[i], r, 0, 7); }
    c.stroke(); c.globalAlpha = 1;
  }

  paintSelection(c, size, theme) {
    const ringed = (i, r) => { c.beginPath(); c.arc(this.px[i], this.py[i], r * this.ratio, 0, 7); c.stroke(); };
    c.lineWidth = 2 * this.ratio; c.strokeStyle = theme.strong;
    if (this.selection.length === 1) {
      const i = this.selection[0], { k, neighbors } = this.geo;
      c.globalAlpha = 0.8; c.beginPath();
      for (const j of neighbors.subarray(i * k, i * k + k)) { c.moveTo(this.px[i], this.py[i]); c.lineTo(this.px[j], this.py[j]); }
      c.stroke();
      c.setLineDash([5 * this.ratio, 4 * this.ratio]); c.strokeStyle = theme.text;
      for (const [j, weight] of this.over.sources ?? []) { c.globalAlpha = clamp(0.25 + weight, 0.3, 1); c.lineWidth = (1 + 4 * weight) * this.ratio;
        c.beginPath(); c.moveTo(this.px[i], this.py[i]); c.lineTo(this.px[j], this.py[j]); c.stroke(); }
      c.setLineDash([]); c.globalAlpha = 1; c.lineWidth = 2.5 * this.ratio; c.strokeStyle = theme.strong;
      ringed(i, size + 6);
    } else for (const i of this.selection) ringed(i, size + 3);
    if (this.hover >= 0) { c.strokeStyle = theme.text; c.lineWidth = 1.5 * this.ratio; ringed(this.hover, size + 4); }
  }

  paintLasso(c, theme) {
    c.strokeStyle = theme.strong; c.lineWidth = 1.5 * this.ratio; c.fillStyle = theme.strong; c.globalAlpha = 0.12;
    c.beginPath(); this.path.forEach(([x, y], i) => c[i ? "lineTo" : "moveTo"](x, y)); c.closePath(); c.fill();
    c.globalAlpha = 1; c.stroke();
  }

  // --- controls ---------------------------------------------------------------------------------

  refreshControls() {
    const modes = Object.keys(MODES).filter((m) => m === "output" || (m === "margin" ? this.over.margins : m === "last" ? this.last > 0 : this.over.truth));
    if (!modes.includes(this.mode)) this.mode = "output";
    const select = this.$(".mode");
    if (select.dataset.modes !== modes.join()) {
      select.replaceChildren(...modes.map((m) => { const o = document.createElement("option"); o.value = m; o.textContent = MODES[m]; return o; }));
      select.dataset.modes = modes.join();
    }
    select.value = this.mode;
    const note = this.$(".note"); note.hidden = !this.over.note; note.textContent = this.over.note ?? "";
    const scrub = this.$(".scrub"); scrub.max = this.last; scrub.disabled = this.last === 0;
    this.$(".play").disabled = this.last === 0;
    this.$(".lasso").hidden = !this.over.selectable;
    this.refreshLegend(); this.showTime();
  }

  refreshLegend() {
    const legend = this.$(".legend"), key = this.mode + this.geo.version + this.last;
    if (legend.dataset.key === key) return;
    legend.dataset.key = key;
    const item = (glyph, color, name, code) => {
      const e = document.createElement("button"), g = document.createElement("span"), t = document.createElement("span");
      e.className = "item"; e.type = "button"; e.setAttribute("role", "listitem"); g.textContent = glyph; g.style.color = color; t.textContent = name; e.append(g, t);
      const focus = (on) => { this.only = on ? code : -1; for (const o of legend.children) o.classList.toggle("off", on && o !== e); this.draw(); };
      if (code >= 0) { e.onmouseenter = e.onfocus = () => focus(true); e.onmouseleave = e.onblur = () => focus(false); }
      return e;
    };
    const ramp = (left, right) => { const s = document.createElement("span"); s.className = "ramp"; s.style.background = `linear-gradient(90deg, ${RAMP})`;
      return [item("", "", left, -1), s, item("", "", right, -1)]; };
    const { names, colors } = this.geo, kinds = this.mode === "output" || this.mode === "truth";
    const parts = kinds ? names.slice(0, 40).map((name, c) => item(GLYPHS[Math.floor(c / colors.length) % 4], colors[c % colors.length], name, c))
      : this.mode === "wrong" ? [item("◆", "#f33143", "wrong", 1), item("●", "#009d7d", "right", 0)]
      : this.mode === "last" ? ramp("iteration 0", `iteration ${this.last}`) : ramp("doubtful", "sure");
    if (this.mode !== "truth") parts.push(item("●", "#9aa3b2", "no output yet", -1));
    parts.push(item("◉", "", "given", -1));
    legend.replaceChildren(...parts);
  }

  showTime() {
    const cells = this.frame(this.at); if (!cells) return;
    let changed = 0, none = 0;
    for (const cell of cells) { if (cell & this.high) changed++; if (this.code(cell) < 0) none++; }
    const text = this.at === 0 ? "start: given outputs only" : `iteration ${this.at} of ${this.last} · ${changed} changed` + (none ? ` · ${none} not reached` : "");
    this.$(".when").textContent = this.last === 0 && !this.over.live ? "not trained yet" : text;
    this.$(".scrub").value = this.at; this.$(".scrub").setAttribute("aria-valuetext", text);
    this.canvas.setAttribute("aria-label", `Map of ${this.geo.n} points coloured by ${MODES[this.mode]}; ${text}. Arrow keys scrub, space plays, plus and minus zoom.`);
  }

  show(t) { this.at = clamp(t, 0, this.last); this.showTime(); this.draw(); }

  play(on) {
    this.playing = on; clearTimeout(this.timer);
    this.$(".play").textContent = on ? "❚❚" : "▶"; this.$(".play").setAttribute("aria-label", on ? "Hold the picture" : "Play the iterations");
    const tick = () => {
      if (this.at >= this.last) { this.play(false); return; }
      this.show(this.at + 1);
      this.timer = setTimeout(tick, clamp(5000 / this.last, 60, 450));
    };
    if (on) this.timer = setTimeout(tick, 120);
  }

  toggle() { if (!this.playing && this.at >= this.last) this.show(0); this.play(!this.playing); }

  select(points) { this.selection = points; this.over.sources = []; this.draw(); if (this.over.selectable) this.tell("selection", points.map((i) => this.geo.ids ? this.geo.ids[i] : i)); }

  zoomAt(x, y, factor) {
    const z = clamp(this.view.zoom * factor, 1, 40), f = z / this.view.zoom, cx = this.canvas.width / 2, cy = this.canvas.height / 2;
    this.view = { zoom: z, x: x - cx - (x - cx - this.view.x) * f, y: y - cy - (y - cy - this.view.y) * f };
    if (z === 1) this.view = { x: 0, y: 0, zoom: 1 };
    this.motion();
  }

  motion() { // edges are drawn again once the view rests
    this.moving = true; this.edgesStale = true; this.place(); this.draw();
    clearTimeout(this.rest); this.rest = setTimeout(() => { this.moving = false; this.draw(); }, 110);
  }

  nearest(x, y, within) {
    let best = -1, least = (within * this.ratio) ** 2;
    for (let i = 0; i < this.geo.n; i++) { const d = (this.px[i] - x) ** 2 + (this.py[i] - y) ** 2; if (d < least) { least = d; best = i; } }
    return best;
  }

  describe(i) {
    const { names, ids } = this.geo, code = this.code(this.frame(this.at)[i]), truth = this.over.truth ? this.over.truth[i] - 1 : -1;
    const full = this.at === this.last && this.over.texts ? this.over.texts[i] : null;
    const lines = [`point ${ids ? ids[i] : i}${this.over.labeled[i] ? " · given" : ""}`, code < 0 ? "no output yet" : full ?? names[code]];
    if (truth >= 0 && truth !== code) lines.push(`truly ${names[truth]}`);
    return lines.join("\n");
  }

  showTip(i, x, y) {
    const tip = this.$(".tip"), thumb = this.$(".thumb"), { thumbs } = this.geo;
    tip.hidden = i < 0; if (i < 0) return;
    this.$(".what").textContent = this.describe(i);
    thumb.hidden = !thumbs;
    if (thumbs) { const { width: w, height: h, pixels } = thumbs, image = new ImageData(w, h);
      for (let p = 0; p < w * h; p++) { const v = pixels[i * w * h + p]; image.data.set([v, v, v, 255], 4 * p); }
      thumb.width = w; thumb.height = h; thumb.getContext("2d").putImageData(image, 0, 0); }
    const stage = this.$(".stage").getBoundingClientRect(), half = x > stage.width / 2;
    tip.style.left = half ? "auto" : x + 14 + "px"; tip.style.right = half ? stage.width - x + 14 + "px" : "auto";
    tip.style.top = clamp(y - 10, 4, stage.height - 70) + "px";
  }

  inside(path, x, y) {
    let odd = false;
    for (let a = 0, b = path.length - 1; a < path.length; b = a++) { const [xa, ya] = path[a], [xb, yb] = path[b];
      if (ya > y !== yb > y && x < (xb - xa) * (y - ya) / (yb - ya) + xa) odd = !odd; }
    return odd;
  }

  listen() {
    const on = (name, event, act) => this.$(name).addEventListener(event, act), canvas = this.canvas;
    on(".mode", "change", (e) => { this.mode = e.target.value; this.refreshLegend(); this.showTime(); this.draw(); });
    on(".edges", "click", (e) => { this.edges = !this.edges; e.target.setAttribute("aria-pressed", this.edges); this.draw(); });
    on(".lasso", "click", () => this.setLasso(!this.lassoing));
    on(".home", "click", () => { this.view = { x: 0, y: 0, zoom: 1 }; this.motion(); });
    on(".save", "click", () => this.save());
    on(".play", "click", () => this.toggle());
    on(".scrub", "input", (e) => { this.play(false); this.show(+e.target.value); });
    on(".map", "transitionend", () => this.draw());
    const spot = (e) => [e.offsetX * this.ratio, e.offsetY * this.ratio];
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoomAt(...spot(e), Math.exp(-e.deltaY * 0.0016)); }, { passive: false });
    canvas.addEventListener("dblclick", () => { this.view = { x: 0, y: 0, zoom: 1 }; this.motion(); });
    canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); const p = spot(e); this.drag = { from: p, view: { ...this.view }, moved: false };
      if (this.over.selectable && (this.lassoing || e.shiftKey)) this.path = [p]; });
    canvas.addEventListener("pointermove", (e) => this.pointerMoved(e, spot(e)));
    canvas.addEventListener("pointerup", (e) => this.pointerUp(spot(e)));
    canvas.addEventListener("pointerleave", () => { this.hover = -1; this.showTip(-1); this.draw(); });
    canvas.addEventListener("keydown", (e) => this.key(e));
    this.watch = new ResizeObserver(() => { this.resize(); this.draw(); });
    this.watch.observe(this.$(".stage"));
    window.addEventListener("resize", () => this.resize());
  }

  setLasso(on) { this.lassoing = on; this.$(".lasso").setAttribute("aria-pressed", on); this.$(".stage").classList.toggle("lassoing", on); }

  pointerMoved(e, [x, y]) {
    if (!this.geo) return;
    if (this.path) { this.path.push([x, y]); this.drag.moved = true; this.draw(); return; }
    if (this.drag) {
      const dx = x - this.drag.from[0], dy = y - this.drag.from[1];
      if (Math.hypot(dx, dy) > 4 * this.ratio) { this.drag.moved = true; this.view = { ...this.view, x: this.drag.view.x + dx, y: this.drag.view.y + dy }; this.motion(); }
      return;
    }
    const i = this.nearest(x, y, 10);
    if (i !== this.hover) { this.hover = i; this.draw(); }
    this.showTip(i, e.offsetX, e.offsetY);
  }

  pointerUp([x, y]) {
    const { drag, path } = this; this.drag = this.path = null;
    if (path && path.length > 2) {
      const chosen = []; for (let i = 0; i < this.geo.n; i++) if (this.inside(path, this.px[i], this.py[i])) chosen.push(i);
      this.setLasso(false); this.select(chosen);
    } else if (drag && !drag.moved) { const i = this.nearest(x, y, 12); this.select(i < 0 ? [] : [i]); }
  }

  key(e) {
    const acts = { ArrowRight: () => this.show(this.at + 1), ArrowLeft: () => this.show(this.at - 1), " ": () => this.toggle(), Home: () => this.show(0), End: () => this.show(this.last),
      "+": () => this.zoomAt(this.canvas.width / 2, this.canvas.height / 2, 1.3), "-": () => this.zoomAt(this.canvas.width / 2, this.canvas.height / 2, 1 / 1.3), Escape: () => this.select([]) };
    if (!acts[e.key]) return;
    e.preventDefault(); e.stopPropagation(); if (e.key.startsWith("Arrow")) this.play(false); acts[e.key]();
  }

  save() {
    const link = document.createElement("a");
    link.download = `map-iteration-${this.at}.png`; link.href = this.canvas.toDataURL("image/png"); link.click();
  }

  rests() { clearTimeout(this.timer); this.playing = false; }
}

export default function (component) {
  const root = component.parentElement;
  root.outputMap ??= new OutputMap(root);
  root.outputMap.update(component);
  // Called before every update too: only rest when the element is really gone.
  return () => setTimeout(() => root.isConnected || root.outputMap.rests());
}
