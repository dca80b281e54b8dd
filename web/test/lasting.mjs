// The page that is kept open: many tabs, a server that is started anew, hostile names, thousands of runs.
// node lasting.mjs PATHMETER STORE FAR_END PART [FOLDER]; PATHMETER is the program, FAR_END a host with a pathmeter, PART one of
// `lasting` and `details`, which take about the same time.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { gzipSync } from 'node:zlib'
import { PHONE, WIDE, browser, check, go, open } from './browser.mjs'
import { matrix, rounds } from './matrix.mjs'

const [program, store, far, part, folder] = process.argv.slice(2)
const token = 'a token that is never guessed'
let port = 0
let scheme = 'http'
let server

/** Starts the page, at the port that it had. */
async function serve(more = []) {
  const child = spawn(program, ['ui', '--listen', `127.0.0.1:${port}`, '--store', store, ...more], { stdio: ['ignore', 'ignore', 'pipe'] })
  const match = await new Promise((found, failed) => {
    let said = ''
    child.stderr.on('data', (text) => {
      said += text
      const match = /(https?):\/\/127\.0\.0\.1:(\d+)\//.exec(said)
      if (match) found(match)
    })
    child.on('exit', () => failed(new Error(said)))
  })
  scheme = match[1]
  port = Number(match[2])
  server = child
}
async function kill() {
  const ended = new Promise((done) => server.once('exit', done))
  server.kill('SIGKILL')
  await ended
}
const at = (hash) => `${scheme}://127.0.0.1:${port}/${hash}`
const api = async (path, options) => (await fetch(at(`api/${path}`), options)).json()

/** Fills in the form of a test of ten minutes, and starts it. */
async function start(page) {
  await go(page, at('#/live'), 'form')
  await page.getByText('Throughput', { exact: true }).click()
  await page.getByLabel('Far end,').fill(far)
  await page.locator('select', { has: page.locator('option[value=both]') }).selectOption('both')
  await page.getByLabel('Seconds').fill('600')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.locator('.state.running').waitFor()
}
/** Ends it, once something was measured. */
async function stop(page) {
  await page.locator('dl.now dd').first().waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
}

/** Ten tabs of one browser follow a test: each of them works. */
async function tabs() {
  const context = await browser.newContext(WIDE)
  const first = await open(WIDE, context)
  await start(first)
  const others = []
  for (let tab = 0; tab < 9; tab++) {
    const page = await open(WIDE, context)
    page.setDefaultTimeout(20_000)
    await go(page, at('#/live'), 'dl.now dd')
    others.push(page)
  }
  // A window that opens while it runs has its form.
  assert.equal(await others[0].getByLabel('Far end,').inputValue(), far)
  assert.ok(await others[0].getByRole('radio', { name: /^Throughput/ }).isChecked())
  // Other views say that a test runs, and for how long still.
  await others[8].goto(at('#/runs'))
  await others[8].locator('a.running').waitFor()
  assert.match(await others[8].locator('a.running').innerText(), /running \d:\d\d, about \d+:\d\d left/)
  await others[8].locator('li .status-running').first().waitFor()
  // Where the time of the test takes room, every view is still seen, on two lines at most.
  for (const width of [430, 600, 820, 1000, 1440]) {
    await others[8].setViewportSize({ width, height: 844 })
    const right = await others[8].locator('header nav a').last().evaluate((link) => link.getBoundingClientRect().right - link.parentElement.getBoundingClientRect().right)
    assert.ok(right < 1, `the last view is cut off in a window of ${width}`)
    assert.ok((await others[8].locator('header').boundingBox()).height < 110, `the head has more than two lines in a window of ${width}`)
  }
  // A direction has the same colour in every chart, whichever line came first.
  const legend = (figure) => first.locator('figure', { has: first.locator(`strong:text-is("${figure}")`) }).locator('tbody th')
  await first.locator('strong:text-is("RTT under load")').first().waitFor()
  const colours = async (figure) => {
    const rows = await legend(figure).evaluateAll((heads) => heads.map((head) => [head.innerText.trim(), head.querySelector('.key').getAttribute('style')]))
    return Object.fromEntries(rows)
  }
  const [goodput, rtt] = [await colours('Goodput'), await colours('RTT under load')]
  for (const [name, colour] of Object.entries(rtt)) assert.equal(goodput[name], colour, name)
  assert.equal(new Set(Object.values(goodput)).size, 2, 'and another one than the other direction')
  // Whoever leaves the form and comes back finds it as it was.
  await first.goto(at('#/paths'))
  await first.goto(at('#/live'))
  assert.equal(await first.getByLabel('Seconds').inputValue(), '600')
  await first.locator('dl.now dd').first().waitFor()
  // An address with other values changes it.
  await first.goto(at('#/live?kind=latency&host=other.example&time=3s&loaded=true&dscp=ef'))
  assert.equal(await first.getByLabel('DSCP').inputValue(), 'ef')
  assert.deepEqual([await first.getByLabel('Far end,').inputValue(), await first.locator('select', { has: first.locator('option[value=true]') }).inputValue()], ['other.example', 'true'])
  await stop(first)
  await others[8].locator('a.running').waitFor({ state: 'detached' })
  for (const page of others.slice(0, 8)) await page.getByText('Open the run').waitFor()
  // The result stands there, and not the last interval beside it.
  assert.equal(await first.locator('dl.now').count(), 0)
  await first.waitForFunction(() => !document.title.startsWith('Measure'))
  for (const page of [first, ...others]) assert.deepEqual(page.wrong, [])
  console.log('ok ten tabs follow a test')
  await context.close()
}

