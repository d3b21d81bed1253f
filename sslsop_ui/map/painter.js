// What the map shows: points, edges, the selection. Knows nothing of buttons and of the mouse.
//
// geometry  {version, n, k, xy, neighbors, stretch, aspect, names, colors, ids, thumbs}
// frames    {run, first, count, bytes, cells}: one cell per point and iteration, laid out as
//           0 = no output, c + 1 = output c; highest bit = just changed, next bit = wrong
// overlay   {labeled, truth, margins, texts, selection, sources, selectable, live, note}

const SHAPES = ["circle", "square", "triangle", "diamond"];
const GLYPHS = ["●", "■", "▲", "◆"];
const RAMP = ["#30267a", "#445fce", "#2f9fc0", "#46c48a", "#c8dd5a"];
const GREY = "#9aa3b2";
const RIGHT = "#009d7d";
const WRONG = "#f33143";
const MODES = {
  output: "Output",
  truth: "True output",
  wrong: "Right or wrong",
  last: "Last change",
  margin: "Margin",
};

const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const as = (Type, text) => {
  const b = bytesOf(text);
  return new Type(b.buffer, 0, b.byteLength / Type.BYTES_PER_ELEMENT);
};
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

class Painter {
  constructor(root) {
    this.root = root;
    this.$ = (name) => root.querySelector(name);
    this.canvas = this.$(".stage > canvas");
    this.edgeLayer = document.createElement("canvas");
    this.sprites = new Map();
    this.frames = new Map();
    this.view = { x: 0, y: 0, zoom: 1 };
    this.mode = "output";
    this.at = 0; // the iteration shown
    this.last = 0; // the latest one there is
    this.edges = true;
    this.hover = -1;
    this.only = -1; // the one output that is not dimmed
    this.selection = [];
    this.path = null; // of the lasso
  }

  // --- what comes from Python -------------------------------------------------------------------

  setGeometry(g) {
    const xy = as(Uint16Array, g.xy);
    const n = g.n,
      x = new Float32Array(n),
      y = new Float32Array(n);
    for (let i = 0; i < n; i++) {
      x[i] = xy[2 * i] / 65535;
      y[i] = 1 - xy[2 * i + 1] / 65535;
    }
    const moved = !this.geo || this.geo.n !== n;
    this.geo = {
      ...g,
      x,
      y,
      neighbors: as(Uint32Array, g.neighbors),
      thumbs: g.thumbs && {
        ...g.thumbs,
        pixels: bytesOf(g.thumbs.pixels),
      },
    };
    this.sprites.clear();
    if (moved) {
      this.view = { x: 0, y: 0, zoom: 1 };
      this.selection = [];
    }
    this.edgesStale = true;
  }

  setOverlay(o) {
    this.over = {
      ...o,
      labeled: bytesOf(o.labeled),
      truth: o.truth && as(Uint16Array, o.truth),
      margins: o.margins && bytesOf(o.margins),
    };
    this.selection = o.selection ?? this.selection;
  }

  setFrames(f) {
    if (f.run !== this.run) {
      this.frames.clear();
      this.run = f.run;
      this.at = this.last = 0;
      this.fresh = true;
    }
    const cells = f.bytes === 1 ? bytesOf(f.cells) : as(Uint16Array, f.cells);
    this.high = f.bytes === 1 ? 128 : 32768;
    const wasAtEnd = this.at >= this.last;
    for (let t = 0; t < f.count; t++)
      this.frames.set(f.first + t, cells.subarray(t * this.geo.n, (t + 1) * this.geo.n));
    this.last = f.first + f.count - 1;
    this.at = Math.min(this.at, this.last);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const follows = wasAtEnd || this.fresh;
    if (follows && still) this.at = this.last;
    else if (follows && this.at < this.last) this.play(true);
    this.fresh = false;
  }

  frame(t) {
    // a live update may have skipped an iteration: show the one before it
    while (t > 0 && !this.frames.has(t)) t--;
    return this.frames.get(t);
  }

  code(cell) {
    return (cell & (this.high / 2 - 1)) - 1;
  }

  // --- drawing ----------------------------------------------------------------------------------

