// The test that runs, followed by server-sent events. It is followed from any view, once it was looked at.
import type { LivePoint, Series, Told } from './types'

interface Kept {
  series: Series
  received: boolean[]
}

class Live {
  kind = $state('')
  host = $state('')
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
  connected = $state(false)
  private source: EventSource | undefined
  private kept: Kept[] = []
  private waits = false

  follow() {
    if (this.source) return
    this.source = new EventSource('/api/live')
    this.source.onopen = () => (this.connected = true)
    this.source.onerror = () => (this.connected = false)
    this.source.onmessage = (message: MessageEvent<string>) => this.take(JSON.parse(message.data) as Told)
  }

  leave() {
    this.source?.close()
    this.source = undefined
    this.connected = false
  }

  private take(told: Told) {
    switch (told.type) {
      case 'started':
        Object.assign(this, { kind: told.kind, host: told.host, running: true, begun: true, title: '', steps: [], part: null })
        Object.assign(this, { warnings: [], ended: undefined, failed: undefined, kept: [], charts: [] })
        break
      case 'test':
        this.title = told.title
        break
      case 'progress':
        this.part = told.progress.part ?? this.part
        this.steps = [...this.steps, told.progress.doing]
        break
      case 'points':
        told.points.forEach((point) => this.add(point))
        this.draw()
        break
      case 'warning':
        this.warnings = [...this.warnings, told.text]
        break
      case 'ended':
        this.running = false
        this.ended = told
        break
      case 'failed':
        this.running = false
        this.failed = told.why
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
    line.at.push(point.at)
    line.values.push(point.value)
  }

  private draw() {
    if (this.waits) return
    this.waits = true
    requestAnimationFrame(() => {
      this.waits = false
      this.charts = this.kept.map(({ series }) => ({ ...series, lines: series.lines.map((line) => ({ ...line })) }))
    })
  }
}

export const live = new Live()
