import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { type Dashboard, startDashboard } from '../../src/cli/dashboard/index.js'
import type { PoolOptions } from '../../src/index.js'
import { LocalTopology } from '../../src/testing/index.js'
import { flagsOf } from '../support/doctor.js'
import { poolOn, type TestPool } from '../support/pool-on-topology.js'
import { nextEvent, until } from '../support/waiting.js'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
)
/** Without the last four every start of Chromium asks for hosts that a closed network does not have. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
const skip = CHROMIUM === undefined ? 'no Chromium here: apt-get install chromium' : false

function ask(url: string, options: { path?: string; method?: string; host?: string }) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>((resolve, reject) => {
    const headers = options.host === undefined ? {} : { host: options.host }
    const asked = request(
      new URL(options.path ?? '/', url),
      { method: options.method ?? 'GET', headers },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (more: string) => {
          text += more
        })
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }))
      },
    )
    asked.on('error', reject).end()
  })
}

describe('dashboard', () => {
  let topology: LocalTopology
  let pool: TestPool
  let dashboard: Dashboard
  before(async () => {
    topology = await LocalTopology.start({ shards: ['cache-a', 'cache-b', 'cache-c'] })
    pool = poolOn(topology)
    await pool.connect()
    const options = { masters: topology.masters, sentinels: topology.sentinels } as PoolOptions
    dashboard = await startDashboard(pool, { title: 'Shop <sessions>', options })
  })
  after(async () => {
    await dashboard.close()
    await pool.close()
    await topology.close()
  })

  it('serves one page to loopback names only, and allows it to load nothing from elsewhere', async () => {
    const { status, headers, text } = await ask(dashboard.url, {})
    assert.equal(status, 200)
    assert.match(String(headers['content-security-policy']), /^default-src 'none'; script-src 'nonce-/)
    assert.ok(text.includes('Shop &#60;sessions&#62;') && !text.includes('<sessions>'))
    assert.ok(!/(src|href)="?(https?:)?\/\//.test(text))
    assert.equal((await ask(dashboard.url, { host: 'evil.example' })).status, 403)
    assert.equal((await ask(dashboard.url, { method: 'POST' })).status, 405)
    assert.equal((await ask(dashboard.url, { path: '/etc' })).status, 404)
  })

  it('shows figures and addresses, and never the options', async () => {
    const { text } = await ask(dashboard.url, {})
    assert.ok(!text.includes('password'))
  })

  describe('in a browser', { skip }, () => {
    let browser: Browser
    let page: Page
    const troubles: string[] = []
    before(async () => {
      browser = await chromium.launch({ executablePath: CHROMIUM!, args: FLAGS })
      page = await browser.newPage({ viewport: { width: 1280, height: 1100 } })
      page.on('pageerror', (error) => troubles.push(error.message))
      page.on('console', (message) => {
        if (message.type() === 'error') troubles.push(message.text())
      })
      await page.goto(dashboard.url)
      await page.locator('#cards article').nth(2).waitFor()
    })
    after(() => browser.close())

    it('shows every shard with its master, replica and share, and the sentinels', async () => {
      await page
        .locator('#cards')
        .getByText(/^ \+\d+ B$/)
        .first()
        .waitFor()
      for (const { name, nodes } of topology.shards) {
        const card = page.locator(`article[data-shard="${name}"]`)
        assert.match(
          (await card.textContent()) ?? '',
          new RegExp(`${name}.*✓ ready.*master 127.0.0.1:${nodes[0]!.port}.*replica 127.0.0.1:${nodes[1]!.port}`),
        )
      }
      assert.match(
        (await page.locator('#ring').getAttribute('aria-label')) ?? '',
        /cache-a \d+\.\d %, cache-b \d+\.\d %, cache-c/,
      )
      assert.equal(await page.locator('#ring path').count(), 6)
      for (const { port } of topology.sentinels)
        await page.locator('#sentinels').getByText(`127.0.0.1:${port}`).waitFor()
      await page.locator('#findings').getByText('min-replicas-to-write is 0').first().waitFor()
    })

    it('draws operations and round trips from live events', async () => {
      const plot = page.locator('article[data-shard="cache-a"] svg[aria-label^="Round trip"]')
      await until('a round trip in the plot', async () => {
        await Promise.all(Array.from({ length: 20 }, (_, i) => pool.get(`k${i}`)))
        return /now \d+\.\d\d ms/.test((await plot.getAttribute('aria-label')) ?? '')
      })
      const own = page.locator('article[data-shard="cache-a"] path.own')
      assert.match((await own.getAttribute('d')) ?? '', /^M/)
    })

    it('a shard is brought out by the keyboard, and the state is told to a screen reader', async () => {
      await page.locator('#legend button').nth(1).focus()
      await page.keyboard.press('Enter')
      assert.equal(await page.locator('#legend button').nth(1).getAttribute('aria-pressed'), 'true')
      assert.equal(await page.locator('article.dim').count(), 2)
      await page.keyboard.press('Enter')
      await until('the others to come back', async () => (await page.locator('article.dim').count()) === 0)
      const named = page.getByRole('region', { name: 'Time line' })
      await named.waitFor()
      assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Shop <sessions>')
    })

    it('fits a phone, in light and dark', async () => {
      await page.setViewportSize({ width: 360, height: 740 })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        const wide = await page.evaluate('document.documentElement.scrollWidth')
        assert.ok(Number(wide) <= 360, `${wide} px wide`)
      }
      await page.setViewportSize({ width: 1280, height: 1100 })
    })

    it('tells of a failover while it goes on, and puts it on the time line', async () => {
      const down = nextEvent(pool, 'shard-down')
      const moved = nextEvent(pool, 'failover')
      await topology.killMaster('cache-b')
      await down
      await page.locator('#happenings').getByText('no usable connection').waitFor()
      const { to } = await moved
      const told = page.locator('#happenings li.failover')
      await told.getByText(`to 127.0.0.1:${to.port}`).waitFor()
      assert.match((await page.locator('#line').getAttribute('aria-label')) ?? '', /cache-b moved from/)
      assert.match((await page.locator('#live').textContent()) ?? '', /cache-b/)
      await page.locator('#verdict').getByText('all 3 shards ready').waitFor()
    })

    it('makes no error in the console on all that way', () => {
      assert.deepEqual(troubles, [])
    })

    it('says so when the server has ended', async () => {
      await dashboard.close()
      await page.locator('#verdict').getByText('has ended').waitFor()
      assert.equal(pool.isReady, true)
    })
  })

  it('the command prints its address and ends with Ctrl-C', async () => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const args = ['--import', 'tsx', 'src/cli/main.ts', 'dashboard', '--port', '0', ...flagsOf(topology)]
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] })
    const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    await until('the address', () => /^http:\/\/127\.0\.0\.1:\d+\/\n/.test(out), 30_000)
    assert.equal((await ask(out.trim(), {})).status, 200)
    child.kill('SIGINT')
    assert.equal(await ended, 130)
  })
})
