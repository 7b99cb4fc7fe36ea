/**
 * Runs in the browser, as it stands: no build, no framework. All text goes in as text, never as markup. It draws from the
 * history that the server sends first and from the messages after it. Long, since it is one script of one page.
 */
export const SCRIPT = `
'use strict';
// The width of the plots in ms: grows with what there is to show, from one minute to five.
var SPAN = 60000, MAX = 300;
var snapshots = [], happenings = [], chosen = null, paused = false;
var arcs = JSON.parse(document.getElementById('arcs').textContent);
var names = arcs.map(function (one) { return one.name; });
var byId = function (id) { return document.getElementById(id); };

function el(tag, attributes, children) {
  var svg = /^(svg|path|line|rect|circle|text|title|g)$/.test(tag);
  var node = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (var name in attributes || {}) {
    if (name === 'hue') node.style.setProperty('--hue', attributes.hue);
    // The page's own policy forbids style attributes; this way is the script's.
    else if (name === 'style') node.style.cssText = attributes.style;
    else node.setAttribute(name, attributes[name]);
  }
  (children || []).forEach(function (child) {
    node.append(child);
  });
  return node;
}
function replace(node, children) { node.replaceChildren.apply(node, children); }
function hueOf(name) { return 'var(--c' + (Math.max(0, names.indexOf(name)) % 8) + ')'; }
function dimmed(name) { return chosen !== null && chosen !== name ? ' dim' : ''; }
function time(at) { return new Date(at).toTimeString().slice(0, 8); }
function number(value, digits) { return value === undefined || value === null ? '–' : value.toFixed(digits); }

function arc(from, to, inner, outer) {
  // A whole circle has no start and end that differ; a hair less has.
  if (to - from > 0.9999) to = from + 0.9999;
  var point = function (part, radius) {
    var angle = part * 2 * Math.PI - Math.PI / 2;
    return (120 + radius * Math.cos(angle)).toFixed(2) + ' ' + (120 + radius * Math.sin(angle)).toFixed(2);
  };
  var large = to - from > 0.5 ? 1 : 0;
  return 'M' + point(from, outer) + 'A' + outer + ' ' + outer + ' 0 ' + large + ' 1 ' + point(to, outer) +
    'L' + point(to, inner) + 'A' + inner + ' ' + inner + ' 0 ' + large + ' 0 ' + point(from, inner) + 'Z';
}

function drawRing(shards) {
  var parts = [], at = 0, told = [];
  arcs.forEach(function (one) {
    var d = '';
    for (var i = 0; i < one.arcs.length; i += 2) d += arc(one.arcs[i], one.arcs[i + 1], 84, 112);
    parts.push(el('path', { d: d, style: 'fill:' + hueOf(one.name), class: dimmed(one.name) }));
  });
  shards.forEach(function (shard) {
    if (!shard.share) return;
    var d = arc(at, at + shard.share, 60, 76);
    at += shard.share;
    parts.push(el('path', { d: d, style: 'fill:' + hueOf(shard.name) + ';stroke:var(--card);stroke-width:2', class: dimmed(shard.name) }));
    told.push(shard.name + ' ' + (shard.share * 100).toFixed(1) + ' %');
  });
  var style = 'fill:var(--text);text-anchor:middle;font-weight:600';
  parts.push(el('text', { x: 120, y: 118, style: style + ';font-size:26px' }, [String(shards.length)]));
  parts.push(el('text', { x: 120, y: 138, style: 'fill:var(--quiet);text-anchor:middle;font-size:13px' }, [shards.length === 1 ? 'shard' : 'shards']));
  replace(byId('ring'), parts);
  byId('ring').setAttribute('aria-label', 'Share of the keys: ' + told.join(', '));
}

function drawLegend(shards) {
  var list = byId('legend');
  if (list.children.length !== shards.length) {
    replace(list, shards.map(function (shard) {
      var button = el('button', { type: 'button', hue: hueOf(shard.name) }, [
        el('span', { class: 'swatch', 'aria-hidden': 'true' }), el('span', {}, [shard.name]), el('span', { class: 'num quiet' })]);
      button.addEventListener('click', function () { chosen = chosen === shard.name ? null : shard.name; draw(); });
      return el('li', {}, [button]);
    }));
  }
  shards.forEach(function (shard, i) {
    var button = list.children[i].firstChild;
    button.setAttribute('aria-pressed', String(chosen === shard.name));
    button.lastChild.textContent = shard.share === undefined ? '' : (shard.share * 100).toFixed(1) + ' %';
  });
}

function series(name, pick) {
  return snapshots.map(function (snapshot) {
    var shard = snapshot.shards.find(function (one) { return one.name === name; });
    return { at: snapshot.at, value: shard ? pick(shard) : undefined };
  });
}
function path(points, top, end) {
  var d = '', open = false;
  points.forEach(function (point) {
    if (point.value === undefined || point.value === null) { open = false; return; }
    var x = 300 - (end - point.at) / SPAN * 300, y = 46 - Math.min(1, point.value / top) * 42;
    d += (open ? 'L' : 'M') + x.toFixed(1) + ' ' + y.toFixed(1);
    open = true;
  });
  return d;
}
function plot(caption, unit, digits, lines, end) {
  var top = 0;
  lines.forEach(function (line) { line.points.forEach(function (p) { if (p.value > top) top = p.value; }); });
  top = top || 1;
  var last = lines[0].points.length ? lines[0].points[lines[0].points.length - 1].value : undefined;
  var svg = el('svg', { viewBox: '0 0 300 48', preserveAspectRatio: 'none', role: 'img',
    'aria-label': caption + ': now ' + number(last, digits) + ' ' + unit + ', at most ' + number(top, digits) + ' ' + unit + ' in the time shown' });
  lines.forEach(function (line) { svg.append(el('path', { d: path(line.points, top, end), class: line.kind })); });
  return el('figure', { class: 'plot' }, [
    el('figcaption', {}, [el('span', {}, [caption]), el('span', { class: 'num' }, [number(last, digits) + ' ' + unit])]), svg]);
}

function stateOf(shard) {
  if (shard.ready && shard.state === 'ready') return ['✓ ready', ''];
  if (shard.state === 'holding') return ['… failover announced', ' warn'];
  return ['✗ ' + shard.state, ' bad'];
}
function card(shard, end) {
  var state = stateOf(shard);
  var own = shard.callsPerSecond > 0 || snapshots.some(function (s) { var o = s.shards.find(function (x) { return x.name === shard.name; }); return o && o.callsPerSecond > 0.5; });
  var server = shard.opsPerSecond !== undefined;
  var ops = server ? [{ kind: '', points: series(shard.name, function (s) { return s.opsPerSecond; }) }] : [];
  if (own || !server) ops.push({ kind: server ? 'own' : '', points: series(shard.name, function (s) { return s.callsPerSecond; }) });
  var facts = ['epoch ' + (shard.epoch === undefined ? 'unknown' : shard.epoch)];
  if (shard.failovers) facts.push(shard.failovers + (shard.failovers === 1 ? ' failover' : ' failovers'));
  if (shard.waiting) facts.push(shard.waiting + ' waiting');
  return el('article', { class: 'card shard' + dimmed(shard.name), hue: hueOf(shard.name), 'aria-label': shard.name, 'data-shard': shard.name }, [
    el('header', {}, [el('h3', {}, [shard.name]), el('p', { class: 'pill' + state[1] }, [state[0]])]),
    el('p', { class: 'quiet facts' }, [facts.join(', ')]),
    el('div', { class: 'addr' }, ['master ' + (shard.address || 'none')]),
    el('ul', { class: 'plain quiet', 'aria-label': 'Replicas' }, shard.replicas.map(function (replica) {
      return el('li', {}, [el('span', { class: 'addr' }, ['replica ' + replica.address]), el('span', { class: replica.good ? '' : 'warn' }, [(replica.good ? ' ' : ' ! ') + replica.text])]);
    })),
    plot(server && own ? 'Commands (dashes: this pool)' : server ? 'Commands at the master' : 'Calls of this pool', '/s', 0, ops, end),
    plot('Round trip, p99', 'ms', 2, [{ kind: '', points: series(shard.name, function (s) { return s.p99Ms; }) }], end)]);
}

function drawLine(end) {
  var rows = Math.max(1, names.length), height = 120 / rows, parts = [];
  names.forEach(function (name, i) {
    var y = (i + 0.5) * height;
    parts.push(el('line', { x1: 0, x2: 1000, y1: y, y2: y, style: 'stroke:var(--line)' }));
    var from = null, bad = [];
    snapshots.forEach(function (snapshot) {
      var shard = snapshot.shards.find(function (one) { return one.name === name; });
      if (shard && !shard.ready && from === null) from = snapshot.at;
      if (shard && shard.ready && from !== null) { bad.push([from, snapshot.at]); from = null; }
    });
    if (from !== null) bad.push([from, end]);
    var x = function (at) { return 1000 - (end - at) / SPAN * 1000; };
    bad.forEach(function (span) {
      parts.push(el('rect', { x: x(span[0]), y: y - height * 0.28, width: Math.max(3, x(span[1]) - x(span[0])), height: height * 0.56, style: 'fill:var(--bad);opacity:.25' }));
    });
    happenings.forEach(function (one) {
      if (one.shard !== name || one.at < end - SPAN) return;
      var big = one.kind === 'failover' || one.kind === 'reconnect';
      var wide = big ? Math.max(4, (one.durationMs || 0) / SPAN * 1000) : 1.5;
      var tall = big ? 0.8 : 0.45;
      var color = one.kind === 'sentinel' ? 'var(--quiet)' : one.kind === 'shard-down' ? 'var(--bad)' : hueOf(name);
      parts.push(el('rect', { x: x(one.at) - wide, y: y - height * tall / 2, width: wide, height: height * tall, class: dimmed(name), style: 'fill:' + color },
        [el('title', {}, [time(one.at) + ' ' + name + ' ' + one.text])]));
    });
  });
  replace(byId('line'), parts);
  replace(byId('lanes'), names.map(function (name) { return el('span', { class: 'lane' + dimmed(name), hue: hueOf(name) }, [name]); }));
  var steps = SPAN > 120000 ? 5 : 4;
  replace(byId('axis'), Array.from({ length: steps + 1 }, function (_, i) {
    var ago = Math.round(SPAN / 1000 * (1 - i / steps));
    return el('span', {}, [i === steps ? 'now' : ago >= 120 ? (ago / 60).toFixed(1).replace('.0', '') + ' min' : ago + ' s']);
  }));
  var moved = happenings.filter(function (one) { return one.kind === 'failover' && one.at > end - SPAN; });
  byId('line').setAttribute('aria-label', moved.length === 0 ? 'No failover in the time shown' :
    moved.map(function (one) { return time(one.at) + ': ' + one.shard + ' ' + one.text; }).join('; '));
  var mark = happenings.length + ':' + (happenings.length ? happenings[happenings.length - 1].at : 0);
  if (byId('happenings').dataset.mark === mark) return;
  byId('happenings').dataset.mark = mark;
  replace(byId('happenings'), happenings.slice(-60).reverse().map(function (one) {
    return el('li', { class: one.kind }, [el('span', { class: 'num quiet' }, [time(one.at)]), el('span', {}, [one.shard || 'sentinels']), el('span', {}, [one.text])]);
  }));
  if (happenings.length === 0) replace(byId('happenings'), [el('li', { class: 'quiet' }, ['Nothing yet.'])]);
}

function drawLists(snapshot) {
  replace(byId('sentinels'), snapshot.sentinels.map(function (one) {
    return el('li', { class: 'row' }, [el('span', { class: 'addr' }, [one.address]), el('span', { class: one.good ? 'good' : 'bad' }, [(one.good ? '✓ ' : '✗ ') + one.text])]);
  }));
  if (snapshot.sentinels.length === 0) replace(byId('sentinels'), [el('li', { class: 'quiet' }, ['None: the masters are found in another way.'])]);
  var findings = snapshot.findings || [];
  replace(byId('findings'), findings.map(function (one) {
    return el('li', {}, [el('strong', { class: one.severity === 'error' ? 'bad' : 'warn' }, [(one.severity === 'error' ? '✗ ' : '! ') + one.subject + ' ']), one.cause]);
  }));
  if (findings.length === 0) replace(byId('findings'), [el('li', { class: 'quiet' }, [snapshot.findings ? 'Nothing: a failover would work.' : 'Nobody has looked yet.'])]);
  var away = snapshot.shards.filter(function (shard) { return !shard.ready; }).map(function (shard) { return shard.name; });
  var verdict = byId('verdict');
  verdict.textContent = away.length > 0 ? '✗ ' + away.join(', ') + (away.length === 1 ? ' is' : ' are') + ' away' : '✓ all ' + snapshot.shards.length + ' shards ready';
  verdict.className = 'pill' + (away.length > 0 ? ' bad' : '');
  byId('clock').textContent = (paused ? 'paused at ' : 'live, ') + time(snapshot.at);
  document.title = (away.length > 0 ? '✗ ' : '') + document.querySelector('h1').textContent;
}

function draw() {
  var snapshot = snapshots[snapshots.length - 1];
  if (!snapshot) return;
  SPAN = Math.max(60000, Math.min(300000, snapshot.at - snapshots[0].at));
  if (names.length === 0) names = snapshot.shards.map(function (shard) { return shard.name; });
  drawRing(snapshot.shards);
  drawLegend(snapshot.shards);
  replace(byId('cards'), snapshot.shards.map(function (shard) { return card(shard, snapshot.at); }));
  drawLine(snapshot.at);
  drawLists(snapshot);
}

function take(message) {
  if (message.type === 'history') { snapshots = message.snapshots; happenings = message.happenings; }
  if (message.type === 'snapshot') { snapshots.push(message.snapshot); if (snapshots.length > MAX) snapshots.shift(); }
  if (message.type === 'happening') {
    happenings.push(message.happening);
    if (happenings.length > 200) happenings.shift();
    // Only what matters is spoken: a failover brings a dozen messages.
    if (message.happening.kind === 'failover' || message.happening.kind === 'shard-down') byId('live').textContent = message.happening.shard + ' ' + message.happening.text;
  }
  if (!paused) draw();
}

byId('pause').addEventListener('click', function () {
  paused = !paused;
  byId('pause').setAttribute('aria-pressed', String(paused));
  draw();
});
var source = new EventSource('/events');
source.onmessage = function (event) { take(JSON.parse(event.data)); };
source.onerror = function () {
  byId('verdict').textContent = '✗ the dashboard has ended, or cannot be reached';
  byId('verdict').className = 'pill bad';
};
`