/** A server that is killed in the middle of a test, and started anew. */
async function restart() {
  const page = await open(WIDE)
  const list = await open(WIDE)
  await start(page)
  await go(list, at('#/runs'), 'li .status-running')
  await kill()
  await page.getByText('connection lost').waitFor()
  await serve()
  // It knows no test: the form is there again, and the run that was cut off is none that runs.
  await page.getByRole('button', { name: 'Start' }).waitFor()
  assert.equal(await page.locator('[aria-label="The test"]').count(), 0)
  await list.locator('li .status-running').first().waitFor({ state: 'detached' })
  const { runs: cut } = await api('runs?status=unended&limit=1')
  await list.goto(at(`#/run/${cut[0].id}`))
  await list.getByText('The test was cut off.').waitFor()
  assert.equal(await list.getByText('the peer sent no result').count(), 0, 'no cause is named that is not the cause')
  // No token of before is needed: the page has asked for the new one.
  await page.getByLabel('Seconds').fill('600')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.locator('.state.running').waitFor()
  await stop(page)
  await page.getByText('Open the run').waitFor()
  console.log('ok a server that is started anew is found again')
  await page.context().close()
  await list.context().close()
}

/** With a token: logging in and out, and a session that ends while a test runs. */
async function sessions() {
  await kill()
  writeFileSync(`${store}.token`, `${token}\n`, { mode: 0o600 })
  await serve(['--token-file', `${store}.token`])
  const page = await open(WIDE)
  const enter = async () => {
    await page.getByLabel('Token', { exact: true }).fill(token)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('button', { name: 'Log out' }).waitFor()
  }
  await go(page, at('#/runs'), 'input[type=password]')
  await enter()
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main', 'the focus is in the page')
  await start(page)
  // The session ends: the page asks for the token, and then shows the test as it stands.
  await page.context().clearCookies()
  await page.getByLabel('Token', { exact: true }).waitFor()
  await enter()
  await page.locator('.state.running').waitFor()
  await stop(page)
  await page.getByText('Open the run').waitFor()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token', { exact: true }).waitFor()
  console.log('ok one logs in and out, also while a test runs')
  await page.context().close()
  await kill()
  await serve()
}

