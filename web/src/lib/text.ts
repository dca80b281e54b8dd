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
  const units = unit === 'bit/s' ? RATES : unit === 's' ? TIMES : ([[1, unit]] as [number, string][])
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

/** A value with its unit; zero in the unit that all others are made of, and a count without decimals that it has not. */
export function quantity(value: number, unit: Unit): string {
  if (value === 0) return `0 ${unit}`.trim()
  const [size, name] = scale(unit, Math.abs(value))
  return name ? `${number(value / size)} ${name}` : plain(value)
}

/** Short names for those that do not fit: where many begin alike, their ends distinguish them. */
export function shortNames(names: string[], most: number): string[] {
  const half = Math.floor((most - 1) / 2)
  return names.map((name) => (name.length > most ? `${name.slice(0, most - 1 - half)}…${name.slice(name.length - half)}` : name))
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
  // A clock that is a little behind.
  if (!(seconds >= -60)) return moment(time)
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`
  return moment(time)
}

/** `in 4 min`, or the moment where that is far. */
export function until(time: string, now: number): string {
  const seconds = (new Date(time).getTime() - now) / 1000
  if (!(seconds > 0)) return 'now'
  if (seconds < 90) return `in ${Math.ceil(seconds)} s`
  if (seconds < 5400) return `in ${Math.round(seconds / 60)} min`
  if (seconds < 86400) return `in ${Math.round(seconds / 3600)} h`
  return `on ${moment(time)}`
}

/** `every 15 min`. */
export function every(seconds: number): string {
  if (seconds < 90) return `every ${Math.round(seconds)} s`
  if (seconds < 5400) return `every ${Math.round(seconds / 60)} min`
  if (seconds < 129600) return `every ${number(seconds / 3600)} h`
  return `every ${number(seconds / 86400)} days`
}

/** `01a205c8`, enough to name most runs: names begin with the time. */
export function short(id: string): string {
  return id.length > 18 ? id.slice(0, 18) : id
}

/** A text in which what is invisible, or changes the order of other letters (UAX #9), is a visible mark. */
export function shown(text: string): string {
  return text.replaceAll(/[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
}

/** Text and code in turn: what stands between backticks is code. */
export function pieces(text: string): { text: string; code: boolean }[] {
  const parts = shown(text).split('`')
  if (parts.length % 2 === 0) return [{ text: shown(text), code: false }]
  return parts.map((part, index) => ({ text: part, code: index % 2 === 1 })).filter((part) => part.text !== '')
}

const WORDS: Record<string, string> = {
  up: 'upload',
  down: 'download',
  rtt: 'RTT',
  p50: 'median',
  mtu: 'MTU',
  path_mtu: 'path MTU',
  loaded_rtt: 'RTT under load',
  goodput: '',
  mrr: 'MRR',
  ndr: 'NDR',
  pdr: 'PDR',
  count: 'count',
}
const NAMES: Record<string, string> = {
  'transfer.rate': 'Transfer rate',
  'transfer.total': 'Transfer time',
  'hops.count': 'Hops',
  'hops.rtt.p50': 'RTT median to the last hop',
}

/** What a figure of a list is called: `tcp.up.goodput` is `TCP upload`. */
export function figureName(name: string): string {
  const known = NAMES[name]
  if (known) return known
  const parts = name.split('.').map((part) => {
    if (/^\d+$/.test(part)) return `${part} bytes`
    if (/^(tcp|udp|ipv[46]|icmp)$/.test(part)) return part.replace(/[a-z]+/, (letters) => (letters === 'ipv' ? 'IPv' : letters.toUpperCase()))
    return WORDS[part] ?? part.replaceAll('_', ' ')
  })
  const text = parts.filter(Boolean).join(' ')
  return text === '' ? name : text.charAt(0).toUpperCase() + text.slice(1)
}

/** A text in which these figures are called as people call them. */
export function withNames(text: string, figures: string[]): string {
  const longest = [...figures].sort((a, b) => b.length - a.length)
  return longest.reduce((text, name) => text.replaceAll(new RegExp(`(?<![\\w.])${name.replaceAll('.', '\\.')}(?![\\w])`, 'g'), figureName(name)), text)
}

/** What a line or a part of a run is called, which the server names `TCP up` or `load both`. */
export function lineName(name: string): string {
  const found = /^(TCP |UDP |load |)(up|down|both|up and down)$/.exec(name)
  if (!found) return name
  const words: Record<string, string> = { up: 'upload', down: 'download' }
  return `${found[1]}${words[found[2] ?? ''] ?? 'both directions'}`
}

/** The value of a figure is a word, which no line can show. */
export function isWord(name: string): boolean {
  return name.endsWith('.limit')
}

/** The value of a figure of a list. */
export function figureText(figure: { name: string; value: number; text: string }): string {
  if (isWord(figure.name)) return figure.text.replaceAll('-', ' ')
  return figure.name.endsWith('loss') && figure.value <= 1 ? `${number(figure.value * 100)} %` : figure.text
}

/** The unit of a figure of a list. */
export function unitOf(name: string): Unit {
  if (/(goodput|rate)$/.test(name)) return 'bit/s'
  if (/rtt|jitter|delay|total|queue|first_byte/.test(name) && !/count/.test(name)) return 's'
  return name.endsWith('loss') ? '%' : ''
}

/** A figure's value in the unit of charts: times are kept in nanoseconds. */
export function inUnit(name: string, value: number): number {
  const unit = unitOf(name)
  return unit === '%' ? value * 100 : unit === 's' ? value / 1e9 : value
}

/** A minus as it is printed, where a value begins with one; a dash where there is no value. */
export function minus(text: string): string {
  if (text === '-') return '–'
  return text.replace(/(^|[\s(])-(?=\d)/g, '$1−')
}
