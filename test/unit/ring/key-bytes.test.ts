import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeText, span, utf8 } from '../../../src/ring/key-bytes.js'

const anyString = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 }).map((u) => String.fromCharCode(...u))

test('any string is encoded as Node writes it on the wire, lone surrogates too', () => {
  fc.assert(
    fc.property(fc.oneof(anyString, fc.string({ unit: 'binary' })), (text) => {
      encodeText(text)
      const wire = Buffer.from(text)
      assert.deepEqual(Buffer.from(span.bytes.slice(span.start, span.end)), wire)
      assert.deepEqual(Buffer.from(utf8(text)), wire)
    }),
    { numRuns: 1000 },
  )
})

test("Java's encoding differs in lone surrogates alone, which become question marks", () => {
  fc.assert(
    fc.property(anyString, (text) => {
      const wellFormed = text.replace(/\p{Surrogate}/gu, '?')
      assert.deepEqual(Buffer.from(utf8(text, 'question')), Buffer.from(wellFormed))
    }),
    { numRuns: 1000 },
  )
})

test('a long string is encoded whole and does not stay in the scratch', () => {
  encodeText('short')
  const scratch = span.bytes
  for (const length of [4095, 4096, 4097, 100_000]) {
    encodeText('€'.repeat(length))
    assert.equal(span.end, length * 3)
    assert.equal(span.bytes === scratch, length <= 4096)
  }
})
