// The map as one works with it: scrubber, legend, mouse and keys, over what the painter draws.
// Text from data enters the page through textContent only.

class OutputMap extends Painter {
  constructor(root) {
    super(root);
    this.playing = false;
    this.lassoing = false;
    this.listen();
  }

  update({ data, setStateValue, setTriggerValue }) {
    this.tell = setStateValue;
    const { geometry, frames, overlay } = data;
    if (geometry) this.setGeometry(geometry);
    if (!this.geo || this.geo.version !== data.version) {
      if (this.asked !== data.version) {
        this.asked = data.version;
        setTriggerValue("missing", data.version);
      }
      return;
    }
    this.big = data.big;
    this.$(".map").classList.toggle("big", this.big);
    this.height = data.height;
    this.around = data.around;
    this.setOverlay(overlay);
    this.setFrames(frames);
    this.resize();
    this.refreshControls();
    this.draw();
  }

  // --- controls ---------------------------------------------------------------------------------

  refreshControls() {
    const modes = Object.keys(MODES).filter(
      (m) =>
        m === "output" ||
        (m === "margin" ? this.over.margins : m === "last" ? this.last > 0 : this.over.truth),
    );
    if (!modes.includes(this.mode)) this.mode = "output";
    const select = this.$(".mode");
    if (select.dataset.modes !== modes.join()) {
      select.replaceChildren(
        ...modes.map((m) => {
          const o = document.createElement("option");
          o.value = m;
          o.textContent = MODES[m];
          return o;
        }),
      );
      select.dataset.modes = modes.join();
    }
    select.value = this.mode;
    const note = this.$(".note");
    note.hidden = !this.over.note;
    note.textContent = this.over.note ?? "";
    const scrub = this.$(".scrub");
    scrub.max = this.last;
    scrub.disabled = this.last === 0;
    this.$(".play").disabled = this.last === 0;
    this.$(".lasso").hidden = !this.over.selectable;
    this.refreshLegend();
    this.showTime();
  }

  refreshLegend() {
    const legend = this.$(".legend"),
      key = this.mode + this.geo.version + this.last;
    if (legend.dataset.key === key) return;
    legend.dataset.key = key;
    const item = (glyph, color, name, code) => {
      const e = document.createElement("button"),
        g = document.createElement("span"),
        t = document.createElement("span");
      e.className = "item";
      e.type = "button";
      e.setAttribute("role", "listitem");
      g.textContent = glyph;
      g.style.color = color;
      t.textContent = name;
      e.append(g, t);
      const focus = (on) => {
        this.only = on ? code : -1;
        for (const o of legend.children) o.classList.toggle("off", on && o !== e);
        this.draw();
      };
      if (code >= 0) {
        e.onmouseenter = e.onfocus = () => focus(true);
        e.onmouseleave = e.onblur = () => focus(false);
      }
      return e;
    };
    const ramp = (left, right) => {
      const s = document.createElement("span");
      s.className = "ramp";
      s.style.background = `linear-gradient(90deg, ${RAMP})`;
      return [item("", "", left, -1), s, item("", "", right, -1)];
    };
    const { names, colors } = this.geo,
      kinds = this.mode === "output" || this.mode === "truth";
    const parts = kinds
      ? names
          .slice(0, 40)
          .map((name, c) =>
            item(GLYPHS[Math.floor(c / colors.length) % 4], colors[c % colors.length], name, c),
          )
      : this.mode === "wrong"
        ? [item("◆", WRONG, "wrong", 0), item("●", RIGHT, "right", 1)]
        : this.mode === "last"
          ? ramp("iteration 0", `iteration ${this.last}`)
          : ramp("doubtful", "sure");
    if (this.mode !== "truth") parts.push(item("●", GREY, "no output yet", -1));
    parts.push(item("◉", "", "given", -1));
    legend.replaceChildren(...parts);
  }

  showTime() {
    const cells = this.frame(this.at);
    if (!cells) return;
    let changed = 0,
      none = 0;
    for (const cell of cells) {
      if (cell & this.high) changed++;
      if (this.code(cell) < 0) none++;
    }
    const text =
      this.at === 0
        ? "start: given outputs only"
        : `iteration ${this.at} of ${this.last} · ${changed} changed` +
          (none ? ` · ${none} not reached` : "");
    this.$(".when").textContent = this.last === 0 && !this.over.live ? "not trained yet" : text;
    this.$(".scrub").value = this.at;
    this.$(".scrub").setAttribute("aria-valuetext", text);
    this.canvas.setAttribute(
      "aria-label",
      `Map of ${this.geo.n} points coloured by ${MODES[this.mode]}; ${text}. Arrow keys scrub, space plays, plus and minus zoom.`,
    );
  }

