import { SCRIPT } from './page-script.js'
import { STYLE } from './page-style.js'
import type { ShardArcs } from './ring-arcs.js'

/** The whole page: one document, nothing loaded from elsewhere. All that is live is filled in by the script. */
export function page(title: string, arcs: readonly ShardArcs[], nonce: string): string {
  const heading = escapeText(title)
  // `<` cannot end the script element inside a JSON text when it is written as an escape.
  const data = JSON.stringify(arcs).replaceAll('<', '\\u003c')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${heading}</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<a class="skip" href="#shards">Skip to the shards</a>
<header>
  <h1>${heading}</h1>
  <p id="verdict" class="pill">connecting</p>
  <p id="clock" class="quiet"></p>
  <button id="pause" type="button" aria-pressed="false">Pause</button>
</header>
<p id="live" class="sr" role="status" aria-live="polite"></p>
<main>
  <section class="card ring" aria-labelledby="ring-h">
    <h2 id="ring-h">Ring</h2>
    <svg id="ring" viewBox="0 0 240 240" role="img" aria-label="The ring"></svg>
    <ul id="legend" aria-label="Shards; press one to bring it out in every picture"></ul>
  </section>
  <section id="shards" aria-labelledby="shards-h" tabindex="-1">
    <h2 id="shards-h" class="sr">Shards</h2>
    <div id="cards"></div>
  </section>
  <section class="card wide" aria-labelledby="line-h">
    <h2 id="line-h">Time line</h2>
    <div class="lanes"><div id="lanes" aria-hidden="true"></div><svg id="line" viewBox="0 0 1000 120" preserveAspectRatio="none" role="img" aria-label="Nothing has happened yet"></svg>
    <div id="axis" class="axis quiet" aria-hidden="true"></div></div>
    <ol id="happenings" class="log" tabindex="0" aria-label="What happened, the latest first"></ol>
  </section>
  <section class="card" aria-labelledby="sentinels-h">
    <h2 id="sentinels-h">Sentinels</h2>
    <ul id="sentinels" class="plain"></ul>
  </section>
  <section class="card" aria-labelledby="doctor-h">
    <h2 id="doctor-h">What doctor finds</h2>
    <ul id="findings" class="plain"></ul>
  </section>
</main>
<noscript><p class="card">This page is drawn by a script of its own; it needs JavaScript.</p></noscript>
<script type="application/json" id="arcs">${data}</script>
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>
`
}

function escapeText(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
}