/** Back finds the list as it was left; it refreshes by itself, and after an error it is asked for again. */
async function list() {
  const page = await open(WIDE)
  await go(page, at('#/runs'), 'li a.run')
  const rows = () => page.locator('li a.run').count()
  const [before] = [await rows()]
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.waitForFunction((before) => document.querySelectorAll('li a.run').length > before, before)
  const loaded = await rows()
  await page.locator('li input[type=checkbox]').nth(60).check()
  await page.evaluate(() => window.scrollTo(0, 2500))
  await page.waitForFunction(() => window.scrollY > 2000)
  await page.locator('li a.run').nth(55).click()
  await page.locator('[aria-label="Verdict"]').waitFor()
  await page.goBack()
  await page.locator('li a.run').nth(55).waitFor()
  assert.ok((await rows()) >= loaded, 'what was loaded is there')
  await page.waitForFunction(() => window.scrollY > 2000)
  assert.ok(await page.locator('li input[type=checkbox]').nth(60).isChecked(), 'what was chosen is chosen')
  // The run at the end of what is shown is taken out elsewhere: the list goes on all the same.
  await page.goto(at('#/runs?kind=throughput'))
  await page.waitForFunction(() => document.querySelectorAll('li a.run').length === 50)
  const lost = (await page.locator('li a.run').last().getAttribute('href')).split('/').pop()
  const { csrf } = await api('session')
  await fetch(at(`api/runs/${lost}`), { method: 'DELETE', headers: { 'x-csrf-token': csrf } })
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.waitForFunction(() => document.querySelectorAll('li a.run').length > 90)
  assert.equal(await page.locator(`li a.run[href$="${lost}"]`).count(), 0, 'it is not shown any more')
  assert.equal(await page.getByRole('alert').count(), 0)
  page.wrong = []
  await page.goto(at('#/runs'))
  await page.locator('li input[type=checkbox]').nth(1).check()
  // A label of many at once, and filters in the address.
  await page.getByLabel('Label for the selected runs').fill('picked')
  await page.getByRole('button', { name: 'Label', exact: true }).click()
  await page.getByText('1 run labelled').waitFor()
  await page.goto(at('#/runs?label=picked'))
  await page.waitForFunction(() => document.querySelectorAll('li a.run').length === 1)
  // Several labels at once.
  await page.getByLabel('Also runs with the label').selectOption('series-1')
  await page.waitForFunction(() => document.querySelectorAll('li a.run').length > 20)
  assert.match(page.url(), /labels=picked%2Cseries-1/)
  await page.getByRole('button', { name: 'Drop the filter label series-1' }).click()
  await page.waitForFunction(() => document.querySelectorAll('li a.run').length === 1)
  assert.match(page.url(), /[?&]label=picked/)
  // A new run appears without a hand.
  const label = `fresh-${Date.now()}`
  await page.goto(at(`#/runs?label=${label}`))
  await page.getByText('No kept run matches.').waitFor()
  await new Promise((done) => spawn(program, ['throughput', far, '-t', '1', '--save', '--label', label, '--store', store], { stdio: 'ignore' }).on('exit', done))
  await page.locator('li a.run').first().waitFor({ timeout: 20_000 })
  // A filter that the field cannot show stands there all the same, with what is wrong.
  await page.goto(at('#/runs?since=yesterday'))
  await page.getByRole('alert').waitFor()
  assert.equal(await page.getByLabel('Since').inputValue(), 'yesterday')
  page.wrong = []
  // The store goes and comes again.
  await page.goto(at('#/runs'))
  await page.locator('li a.run').first().waitFor()
  await kill()
  await page.getByRole('button', { name: 'Try again' }).waitFor({ timeout: 20_000 })
  await serve()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('button', { name: 'Try again' }).waitFor({ state: 'detached' })
  console.log('ok the list stays as it was left, and is always fresh')
  await page.context().close()
}

/** Tests of other programs are shown as they run, and when a watch measures next. */
async function others() {
  const page = await open(WIDE)
  const label = `other-${Date.now()}`
  const other = spawn(program, ['throughput', far, '-t', '600', '-b', '1M', '--save', '--label', label, '--store', store], { stdio: 'ignore' })
  const watch = spawn(program, ['watch', far, '--every', '10m', '--run', 'latency -t 1s', '--label', label, '--store', store], { stdio: 'ignore' })
  await go(page, at(`#/runs?label=${label}`), 'li .status-running')
  await page.getByText('by another program').waitFor()
  await page.locator('li a.run', { has: page.locator('.status-running') }).click()
  await page.getByText('Another program is running this test.').waitFor()
  other.kill('SIGINT')
  await page.getByText('Another program is running this test.').waitFor({ state: 'detached' })
  assert.equal(await page.getByText('not ended').count(), 0, 'it ended with its result')
  await page.goto(at(`#/path/${far.split(':')[0]}`))
  const schedule = page.locator('[aria-label="Schedule"] p', { hasText: label })
  await schedule.waitFor()
  assert.match(await schedule.innerText(), /every 10 min by watch on .*next run due in 1?\d min/s)
  watch.kill('SIGINT')
  await new Promise((done) => watch.on('exit', done))
  await page.reload()
  await page.locator('canvas').first().waitFor()
  assert.equal(await schedule.count(), 0, 'one that was stopped is none')
  console.log('ok tests of other programs run, and a watch shows when it measures next')
  await page.context().close()
}