  show(t) {
    this.at = clamp(t, 0, this.last);
    this.showTime();
    this.draw();
  }

  play(on) {
    this.playing = on;
    clearTimeout(this.timer);
    this.$(".play").textContent = on ? "❚❚" : "▶";
    this.$(".play").setAttribute("aria-label", on ? "Hold the picture" : "Play the iterations");
    const tick = () => {
      if (this.at >= this.last) {
        this.play(false);
        return;
      }
      this.show(this.at + 1);
      this.timer = setTimeout(tick, clamp(5000 / this.last, 60, 450));
    };
    if (on) this.timer = setTimeout(tick, 120);
  }

  toggle() {
    if (!this.playing && this.at >= this.last) this.show(0);
    this.play(!this.playing);
  }

  select(points) {
    this.selection = points;
    this.over.sources = [];
    this.draw();
    if (this.over.selectable)
      this.tell(
        "selection",
        points.map((i) => (this.geo.ids ? this.geo.ids[i] : i)),
      );
  }

  zoomAt(x, y, factor) {
    const z = clamp(this.view.zoom * factor, 1, 40),
      f = z / this.view.zoom,
      cx = this.canvas.width / 2,
      cy = this.canvas.height / 2;
    this.view = { zoom: z, x: x - cx - (x - cx - this.view.x) * f, y: y - cy - (y - cy - this.view.y) * f };
    if (z === 1) this.view = { x: 0, y: 0, zoom: 1 };
    this.motion();
  }

