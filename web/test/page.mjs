// Every view in a real browser: node page.mjs http://127.0.0.1:PORT FAR_END [FOLDER]
// FAR_END is a host with a pathmeter; in FOLDER a picture of each view is left.
// The store holds runs labelled `before` and `after`, and one with a hostile label.
import assert from 'node:assert/strict'
import { PHONE, WIDE, browser, check as checked, go as gone, open } from './browser.mjs'

const [base, far, folder] = process.argv.slice(2)
const go = (page, hash, shown) => gone(page, `${base}/${hash}`, shown)
const check = (page, name) => checked(page, name, folder)

const { runs } = await (await fetch(`${base}/api/runs`)).json()
const of = (kind) => runs.find((run) => run.kind === kind).id

const VIEWS = [
  ['runs', '#/runs', 'li a.run'],
  ['throughput', `#/run/${of('throughput')}`, 'canvas'],
  ['latency', `#/run/${of('latency')}`, '.picture svg'],
  ['compare', '#/compare?base=before&other=after', '[aria-label="Conclusion"]'],
  ['overlay', `#/overlay?runs=${runs.filter((run) => run.kind === 'throughput').map((run) => run.id).join(',')}`, 'canvas'],
  ['paths', '#/paths', 'section.card svg'],
  ['path', `#/path/${encodeURIComponent(runs.find((run) => run.kind === 'throughput').target)}`, 'canvas'],
  ['mesh', '#/mesh', 'section.card td a'],
  ['lab', '#/lab/two-routers', '.drawing .node'],
  ['live', '#/live', 'form'],
  ['missing', '#/run/nothing', '[role="alert"]'],
]

/** Three agents, one of which is slow, cannot be reached and is void in turn. */
function meshes() {
  const agents = ['ams', 'fra', 'par-with-a-rather-long-name']
  const states = { 'fra ams': ['failed', 'problem'], 'ams par-with-a-rather-long-name': ['void', 'void'] }
  const cell = (from, to) => {
    const [state, tone] = states[`${from} ${to}`] ?? ['done', to === 'ams' ? 'degraded' : 'ok']
    const figure = state === 'done' ? { name: 'tcp.up.goodput', value: 9.41e9, text: '9.41 Gbit/s' } : null
    const reason = state === 'done' ? null : 'no route <script>window.hacked = 1</script>'
    return { from, to, state, tone, figure, reason, run: `${from}-${to}`, target: `${from} -> ${to}`, started: '2026-11-23T03:00:00Z' }
  }
  const cells = agents.flatMap((from) => agents.filter((to) => to !== from).map((to) => cell(from, to)))
  const matrices = [null, 6].map((family) => ({ test: 'throughput', family, figure: 'tcp.goodput', higher_is_better: true, agents, cells }))
  const findings = [{ id: 'site-slow-in', test: 'throughput', title: 'everything into ams is slow' }]
  const mesh = (label) => ({ label, started: '2026-11-23T03:00:00Z', finished: null, round: null, rounds: [], findings, matrices })
  return { meshes: [mesh('night'), mesh('another')], looked_at: 12 }
}

/** From a cell of the matrix to its run. */
async function mesh() {
  const page = await open(WIDE)
  await page.route('**/api/meshes', (route) => route.fulfill({ json: meshes() }))
  await go(page, '#/mesh', 'td a')
  await page.getByRole('link', { name: 'another' }).click()
  await page.waitForURL('**label=another')
  // Bounds of the user's own colour the cells, and stand in the address.
  const cell = page.getByRole('link', { name: /^ams to fra: 9.41 Gbit.s/ }).first()
  assert.match(await cell.getAttribute('class'), /status-ok/)
  await page.getByLabel('degraded below, Mbit/s').first().fill('9500')
  await page.getByLabel('degraded below, Mbit/s').first().blur()
  await page.waitForURL('**throughput-degraded=9500**')
  assert.match(await cell.getAttribute('class'), /status-degraded/)
  await page.getByLabel('problem below, Mbit/s').first().fill('9420')
  await page.getByLabel('problem below, Mbit/s').first().blur()
  await page.reload()
  await cell.waitFor()
  assert.match(await cell.getAttribute('class'), /status-problem/)
  await page.getByText(/below 9.420 Mbit.s, or failed/).first().waitFor()
  await cell.click()
  await page.waitForURL('**#/run/ams-fra')
  console.log('ok a cell leads to its run')
  await page.context().close()
}

async function views(options, suffix) {
  const page = await open(options)
  await page.route('**/api/meshes', (route) => route.fulfill({ json: meshes() }))
  for (const [name, hash, shown] of VIEWS) {
    await go(page, hash, shown)
    // The browser reports the answer 404 itself.
    if (name === 'missing') page.wrong = []
    for (const summary of await page.locator('details.part > summary').all()) await summary.click()
    await check(page, name + suffix)
  }
  await page.context().close()
}

