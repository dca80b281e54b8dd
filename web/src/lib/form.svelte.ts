// The form of a test. It stays as it was filled in, and what the address names is in it.
import type { Known, TestFields } from './types'

export const KINDS = [
  ['measure', 'Measure', 'Round trips, path MTU, TCP and UDP in each direction, and what limits them'],
  ['throughput', 'Throughput', 'Goodput of TCP or UDP to and from the far end'],
  ['latency', 'Latency', 'Round-trip times and their percentiles, idle or under load'],
  ['mtu', 'Packet sizes', 'Path MTU and fragments, in both directions'],
  ['hops', 'Hops', 'Routers on the path, with loss and delay'],
] as const

/** Marks that networks often treat differently; any name or number is taken. */
export const DSCP = [
  ['ef', 'expedited forwarding, voice'],
  ['af41', 'assured forwarding, video'],
  ['af31', 'assured forwarding'],
  ['af21', 'assured forwarding'],
  ['af11', 'assured forwarding'],
  ['cs1', 'background (older)'],
  ['le', 'lower effort, background'],
  ['cs6', 'network control'],
] as const

class Form {
  kind = $state<string>('measure')
  host = $state('')
  quick = $state(true)
  transport = $state<'tcp' | 'udp'>('tcp')
  direction = $state('up')
  seconds = $state<number | null>(10)
  parallel = $state<number | null>(1)
  /** Mbit/s of each stream; null: as fast as it goes. */
  rate = $state<number | null>(null)
  mss = $state<number | null>(null)
  length = $state<number | null>(null)
  /** Milliseconds between reports; null: as it suits the length of the test. */
  interval = $state<number | null>(null)
  loaded = $state(false)
  dscp = $state('')
  family = $state('')
  label = $state('')
  token = $state('')
  known = $state.raw<Known>({ targets: [], labels: [], kinds: [], configured: [] })
  private read = ''

  /** Takes what an address names; the same address is taken once, so that what was typed since stays. */
  take(query: URLSearchParams) {
    const text = String(query)
    if (text === '' || text === this.read) return
    this.read = text
    const kind = query.get('kind') ?? ''
    const number = (name: string, usual: number | null) => {
      const value = Number(query.get(name))
      return query.has(name) && Number.isFinite(value) && value > 0 ? value : usual
    }
    if (KINDS.some(([name]) => name === kind)) this.kind = kind
    const time = (name: string, usual: number | null) => milliseconds(query.get(name)) ?? usual
    const transport = query.get('transport') ?? (this.kind === 'latency' ? 'udp' : 'tcp')
    Object.assign(this, {
      host: query.get('host') ?? this.host,
      quick: query.get('quick') !== 'false',
      transport: transport === 'udp' ? 'udp' : 'tcp',
      direction: ['up', 'down', 'both'].includes(query.get('direction') ?? '') ? query.get('direction') : 'up',
      seconds: (time('time', null) ?? (this.kind === 'latency' ? 5000 : 10000)) / 1000,
      parallel: number('parallel', 1),
      rate: query.has('bitrate') ? (number('bitrate', 0) ?? 0) / 1e6 || null : null,
      mss: number('mss', null),
      length: number(this.kind === 'latency' ? 'size' : 'length', null),
      interval: time('interval', null),
      loaded: query.get('loaded') === 'true',
      dscp: query.get('dscp') ?? '',
      family: ['4', '6'].includes(query.get('family') ?? '') ? query.get('family') : '',
      label: query.get('label') ?? this.label,
    })
  }

  /** Another kind of test begins with its usual values. */
  choose(kind: string) {
    this.kind = kind
    this.transport = kind === 'latency' ? 'udp' : 'tcp'
    this.seconds = kind === 'latency' ? 5 : 10
    this.length = null
  }

  /** The test that runs, as far as it is known. */
  follow(kind: string, host: string, label: string) {
    if (kind !== this.kind) this.choose(kind)
    Object.assign(this, { host, label })
  }

  /** The fields that a test of this kind has, as the API takes them. */
  fields(): TestFields {
    const timed = this.kind === 'throughput' || this.kind === 'latency'
    const flow = this.kind === 'throughput'
    const keys = {
      ...(this.kind === 'measure' ? { quick: this.quick } : {}),
      ...(timed ? { time: `${this.seconds ?? 10}s`, transport: this.transport } : {}),
      ...(timed && this.length ? { [flow ? 'length' : 'size']: this.length } : {}),
      ...(timed && this.interval ? { interval: `${this.interval}ms` } : {}),
      ...(flow ? { direction: this.direction, parallel: this.parallel ?? 1 } : {}),
      ...(flow && this.rate ? { bitrate: Math.round(this.rate * 1e6) } : {}),
      ...(flow && this.transport === 'tcp' && this.mss ? { mss: this.mss } : {}),
      ...(this.kind === 'latency' && this.loaded ? { loaded: true } : {}),
      ...(timed && this.dscp.trim() ? { dscp: this.dscp.trim() } : {}),
    }
    const family = this.family ? { family: Number(this.family) } : {}
    return { kind: this.kind, host: this.host.trim(), label: this.label.trim(), keys, ...family }
  }

  /** The same for an address: it measures the same when it is opened again. The token is not in it. */
  query(): Record<string, string> {
    const query = flat(this.fields())
    this.read = String(new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')))
    return query
  }
}

/** A test as the parameters of an address. */
export function flat({ keys, ...fields }: TestFields): Record<string, string> {
  return Object.fromEntries(Object.entries({ ...fields, ...keys }).map(([name, value]) => [name, String(value)]))
}

/** A time such as 10s or 250ms, in milliseconds; null: it is none. */
function milliseconds(text: string | null): number | null {
  const found = /^(\d+(?:\.\d+)?)(ms|s|min|h)?$/.exec(text ?? '')
  const unit = { ms: 1, s: 1e3, min: 6e4, h: 36e5 }[found?.[2] ?? 's'] ?? 1e3
  return (found && Number(found[1]) * unit) || null
}

export const form = new Form()