  motion() {
    // edges are drawn again once the view rests
    this.moving = true;
    this.edgesStale = true;
    this.place();
    this.draw();
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.moving = false;
      this.draw();
    }, 110);
  }

  nearest(x, y, within) {
    let best = -1,
      least = (within * this.ratio) ** 2;
    for (let i = 0; i < this.geo.n; i++) {
      const d = (this.px[i] - x) ** 2 + (this.py[i] - y) ** 2;
      if (d < least) {
        least = d;
        best = i;
      }
    }
    return best;
  }

  describe(i) {
    const { names, ids } = this.geo,
      code = this.code(this.frame(this.at)[i]),
      truth = this.over.truth ? this.over.truth[i] - 1 : -1;
    const full = this.at === this.last && this.over.texts ? this.over.texts[i] : null;
    const lines = [
      `point ${ids ? ids[i] : i}${this.over.labeled[i] ? " · given" : ""}`,
      code < 0 ? "no output yet" : (full ?? names[code]),
    ];
    if (truth >= 0 && truth !== code) lines.push(`truly ${names[truth]}`);
    return lines.join("\n");
  }

  showTip(i, x, y) {
    const tip = this.$(".tip"),
      thumb = this.$(".thumb"),
      { thumbs } = this.geo;
    tip.hidden = i < 0;
    if (i < 0) return;
    this.$(".what").textContent = this.describe(i);
    thumb.hidden = !thumbs;
    if (thumbs) {
      const { width: w, height: h, pixels } = thumbs,
        image = new ImageData(w, h);
      for (let p = 0; p < w * h; p++) {
        const v = pixels[i * w * h + p];
        image.data.set([v, v, v, 255], 4 * p);
      }
      thumb.width = w;
      thumb.height = h;
      thumb.getContext("2d").putImageData(image, 0, 0);
    }
    const stage = this.$(".stage").getBoundingClientRect(),
      half = x > stage.width / 2;
    tip.style.left = half ? "auto" : x + 14 + "px";
    tip.style.right = half ? stage.width - x + 14 + "px" : "auto";
    tip.style.top = clamp(y - 72, 4, stage.height - 70) + "px";
  }

  inside(path, x, y) {
    let odd = false;
    for (let a = 0, b = path.length - 1; a < path.length; b = a++) {
      const [xa, ya] = path[a],
        [xb, yb] = path[b];
      if (ya > y !== yb > y && x < ((xb - xa) * (y - ya)) / (yb - ya) + xa) odd = !odd;
    }
    return odd;
  }

  listen() {
    const on = (name, event, act) => this.$(name).addEventListener(event, act),
      canvas = this.canvas;
    on(".mode", "change", (e) => {
      this.mode = e.target.value;
      this.refreshLegend();
      this.showTime();
      this.draw();
    });
    on(".edges", "click", (e) => {
      this.edges = !this.edges;
      e.target.setAttribute("aria-pressed", this.edges);
      this.draw();
    });
    on(".lasso", "click", () => this.setLasso(!this.lassoing));
    on(".home", "click", () => {
      this.view = { x: 0, y: 0, zoom: 1 };
      this.motion();
    });
    on(".save", "click", () => this.save());
    on(".play", "click", () => this.toggle());
    on(".scrub", "input", (e) => {
      this.play(false);
      this.show(+e.target.value);
    });
    on(".map", "transitionend", () => this.draw());
    const spot = (e) => [e.offsetX * this.ratio, e.offsetY * this.ratio];
    canvas.addEventListener(
      "wheel",
      (e) => {
        e.preventDefault();
        this.zoomAt(...spot(e), Math.exp(-e.deltaY * 0.0016));
      },
      { passive: false },
    );
    canvas.addEventListener("dblclick", () => {
      this.view = { x: 0, y: 0, zoom: 1 };
      this.motion();
    });
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      const p = spot(e);
      this.drag = { from: p, view: { ...this.view }, moved: false };
      if (this.over.selectable && (this.lassoing || e.shiftKey)) this.path = [p];
    });
    canvas.addEventListener("pointermove", (e) => this.pointerMoved(e, spot(e)));
    canvas.addEventListener("pointerup", (e) => this.pointerUp(spot(e)));
    canvas.addEventListener("pointerleave", () => {
      this.hover = -1;
      this.showTip(-1);
      this.draw();
    });
    canvas.addEventListener("keydown", (e) => this.key(e));
    this.watch = new ResizeObserver(() => {
      this.resize();
      this.draw();
    });
    this.watch.observe(this.$(".stage"));
    window.addEventListener("resize", () => this.resize());
  }

  setLasso(on) {
    this.lassoing = on;
    this.$(".lasso").setAttribute("aria-pressed", on);
    this.$(".stage").classList.toggle("lassoing", on);
  }

  pointerMoved(e, [x, y]) {
    if (!this.geo) return;
    if (this.path) {
      this.path.push([x, y]);
      this.drag.moved = true;
      this.draw();
      return;
    }
    if (this.drag) {
      const dx = x - this.drag.from[0],
        dy = y - this.drag.from[1];
      if (Math.hypot(dx, dy) > 4 * this.ratio) {
        this.drag.moved = true;
        this.view = { ...this.view, x: this.drag.view.x + dx, y: this.drag.view.y + dy };
        this.motion();
      }
      return;
    }
    const i = this.nearest(x, y, 10);
    if (i !== this.hover) {
      this.hover = i;
      this.draw();
    }
    this.showTip(i, e.offsetX, e.offsetY);
  }

  pointerUp([x, y]) {
    const { drag, path } = this;
    this.drag = this.path = null;
    if (path && path.length > 2) {
      const chosen = [];
      for (let i = 0; i < this.geo.n; i++) if (this.inside(path, this.px[i], this.py[i])) chosen.push(i);
      this.setLasso(false);
      this.select(chosen);
    } else if (drag && !drag.moved) {
      const i = this.nearest(x, y, 12);
      this.select(i < 0 ? [] : [i]);
    }
  }

  key(e) {
    const acts = {
      ArrowRight: () => this.show(this.at + 1),
      ArrowLeft: () => this.show(this.at - 1),
      " ": () => this.toggle(),
      Home: () => this.show(0),
      End: () => this.show(this.last),
      "+": () => this.zoomAt(this.canvas.width / 2, this.canvas.height / 2, 1.3),
      "-": () => this.zoomAt(this.canvas.width / 2, this.canvas.height / 2, 1 / 1.3),
      Escape: () => this.select([]),
    };
    if (!acts[e.key]) return;
    e.preventDefault();
    e.stopPropagation();
    if (e.key.startsWith("Arrow")) this.play(false);
    acts[e.key]();
  }

  save() {
    const link = document.createElement("a");
    link.download = `map-iteration-${this.at}.png`;
    link.href = this.canvas.toDataURL("image/png");
    link.click();
  }

  rests() {
    clearTimeout(this.timer);
    this.playing = false;
  }
}

export default function (component) {
  const root = component.parentElement;
  root.outputMap ??= new OutputMap(root);
  root.outputMap.update(component);
  // Called before every update too: only rest when the element is really gone.
  return () => setTimeout(() => root.isConnected || root.outputMap.rests());
}
