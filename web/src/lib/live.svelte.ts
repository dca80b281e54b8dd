// The test that runs. The page asks now and then what is new: a stream for each tab would take all six connections that a browser
// opens to a host. A hidden tab asks nothing, unless it is to notify the user of the end.
import { get } from './api'
import { notifier } from './notify.svelte'
import type { LivePoint, Mark, Series, Standing, LiveMessage } from './types'

interface Kept {
  series: Series
  received: boolean[]
}

const [FAST, SLOW, IDLE] = [400, 1000, 3000]

class Live {
  kind = $state('')
  host = $state('')
  label = $state('')
  /** The name that the test is kept under. */
  id = $state('')
  running = $state(false)
  begun = $state(false)
  title = $state('')
  steps = $state.raw<string[]>([])
  part = $state.raw<[number, number] | null>(null)
  warnings = $state.raw<string[]>([])
  ended = $state.raw<{ id: string; error: string | null } | undefined>()
  failed = $state.raw<{ error: string; advice?: string } | undefined>()
  /** Drawn anew at most once a frame. */
  charts = $state.raw<Series[]>([])
  connected = $state(true)
  /** Seconds since the test began. */
  elapsed = $state(0)
  /** Seconds that it takes, as far as that is known. */
  expected = $state<number | null>(null)
  /** Counts what changes the kept runs. */
  changes = $state(0)
  private watchers = 0
  private server = ''
  private number = 0
  private next = 0
  private kept: Kept[] = []
  private marks: Mark[] = []
  private waits = false
  private timer: ReturnType<typeof setTimeout> | undefined
  private asks = false
  private on = false

  constructor() {
    document.addEventListener('visibilitychange', () => this.soon())
  }

  /** Follows the test as long as one may look. */
  follow(on: boolean) {
    this.on = on
    this.soon()
  }

  /** A view shows all of the test; returns what ends that. */
  watch(): () => void {
    this.watchers++
    this.soon()
    return () => void this.watchers--
  }

  /** Asks at once: something was started or stopped. */
  soon() {
    clearTimeout(this.timer)
    if (this.wanted) void this.ask()
  }

  /** Somebody looks, or waits for the end. */
  private get wanted(): boolean {
    return this.on && (document.visibilityState === 'visible' || (this.running && notifier.on))
  }

  /** `0:12 of about 0:30`. */
  get clock(): string {
    const left = this.expected === null ? null : this.expected - this.elapsed
    if (left === null) return clock(this.elapsed)
    return left > 0 ? `${clock(this.elapsed)}, about ${clock(left)} left` : `${clock(this.elapsed)}, finishing`
  }

  private async ask() {
    if (this.asks) return
    this.asks = true
    const whole = this.watchers > 0
    // Without a view of it the story is not wanted.
    const query = new URLSearchParams({
      server: this.server,
      number: String(this.number),
      next: String(whole ? this.next : Number.MAX_SAFE_INTEGER),
    })
    try {
      this.take(await get<Standing>(`/api/live/standing?${query}`), whole)
      this.connected = true
    } catch {
      this.connected = false
    }
    this.asks = false
    clearTimeout(this.timer)
    const wait = this.running ? (this.watchers ? FAST : SLOW) : IDLE
    if (this.wanted) this.timer = setTimeout(() => void this.ask(), wait)
  }

  private take(now: Standing, whole: boolean) {
    const other = now.server !== this.server || now.number !== this.number
    if (other) {
      // Another test, or a server that was started anew and knows none.
      this.next = 0
      this.reset()
    }
    const ran = this.running && !other
    Object.assign(this, { server: now.server, number: now.number, running: now.running, begun: now.number > 0 })
    if (now.test) {
      const { kind, host, label, id, elapsed_seconds, expected_seconds } = now.test
      Object.assign(this, { kind, host, label, id, elapsed: elapsed_seconds, expected: expected_seconds })
    }
    if (whole) {
      now.story.forEach((message) => this.apply(message))
      this.next = now.next
    }
    if (ran && !now.running) {
      this.changes++
      void notifier.ended({ kind: this.kind, host: this.host, id: this.id }, this.elapsed)
    }
  }

  private reset() {
    Object.assign(this, { title: '', steps: [], part: null, warnings: [], ended: undefined, failed: undefined })
    Object.assign(this, { kept: [], marks: [], charts: [], running: false })
  }

  private apply(message: LiveMessage) {
    switch (message.type) {
      case 'test':
        this.title = message.title
        break
      case 'progress':
        this.part = message.progress.part ?? this.part
        this.steps = [...this.steps, message.progress.doing]
        break
      case 'points':
        message.points.forEach((point) => this.add(point))
        this.draw()
        break
      case 'mark':
        this.marks.push({ at: message.at, name: message.name })
        break
      case 'warning':
        this.warnings = [...this.warnings, message.text]
        break
      case 'ended':
        this.ended = message
        break
      case 'failed':
        this.failed = message.why
        break
    }
  }

  /** What the receiver counted takes the place of what the sender reported of the same line. */
  private add(point: LivePoint) {
    let kept = this.kept.find((kept) => kept.series.figure === point.figure)
    if (!kept) {
      kept = { series: { title: '', figure: point.figure, unit: point.unit, lines: [] }, received: [] }
      this.kept.push(kept)
    }
    let index = kept.series.lines.findIndex((line) => line.name === point.line)
    if (index < 0) index = kept.series.lines.push({ name: point.line, at: [], values: [] }) - 1
    const line = kept.series.lines[index]
    if (!line) return
    if (kept.received[index] && !point.received && point.figure === 'Goodput') return
    if (point.received && !kept.received[index]) {
      kept.received[index] = true
      line.at = []
      line.values = []
    }
    // A part that begins later does not begin where the one before ended.
    const last = line.at[line.at.length - 1] ?? 0
    if (point.begin > last + 1e-3) {
      line.at.push(point.begin)
      line.values.push(null)
    }
    line.at.push(point.at)
    line.values.push(point.value)
  }

  private draw() {
    if (this.waits) return
    this.waits = true
    requestAnimationFrame(() => {
      this.waits = false
      const marks = [...this.marks]
      this.charts = this.kept.map(({ series }) => ({ ...series, marks, lines: series.lines.map((line) => ({ ...line })) }))
    })
  }
}

/** `1:05`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

export const live = new Live()
