// Asking the server.
import { access } from './access.svelte'
import type { Session } from './types'

/** What the server refused, with a remedy. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly advice?: string,
  ) {
    super(message)
  }
}

let csrf = ''

/** Whether one has to log in. Reads the token for what changes things, too. */
export async function session(): Promise<Session> {
  const found = await get<Session>('/api/session')
  csrf = found.csrf
  access.change = found.may_change || !found.logged_in
  access.embed = found.may_embed
  return found
}

export function get<T>(path: string): Promise<T> {
  return request<T>('GET', path)
}

export function send<T = undefined>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T> {
  return request<T>(method, path, body)
}

/** The address of something about a run. */
export function ofRun(id: string, part = ''): string {
  return `/api/runs/${encodeURIComponent(id)}${part}`
}

/** Sends a file as it is. */
export function upload<T>(path: string, file: Blob): Promise<T> {
  return request<T>('POST', path, file)
}

async function request<T>(method: string, path: string, body?: unknown, again = false): Promise<T> {
  const headers: Record<string, string> = {}
  const asIs = body instanceof Blob
  if (method !== 'GET') headers['x-csrf-token'] = csrf
  if (body !== undefined) headers['content-type'] = asIs ? 'application/octet-stream' : 'application/json'
  let answer: Response
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : asIs ? body : JSON.stringify(body) })
  } catch {
    throw new Refused(0, 'the server does not answer', 'is `pathmeter ui` still running?')
  }
  if (answer.status === 403 && method !== 'GET' && !again) {
    // The server was started anew: its token is another one.
    await session()
    return request<T>(method, path, body, true)
  }
  if (answer.status === 401 && path !== '/api/login') window.dispatchEvent(new Event('logged-out'))
  const text = await answer.text()
  if (!answer.ok) {
    const why = parsed(text) as { error?: string; advice?: string } | undefined
    throw new Refused(answer.status, why?.error ?? `the server answered ${answer.status}`, why?.advice)
  }
  return parsed(text) as T
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
