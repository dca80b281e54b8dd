// How smoothly a chart of many points moves: node smooth.mjs http://127.0.0.1:PORT [POINTS]
// Prints the time between frames while the pointer moves over the chart, while a part of it is chosen, and how long the
// first drawing took. Nothing is asserted: a shared machine has frames of its own.
import { chromium } from 'playwright-core'

const [base, points = '10000'] = process.argv.slice(2)
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] })
const page = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage()
const { runs } = await (await fetch(`${base}/api/runs?kind=throughput`)).json()
const at = Array.from({ length: Number(points) }, (_, index) => (index + 1) / 10)
const line = (name, level) => ({ name, at, values: at.map((x) => level * (1 + 0.2 * Math.sin(x / 7) + 0.1 * Math.random())) })
const series = ['Goodput', 'RTT under load'].map((figure) => ({
  title: 'made up',
  figure,
  unit: figure === 'Goodput' ? 'bit/s' : 's',
  lines: [line('up', figure === 'Goodput' ? 9e9 : 2e-4), line('down', figure === 'Goodput' ? 7e9 : 4e-4)],
}))
await page.route('**/series', (route) => route.fulfill({ json: series }))
await page.goto(`${base}/#/run/${runs[0].id}`)
await page.locator('canvas').nth(1).waitFor()

const frames = async (what, act) => {
  await page.evaluate(() => {
    window.frames_seen = []
    let last = performance.now()
    const next = (now) => {
      window.frames_seen.push(now - last)
      last = now
      window.frame = requestAnimationFrame(next)
    }
    window.frame = requestAnimationFrame(next)
  })
  await act()
  const seen = await page.evaluate(() => (cancelAnimationFrame(window.frame), window.frames_seen.slice(1)))
  seen.sort((a, b) => a - b)
  const at = (share) => seen[Math.min(seen.length - 1, Math.floor(share * seen.length))].toFixed(1)
  console.log(`${what}: ${seen.length} frames, median ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms`)
}

const box = await page.locator('.u-over').first().boundingBox()
const y = box.y + box.height / 2
await frames('idle', () => page.waitForTimeout(1500))
await frames('pointer', async () => {
  for (let step = 0; step <= 150; step++) await page.mouse.move(box.x + (box.width * step) / 150, y)
})
await frames('choosing a part', async () => {
  await page.mouse.move(box.x + 100, y)
  await page.mouse.down()
  for (let step = 0; step <= 60; step++) await page.mouse.move(box.x + 100 + step * 8, y)
  await page.mouse.up()
  await page.waitForTimeout(300)
})
const drawn = await page.evaluate(async () => {
  const times = []
  for (let turn = 0; turn < 20; turn++) {
    const began = performance.now()
    window.dispatchEvent(new Event('resize'))
    document.querySelector('main').style.maxWidth = `${70 + (turn % 2)}rem`
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
    times.push(performance.now() - began)
  }
  return times.sort((a, b) => a - b)
})
console.log(`drawn anew, two frames each: median ${drawn[10].toFixed(1)} ms, longest ${drawn[19].toFixed(1)} ms`)
await browser.close()
