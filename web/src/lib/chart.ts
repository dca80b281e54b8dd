// Charts over time, on a canvas: ten thousand points move without a stutter.
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { number, plain, scale } from './text'
import type { Line, Unit } from './types'

const SERIES = ['--series-1', '--series-2', '--series-3', '--series-4']

/** Lines over one axis: the times of all, and the values of each at them. */
export function aligned(lines: Line[]): uPlot.AlignedData {
  if (lines.length === 1 && lines[0]) return [lines[0].at, lines[0].values]
  const tables = lines.map((line) => [line.at, line.values] as uPlot.AlignedData)
  return tables.length ? uPlot.join(tables) : [[]]
}

/** The colour of a name in the style, as it is now. */
function colour(of: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  of.append(probe)
  const found = getComputedStyle(probe).color
  probe.remove()
  return found
}

/** Draws them into a place; the lines and the unit are those of the first drawing, the data may change. */
export function draw(place: HTMLElement, figure: string, unit: Unit, lines: Line[]): uPlot {
  const most = Math.max(0, ...lines.map((line) => line.values.reduce((most: number, v) => Math.max(most, v ?? 0), 0)))
  const [size, name] = scale(unit, most)
  const [ink, grid] = [colour(place, '--soft'), colour(place, '--line')]
  const said = (value: number | null | undefined) => (value == null ? '–' : `${number(value / size)} ${name}`.trim())
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '12px system-ui' }
  const series = lines.map((line, index): uPlot.Series => ({
    label: line.name || figure,
    stroke: colour(place, SERIES[index % SERIES.length] ?? '--ink'),
    width: 1.75,
    spanGaps: false,
    points: { show: line.at.length < 50, size: 5 },
    value: (_, value) => said(value),
  }))
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: HEIGHT,
    cursor: { sync: { key: 'time' }, drag: { x: true, y: false } },
    legend: { live: true },
    // All of it begins at zero; a part that was dragged over begins where it was dragged.
    scales: { x: { time: false, range: (u, least, most) => [least === u.data[0][0] ? 0 : least, most] }, y: { range: (_, least, most) => [Math.min(0, least), most > 0 ? most * 1.08 : 1] } },
    axes: [
      { ...axis, size: 30, values: (_, ticks) => ticks.map((tick) => `${tick} s`) },
      { ...axis, size: 58, values: (_, ticks) => ticks.map((tick) => plain(tick / size)) },
    ],
    series: [{ label: 'Time', value: (_, value) => (value == null ? '–' : `${value.toFixed(2)} s`) }, ...series],
  }
  return new uPlot(options, aligned(lines), place)
}

/** The unit in which a chart of these lines is labelled. */
export function unitName(unit: Unit, lines: Line[]): string {
  const most = Math.max(0, ...lines.map((line) => line.values.reduce((most: number, v) => Math.max(most, v ?? 0), 0)))
  return scale(unit, most)[1]
}

/** What a chart shows, for who does not see it. */
export function summary(figure: string, unit: Unit, lines: Line[]): string {
  const of = (line: Line) => {
    const values = line.values.filter((value) => value !== null).sort((a, b) => a - b)
    const [size, name] = scale(unit, values[values.length - 1] ?? 0)
    const at = (share: number) => number((values[Math.floor(share * (values.length - 1))] ?? 0) / size)
    if (!values.length) return `${line.name}: nothing was measured`
    return `${line.name}: from ${at(0)} to ${at(1)}, median ${at(0.5)} ${name}, ${values.length} points`
  }
  return `${figure} over time. ${lines.map(of).join('. ')}.`
}

export const HEIGHT = 230
