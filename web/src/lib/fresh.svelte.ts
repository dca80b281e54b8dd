// Answers that are read again while one looks, and after each test.
import { live } from './live.svelte'

/** An answer of the server, and the time at which it was right. */
export class Fresh<T> {
  value = $state.raw<T>()
  /** Why the latest reading failed; the answer before stays. */
  error = $state<unknown>()
  now = $state(Date.now())

  /** Made by a view: it reads as long as the view is shown. */
  constructor(
    private read: () => Promise<T>,
    seconds: number,
  ) {
    void this.load()
    // While a test runs its host has other work.
    $effect(() => refreshed(() => (live.running ? (this.now = Date.now()) : void this.load()), seconds))
    $effect(() => {
      if (live.changes) void this.load()
    })
  }

  load = async () => {
    try {
      this.value = await this.read()
      this.error = undefined
    } catch (failed) {
      this.error = failed
    }
    this.now = Date.now()
  }
}

/** Calls this now and then while one looks, and when something may have changed. Returns what ends it. */
export function refreshed(act: () => void, seconds: number): () => void {
  const look = () => document.visibilityState === 'visible' && act()
  const timer = setInterval(look, seconds * 1000)
  document.addEventListener('visibilitychange', look)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', look)
  }
}
