import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { subjectAltName } from '../../../src/testing/certificates.js'

describe('subjectAltName', () => {
  it('tells names from IPs of both families', () => {
    assert.equal(subjectAltName(['localhost', '127.0.0.1', '::1']), 'DNS:localhost,IP:127.0.0.1,IP:::1')
  })
})
