// Charts over time, on a canvas: ten thousand points move without a stutter.
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { lineName, number, plain, scale } from './text'
import type { Line, Mark, Unit } from './types'

const SERIES = ['--series-1', '--series-2', '--series-3', '--series-4']
/** Figures of an interval: they hold from its begin to its end. */
export const STEPPED = ['Goodput', 'Retransmits']
export const HEIGHT = 230

/** A part of the axis. */
export interface Span {
  from: number
  to: number
}

/** What is drawn. */
export interface Drawing {
  figure: string
  unit: Unit
  lines: Line[]
  marks: Mark[]
  /** The axis is of dates, in seconds since 1970. */
  dates: boolean
  /** The axis across is of the unit, and the other a share. */
  shares: boolean
  fromZero: boolean
  height: number
}

/** A place of an axis that is named. */
export interface Tick {
  at: number
  text: string
}

/** A drawing on its canvas, with what the axes name in it. */
export interface Drawn {
  chart: uPlot
  ticks: { x: Tick[]; y: Tick[] }
}

/** What the reader does. */
export interface Hands {
  /** A part was dragged over. */
  zoomed: (span: Span) => void
  /** The pointer is at this place of the data; null: it is elsewhere. */
  pointed: (index: number | null, left: number) => void
  clicked: (index: number) => void
}

/** The place of a line's colour: the same name has the same colour in every chart. */
export function toneOf(line: Line, index: number): number {
  if (line.tone !== undefined) return line.tone
  const udp = line.name.startsWith('UDP') ? 2 : 0
  if (/(^| )up$|^median/.test(line.name)) return udp
  if (/(^| )down$|^p99/.test(line.name)) return udp + 1
  return index
}

/** The colour of a line, as a name of the style. */
export function toneName(tone: number): string {
  return SERIES[tone % SERIES.length] ?? '--ink'
}

/** A line as it is drawn: an interval from its begin on. */
function drawn(figure: string, line: Line): Line {
  if (!STEPPED.includes(figure) || !line.at.length) return line
  const [at, values]: [number[], (number | null)[]] = [[], []]
  line.at.forEach((time, index) => {
    const value = line.values[index] ?? null
    const before = index ? (line.values[index - 1] ?? null) : null
    if (value !== null && before === null) {
      // The begin of a later part stands there without a value.
      at.push(index ? (line.at[index - 1] ?? 0) + 1e-9 : Math.min(0, time))
      values.push(value)
    }
    at.push(time)
    values.push(value)
  })
  return { ...line, at, values }
}

/** Lines over one axis: the times of all, and the values of each at them; those of bands behind. */
export function aligned(figure: string, lines: Line[]): uPlot.AlignedData {
  const shown = lines.map((line) => drawn(figure, line))
  const bands = lines.flatMap((line) => (line.band ? [[line.at, line.band.high], [line.at, line.band.low]] : []))
  const tables = [...shown.map((line) => [line.at, line.values]), ...bands] as uPlot.AlignedData[]
  if (tables.length === 1 && tables[0]) return tables[0]
  return tables.length ? uPlot.join(tables) : [[]]
}

/** The colour of a name in the style, as it is now. */
export function colour(of: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  of.append(probe)
  const found = getComputedStyle(probe).color
  probe.remove()
  return found
}

function most(lines: Line[]): number {
  return lines.reduce((all, line) => [...line.values, ...(line.band?.high ?? [])].reduce((m: number, v) => Math.max(m, v ?? 0), all), 0)
}

/** The size and the name of the unit in which these lines are read with ease; `across`: their places are of the unit. */
export function unitOfLines(unit: Unit, lines: Line[], across = false): [number, string] {
  if (!across) return scale(unit, most(lines))
  // Half of all is more often looked at than the slowest one.
  const middles = lines.map((line) => line.at[Math.floor(line.at.length / 2)] ?? 0)
  return scale(unit, Math.max(...middles))
}

/** A value of an axis with its unit. */
function round(value: number, unit: Unit): string {
  const [size, name] = scale(unit, value)
  return `${plain(value / size)} ${name}`
}

/** Days, or hours with the day below where it begins. */
function dateTicks(ticks: number[], step: number): string[] {
  let before = ''
  return ticks.map((tick) => {
    const date = new Date(tick * 1000)
    const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', ...(step >= 86400 * 300 ? { year: 'numeric' } : {}) })
    if (step >= 86400) return day
    const time = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...(step < 60 ? { second: '2-digit' } : {}) })
    const text = day === before ? time : `${time}\n${day}`
    before = day
    return text
  })
}

