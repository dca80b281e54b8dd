// A notification of the desktop when a long test ends while the page is not looked at, once the user has allowed it.
import { get, ofRun } from './api'
import { address } from './route.svelte'
import { shown } from './text'
import type { RunPage } from './types'

class Notifier {
  /** Browsers let pages notify that come from this host or by TLS, and no others. */
  readonly possible = window.isSecureContext && 'Notification' in window
  on = $state(this.possible && kept() && Notification.permission === 'granted')
  /** The user, or the browser, has refused it. */
  refused = $state(this.possible && Notification.permission === 'denied')

  async choose(on: boolean) {
    const permission = on ? await Notification.requestPermission() : 'default'
    this.refused = permission === 'denied'
    this.on = permission === 'granted'
    try {
      localStorage.setItem('notify', this.on ? 'on' : 'off')
    } catch {
      // Kept until the page is closed.
    }
  }

  /** A test has ended after so many seconds. */
  async ended(test: { kind: string; host: string; id: string }, seconds: number) {
    const looks = document.visibilityState === 'visible' && document.hasFocus()
    if (!this.on || looks || seconds < LONG) return
    const body = await get<RunPage>(ofRun(test.id)).then(answer, () => 'It has no result.')
    // Several tabs show one notification.
    const notification = new Notification(shown(`${test.kind} to ${test.host} has ended`), { body: shown(body), tag: test.id, icon: '/icon.svg' })
    notification.onclick = () => {
      window.focus()
      location.hash = address(['run', test.id])
      notification.close()
    }
  }
}

function answer(page: RunPage): string {
  const conclusion = page.document.blocks.find((block) => block.type === 'conclusion')
  const text = conclusion?.type === 'conclusion' ? conclusion.answer || conclusion.text : ''
  return `${(page.status ?? '').toUpperCase()} ${text}`.trim().replaceAll('`', '')
}

function kept(): boolean {
  try {
    return localStorage.getItem('notify') === 'on'
  } catch {
    return false
  }
}

/** Seconds from which on a test is long: of a shorter one users wait for the end. */
const LONG = 10

export const notifier = new Notifier()
