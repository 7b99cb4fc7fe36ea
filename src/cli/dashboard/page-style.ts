/** Colours carry no meaning alone: every state is also a word, every shard also a name. Contrast is AA in both schemes. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --bg: #f5f6f8; --card: #fff; --line: #d9dde3; --text: #1a2029; --quiet: #5b6573;
  --good: #0b7a4b; --goodbg: #dff5ea; --warn: #8a5a00; --warnbg: #fdf0d0; --bad: #b3261e; --badbg: #fce4e2; --focus: #1d5fd1;
  --c0: #2a6fdb; --c1: #c2410c; --c2: #0f8a6d; --c3: #8b3fc7; --c4: #a16b00; --c5: #c0266d; --c6: #4d7c0f; --c7: #0e7490;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #11151b; --card: #1a2029; --line: #333c49; --text: #e8ecf2; --quiet: #a3aebd;
    --good: #58d6a0; --goodbg: #123528; --warn: #f0c15c; --warnbg: #3a2e10; --bad: #ff8a80; --badbg: #43191a; --focus: #8ab4ff;
    --c0: #6ea8ff; --c1: #ff9057; --c2: #3fd0a8; --c3: #c792f5; --c4: #e5b94e; --c5: #f582b5; --c6: #a3d355; --c7: #56cbe0;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1rem; background: var(--bg); color: var(--text);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.25rem; margin: 0; overflow-wrap: anywhere; } h2 { font-size: 1rem; margin: 0 0 .6rem; } h3 { font-size: 1rem; margin: 0; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; margin-bottom: 1rem; }
header p { margin: 0; } #clock { margin-left: auto; }
main { display: grid; grid-template-columns: minmax(15rem, 20rem) 1fr; gap: 1rem; align-items: start; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: 1rem; min-width: 0; }
.wide { grid-column: 1 / -1; }
#cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem; }
.quiet { color: var(--quiet); font-size: .87rem; }
.pill { display: inline-block; border-radius: 1rem; padding: .1rem .7rem; font-size: .87rem; font-weight: 600; white-space: nowrap; }
.pill, .good { color: var(--good); } .pill { background: var(--goodbg); }
.warn { color: var(--warn); } .pill.warn { background: var(--warnbg); }
.bad { color: var(--bad); } .pill.bad { background: var(--badbg); }
button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .25rem .8rem; min-height: 2.2rem; cursor: pointer; }
button[aria-pressed="true"] { border-color: var(--focus); box-shadow: inset 0 0 0 1px var(--focus); font-weight: 600; }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.ring svg { display: block; width: 100%; max-width: 17rem; margin: 0 auto; }
ul.plain, #legend, ol.log { list-style: none; margin: 0; padding: 0; }
#legend { display: flex; flex-direction: column; gap: .3rem; margin-top: .8rem; }
#legend button { width: 100%; display: flex; align-items: center; gap: .5rem; text-align: left; }
#legend .num { margin-left: auto; } .num { font-variant-numeric: tabular-nums; }
.swatch { flex: none; width: .8rem; height: .8rem; border-radius: .2rem; background: var(--hue); }
.shard { border-top: 4px solid var(--hue); transition: opacity .2s; }
.shard header { margin: 0 0 .3rem; gap: .5rem; } .shard header .pill { margin-left: auto; }
.addr { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .87rem; overflow-wrap: anywhere; }
.plot { margin: .7rem 0 0; } .plot figcaption { display: flex; justify-content: space-between; font-size: .87rem; }
.plot svg { display: block; width: 100%; height: 96px; margin-top: .15rem; border-bottom: 1px solid var(--line); }
.plot path { fill: none; stroke: var(--hue); stroke-width: 1.6; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.plot path.area { fill: var(--hue); opacity: .14; stroke: none; } .plot path.own { stroke: var(--text); stroke-dasharray: 3 3; opacity: .75; }
.dim { opacity: .28; }
.lanes { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 .6rem; } #lanes { display: grid; grid-auto-rows: 1fr; }
.lane { display: flex; align-items: center; font-size: .87rem; max-width: 9rem; overflow: hidden; text-overflow: ellipsis; color: var(--hue); font-weight: 600; }
.facts { margin: 0 0 .3rem; }
#line { display: block; width: 100%; height: 120px; border: 1px solid var(--line); border-radius: .3rem; }
.axis { grid-column: 2; display: flex; justify-content: space-between; margin: .2rem 0 .6rem; }
.log { max-height: 15rem; overflow: auto; } .log li { display: grid; grid-template-columns: 4.6rem minmax(4rem, 9rem) 1fr; gap: .6rem; padding: .2rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.log li.failover { font-weight: 600; }
ul.plain li { padding: .25rem 0; border-top: 1px solid var(--line); } ul.plain li:first-child { border: 0; }
.row { display: flex; justify-content: space-between; gap: .6rem; flex-wrap: wrap; }
.sr, .skip:not(:focus) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 46rem) {
  main { grid-template-columns: minmax(0, 1fr); } body { padding: .7rem; }
  .log li { grid-template-columns: 4.6rem 1fr; } .log li span:last-child { grid-column: 1 / -1; }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
`