/** Marks as vertical lines, with their names where these have room. */
function marked(place: HTMLElement, marks: Mark[]): uPlot.Plugin {
  const tones = { ok: '--ok', problem: '--problem', none: '--soft' } as const
  const draw = (u: uPlot) => {
    const { ctx, bbox } = u
    const ratio = devicePixelRatio || 1
    const shown = marks
      .map((mark) => ({ ...mark, x: Math.round(u.valToPos(mark.at, 'x', true)), ink: colour(place, tones[mark.tone ?? 'none']) }))
      .filter(({ x }) => x >= bbox.left - 1 && x <= bbox.left + bbox.width)
    ctx.save()
    ctx.font = `${11 * ratio}px system-ui`
    ctx.textAlign = 'left'
    ctx.textBaseline = 'alphabetic'
    ctx.setLineDash([4 * ratio, 3 * ratio])
    for (const { x, ink } of shown) {
      ctx.strokeStyle = ink
      ctx.beginPath()
      ctx.moveTo(x, bbox.top)
      ctx.lineTo(x, bbox.top + bbox.height)
      ctx.stroke()
    }
    let free = -Infinity
    for (const [index, { x, ink, name }] of shown.entries()) {
      const text = lineName(name)
      const width = ctx.measureText(text).width
      // A short part leaves the room to the one behind it.
      if ((shown[index + 1]?.x ?? Infinity) - x < width / 2) continue
      if (x < free || x + width > bbox.left + bbox.width + 4) continue
      // No line runs through the letters.
      ctx.fillStyle = getComputedStyle(place).getPropertyValue('--card')
      ctx.fillRect(x + 2 * ratio, bbox.top, width + 4 * ratio, 14 * ratio)
      ctx.fillStyle = ink
      ctx.fillText(text, x + 4 * ratio, bbox.top + 11 * ratio)
      free = x + width + 12 * ratio
    }
    ctx.restore()
  }
  return { hooks: { draw } }
}

/** Draws them into a place; the lines and the unit are those of the first drawing, the data may change. */
export function draw(place: HTMLElement, what: Drawing, hidden: Set<string>, hands: Hands): Drawn {
  const { figure, unit, lines, marks } = what
  const [size] = unitOfLines(unit, lines, what.shares)
  const [ink, grid] = [colour(place, '--soft'), colour(place, '--line')]
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '12px system-ui' }
  const stepped = STEPPED.includes(figure) ? uPlot.paths.stepped?.({ align: -1 }) : undefined
  const none: uPlot.Series.PathBuilder = () => null
  const series = lines.map((line, index): uPlot.Series => {
    const tone = toneOf(line, index)
    return {
      label: line.name || figure,
      show: !hidden.has(line.name),
      stroke: colour(place, toneName(tone)),
      dash: tone >= SERIES.length ? [6, 4] : undefined,
      width: 1.75,
      spanGaps: false,
      paths: line.loose ? none : stepped,
      points: { show: line.loose || (!stepped && line.at.length < 50), size: 5 },
    }
  })
  const bands: uPlot.Band[] = []
  lines.forEach((line, index) => {
    if (!line.band) return
    const [high, low] = [series.length + 1, series.length + 2]
    const stroke = colour(place, toneName(toneOf(line, index)))
    for (const label of ['high', 'low']) series.push({ label, show: !hidden.has(line.name), paths: undefined, stroke: 'transparent', points: { show: false } })
    bands.push({ series: [high, low], fill: stroke.replace('rgb(', 'rgba(').replace(')', ', 0.18)') })
  })
  const least = (value: number) => (what.fromZero ? Math.min(0, value) : value)
  const range: uPlot.Range.Function = (_, from, to) => {
    if (what.shares) return [0, 1]
    const [low, high] = [least(from ?? 0), to ?? 0]
    const room = (high - low || Math.abs(high) || 1) * 0.08
    return [low === 0 ? 0 : low - room, high > low || high > 0 ? high + room : 1]
  }
  const named: Drawn['ticks'] = { x: [], y: [] }
  const kept = (axis: 'x' | 'y', ticks: number[], texts: string[]) => {
    named[axis] = ticks.map((at, index) => ({ at, text: texts[index] ?? '' })).filter(({ text }) => text !== '')
    return texts
  }
  const across = (tick: number) => (!what.shares ? `${plain(tick)} s` : tick == null ? '' : round(tick, unit))
  const times: Partial<uPlot.Axis> = what.dates
    ? { size: 46, space: 72, values: (_, ticks, __, ___, step) => kept('x', ticks, dateTicks(ticks, step)) }
    : { values: (_, ticks) => kept('x', ticks, ticks.map(across)) }
  const up = (tick: number) => (what.shares ? `${plain(tick * 100)} %` : plain(tick / size))
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: what.height,
    // The last number across stands half beyond the lines.
    padding: [null, 26, null, null],
    cursor: { sync: { key: what.dates || what.shares ? `own-${figure}` : 'time' }, drag: { x: true, y: false, setScale: false } },
    legend: { show: false },
    // Round trips differ by powers of ten.
    scales: { x: { time: what.dates, distr: what.shares ? 3 : 1 }, y: { range } },
    axes: [
      { ...axis, size: 30, ...times },
      { ...axis, size: 58, values: (_, ticks) => kept('y', ticks, ticks.map(up)) },
    ],
    series: [{}, ...series],
    bands,
    plugins: [marked(place, marks)],
    hooks: {
      setSelect: [
        (u) => {
          if (u.select.width < 4) return
          hands.zoomed({ from: u.posToVal(u.select.left, 'x'), to: u.posToVal(u.select.left + u.select.width, 'x') })
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
      setCursor: [(u) => hands.pointed(u.cursor.idx ?? null, u.cursor.left ?? 0)],
      ready: [
        (u) => {
          let down = 0
          u.over.addEventListener('mousedown', (event) => (down = event.clientX))
          u.over.addEventListener('click', (event) => {
            if (Math.abs(event.clientX - down) < 4 && u.cursor.idx != null) hands.clicked(u.cursor.idx)
          })
        },
      ],
    },
  }
  return { chart: new uPlot(options, aligned(figure, lines), place), ticks: named }
}