  resize() {
    this.$(".stage").style.height = (this.height ?? clamp(window.innerHeight - this.around, 280, 760)) + "px";
    const box = this.$(".stage").getBoundingClientRect(),
      ratio = window.devicePixelRatio || 1;
    if (!box.width || !this.geo) return;
    const w = Math.round(box.width * ratio),
      h = Math.round(box.height * ratio);
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.edgeLayer.width = w;
      this.edgeLayer.height = h;
      this.edgesStale = true;
    }
    this.ratio = ratio;
    this.place();
  }

  place() {
    // screen coordinates of all points
    const { x, y, n, stretch, aspect } = this.geo,
      { width: W, height: H } = this.canvas;
    const pad = 22 * this.ratio;
    let w = W - 2 * pad,
      h = H - 2 * pad;
    const fit = stretch ? clamp(w / h, aspect / 2.4, aspect * 2.4) : aspect;
    if (w / h > fit) w = h * fit;
    else h = w / fit;
    const z = this.view.zoom,
      left = W / 2 + this.view.x - (w * z) / 2,
      top = H / 2 + this.view.y - (h * z) / 2;
    this.px = new Float32Array(n);
    this.py = new Float32Array(n);
    for (let i = 0; i < n; i++) {
      this.px[i] = left + x[i] * w * z;
      this.py[i] = top + y[i] * h * z;
    }
  }

  theme() {
    const style = getComputedStyle(this.$(".map"));
    const read = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
    return {
      text: read("--st-text-color", "#222"),
      back: read("--st-background-color", "#fff"),
      line: read("--st-border-color", "#ddd"),
      strong: read("--st-primary-color", "#4056d6"),
    };
  }

  drawEdges(theme) {
    if (!this.edgesStale) return;
    const c = this.edgeLayer.getContext("2d"),
      { n, k, neighbors } = this.geo;
    c.clearRect(0, 0, this.edgeLayer.width, this.edgeLayer.height);
    c.strokeStyle = theme.text;
    c.globalAlpha = clamp((260 / Math.sqrt(n * k)) * 0.06, 0.03, 0.22);
    c.lineWidth = 0.7 * this.ratio;
    c.beginPath();
    for (let i = 0; i < n; i++)
      for (let r = 0; r < k; r++) {
        const j = neighbors[i * k + r];
        if (j > i || (j < i && !this.lists(j, i))) {
          c.moveTo(this.px[i], this.py[i]);
          c.lineTo(this.px[j], this.py[j]);
        }
      }
    c.stroke();
    this.edgesStale = false;
  }

  lists(j, i) {
    const { k, neighbors } = this.geo;
    return neighbors.subarray(j * k, j * k + k).includes(i);
  }

  sprite(color, shape, size, ring) {
    const key = `${color}|${shape}|${size}|${ring}`;
    let s = this.sprites.get(key);
    if (s) return s;
    const r = size * this.ratio,
      side = Math.ceil(2 * r + 6 * this.ratio);
    s = document.createElement("canvas");
    s.width = s.height = side;
    const c = s.getContext("2d"),
      m = side / 2;
    c.beginPath();
    if (shape === "circle") c.arc(m, m, r, 0, 7);
    else if (shape === "square") c.rect(m - r * 0.88, m - r * 0.88, r * 1.76, r * 1.76);
    else {
      const a =
        shape === "triangle"
          ? [
              [0, -1.2],
              [1.1, 0.8],
              [-1.1, 0.8],
            ]
          : [
              [0, -1.25],
              [1.25, 0],
              [0, 1.25],
              [-1.25, 0],
            ];
      a.forEach(([u, v], i) => c[i ? "lineTo" : "moveTo"](m + u * r, m + v * r));
      c.closePath();
    }
    c.fillStyle = color;
    c.fill();
    if (ring) {
      c.lineWidth = 1.6 * this.ratio;
      c.strokeStyle = ring;
      c.stroke();
    }
    this.sprites.set(key, s);
    return s;
  }

  // What a point shows in the present mode: 0 for nothing, else a small number with a style of its own.
  kind(i, cell) {
    if (this.mode === "truth") return this.over.truth[i];
    const code = this.code(cell);
    if (code < 0 || this.mode === "output") return code + 1;
    if (this.mode === "last") return this.shade(this.changedAt[i] / Math.max(1, this.last));
    if (this.mode === "margin") return this.shade(this.over.margins[i] / 255);
    return !this.over.truth[i] ? 0 : cell & (this.high / 2) ? 1 : 2;
  }

  shade(u) {
    return 1 + Math.round(u * (RAMP.length - 1));
  }

  style(kind) {
    const { colors } = this.geo;
    if (kind === 0) return [GREY, "circle"];
    if (this.mode === "wrong") return kind === 1 ? [WRONG, "diamond"] : [RIGHT, "circle"];
    if (this.mode === "last" || this.mode === "margin") return [RAMP[kind - 1], "circle"];
    return [
      colors[(kind - 1) % colors.length],
      SHAPES[Math.floor((kind - 1) / colors.length) % SHAPES.length],
    ];
  }

  // Draws points of one size; the picture of each kind is looked up once.
  stamper(c, cells, size, ring) {
    const stamps = [];
    return (i) => {
      const kind = this.kind(i, cells[i]);
      stamps[kind] ??= this.sprite(...this.style(kind), size, ring);
      const half = stamps[kind].width / 2;
      c.globalAlpha = kind === 0 ? 0.5 : this.only >= 0 && this.only !== kind - 1 ? 0.1 : 1;
      c.drawImage(stamps[kind], this.px[i] - half, this.py[i] - half);
    };
  }

  lastChanges() {
    const at = new Uint16Array(this.geo.n);
    for (let t = 1; t <= this.at; t++) {
      const f = this.frames.get(t);
      if (f) for (let i = 0; i < at.length; i++) if (f[i] & this.high) at[i] = t;
    }
    return at;
  }

  draw() {
    if (!this.geo || !this.px || this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }

  paint() {
    const cells = this.frame(this.at);
    if (!cells || !this.canvas.width) return;
    const theme = this.theme(),
      c = this.canvas.getContext("2d"),
      { n } = this.geo,
      { labeled } = this.over;
    if (theme.text !== this.ink) {
      this.ink = theme.text;
      this.edgesStale = true;
    }
    if (this.mode === "last") this.changedAt = this.lastChanges();
    c.fillStyle = theme.back;
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    if (this.edges && !this.moving) {
      this.drawEdges(theme);
      c.drawImage(this.edgeLayer, 0, 0);
    }
    const size =
      clamp(130 / Math.sqrt(n), 1.6, 5) * clamp(Math.sqrt(this.view.zoom), 1, 2.2) * (this.big ? 1.4 : 1);
    const plain = this.stamper(c, cells, size, "");
    const ringed = this.stamper(c, cells, size * 1.5 + 0.6, theme.text);
    for (let i = 0; i < n; i++) if (!labeled[i]) plain(i);
    this.paintChanged(c, cells, size, theme);
    for (let i = 0; i < n; i++) if (labeled[i]) ringed(i);
    c.globalAlpha = 1;
    this.paintSelection(c, size, theme);
    if (this.path) this.paintLasso(c, theme);
    this.canvas.dataset.iteration = this.at;
  }

  paintChanged(c, cells, size, theme) {
    if (this.at === 0) return;
    c.globalAlpha = 0.75;
    c.strokeStyle = theme.text;
    c.lineWidth = this.ratio;
    c.beginPath();
    for (let i = 0; i < cells.length; i++)
      if (cells[i] & this.high && !this.over.labeled[i]) {
        const r = (size + 2.2) * this.ratio;
        c.moveTo(this.px[i] + r, this.py[i]);
        c.arc(this.px[i], this.py[i], r, 0, 7);
      }
    c.stroke();
    c.globalAlpha = 1;
  }

  paintSelection(c, size, theme) {
    const ringed = (i, r) => {
      c.beginPath();
      c.arc(this.px[i], this.py[i], r * this.ratio, 0, 7);
      c.stroke();
    };
    c.lineWidth = 2 * this.ratio;
    c.strokeStyle = theme.strong;
    if (this.selection.length === 1) {
      const i = this.selection[0],
        { k, neighbors } = this.geo;
      c.globalAlpha = 0.8;
      c.beginPath();
      for (const j of neighbors.subarray(i * k, i * k + k)) {
        c.moveTo(this.px[i], this.py[i]);
        c.lineTo(this.px[j], this.py[j]);
      }
      c.stroke();
      c.setLineDash([5 * this.ratio, 4 * this.ratio]);
      c.strokeStyle = theme.text;
      for (const [j, weight] of this.over.sources ?? []) {
        c.globalAlpha = clamp(0.25 + weight, 0.3, 1);
        c.lineWidth = (1 + 4 * weight) * this.ratio;
        c.beginPath();
        c.moveTo(this.px[i], this.py[i]);
        c.lineTo(this.px[j], this.py[j]);
        c.stroke();
      }
      c.setLineDash([]);
      c.globalAlpha = 1;
      c.lineWidth = 2.5 * this.ratio;
      c.strokeStyle = theme.strong;
      ringed(i, size + 6);
    } else for (const i of this.selection) ringed(i, size + 3);
    if (this.hover >= 0) {
      c.strokeStyle = theme.text;
      c.lineWidth = 1.5 * this.ratio;
      ringed(this.hover, size + 4);
    }
  }

  paintLasso(c, theme) {
    c.strokeStyle = theme.strong;
    c.lineWidth = 1.5 * this.ratio;
    c.fillStyle = theme.strong;
    c.globalAlpha = 0.12;
    c.beginPath();
    this.path.forEach(([x, y], i) => c[i ? "lineTo" : "moveTo"](x, y));
    c.closePath();
    c.fill();
    c.globalAlpha = 1;
    c.stroke();
  }
}