/** Names that would steer a browser, hide others, or be wider than a window, in every view. */
async function hostile() {
  const { runs } = await api('runs?find=evil&limit=20')
  assert.ok(runs.length >= 2, 'the store has hostile names')
  for (const [options, suffix] of [[WIDE, ''], [PHONE, '-phone']]) {
    const page = await open(options)
    const ids = runs.slice(0, 3).map((run) => run.id)
    const views = [
      ['#/runs?find=evil', 'li a.run'],
      [`#/run/${ids[0]}`, '[aria-label="Verdict"]'],
      [`#/run/${ids[1]}`, '[aria-label="Verdict"]'],
      [`#/compare?base=${ids[0]}&other=${ids[1]}`, '[aria-label="Conclusion"]'],
      [`#/overlay?runs=${ids.join(',')}`, 'canvas'],
      ['#/paths', 'section.card'],
      [`#/path/${encodeURIComponent(runs[0].target)}`, '.conclusion'],
      [`#/live?host=${encodeURIComponent(runs[0].target)}&label=${encodeURIComponent(runs[0].label)}`, 'form'],
    ]
    for (const [hash, shown] of views) {
      await go(page, at(hash), shown)
      await check(page, `evil-${hash.slice(2).split(/[/?]/)[0]}${suffix}`, folder)
    }
    // A mark of writing direction ends with the name that it stands in.
    await go(page, at('#/runs?find=evil'), 'li a.run')
    const isolated = await page.locator('li .what bdi, li .label bdi').evaluateAll((names) => names.every((name) => getComputedStyle(name).unicodeBidi === 'isolate'))
    assert.ok(isolated, 'each name has its own direction')
    assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(await page.locator('main').innerText()), 'and a mark that turns it is seen')
    await page.context().close()
  }
}

/** Charts are looked into by keys and buttons; the part stands in the address and outlasts other colours. */
async function charts() {
  const { runs } = await api('runs?kind=throughput&label=before&limit=1')
  const page = await open(WIDE)
  await go(page, at(`#/run/${runs[0].id}`), 'canvas')
  const figure = page.locator('figure').first()
  assert.match(await figure.locator('tbody tr').first().innerText(), /bit\/s.*bit\/s.*bit\/s/s, 'minimum, mean and maximum stand there')
  await figure.getByRole('button', { name: 'Closer' }).click()
  await page.waitForFunction(() => /from=[\d.]+&to=[\d.]+/.test(location.hash))
  const part = new URL(page.url()).hash
  await page.getByRole('button', { name: 'Colours' }).click()
  assert.equal(new URL(page.url()).hash, part)
  await page.reload()
  await page.locator('canvas').first().waitFor()
  assert.equal(await figure.getByRole('button', { name: 'All', exact: true }).isEnabled(), true, 'the part is shown again')
  await figure.locator('.plot').focus()
  await page.keyboard.press('0')
  await page.waitForFunction(() => !location.hash.includes('from='))
  await figure.getByText('As a table').click()
  assert.ok((await figure.locator('.points tbody tr').count()) > 3, 'the points are a table, too')
  const [csv] = await Promise.all([page.waitForEvent('download'), figure.getByRole('button', { name: 'CSV' }).click()])
  assert.match(csv.suggestedFilename(), /Goodput\.csv$/)
  const [svg] = await Promise.all([page.waitForEvent('download'), figure.getByRole('button', { name: 'SVG' }).click()])
  assert.match(svg.suggestedFilename(), /Goodput\.svg$/)
  const drawn = readFileSync(await svg.path(), 'utf8')
  const parts = await page.evaluate((text) => {
    const root = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement
    // Steps of the line, and the texts of the axes.
    return [root.tagName, root.querySelector('g path[stroke-width="1.75"]').getAttribute('d').split('H').length - 1, [...root.querySelectorAll('text')].map((text) => text.textContent)]
  }, drawn)
  assert.equal(parts[0], 'svg')
  assert.ok(parts[1] >= 9, `a second of tenths has ${parts[1]} steps`)
  assert.ok(parts[2].includes('upload') && parts[2].includes('0 s') && parts[2].includes('1 s'), parts[2].join())
  const [png] = await Promise.all([page.waitForEvent('download'), figure.getByRole('button', { name: 'PNG' }).click()])
  assert.match(png.suggestedFilename(), /Goodput\.png$/)
  // On paper it is light.
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' })
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'light')
  // A label that is refused does not stay there as if it were kept; one that is kept says so.
  await page.emulateMedia({ media: 'screen' })
  const field = page.getByLabel('Label')
  await field.fill('\u202eevil')
  await field.blur()
  await page.getByRole('alert').waitFor()
  assert.equal(await field.inputValue(), 'before')
  await field.fill('before')
  await field.fill('before ')
  await field.blur()
  await page.getByText('saved', { exact: true }).waitFor()
  console.log('ok charts are looked into, tabled, saved and printed')
  await page.context().close()
}

