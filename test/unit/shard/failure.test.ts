import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AbortError, ClientClosedError, ClientOfflineError, ErrorReply } from '../../../src/redis-client.js'
import { classifyFailure, type FailureKind, reasonOf, replyCode } from '../../../src/shard/failure.js'

describe('what a failed call means', () => {
  const replies: [string, FailureKind][] = [
    ["READONLY You can't write against a read only replica.", 'moved'],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", 'moved'],
    ['UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)', 'moved'],
    ['UNBLOCKED client unblocked via CLIENT UNBLOCK', 'answered'],
    ['LOADING Redis is loading the dataset in memory', 'not-yet'],
    ['NOREPLICAS Not enough good replicas to write.', 'not-yet'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'not-yet'],
    ['BUSY Redis is busy running a script.', 'not-yet'],
    ['NOAUTH Authentication required.', 'stale-login'],
    ['UNKILLABLE Sorry the script already executed write commands', 'answered'],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', 'answered'],
    ['OOM command not allowed when used memory', 'answered'],
    ['NOPERM this user has no permissions', 'answered'],
    ['MISCONF Redis is configured to save RDB snapshots', 'answered'],
    ['EXECABORT Transaction discarded because of previous errors.', 'answered'],
    ['NOSCRIPT No matching script.', 'answered'],
    ['BUSYGROUP Consumer Group name already exists', 'answered'],
    ['BUSYKEY Target key name already exists.', 'answered'],
    ['ERR unknown command', 'answered'],
    ['READONLY', 'moved'],
    ['constructor of a prototype', 'answered'],
    ['', 'answered'],
  ]
  for (const [message, kind] of replies) {
    it(`the reply '${message.slice(0, 40)}' is '${kind}'`, () => {
      assert.equal(classifyFailure(new ErrorReply(message)), kind)
    })
  }

  const others: [string, unknown, FailureKind][] = [
    ['a client that was closed before the command entered its queue', new ClientClosedError(), 'not-sent'],
    ['a client that is offline', new ClientOfflineError(), 'not-sent'],
    ['a full queue', new Error('The queue is full'), 'full'],
    ['a reset socket', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), 'lost'],
    ['a client that was destroyed under the command', new Error('Disconnects client'), 'lost'],
    ['an abort', new AbortError(), 'caller'],
    ['an argument that cannot be encoded', new TypeError('Invalid argument type'), 'caller'],
    ['something thrown that is no error', 'text', 'caller'],
  ]
  for (const [what, error, kind] of others) {
    it(`${what} is '${kind}'`, () => {
      assert.equal(classifyFailure(error), kind)
    })
  }

  it('the first word of a reply is its code', () => {
    assert.equal(replyCode(new ErrorReply('READONLY You')), 'READONLY')
    assert.equal(replyCode(new ErrorReply('READONLY')), 'READONLY')
  })

  it('the reason of a rebuild names the reply', () => {
    assert.equal(reasonOf(new ErrorReply('MASTERDOWN Link')), 'master-down-reply')
    assert.equal(reasonOf(new ErrorReply('READONLY You')), 'read-only-reply')
  })
})
