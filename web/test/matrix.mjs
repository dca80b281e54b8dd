// The matrix of a mesh: of many agents, read again while it stays open, and round by round.
import assert from 'node:assert/strict'
import { PHONE, WIDE, check, go, open } from './browser.mjs'

/** A matrix of 40 agents fits a window, and on a phone cells are seen. */
export async function matrix(at, folder) {
  const agents = Array.from({ length: 40 }, (_, number) => `agent-with-a-rather-long-name-${number}`)
  const cells = agents.flatMap((from) => agents.filter((to) => to !== from).map((to) => ({ from, to, state: 'done', tone: 'ok', figure: { name: 'tcp.up.goodput', value: 1e9, text: '1 Gbit/s' }, reason: null, run: `${from}-${to}`, target: `${from} -> ${to}`, started: '2026-11-23T03:00:00Z' })))
  const findings = Array.from({ length: 254 }, (_, number) => ({ id: 'x', test: 'throughput', title: `finding ${number}` }))
  const mesh = { label: 'night', started: '2026-11-23T03:00:00Z', finished: null, round: null, rounds: [], findings, matrices: [{ test: 'throughput', family: null, figure: 'tcp.goodput', higher_is_better: true, agents, cells }] }
  for (const [options, least] of [[{ ...WIDE, viewport: { width: 1440, height: 900 } }, 40], [PHONE, 8]]) {
    const page = await open(options)
    await page.route('**/api/meshes', (route) => route.fulfill({ json: { meshes: [mesh], looked_at: 1560 } }))
    await go(page, at('#/mesh'), 'section.card td a')
    const seen = await page.locator('section.card tbody tr').first().locator('td').evaluateAll((cells) => cells.filter((cell) => cell.getBoundingClientRect().right <= window.innerWidth && cell.getBoundingClientRect().left > 0).length)
    assert.ok(seen >= least, `${seen} columns are seen`)
    assert.ok((await page.locator('section.card').first().boundingBox()).y < 900, 'findings do not hide it')
    const names = await page.locator('section.card tbody th').allInnerTexts()
    assert.equal(new Set(names).size, 40, 'names that begin alike differ')
    const [label, cell] = await Promise.all(['th', 'td a'].map((part) => page.locator(`section.card tbody tr:nth-child(2) ${part}`).first().boundingBox()))
    assert.ok(Math.abs(label.y + label.height / 2 - cell.y - cell.height / 2) < 4, 'a name stands beside its cells')
    if (folder) await page.screenshot({ path: `${folder}/matrix-${options.viewport.width}.png` })
    await page.context().close()
  }
  // A matrix that stays open is read again.
  const page = await open(WIDE)
  let asked = 0
  await page.route('**/api/meshes', (route) => route.fulfill({ json: { meshes: [{ ...mesh, label: `night ${asked++}`, findings: [] }], looked_at: 1560 } }))
  await page.clock.install()
  await go(page, at('#/mesh'), 'section.card td a')
  await page.getByText('night 0:').waitFor()
  await page.clock.fastForward(31_000)
  await page.getByText('night 1:').waitFor()
  await page.context().close()
  console.log('ok a matrix of 40 agents fits')
}

/** A slider leads through the rounds; each is in the address, and what is shown is that round. */
export async function rounds(at, folder) {
  const began = (hour) => `2026-11-23T0${hour}:00:00.000Z`
  const mesh = (query) => {
    const hour = query.get('label') === 'night' && query.get('round') ? Number(query.get('round').slice(12, 13)) : 3
    const figure = { name: 'tcp.up.goodput', value: hour * 1e9, text: `${hour} Gbit/s` }
    const cell = { from: 'ams', to: 'fra', state: 'done', tone: 'ok', figure, reason: null, run: `run-${hour}`, target: 'ams -> fra', started: began(hour) }
    const rounds = [1, 2, 3].map((hour) => ({ started: began(hour), runs: hour, failed: hour === 2 ? 1 : 0 }))
    const matrices = [{ test: 'throughput', family: null, figure: 'tcp.goodput', higher_is_better: true, agents: ['ams', 'fra'], cells: [cell] }]
    return { label: 'night', started: began(hour), finished: null, round: query.get('round'), rounds, findings: [], matrices }
  }
  for (const [options, suffix] of [[WIDE, ''], [PHONE, '-phone']]) {
    const page = await open(options)
    await page.route('**/api/meshes*', (route) => route.fulfill({ json: { meshes: [mesh(new URL(route.request().url()).searchParams)], looked_at: 6 } }))
    await go(page, at('#/mesh'), 'section.card td a')
    const slider = page.getByLabel('Round')
    assert.equal(await slider.inputValue(), '3', 'the latest run of each path is behind the last round')
    assert.match(await page.locator('section.card td a').innerText(), /3 Gbit/)
    await slider.focus()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await page.getByRole('link', { name: /ams to fra: 2 Gbit/ }).waitFor()
    assert.match(await slider.getAttribute('aria-valuetext'), /: 2 runs, 1 without a result$/)
    await check(page, `round${suffix}`, folder)
    await page.reload()
    await page.getByRole('link', { name: /ams to fra: 2 Gbit/ }).waitFor()
    assert.equal(await slider.inputValue(), '1', 'the address has the round')
    await slider.focus()
    await page.keyboard.press('End')
    await page.getByRole('link', { name: /ams to fra: 3 Gbit/ }).waitFor()
    assert.ok(!page.url().includes('round='))
    await page.context().close()
  }
  console.log('ok a slider leads through the rounds of a mesh')
}