/** A day of the filter is a day of the browser's clock, as the times of the list are. */
async function days() {
  const zones = { 'Pacific/Auckland': ['2026-03-01T11:00:00Z', '2026-03-02T11:00:00Z'], 'America/Los_Angeles': ['2026-03-02T08:00:00Z', '2026-03-03T08:00:00Z'] }
  for (const [timezoneId, [first, after]] of Object.entries(zones)) {
    const page = await open(WIDE, await browser.newContext({ ...WIDE, timezoneId, locale: 'en-GB' }))
    let query
    await page.route('**/api/runs?*', async (route) => {
      query = new URL(route.request().url()).searchParams
      const [run] = (await api('runs?limit=1')).runs
      await route.fulfill({ json: { runs: [{ ...run, started: first }], more: false, count: 1 } })
    })
    await go(page, at('#/runs?since=2026-03-02&until=2026-03-02'), 'li a.run')
    assert.deepEqual([query.get('since'), query.get('before')], [first, after], timezoneId)
    assert.match(await page.locator('li time').first().getAttribute('title'), /^2 Mar 2026,? 00:00/)
    await page.context().close()
  }
  console.log('ok days are those of the browser')
}

/** Counts have no decimals, and zero has the unit that others are made of. */
async function zeros() {
  const { runs } = await api('runs?kind=throughput&label=before&limit=1')
  const page = await open(WIDE)
  const line = (values) => [{ name: 'up', at: [1, 2, 3], values }]
  const made = (figure, unit, values) => ({ title: 'made up', figure, unit, lines: line(values), marks: [] })
  const path = await open(WIDE)
  await path.route('**/api/path?*', async (route) => {
    const found = await (await route.fetch()).json()
    const [trend] = found.figures
    const figure = (name, values) => ({ ...trend, figure: name, points: trend.points.slice(0, 2).map((point, index) => ({ ...point, at: new Date(Date.parse(point.at) + index * 20_000).toISOString(), value: values[index] })), of: trend.of.slice(0, 2), changes: [] })
    await route.fulfill({ json: { ...found, figures: [figure('tcp.up.limit.queue', [52e6, 53e6]), figure('udp.up.loss', [0.25, 0.5])] } })
  })
  await go(path, at('#/path/far-1.example'), 'canvas')
  const units = await path.locator('figure tbody tr:first-child').allInnerTexts()
  assert.deepEqual([/52\.0\sms.*53\.0\sms/s.test(units[0]), /25\.0\s%.*50\.0\s%/s.test(units[1])], [true, true], units.join())
  await path.context().close()
  const series = [made('Retransmits', '', [1, 0, 3]), made('RTT under load', 's', [0, 0, 0])]
  await page.route('**/api/runs/*', async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), series } }))
  await go(page, at(`#/run/${runs[0].id}`), 'canvas')
  const row = async (figure) => (await page.locator('figure', { has: page.locator(`strong:text-is("${figure}")`) }).locator('tr td').allInnerTexts()).slice(0, 3)
  assert.deepEqual(await row('Retransmits'), ['0', '1.33', '3'])
  assert.deepEqual(await row('RTT under load'), ['0 s', '0 s', '0 s'])
  console.log('ok counts and zeros')
  await page.context().close()
}

/** Beside a drawing of a long path there is what it shows, where a window has room for both. */
async function lab() {
  const page = await open({ ...WIDE, viewport: { width: 1440, height: 900 } })
  await go(page, at('#/lab/two-routers'), '.drawing .node')
  const [drawing, about] = await Promise.all(['.drawing', '.about'].map((part) => page.locator(part).boundingBox()))
  assert.ok(about.x > drawing.x + drawing.width && about.y < drawing.y + drawing.height)
  await check(page, 'lab-wide', folder)
  await page.context().close()
}

