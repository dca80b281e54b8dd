// Where one is, in the address: it can be kept, sent and reloaded.

/** The parts of the path behind the hash, and its parameters. */
class Route {
  parts = $state.raw<string[]>([])
  query = $state.raw(new URLSearchParams())

  constructor() {
    this.read()
    window.addEventListener('hashchange', () => this.read())
  }

  private read() {
    const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
    this.parts = path.split('/').filter(Boolean).map(decoded)
    this.query = new URLSearchParams(query)
  }

  /** Other parameters on the same path; empty ones are left out. */
  change(values: Record<string, string>) {
    const query = new URLSearchParams(this.query)
    for (const [name, value] of Object.entries(values)) {
      if (value === '') query.delete(name)
      else query.set(name, value)
    }
    location.hash = address(this.parts, Object.fromEntries(query))
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
