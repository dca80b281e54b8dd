// A real browser, and what holds of every view in it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] })
export const WIDE = { viewport: { width: 1280, height: 860 }, colorScheme: 'light', reducedMotion: 'reduce' }
export const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: 'dark', reducedMotion: 'reduce', isMobile: true }

/** A window that keeps what goes wrong in it. */
export async function open(options, context) {
  const page = await (context ?? (await browser.newContext(options))).newPage()
  page.setDefaultTimeout(60_000)
  page.wrong = []
  page.on('console', (message) => message.type() === 'error' && page.wrong.push(message.text()))
  page.on('pageerror', (error) => page.wrong.push(error.message))
  return page
}

/** Goes to a view, and waits for what shows that all of it is there. */
export async function go(page, address, shown) {
  await page.goto(address)
  await page.locator(shown).first().waitFor()
}

/** Nothing sticks out, axe finds no fault by WCAG 2.2, nothing went wrong. */
export async function check(page, name, folder) {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
  const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ['violations'], runOnly: ${JSON.stringify(tags)} })`)
  const faults = found.violations.map((fault) => `${fault.id}: ${fault.nodes.map((node) => node.html).join(' | ')}`)
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
  assert.deepEqual(faults, [], name)
  const [needed, there] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth])
  assert.ok(needed <= there, `${name} is ${needed} wide in a window of ${there}`)
  assert.deepEqual(page.wrong, [], name)
  assert.equal(await page.evaluate(() => window.hacked), undefined, `${name} ran a label`)
  console.log('ok', name)
}