/** A file is imported, and found. */
async function imports() {
  const page = await open(WIDE)
  await go(page, at('#/runs'), 'li a.run')
  const ping = 'PING 10.0.0.9 (10.0.0.9) 56(84) bytes of data.\n64 bytes from 10.0.0.9: icmp_seq=1 ttl=64 time=0.5 ms\n64 bytes from 10.0.0.9: icmp_seq=2 ttl=64 time=0.6 ms\n\n--- 10.0.0.9 ping statistics ---\n2 packets transmitted, 2 received, 0% packet loss, time 1001ms\nrtt min/avg/max/mdev = 0.500/0.550/0.600/0.050 ms\n'
  await page.locator('input[type=file]').setInputFiles({ name: 'ping.txt', mimeType: 'text/plain', buffer: Buffer.from(ping) })
  await page.getByText('1 run read, 1 of them new').waitFor()
  // An output without a time of its end has a verdict all the same.
  await page.goto(at('#/runs?find=10.0.0.9'))
  await page.locator('li a.run').click()
  await page.locator('[aria-label="Verdict"]').waitFor()
  assert.equal(await page.getByText('not ended').count(), 0)
  await page.goto(at('#/runs'))
  await page.locator('input[type=file]').setInputFiles({ name: 'no.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') })
  await page.getByRole('alert').waitFor()
  assert.match(await page.getByRole('alert').innerText(), /no\.txt/)
  // Of a gzip that is cut off there is what stands before the cut.
  const packed = gzipSync(`${ping.replaceAll('10.0.0.9', '10.0.0.8')}${'x'.repeat(99)}\n`)
  await page.locator('input[type=file]').setInputFiles({ name: 'cut.gz', mimeType: 'application/gzip', buffer: packed.subarray(0, -6) })
  await page.getByText(/1 run read, 1 of them new\. .*cut\.gz is read in part: it is gzip that is cut off/).waitFor()
  console.log('ok a file is imported')
  await page.context().close()
}

