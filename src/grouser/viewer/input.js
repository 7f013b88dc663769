// Keys and gamepads of this page, told over a socket of their own: viser knows neither key-up nor gamepads.
(() => {
  "use strict";
  const TAKEN = new Set([
    "KeyW", "KeyA", "KeyS", "KeyD", "KeyQ", "KeyE", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Space",
    "KeyR", "KeyB", "KeyL", "KeyT", "KeyC", "KeyP", "Comma", "Period", "Digit1", "Digit2", "Digit3", "Digit4", "Digit5",
  ]);
  const HEARTBEAT = 200; // ms between messages while something is pressed
  const DEAD_ZONE = 0.08;
  const pressed = new Set();
  const touched = new Map(); // pointer that holds a button of the page down: the key it stands for
  let socket = null, last = "", told = 0;

  const writing = (event) => {
    const at = event.composedPath ? event.composedPath()[0] : event.target;
    const name = at && at.tagName;
    const kind = at && at.type;
    return (name === "INPUT" && !["checkbox", "range", "button"].includes(kind)) || name === "TEXTAREA" ||
      (at && at.isContentEditable);
  };
  const viewer = () => {
    const mark = document.getElementById("grouser-viewer");
    return mark ? mark.dataset.viewer : null;
  };
  const driving = () => {
    const mark = document.getElementById("grouser-viewer");
    return Boolean(mark && mark.dataset.driving);
  };
  const pad = () => {
    for (const one of navigator.getGamepads ? navigator.getGamepads() : []) {
      if (one && one.connected) {
        const axes = one.axes.slice(0, 4).map((x) => (Math.abs(x) < DEAD_ZONE ? 0 : Math.round(x * 100) / 100));
        const buttons = one.buttons.map((b) => Math.round(b.value * 100) / 100);
        return { axes, buttons };
      }
    }
    return null;
  };
  const tell = () => {
    if (!socket || socket.readyState !== WebSocket.OPEN || viewer() === null) return;
    const keys = new Set([...pressed, ...touched.values()]);
    const state = { viewer: viewer(), keys: [...keys].sort(), pad: pad() };
    const text = JSON.stringify(state);
    const active = keys.size > 0 || (state.pad && (state.pad.axes.some((x) => x) || state.pad.buttons.some((x) => x)));
    const now = performance.now();
    if (text === last && !(active && now - told > HEARTBEAT)) return;
    last = text;
    told = now;
    socket.send(text);
  };
  const connect = () => {
    socket = new WebSocket(location.origin.replace(/^http/, "ws") + "/input");
    socket.onopen = () => { last = ""; tell(); };
    socket.onclose = () => { socket = null; setTimeout(connect, 1000); };
  };
  const release = () => { pressed.clear(); touched.clear(); tell(); };

  // Buttons for a mouse or fingers, where a machine can be driven. Each acts like its key while it is held down.
  const BUTTONS = [ // key, sign, what it does, column and row
    ["KeyW", "\u25b2", "drive forward", 2, 1], ["KeyA", "\u25c0", "turn to the left", 1, 2],
    ["Space", "\u25a0", "stop", 2, 2], ["KeyD", "\u25b6", "turn to the right", 3, 2],
    ["KeyS", "\u25bc", "drive back", 2, 3],
  ];
  const showButtons = () => {
    let box = document.getElementById("grouser-buttons");
    if (!driving()) {
      if (box) { box.remove(); touched.clear(); }
      return;
    }
    if (box) return;
    box = document.createElement("div");
    box.id = "grouser-buttons";
    box.style.cssText = "position:fixed;left:12px;bottom:12px;z-index:1000;display:grid;gap:4px;touch-action:none;" +
      "grid-template:repeat(3,2.6em)/repeat(3,2.6em)";
    for (const [code, sign, words, column, row] of BUTTONS) {
      const button = document.createElement("button");
      button.textContent = sign;
      button.title = words;
      button.setAttribute("aria-label", words);
      button.style.cssText = `grid-area:${row}/${column};border:1px solid #8884;border-radius:6px;background:#fffc;` +
        "color:#333;user-select:none;touch-action:none";
      button.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        button.setPointerCapture(event.pointerId); // it is let go of wherever the pointer then is
        touched.set(event.pointerId, code);
        tell();
      });
      for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
        button.addEventListener(end, (event) => { if (touched.delete(event.pointerId)) tell(); });
      }
      button.addEventListener("contextmenu", (event) => event.preventDefault()); // a long touch
      box.append(button);
    }
    document.body.append(box);
  };

  window.addEventListener("keydown", (event) => {
    if (!TAKEN.has(event.code) || event.ctrlKey || event.metaKey || event.altKey || writing(event)) return;
    const moves = /^(Key[WASDQEBLT]|Arrow)/.test(event.code);
    if (moves && !driving()) return; // viser moves the free camera with these
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!event.repeat) { pressed.add(event.code); tell(); }
  }, true);
  window.addEventListener("keyup", (event) => {
    if (pressed.delete(event.code)) { event.stopImmediatePropagation(); tell(); }
  }, true);
  window.addEventListener("blur", release);
  document.addEventListener("visibilitychange", () => { if (document.hidden) release(); });
  setInterval(() => { showButtons(); tell(); }, 50);
  connect();
})();
