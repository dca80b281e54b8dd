// Light, dark, or as the system has it; on paper light.
import { flushSync } from 'svelte'

export type Theme = 'auto' | 'light' | 'dark'

class Themes {
  chosen = $state<Theme>(kept())
  private system = window.matchMedia('(prefers-color-scheme: dark)')
  private paper = window.matchMedia('print')
  private systemDark = $state(this.system.matches)
  private printed = $state(this.paper.matches)
  /** What is drawn is to be dark. */
  dark = $derived(!this.printed && (this.chosen === 'auto' ? this.systemDark : this.chosen === 'dark'))

  constructor() {
    const update = () => {
      this.systemDark = this.system.matches
      this.show()
    }
    this.system.addEventListener('change', update)
    const print = (on: boolean) => () => {
      this.printed = on
      this.show()
      // Charts are drawn anew before the paper is.
      flushSync()
    }
    this.paper.addEventListener('change', (event) => print(event.matches)())
    window.addEventListener('beforeprint', print(true))
    window.addEventListener('afterprint', print(false))
    this.show()
  }

  next() {
    this.chosen = this.chosen === 'auto' ? (this.dark ? 'light' : 'dark') : this.chosen === 'dark' ? 'light' : 'auto'
    try {
      localStorage.setItem('theme', this.chosen)
    } catch {
      // Kept until the page is closed.
    }
    this.show()
  }

  private show() {
    document.documentElement.dataset.theme = this.dark ? 'dark' : 'light'
  }
}

function kept(): Theme {
  try {
    const theme = localStorage.getItem('theme')
    return theme === 'light' || theme === 'dark' ? theme : 'auto'
  } catch {
    return 'auto'
  }
}

export const theme = new Themes()
