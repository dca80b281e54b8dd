// The list of runs as it was left: after Back it is so again.
import { Refused, get } from './api'
import type { Entry } from './types'

interface Page {
  runs: Entry[]
  more: boolean
  count: number
}

class Runs {
  runs = $state.raw<Entry[]>([])
  more = $state(false)
  count = $state(0)
  loading = $state(false)
  error = $state<unknown>()
  /** Chosen runs, and the set of a comparison that each was put into by hand. */
  chosen = $state.raw<Record<string, '' | 'A' | 'B'>>({})
  /** How far it was scrolled. */
  scrolled = 0
  private query = ''
  private number = 0

  /** Shows what this query finds; what is shown already stays until it is there. */
  async open(query: string) {
    if (query !== this.query) Object.assign(this, { query, runs: [], chosen: {}, more: false, count: 0, scrolled: 0 })
    await this.refresh()
  }

  /** Reads the first runs anew: new ones come before, others have ended meanwhile. */
  async refresh() {
    await this.load('', (found) => {
      const fresh = new Set(found.runs.map((run) => run.id))
      const last = found.runs[found.runs.length - 1]
      const place = last ? this.runs.findIndex((run) => run.id === last.id) : -1
      // Behind the last one of them the list is as it was.
      const rest = place >= 0 ? this.runs.slice(place + 1).filter((run) => !fresh.has(run.id)) : []
      if (!rest.length) this.more = found.more
      this.runs = [...found.runs, ...rest]
    })
  }

  async older() {
    await this.load(this.runs[this.runs.length - 1]?.id ?? '', (found) => {
      this.runs = [...this.runs, ...found.runs]
      this.more = found.more
    })
  }

  private async load(after: string, take: (found: Page) => void) {
    const mine = ++this.number
    this.loading = true
    const query = new URLSearchParams(this.query)
    if (after) query.set('after', after)
    try {
      const found = await get<Page>(`/api/runs?${query}`)
      if (mine !== this.number) return
      take(found)
      this.count = found.count
      this.error = undefined
    } catch (failed) {
      if (mine !== this.number) return
      if (after && failed instanceof Refused && failed.status === 404) {
        // The run that the list goes on behind was taken out meanwhile.
        this.runs = this.runs.slice(0, -1)
        return this.older()
      }
      this.error = failed
    }
    if (mine === this.number) this.loading = false
  }

  choose(id: string) {
    const { [id]: was, ...others } = this.chosen
    this.chosen = was === undefined ? { ...others, [id]: '' } : others
  }

  put(id: string, set: 'A' | 'B') {
    this.chosen = { ...this.chosen, [id]: set }
  }
}

export const list = new Runs()
