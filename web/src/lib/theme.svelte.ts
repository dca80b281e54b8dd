// Light, dark, or as the system has it.

export type Theme = 'auto' | 'light' | 'dark'

class Themes {
  chosen = $state<Theme>(kept())
  private system = window.matchMedia('(prefers-color-scheme: dark)')
  private systemDark = $state(this.system.matches)
  /** What is drawn is to be dark. */
  dark = $derived(this.chosen === 'auto' ? this.systemDark : this.chosen === 'dark')

  constructor() {
    this.system.addEventListener('change', () => (this.systemDark = this.system.matches))
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
    document.documentElement.dataset.theme = this.chosen
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