async function comparison() {
  const page = await open(WIDE)
  await go(page, '#/compare?base=before&other=after', '[aria-label="Conclusion"]')
  assert.equal(await page.locator('input[name=base]').inputValue(), 'before')
  assert.match(await page.locator('[aria-label="Conclusion"]').innerText(), /2 runs against 2/)
  await page.getByRole('button', { name: 'Swap' }).click()
  await page.waitForURL('**base=after&other=before')
  await go(page, '#/runs', 'li a.run')
  for (const box of (await page.locator('li input[type=checkbox]').all()).slice(1, 3)) await box.check()
  // Which set a run is in can be changed by hand.
  assert.equal(await page.locator('button.set').allInnerTexts().then((sets) => sets.sort().join()), 'A,B')
  await page.locator('button.set').first().click()
  assert.equal(await page.getByRole('link', { name: /Compare A/ }).count(), 0, 'both are in one set')
  await page.locator('button.set').first().click()
  await page.getByRole('link', { name: /Compare A/ }).click()
  await page.locator('[aria-label="Conclusion"]').waitFor()
  assert.match(page.url(), /base=[0-9a-f-]+&other=[0-9a-f-]+/)
  await page.reload()
  await page.locator('[aria-label="Conclusion"]').waitFor()
  console.log('ok a comparison stands in the address')
  await page.context().close()
}

async function keyboard() {
  const page = await open(WIDE)
  await go(page, '#/runs', 'li a.run')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main', 'the first tab skips to the content')
  await page.keyboard.press('2')
  await page.waitForURL('**#/paths')
  await page.keyboard.press('1')
  await page.locator('[data-search]').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('absent.example')
  await page.keyboard.press('Enter')
  await page.getByText('No kept run matches.').waitFor()
  assert.match(page.url(), /find=absent.example/)
  await page.getByRole('button', { name: 'Colours' }).click()
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
  console.log('ok keyboard, filters and colours')
  await page.context().close()
}

async function live() {
  const page = await open(WIDE)
  await go(page, '#/live', 'form')
  await page.getByText('Throughput', { exact: true }).click()
  await page.getByLabel('Far end,').fill(far)
  await page.getByLabel('Seconds').fill('600')
  await page.getByLabel('Label').fill('from the page')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.locator('canvas').first().waitFor()
  await page.locator('dl.now dd').first().waitFor()
  await check(page, 'running')
  const other = await open(PHONE)
  await go(other, '#/live', 'dl.now dd')
  await page.getByRole('button', { name: 'Stop' }).click()
  await other.getByText('Open the run').waitFor()
  await page.getByText('Open the run').click()
  await page.locator('[aria-label="Verdict"]').waitFor()
  assert.equal(await page.getByLabel('Label').inputValue(), 'from the page')
  assert.match(await page.title(), /throughput/, 'the title names the run')
  await page.getByRole('link', { name: 'Measure again' }).click()
  assert.equal(await page.getByLabel('Far end,').inputValue(), far)
  assert.equal(await page.getByLabel('Seconds').inputValue(), '600')
  page.wrong = []
  await go(page, '#/live?kind=throughput&host=127.0.0.1:1', 'form')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.locator('.failed').waitFor()
  // The run that measured nothing is kept, with its far end and the cause.
  await gone(page, `${base}/#/runs?status=void`, 'li a.run')
  await page.locator('li a.run').first().click()
  await page.getByRole('heading', { name: 'Throughput to 127.0.0.1' }).waitFor()
  await page.getByText('Nothing was measured').first().waitFor()
  console.log('ok a test is started, followed by two, stopped, and kept; one that fails says why')
  await other.context().close()
  await page.context().close()
}

/** A path is kept without a port: its far end is measured again at the port where it was. */
async function path() {
  const page = await open(WIDE)
  await go(page, `#/path/${encodeURIComponent(far.split(':')[0])}`, 'canvas')
  await page.locator('.actions').getByRole('link', { name: 'Measure' }).click()
  assert.equal(await page.getByLabel('Far end,').inputValue(), far)
  console.log('ok the far end of a path is measured again')
  await page.context().close()
}

async function forgotten() {
  const page = await open(WIDE)
  await go(page, `#/run/${of('latency')}`, '[aria-label="Verdict"]')
  await page.getByRole('button', { name: 'Forget', exact: true }).click()
  await page.getByRole('button', { name: 'Forget it' }).click()
  await page.waitForURL('**#/runs')
  const answer = await fetch(`${base}/api/runs/${of('latency')}`)
  assert.equal(answer.status, 404)
  console.log('ok a run is forgotten after a question')
  await page.context().close()
}

try {
  await views(WIDE, '')
  await views(PHONE, '-phone')
  await comparison()
  await keyboard()
  await mesh()
  await live()
  await path()
  await forgotten()
} finally {
  await browser.close()
}
