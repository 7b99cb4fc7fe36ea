import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { findOpenssl, findRedisServer } from '../../../src/testing/executable.js'
import { TopologyError } from '../../../src/testing/topology-error.js'

describe('findRedisServer', () => {
  let folder = ''
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'executable-test-'))
    for (const name of ['redis-server', 'other-server']) {
      writeFileSync(join(folder, name), '')
      chmodSync(join(folder, name), 0o755)
    }
    writeFileSync(join(folder, 'not-executable'), '')
  })
  after(() => rmSync(folder, { recursive: true }))

  it('takes the first on PATH, the environment before it, and the option before both', () => {
    const path = { PATH: `/nowhere:${folder}` }
    const named = { ...path, REDIS_SERVER: 'other-server' }
    assert.equal(findRedisServer(undefined, path), join(folder, 'redis-server'))
    assert.equal(findRedisServer(undefined, named), join(folder, 'other-server'))
    assert.equal(findRedisServer(join(folder, 'redis-server'), named), join(folder, 'redis-server'))
  })

  it('says in one sentence how to install what is missing', () => {
    const missing = (call: () => void, code: string) =>
      assert.throws(call, (error: unknown) => {
        assert.ok(error instanceof TopologyError)
        assert.equal(error.code, code)
        assert.match(error.message, /apt-get install .* brew install/)
        return true
      })
    missing(() => findRedisServer(undefined, { PATH: '/nowhere' }), 'REDIS_SERVER_MISSING')
    missing(() => findRedisServer(join(folder, 'not-executable'), {}), 'REDIS_SERVER_MISSING')
    missing(() => findOpenssl({}), 'OPENSSL_MISSING')
  })
})