/** Minimum, mean and maximum of a line in a part of the axis. */
export function spread(line: Line, span: Span | null): { least: number; mean: number; most: number; count: number } | null {
  let [least, mostOf, sum, count] = [Infinity, -Infinity, 0, 0]
  line.values.forEach((value, index) => {
    const at = line.at[index] ?? 0
    if (value === null || (span && (at < span.from || at > span.to))) return
    least = Math.min(least, value)
    mostOf = Math.max(mostOf, value)
    sum += value
    count++
  })
  return count ? { least, mean: sum / count, most: mostOf, count } : null
}

/** What a chart shows, for who does not see it. */
export function summary(figure: string, unit: Unit, lines: Line[]): string {
  const of = (line: Line) => {
    const values = line.values.filter((value) => value !== null).sort((a, b) => a - b)
    const [size, name] = scale(unit, values[values.length - 1] ?? 0)
    const at = (share: number) => number((values[Math.floor(share * (values.length - 1))] ?? 0) / size)
    const called = lineName(line.name)
    if (!values.length) return `${called}: nothing was measured`
    return `${called}: from ${at(0)} to ${at(1)}, median ${at(0.5)} ${name}, ${values.length} points`
  }
  return `${figure}. ${lines.map(of).join('. ')}.`
}

/** The points of these lines as rows with a header. */
export function csv(figure: string, unit: Unit, lines: Line[], dates: boolean): string {
  const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const data = lines.length === 1 && lines[0] ? [lines[0].at, lines[0].values] : uPlot.join(lines.map((line) => [line.at, line.values] as uPlot.AlignedData))
  const head = [dates ? 'time' : 'seconds', ...lines.map((line) => `${figure} ${line.name}${unit ? ` ${unit}` : ''}`.trim())]
  const time = (at: number) => (dates ? new Date(at * 1000).toISOString() : String(at))
  const rows = (data[0] as number[]).map((at, index) => [time(at), ...data.slice(1).map((values) => String(values?.[index] ?? ''))])
  return [head.map(quoted), ...rows].map((row) => row.join(',')).join('\n') + '\n'
}

/** Hands a file to the browser. */
export function save(name: string, content: Blob) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name.replaceAll(/[^\w.-]+/g, '-')
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
