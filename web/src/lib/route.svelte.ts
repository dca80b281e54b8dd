// Where one is, in the address: it can be kept, sent and reloaded.

/** The parts of the path behind the hash, and its parameters. */
class Route {
  parts = $state.raw<string[]>([])
  query = $state.raw(new URLSearchParams())
  /** One came here by the browser's buttons: what was here is wanted as it was. */
  back = $state(false)

  constructor() {
    this.read()
    window.addEventListener('hashchange', () => this.read())
  }

  private read() {
    const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
    // An entry of the history that was visited has a mark.
    this.back = history.state?.visited === true
    if (!this.back) history.replaceState({ visited: true }, '')
    this.parts = path.split('/').filter(Boolean).map(decoded)
    this.query = new URLSearchParams(query)
  }

  /** Other parameters on the same path; empty ones are left out. */
  change(values: Record<string, string>) {
    location.hash = this.changed(values)
  }

  /** The same without an entry in the history. */
  replace(values: Record<string, string>) {
    history.replaceState({ visited: true }, '', this.changed(values))
    this.query = new URLSearchParams(location.hash.split('?', 2)[1] ?? '')
  }

  private changed(values: Record<string, string>): string {
    const query = new URLSearchParams(this.query)
    for (const [name, value] of Object.entries(values)) {
      if (value === '') query.delete(name)
      else query.set(name, value)
    }
    return address(this.parts, Object.fromEntries(query))
  }
}

export const route = new Route()

/** The address of a view. */
export function address(parts: string[], query: Record<string, string> = {}): string {
  const filled = Object.entries(query).filter(([, value]) => value !== '')
  const path = `#/${parts.map(encodeURIComponent).join('/')}`
  return filled.length ? `${path}?${new URLSearchParams(filled)}` : path
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
