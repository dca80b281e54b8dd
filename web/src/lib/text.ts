// Numbers and times as people read them.
import type { Unit } from './types'

const RATES: [number, string][] = [
  [1e9, 'Gbit/s'],
  [1e6, 'Mbit/s'],
  [1e3, 'kbit/s'],
  [1, 'bit/s'],
]
const TIMES: [number, string][] = [
  [1, 's'],
  [1e-3, 'ms'],
  [1e-6, 'µs'],
  [1e-9, 'ns'],
]

/** The unit in which values up to this one are read with ease, and its size. */
export function scale(unit: Unit, most: number): [number, string] {
  const units = unit === 'bit/s' ? RATES : unit === 's' ? TIMES : ([[1, '']] as [number, string][])
  return units.find(([size]) => most >= size) ?? units[units.length - 1] ?? [1, '']
}

/** Three significant digits at least, whole from 100 on, thousands apart. */
export function number(value: number): string {
  const size = Math.abs(value)
  const digits = size === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f')
}

/** The same without zeros at its end: for ticks. */
export function plain(value: number): string {
  const text = number(value)
  return text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text
}

/** A value with its unit. */
export function quantity(value: number, unit: Unit): string {
  const [size, name] = scale(unit, Math.abs(value))
  return name ? `${number(value / size)} ${name}` : number(value)
}

/** `22 Nov 2026, 06:01 CET`: the zone is that of the browser. */
export function moment(time: string): string {
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return time
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
  return `${day}, ${date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' })}`
}

/** `3 min ago`, of a time that is not long past; else the moment. */
export function ago(time: string, now: number): string {
  const seconds = (now - new Date(time).getTime()) / 1000
  if (!(seconds >= 0)) return moment(time)
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`
  return moment(time)
}

/** `01a205c8`, enough to name most runs: names begin with the time. */
export function short(id: string): string {
  return id.length > 18 ? id.slice(0, 18) : id
}

/** Text and code in turn: what stands between backticks is code. */
export function pieces(text: string): { text: string; code: boolean }[] {
  const parts = text.split('`')
  if (parts.length % 2 === 0) return [{ text, code: false }]
  return parts.map((part, index) => ({ text: part, code: index % 2 === 1 })).filter((part) => part.text !== '')
}

const NAMES: Record<string, string> = {
  'rtt.p50': 'RTT median',
  'rtt.p99': 'RTT p99',
  'up.path_mtu': 'Path MTU up',
  'down.path_mtu': 'Path MTU down',
  'transfer.rate': 'Transfer rate',
  'tcp.up.loaded_rtt': 'RTT under load, up',
  'tcp.down.loaded_rtt': 'RTT under load, down',
}

/** What a figure of a list is called. */
export function figureName(name: string): string {
  const known = NAMES[name]
  if (known) return known
  const [transport, way, ...rest] = name.split('.')
  const of = rest.join(' ').replaceAll('_', ' ')
  return transport && way && of ? `${transport.toUpperCase()} ${way} ${of === 'goodput' ? '' : of}`.trim() : name
}

/** The unit of a figure of a list. */
export function unitOf(name: string): Unit {
  if (name.endsWith('goodput') || name.endsWith('rate')) return 'bit/s'
  return ''
}
