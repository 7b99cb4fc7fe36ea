import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeCommand, RespParser } from '../../../src/testing/resp-parser.js'
import { SubscriberTap } from '../../../src/testing/subscriber-tap.js'

function tap(...commands: string[][]): SubscriberTap {
  const one = new SubscriberTap()
  for (const command of commands) one.fromClient(encodeCommand(command))
  return one
}

describe('SubscriberTap', () => {
  it('forges nothing for a client that has not subscribed to the channel', () => {
    assert.equal(tap(['PING'], ['SUBSCRIBE', '+sdown']).forge('+switch-master', 'x'), undefined)
  })

  it('forges what a RESP2 subscriber of the channel reads as a message', () => {
    const bytes = tap(['subscribe', '+switch-master']).forge('+switch-master', 'a h\u00f4st 1 b 2')!
    assert.equal(bytes[0], '*'.charCodeAt(0))
    assert.deepEqual(new RespParser().push(bytes), [['message', '+switch-master', 'a h\u00f4st 1 b 2']])
  })

  it('forges a push for a client that said HELLO 3', () => {
    const bytes = tap(['HELLO', '3'], ['SUBSCRIBE', '+switch-master']).forge('+switch-master', 'x')!
    assert.equal(bytes[0], '>'.charCodeAt(0))
  })

  it('names the pattern to those who subscribed by pattern', () => {
    for (const pattern of ['*', '+switch*', '+switch-maste?']) {
      const bytes = tap(['PSUBSCRIBE', pattern]).forge('+switch-master', 'x')!
      assert.deepEqual(new RespParser().push(bytes), [['pmessage', pattern, '+switch-master', 'x']])
    }
  })

  it('forgets what was unsubscribed', () => {
    const one = tap(['SUBSCRIBE', '+switch-master', '+sdown'], ['UNSUBSCRIBE', '+switch-master'])
    assert.equal(one.forge('+switch-master', 'x'), undefined)
    assert.notEqual(one.forge('+sdown', 'x'), undefined)
    one.fromClient(encodeCommand(['UNSUBSCRIBE']))
    assert.equal(one.forge('+sdown', 'x'), undefined)
  })

  it('is at a boundary only between whole replies', () => {
    const one = tap()
    one.fromServer(Buffer.from('$5\r\nhel'))
    assert.equal(one.atBoundary, false)
    one.fromServer(Buffer.from('lo\r\n'))
    assert.equal(one.atBoundary, true)
  })

  it('forges nothing in traffic that it cannot read', () => {
    const one = tap(['SUBSCRIBE', '+switch-master'])
    one.fromClient(Buffer.from('\x16\x03\x01 not RESP\r\n'))
    assert.equal(one.forge('+switch-master', 'x'), undefined)
  })
})
