/** One line of a plot. `tone` is a class of the style sheet below. */
export interface Line {
  readonly label: string
  readonly tone: 'ours' | 'theirs'
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface Panel {
  readonly title: string
  readonly xLabel: string
  /** A vertical axis from 0, or a logarithmic one where the least and the greatest are far apart. */
  readonly scale: 'linear' | 'log'
  readonly lines: readonly Line[]
}

const WIDTH = 320
const HEIGHT = 250
const PAD = { left: 46, right: 14, top: 44, bottom: 44 }
/** Two colours that are told apart by colour-blind people and stand out on white and on near-black; text follows the theme. */
const STYLE = `
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.small { font-size: 10.5px; fill: #59636e }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.ours { stroke: #0969da; fill: #0969da }
.theirs { stroke: #bc4c00; fill: #bc4c00 }
polyline { fill: none; stroke-width: 2 }
polyline.ours, polyline.theirs { fill: none }
text.ours, text.theirs { stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small { fill: #9198a1 }
  .grid { stroke: #3d444d }
  .ours { stroke: #4493f8; fill: #4493f8 }
  .theirs { stroke: #f0883e; fill: #f0883e }
}`

/** Panels side by side; horizontal axes are logarithmic, since every step is a multiple. */
export function plot(heading: string, yLabel: string, panels: readonly Panel[]): string {
  const parts = panels.map((panel, i) => `<g transform="translate(${i * WIDTH} 26)">${drawPanel(panel, yLabel)}</g>`)
  const [width, height] = [panels.length * WIDTH, HEIGHT + 26]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escapeXml(heading)}</title>`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="14" y="20">${escapeXml(heading)}</text>`,
    ...parts,
    '</svg>\n',
  ].join('\n')
}

function drawPanel({ title, xLabel, scale, lines }: Panel, yLabel: string): string {
  const xs = lines[0]!.points.map(([x]) => x)
  const [least, most] = [Math.log(xs[0]!), Math.log(xs.at(-1)!)]
  const ys = lines.flatMap(({ points }) => points.map(([, y]) => y))
  const steps = scale === 'linear' ? linearSteps(Math.max(...ys)) : logSteps(Math.min(...ys), Math.max(...ys))
  const height = HEIGHT - PAD.top - PAD.bottom
  const part = (y: number) => {
    const [from, to] = [steps[0]!, steps.at(-1)!]
    return scale === 'linear' ? y / to : Math.log(y / from) / Math.log(to / from)
  }
  const placeX = (x: number) => PAD.left + ((Math.log(x) - least) / (most - least)) * (WIDTH - PAD.left - PAD.right)
  const placeY = (y: number) => HEIGHT - PAD.bottom - part(y) * height
  return [
    `<text x="${PAD.left}" y="18" class="title">${escapeXml(title)}</text>`,
    `<text x="${PAD.left}" y="34" class="small">${escapeXml(yLabel)}</text>`,
    ...steps.map((y) => {
      const at = placeY(y).toFixed(1)
      const line = `<line class="grid" x1="${PAD.left}" x2="${WIDTH - PAD.right}" y1="${at}" y2="${at}"/>`
      return `${line}<text class="small" text-anchor="end" x="${PAD.left - 6}" y="${Number(at) + 4}">${short(y)}</text>`
    }),
    ...xs.map((x) => {
      const at = placeX(x).toFixed(1)
      return `<text class="small" text-anchor="middle" x="${at}" y="${HEIGHT - PAD.bottom + 16}">${short(x)}</text>`
    }),
    `<text class="small" text-anchor="middle" x="${(WIDTH + PAD.left - PAD.right) / 2}" y="${HEIGHT - 10}">${escapeXml(xLabel)}</text>`,
    ...lines.map(({ tone, points }) => {
      const places = points.map(([x, y]) => [placeX(x).toFixed(1), placeY(y).toFixed(1)] as const)
      const dots = places.map(([x, y]) => `<circle class="${tone}" cx="${x}" cy="${y}" r="3"/>`).join('')
      return `<polyline class="${tone}" points="${places.map((place) => place.join(',')).join(' ')}"/>${dots}`
    }),
    ...lines.map(
      ({ label, tone }, i) =>
        `<text class="${tone}" text-anchor="end" x="${WIDTH - PAD.right}" y="${18 + i * 16}">${escapeXml(label)}</text>`,
    ),
  ].join('\n')
}

function linearSteps(most: number): number[] {
  const unit = 10 ** Math.floor(Math.log10(most))
  const top = unit * ([1, 2, 4, 6, 8, 10].find((step) => step * unit >= most) ?? 10)
  return [0, 1, 2, 3, 4].map((step) => (top * step) / 4)
}

/** 1, 2, 5, 10, 20, …: from the last that is not above the least to the first that is not below the greatest. */
function logSteps(least: number, most: number): number[] {
  const all = [-2, -1, 0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power))
  return all.slice(all.findIndex((step) => step > least) - 1, all.findIndex((step) => step >= most) + 1)
}

function short(value: number): string {
  if (value >= 1024 && value % 1024 === 0) return `${value / 1024}k`
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(2)))
}

function escapeXml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;')
}
