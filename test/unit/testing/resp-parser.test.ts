import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeCommand, RespError, RespParser } from '../../../src/testing/resp-parser.js'

const STREAM = Buffer.from(
  '+OK\r\n-ERR no\r\n:42\r\n$5\r\nh\u00e9l\r\n'.replace('$5', '$4') +
    '$-1\r\n*-1\r\n*3\r\n$1\r\na\r\n:1\r\n*1\r\n-EXECABORT x\r\n' +
    '%1\r\n+k\r\n#t\r\n>2\r\n+message\r\n_\r\n,1.5\r\n=7\r\ntxt:abc\r\n|1\r\n+a\r\n+b\r\n+after\r\n',
)
const REPLIES = [
  'OK',
  new RespError('ERR no'),
  42,
  'h\u00e9l',
  null,
  null,
  ['a', 1, [new RespError('EXECABORT x')]],
  ['k', true],
  ['message', null],
  1.5,
  'abc',
  'after',
]

describe('RespParser', () => {
  it('reads every kind of reply of RESP2 and RESP3', () => {
    assert.deepEqual(new RespParser().push(STREAM), REPLIES)
  })

  it('reads the same wherever the stream is cut in two', () => {
    for (let cut = 0; cut <= STREAM.length; cut++) {
      const parser = new RespParser()
      const replies = [...parser.push(STREAM.subarray(0, cut)), ...parser.push(STREAM.subarray(cut))]
      assert.deepEqual(replies, REPLIES, `cut at ${cut}`)
      assert.equal(parser.midReply, false)
    }
  })

  it('reads the same byte by byte', () => {
    const parser = new RespParser()
    const replies = [...STREAM].flatMap((byte) => parser.push(Buffer.from([byte])))
    assert.deepEqual(replies, REPLIES)
  })

  it('knows when it is in the middle of a reply', () => {
    const parser = new RespParser()
    assert.equal(parser.midReply, false)
    parser.push(Buffer.from('*2\r\n+a\r\n'))
    assert.equal(parser.midReply, true)
    parser.push(Buffer.from('+b\r\n'))
    assert.equal(parser.midReply, false)
  })

  it('refuses what is not RESP', () => {
    assert.throws(() => new RespParser().push(Buffer.from('HTTP/1.1 400\r\n')), SyntaxError)
  })

  it('reads back what encodeCommand writes, with text, numbers and bytes', () => {
    const bytes = encodeCommand(['SET', 'k\u00e9y', 7, Buffer.from('raw')])
    assert.deepEqual(new RespParser().push(bytes), [['SET', 'k\u00e9y', '7', 'raw']])
  })
})
