import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { COMMANDS } from '../../../src/cli/run.js'
import { runCli } from '../../support/run-cli.js'

describe('cli', () => {
  it('tells its commands, on standard output when asked and on standard error when not', async () => {
    const asked = await runCli(['--help'])
    assert.equal(asked.code, 0)
    for (const { name, summary } of COMMANDS) assert.ok(asked.out.includes(`${name} `) && asked.out.includes(summary))
    const lost = await runCli([])
    assert.deepEqual([lost.code, lost.out, lost.err], [2, '', asked.out])
  })

  it('every command has help with its usage, flags and examples, within 120 columns but for the environment names', async () => {
    for (const { name, flags } of COMMANDS) {
      const { code, out } = await runCli([name, '--help'])
      assert.equal(code, 0)
      assert.match(out, new RegExp(`^Usage: sharded-sentinel-pool ${name} `))
      for (const flag of flags) assert.ok(out.includes(`--${flag.name}`), `${name} --${flag.name}`)
      assert.match(out, /\nExamples:\n {2}sharded-sentinel-pool/)
      assert.equal((await runCli(['help', name])).out, out)
      const wide = out.split('\n').filter((line) => line.length > 120 && !line.includes('SHARDED_SENTINEL_POOL_'))
      assert.deepEqual(wide, [])
    }
  })

  it('every command and every flag of it is told of in docs/cli.md', () => {
    const docs = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8')
    for (const { name, flags } of COMMANDS) {
      assert.ok(docs.includes(`## \`${name}`), name)
      for (const flag of flags) assert.ok(docs.includes(`\`--${flag.name}`), `${name} --${flag.name}`)
    }
  })

  it('a typo in a command is answered with the nearest one, exit code 2', async () => {
    const { code, err } = await runCli(['docter'])
    assert.equal(code, 2)
    assert.equal(err, "error: there is no command 'docter'; did you mean 'doctor'?\n")
  })

  it('a typo in an option of the configuration is answered with the nearest one, exit code 2', async () => {
    const { code, err } = await runCli(['locate', 'k', '--masters', 'a', '--preset', 'jedsi'])
    assert.equal(code, 2)
    assert.match(err, /no preset 'jedsi'; did you mean 'jedis'\?/)
  })

  it('a word too many or too few is answered with the usage', async () => {
    assert.match((await runCli(['drill'])).err, /too few words\. Usage: sharded-sentinel-pool drill <master>/)
    assert.match((await runCli(['status', 'x', '-m', 'a'])).err, /one word too many, 'x'/)
  })

  it('tells the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      version: string
    }
    assert.equal((await runCli(['--version'])).out, `${version}\n`)
  })

  it('colours only for a terminal that has not said NO_COLOR', async () => {
    const coloured = (env: Record<string, string>, terminal: boolean) =>
      runCli(['docter'], { env, terminal }).then(({ err }) => err.includes('\x1b['))
    assert.equal(await coloured({}, true), true)
    assert.equal(await coloured({}, false), false)
    assert.equal(await coloured({ NO_COLOR: '1' }, true), false)
    assert.equal(await coloured({ FORCE_COLOR: '1' }, false), true)
  })
})
