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
    const state = { viewer: viewer(), keys: [...pressed].sort(), pad: pad() };
    const text = JSON.stringify(state);
    const active = pressed.size > 0 || (state.pad && (state.pad.axes.some((x) => x) || state.pad.buttons.some((x) => x)));
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
  const release = () => { pressed.clear(); tell(); };

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
  setInterval(tell, 50);
  connect();
})();