/** The page of a device under test: equal notes are one line, many notes are folded, and each frame size has its latency. */
async function devices() {
  const fixture = new URL('../../crates/report/tests/fixtures/results/rfc2544-1.json', import.meta.url)
  const report = JSON.parse(readFileSync(fixture, 'utf8'))
  const [device] = report.devices
  const same = Array(27).fill('The device dropped frames of a stream that it was not asked to forward.')
  device.notes = [...same, ...Array.from({ length: 11 }, (_, number) => `Trial ${number} was repeated.`)]
  const page = await open(WIDE)
  await go(page, at('#/runs'), 'li a.run')
  await page.locator('input[type=file]').setInputFiles({ name: 'device.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(report)) })
  await page.getByText('1 run read, 1 of them new').waitFor()
  await go(page, at(`#/run/${report.id}`), '.picture svg')
  assert.equal(await page.getByText(same[0]).count(), 1, 'the same note many times is one line')
  assert.equal(await page.locator('nav[aria-label=Place] a').count(), 1, 'a device is no path')
  await page.getByText('(27 times)').waitFor()
  assert.ok(await page.getByText('Trial 10 was repeated.').isHidden(), 'a long list is folded')
  await page.locator('summary', { hasText: /^\d+ more notes$/ }).click()
  await page.getByText('Trial 10 was repeated.').waitFor()
  await page.locator('summary', { hasText: 'Latency of every frame size' }).click()
  const drawn = page.locator('details', { hasText: 'Latency of every frame size' }).locator('svg')
  await drawn.waitFor()
  const sizes = device.rows.filter((row) => row.latency.length).map((row) => row.stream.frames.name)
  const text = await drawn.textContent()
  assert.ok(sizes.length > 2 && sizes.every((size) => text.includes(`Latency of ${size}`)), `${sizes}: ${text}`)
  await check(page, 'device', folder)
  console.log('ok the page of a device is short, and has the latency of every frame size')
  await page.context().close()
}

/** The desktop is notified of the end of a long test, once, and only where the user has allowed it and does not look. */
async function notified() {
  const context = await browser.newContext(WIDE)
  await context.addInitScript(() => {
    let permission = sessionStorage.getItem('permission') ?? 'default'
    window.shown = []
    window.Notification = class {
      static get permission() {
        return permission
      }
      static async requestPermission() {
        sessionStorage.setItem('permission', (permission = 'granted'))
        return permission
      }
      constructor(title, options) {
        window.shown.push([title, options.body, options.tag])
      }
    }
    Object.defineProperty(document, 'visibilityState', { get: () => (window.away ? 'hidden' : 'visible') })
  })
  const page = await open(WIDE, context)
  // A test of a second that took a minute.
  await page.route('**/api/live/standing*', async (route) => {
    const json = await (await route.fetch()).json()
    if (json.test) json.test.elapsed_seconds += 60
    await route.fulfill({ json })
  })
  const away = (away) => page.evaluate((away) => ((window.away = away), document.dispatchEvent(new Event('visibilitychange'))), away)
  const end = async () => {
    const { csrf } = await api('session')
    await fetch(at('api/live/stop'), { method: 'POST', headers: { 'x-csrf-token': csrf } })
    while ((await api('live/standing')).running) await new Promise((done) => setTimeout(done, 100))
  }
  // Without permission nothing is asked for, and nothing is shown.
  await start(page)
  await page.locator('dl.now dd').first().waitFor()
  await away(true)
  await end()
  await away(false)
  await page.getByText('Open the run').waitFor()
  assert.deepEqual(await page.evaluate(() => window.shown), [])
  await page.getByLabel('Notify me').check()
  await page.reload()
  assert.ok(await page.getByLabel('Notify me').isChecked(), 'the choice is kept')
  // Somebody who looks needs no notification.
  await start(page)
  await stop(page)
  await page.getByText('Open the run').waitFor()
  assert.deepEqual(await page.evaluate(() => window.shown), [])
  await start(page)
  await page.locator('dl.now dd').first().waitFor()
  await away(true)
  await end()
  await page.waitForFunction(() => window.shown.length === 1)
  const [[title, body, tag]] = await page.evaluate(() => window.shown)
  const { runs } = await api('runs?limit=1')
  assert.equal(tag, runs[0].id)
  assert.match(title, /^throughput to .* has ended$/)
  assert.match(body, /^(OK|DEGRADED|PROBLEM|VOID) \S/)
  await page.getByLabel('Notify me').uncheck()
  console.log('ok the desktop is notified of the end of a long test')
  await context.close()
}

/** A run has a note, and a short link that the server leads to its view. */
async function shared() {
  const { runs } = await api('runs?kind=throughput&limit=1')
  const page = await open(WIDE)
  await go(page, at(`#/run/${runs[0].id}`), '[aria-label="Verdict"]')
  const text = 'first line\n<img src=x onerror=window.hacked=1>'
  await page.getByRole('button', { name: 'Add a note' }).click()
  await page.getByLabel('Note', { exact: true }).fill(text)
  await check(page, 'note', folder)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Note saved').waitFor()
  await page.reload()
  assert.ok((await page.locator('p.note').innerText()).includes(text), 'its lines and its signs stay')
  await page.getByRole('button', { name: 'Change the note' }).click()
  await page.getByLabel('Note', { exact: true }).fill('\u202eevil')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').waitFor()
  assert.equal(await page.getByLabel('Note', { exact: true }).inputValue(), '\u202eevil', 'a refused text is not lost')
  page.wrong = []
  await page.getByRole('button', { name: 'Cancel' }).click()
  // Lists have the note, and it is searched.
  await go(page, at('#/runs?find=FIRST%20LINE'), 'li .note')
  assert.equal(await page.locator('li a.run').count(), 1)
  assert.match(await page.locator('li .note').innerText(), /^Note first line/)
  await check(page, 'noted', folder)
  await go(page, at(`#/run/${runs[0].id}`), 'p.note')
  await page.getByRole('button', { name: 'Link', exact: true }).click()
  const link = await page.getByLabel('Address of this run').inputValue()
  assert.ok(link.length < 50, link)
  assert.equal(await page.getByRole('img', { name: 'QR code' }).count(), 0, 'no phone reaches the loopback')
  await check(page, 'link', folder)
  await page.goto(link)
  await page.locator('p.note').waitFor()
  await page.context().close()
  console.log('ok a run has a note and a link')
}

/** A user with a token for looking sees every run, and nothing that would change one. */
async function readers() {
  await kill()
  writeFileSync(`${store}.token`, `${token}\n`, { mode: 0o600 })
  writeFileSync(`${store}.read`, `# the team\n${token} to look\n`, { mode: 0o600 })
  await serve(['--token-file', `${store}.token`, '--read-token-file', `${store}.read`])
  const page = await open(WIDE)
  await go(page, at('#/runs'), 'input[type=password]')
  await page.getByLabel('Token', { exact: true }).fill(`${token} to look`)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('li a.run').first().waitFor()
  assert.equal(await page.locator('input[type=file]').count(), 0)
  await page.locator('li input[type=checkbox]').first().check()
  assert.equal(await page.getByRole('button', { name: 'Forget' }).count(), 0)
  await page.locator('li a.run').first().click()
  await page.locator('[aria-label="Verdict"]').waitFor()
  for (const name of ['Forget', 'Add a note']) assert.equal(await page.getByRole('button', { name }).count(), 0, name)
  assert.equal(await page.getByRole('link', { name: 'Measure again' }).count(), 0)
  await check(page, 'reader', folder)
  await go(page, at(`#/live?host=${far}`), 'form')
  assert.equal(await page.getByRole('button', { name: 'Start' }).count(), 0)
  await page.getByText('Your token is for looking only').waitFor()
  assert.deepEqual(page.wrong, [])
  console.log('ok a user with a token for looking changes nothing')
  await embedded(page)
  await page.context().close()
  await kill()
  await serve()
}

/** A chart of a path and one of a run on a page of another site, which has nothing but their links. */
async function embedded(page) {
  const { runs } = await api('runs?kind=throughput&label=before&limit=1', { headers: { authorization: `Bearer ${token}` } })
  const links = []
  for (const [hash, shown] of [[`#/path/${far.split(':')[0]}`, 'canvas'], [`#/run/${runs[0].id}`, 'canvas']]) {
    await go(page, at(hash), shown)
    await page.getByRole('button', { name: /^Embed/ }).first().click()
    links.push(await page.getByLabel('Address of this chart').inputValue())
    assert.match(await page.getByLabel('HTML of this chart').inputValue(), /^<img src="http[^"<>]*&amp;key=[0-9a-f]{64}" alt="[^"<>]+">$/)
    if (links.length === 1) await check(page, 'embed', folder)
    await page.locator('dialog[open]').getByRole('button', { name: 'Close' }).click()
  }
  const site = createServer((request, answer) => {
    const html = request.url === '/' ? [...links, links[0].replace(/.$/, (last) => (last === '0' ? '1' : '0')), at(`api/runs/${runs[0].id}/charts/0.svg`)].map((link) => `<img src="${link}">`).join('') : ''
    answer.writeHead(html ? 200 : 404, { 'content-type': 'text/html' }).end(html)
  })
  await new Promise((done) => site.listen(0, '127.0.0.1', done))
  // The browser of somebody who never logged in, on a page of another site.
  const other = await (await browser.newContext(WIDE)).newPage()
  await other.goto(`http://localhost:${site.address().port}/`)
  await other.waitForFunction(() => [...document.images].every((image) => image.complete))
  const widths = await other.evaluate(() => [...document.images].map((image) => image.naturalWidth))
  assert.deepEqual(widths.map((width) => width > 100), [true, true, false, false], `a wrong key and an address without one show nothing: ${widths}`)
  if (folder) await other.screenshot({ path: `${folder}/other-site.png`, fullPage: true })
  await other.context().close()
  site.close()
  console.log('ok a chart is shown by a page of another site')
}

/** A page with a certificate: what is typed without TLS is led to it, one logs in, and the clipboard is there. */
async function encrypted() {
  await kill()
  const plain = at('#/runs')
  writeFileSync(`${store}.token`, `${token}\n`, { mode: 0o600 })
  await serve(['--token-file', `${store}.token`, '--tls-cert', `${store}.crt`, '--tls-key', `${store}.key`])
  assert.equal(scheme, 'https')
  const context = await browser.newContext({ ...WIDE, ignoreHTTPSErrors: true })
  const page = await open(WIDE, context)
  await go(page, plain, 'input[type=password]')
  assert.ok(page.url().startsWith(`https://127.0.0.1:${port}/`), page.url())
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('li a.run').first().waitFor()
  const [cookie] = await context.cookies()
  assert.deepEqual([cookie.secure, cookie.httpOnly, cookie.sameSite], [true, true, 'Strict'])
  // The events of a test come through TLS, too.
  await start(page)
  await stop(page)
  await page.getByText('Open the run').waitFor()
  assert.deepEqual(page.wrong, [])
  await context.close()
  await kill()
  await serve()
  console.log('ok a page with a certificate')
}

const PARTS = {
  lasting: [hostile, charts, days, zeros, lab, imports, list, others, tabs, restart, sessions],
  details: [() => matrix(at, folder), () => rounds(at, folder), devices, notified, shared, readers, encrypted],
}

try {
  await serve()
  for (const check of PARTS[part]) await check()
} finally {
  await browser.close()
  server?.kill('SIGKILL')
}
