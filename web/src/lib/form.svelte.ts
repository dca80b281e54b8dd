// The form of a test. It stays as it was filled in, and what the address names is in it.
import type { Known } from './types'

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
  directions = $state('up')
  seconds = $state<number | null>(10)
  streams = $state<number | null>(1)
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
    const udp = query.get('udp')
    Object.assign(this, {
      host: query.get('host') ?? this.host,
      quick: query.get('quick') !== 'false',
      transport: udp === 'true' || (udp === null && this.kind === 'latency') ? 'udp' : 'tcp',
      directions: ['up', 'down', 'both'].includes(query.get('directions') ?? '') ? query.get('directions') : 'up',
      seconds: number('seconds', this.kind === 'latency' ? 5 : 10),
      streams: number('streams', 1),
      rate: query.has('bitrate') ? (number('bitrate', 0) ?? 0) / 1e6 || null : null,
      mss: number('mss', null),
      length: number('length', null),
      interval: number('interval_ms', null),
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
  fields(): Record<string, unknown> {
    const timed = this.kind === 'throughput' || this.kind === 'latency'
    const flow = this.kind === 'throughput'
    const udp = this.transport === 'udp'
    return {
      kind: this.kind,
      host: this.host.trim(),
      label: this.label.trim(),
      ...(this.kind === 'measure' ? { quick: this.quick } : {}),
      ...(timed ? { seconds: this.seconds ?? 10, udp } : {}),
      ...(timed && this.length ? { length: this.length } : {}),
      ...(timed && this.interval ? { interval_ms: this.interval } : {}),
      ...(flow ? { directions: this.directions, streams: this.streams ?? 1 } : {}),
      ...(flow && this.rate ? { bitrate: Math.round(this.rate * 1e6) } : {}),
      ...(flow && !udp && this.mss ? { mss: this.mss } : {}),
      ...(this.kind === 'latency' && this.loaded ? { loaded: true } : {}),
      ...(timed && this.dscp.trim() ? { dscp: this.dscp.trim() } : {}),
      ...(this.family ? { family: Number(this.family) } : {}),
    }
  }

  /** The same for an address: it measures the same when it is opened again. The token is not in it. */
  query(): Record<string, string> {
    const query = Object.fromEntries(Object.entries(this.fields()).map(([name, value]) => [name, String(value)]))
    this.read = String(new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')))
    return query
  }
}

export const form = new Form()
