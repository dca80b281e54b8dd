// A chart as a file of SVG: what the canvas shows, with its title above and the names of its lines below.
import { STEPPED, colour, toneName, toneOf, type Drawing, type Drawn } from './chart'
import { lineName, shown } from './text'

const NAMESPACE = 'http://www.w3.org/2000/svg'
const [TITLE, ROW, FONT] = [28, 18, 12]

type Attributes = Record<string, string | number>

/** Elements are made by the browser: no name becomes a tag. */
function element(name: string, attributes: Attributes, text = ''): SVGElement {
  const made = document.createElementNS(NAMESPACE, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, typeof value === 'number' ? String(+value.toFixed(2)) : value)
  if (text) made.textContent = shown(text)
  return made
}

/** The drawing, in the colours that the page has around `place`. */
export function svg(title: string, what: Drawing, { chart, ticks }: Drawn, hidden: Set<string>, place: HTMLElement): string {
  const lines = what.lines.map((line, index) => ({ line, data: chart.data[index + 1], tone: toneOf(line, index) })).filter(({ line }) => !hidden.has(line.name))
  const [ratio, { left, top, width, height }] = [devicePixelRatio || 1, chart.bbox]
  const plot = { left: left / ratio, top: top / ratio + TITLE, width: width / ratio, height: height / ratio }
  const all = { width: chart.width, height: chart.height + TITLE + lines.length * ROW + 8 }
  const x = (value: number) => plot.left + chart.valToPos(value, 'x')
  const y = (value: number) => plot.top + chart.valToPos(value, 'y')
  const [ink, soft, grid, paper] = ['--ink', '--soft', '--line', '--card'].map((name) => colour(place, name))

  const root = element('svg', { viewBox: `0 0 ${all.width} ${all.height}`, width: all.width, height: all.height, 'font-family': 'system-ui, sans-serif', 'font-size': FONT })
  const write = (text: string, at: Attributes) => root.append(element('text', { fill: soft ?? '', ...at }, text))
  root.append(element('title', {}, title), element('rect', { width: all.width, height: all.height, fill: paper ?? '' }))
  write(title, { x: 12, y: 19, fill: ink ?? '', 'font-weight': 600 })
  for (const { at, text } of ticks.y) {
    root.append(element('path', { d: `M${plot.left} ${y(at)}h${plot.width}`, stroke: grid ?? '' }))
    write(text, { x: plot.left - 8, y: y(at) + 4, 'text-anchor': 'end' })
  }
  for (const { at, text } of ticks.x) {
    root.append(element('path', { d: `M${x(at)} ${plot.top}v${plot.height}`, stroke: grid ?? '' }))
    text.split('\n').forEach((part, row) => write(part, { x: x(at), y: plot.top + plot.height + 18 + row * 15, 'text-anchor': 'middle' }))
  }
  // What goes on beyond the part that is shown ends at its edge.
  const clip = element('clipPath', { id: 'plot' })
  clip.append(element('rect', { x: plot.left, y: plot.top, width: plot.width, height: plot.height }))
  const inside = element('g', { 'clip-path': 'url(#plot)', fill: 'none' })
  root.append(clip, inside)
  let band = what.lines.length + 1
  for (const [index, line] of what.lines.entries()) {
    if (!line.band) continue
    const [high, low] = [chart.data[band++], chart.data[band++]]
    if (!hidden.has(line.name)) inside.append(element('path', { d: area(chart.data[0], high, low, x, y), fill: colour(place, toneName(toneOf(line, index))), 'fill-opacity': 0.18 }))
  }
  for (const mark of what.marks) {
    const tone = mark.tone === 'problem' ? '--problem' : mark.tone === 'ok' ? '--ok' : '--soft'
    inside.append(element('path', { d: `M${x(mark.at)} ${plot.top}v${plot.height}`, stroke: colour(place, tone), 'stroke-dasharray': '4 3' }))
    inside.append(element('text', { x: x(mark.at) + 4, y: plot.top + 11, fill: colour(place, tone), 'font-size': 11 }, lineName(mark.name)))
  }
  lines.forEach(({ line, data, tone }, row) => {
    const stroke = colour(place, toneName(tone))
    const dashed: Attributes = tone >= 4 ? { 'stroke-dasharray': '6 4' } : {}
    const below = all.height - (lines.length - row) * ROW + 4
    inside.append(element('path', { d: line.loose ? dots(chart.data[0], data, x, y) : trace(chart.data[0], data, x, y, STEPPED.includes(what.figure)), stroke, 'stroke-width': 1.75, 'stroke-linejoin': 'round', ...dashed }))
    root.append(element('path', { d: `M${plot.left} ${below - 4}h18`, stroke, 'stroke-width': 4, ...dashed }))
    write(lineName(line.name) || what.figure, { x: plot.left + 26, y: below, fill: ink ?? '' })
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(root)}\n`
}

type Values = ArrayLike<number | null | undefined> | undefined
type Place = (value: number) => number

const point = (at: number, value: number) => `${+at.toFixed(2)} ${+value.toFixed(2)}`

/** A line that breaks where nothing was measured; times of other lines are none of its own. */
function trace(times: ArrayLike<number>, values: Values, x: Place, y: Place, stepped: boolean): string {
  let [path, on] = ['', false]
  for (let index = 0; index < times.length; index++) {
    const value = values?.[index]
    if (value === undefined) continue
    if (value === null) {
      on = false
      continue
    }
    const at = x(times[index] ?? 0)
    path += !on ? `M${point(at, y(value))}` : stepped ? `V${+y(value).toFixed(2)}H${+at.toFixed(2)}` : `L${point(at, y(value))}`
    on = true
  }
  return path
}

function dots(times: ArrayLike<number>, values: Values, x: Place, y: Place): string {
  return Array.from(times, (time, index) => {
    const value = values?.[index]
    return value == null ? '' : `M${point(x(time) - 2.5, y(value))}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0`
  }).join('')
}

/** What lies between two lines, where both have values. */
function area(times: ArrayLike<number>, high: Values, low: Values, x: Place, y: Place): string {
  const both = Array.from(times, (time, index) => [time, high?.[index], low?.[index]] as const).filter((row): row is readonly [number, number, number] => row[1] != null && row[2] != null)
  if (!both.length) return ''
  const above = both.map(([time, most]) => point(x(time), y(most)))
  const below = both.map(([time, , least]) => point(x(time), y(least))).reverse()
  return `M${[...above, ...below].join('L')}Z`
}
