import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidOptionsError } from '../../../src/errors.js'
import { span } from '../../../src/ring/key-bytes.js'
import { bracesTag, javaTag, type KeyRule, pairTag, phpTag, rubyTag, wholeKey } from '../../../src/ring/tags.js'

/** What a rule leaves of a string, and of the same bytes. */
function hashed(rule: KeyRule, key: string): string {
  rule.text(key)
  const text = Buffer.from(span.bytes.subarray(span.start, span.end)).toString()
  rule.bytes(Buffer.from(key))
  assert.equal(Buffer.from(span.bytes.subarray(span.start, span.end)).toString(), text, key)
  return text
}

function textOnly(rule: KeyRule, key: string): string {
  rule.text(key)
  return Buffer.from(span.bytes.subarray(span.start, span.end)).toString()
}

test('braces: the first pair counts, an empty one is no tag and there is no second try', () => {
  const cases: Record<string, string> = {
    '': '',
    a: 'a',
    '{a}': 'a',
    'x{a}y': 'a',
    '{a}{b}': 'a',
    '{}{b}': '{}{b}',
    '{a': '{a',
    'a}': 'a}',
    '}{a}': 'a',
    '{{a}}': '{a',
    '{\0}': '\0',
    'ż{é😀}ż': 'é😀',
  }
  for (const [key, tag] of Object.entries(cases)) assert.equal(hashed(bracesTag, key), tag, key)
})

test('hash_tag of twemproxy: two bytes of choice, equal ones too, and bytes past ASCII', () => {
  const colons = pairTag('::', 0x3a, 0x3a)
  assert.equal(hashed(colons, 'a:b:c'), 'b')
  assert.equal(hashed(colons, 'a::b:c'), 'a::b:c')
  assert.equal(hashed(colons, 'a:b'), 'a:b')
  const bytes = pairTag('é', 0xc3, 0xa9)
  bytes.bytes(Buffer.from([1, 0xc3, 2, 0xa9]))
  assert.deepEqual([...span.bytes.subarray(span.start, span.end)], [2])
})

test('phpredis: an empty tag is a tag, and a NUL ends the search', () => {
  const cases: Record<string, string> = {
    '{a}b': 'a',
    '{}b': '',
    'a\0{b}': 'a\0{b}',
    '{a\0}': '{a\0}',
    '{a}\0': 'a',
    '{a': '{a',
  }
  for (const [key, tag] of Object.entries(cases)) assert.equal(hashed(phpTag, key), tag, key)
})

test('no tags: the whole key is hashed', () => {
  assert.equal(hashed(wholeKey, '{a}b'), '{a}b')
})

test("Jedis's default pattern takes at least one character and tries again from the next brace", () => {
  const rule = javaTag('\\{(.+?)\\}')
  const cases: Record<string, string> = {
    '{a}b': 'a',
    '{}}': '}',
    'foo{}{bar}': '}{bar',
    '{\n}{b}x': 'b',
    '{\u0085}{b}': 'b',
    '{\u2028}{b}': 'b',
    '{😀}': '😀',
    '{\v}': '\v',
    '{a': '{a',
    '\ud800{\ud800}': '?',
    'x\udc00': 'x?',
  }
  for (const [key, tag] of Object.entries(cases)) assert.equal(textOnly(rule, key), tag, JSON.stringify(key))
  rule.bytes(Buffer.from('{a}b'))
  assert.deepEqual([span.start, span.end], [0, 4])
})

test('a Java pattern keeps the meaning of its anchors, classes, quotes and escapes', () => {
  const cases: [pattern: string, key: string, tag: string][] = [
    ['^([^:]+):', 'user:1:2', 'user'],
    ['^([^:]+):', 'a\nb:c', 'a\nb'],
    ['([a-z]+)$', 'x\nabc\n', 'abc'],
    ['([a-z]+)$', 'x\nabc\n\n', 'x\nabc\n\n'],
    ['(c)$', 'abc\r\n', 'c'],
    ['(\\r)$', 'abc\r\n', 'abc\r\n'],
    ['([a-z]+)\\z', 'abc\n', 'abc\n'],
    ['\\Q{(\\E(.)', 'x{(y', 'y'],
    ['(\\s+)x', 'a\u00a0x \tx', ' \t'],
    ['\\#\\{(.*?)\\}', 'a#{}b', ''],
    ['(\\x41\\u0042)', 'zABz', 'AB'],
    ['(?:a|b)(c{2,3}?)', 'accc', 'cc'],
    ['([\\w-]+)/', 'a_b-c/d', 'a_b-c'],
    ['[}](a)]', '}a]', 'a'],
  ]
  for (const [pattern, key, tag] of cases) assert.equal(textOnly(javaTag(pattern), key), tag, pattern)
})

test('a pattern that cannot be matched exactly is refused, with the part that is to blame', () => {
  const java = [
    '(a)++',
    '(?i)(a)',
    '(?<n>a)',
    '\\p{L}(a)',
    '(a)\\1',
    '(a)\\b',
    '[a[b]](c)',
    '[a&&b](c)',
    '{(a)}',
    '(a',
    '[](a)]',
  ]
  for (const pattern of java) assert.throws(() => javaTag(pattern), InvalidOptionsError, pattern)
  for (const pattern of ['(?>a)', '(a)\\G', '(é)', 'abc'])
    assert.throws(() => rubyTag(pattern), InvalidOptionsError, pattern)
  const lost = javaTag('a|(b)')
  assert.throws(() => lost.text('a'), InvalidOptionsError)
})

test("redis-rb's default tag stands at the start of any line, and only a line feed ends one", () => {
  const rule = rubyTag('^\\{(.+?)\\}')
  const cases: Record<string, string> = {
    '{a}b': 'a',
    'x{a}b': 'x{a}b',
    'x\n{a}b': 'a',
    'x\r{a}b': 'x\r{a}b',
    '{\r}': '\r',
    '{\n}{b}': '{\n}{b}',
    '{}}': '}',
    '{}\n{c}': 'c',
    '{żó}x': 'żó',
    '\n': '\n',
  }
  for (const [key, tag] of Object.entries(cases)) assert.equal(hashed(rule, key), tag, JSON.stringify(key))
})

test('a Ruby pattern may match nothing, may leave its group out, and sees single bytes in bytes', () => {
  assert.equal(hashed(rubyTag('\\{(.*?)\\}'), 'a{}b'), '')
  assert.equal(hashed(rubyTag('a|(b)'), 'xa'), 'xa')
  assert.equal(hashed(rubyTag('{(\\h+)}'), 'x{0aF}'), '0aF')
  assert.equal(hashed(rubyTag('(b)$'), 'b\nc'), 'b')
  const one = rubyTag('\\{(.)\\}')
  assert.equal(textOnly(one, '{é}'), 'é')
  one.bytes(Buffer.from('{é}'))
  assert.deepEqual([span.start, span.end], [0, 4])
})
