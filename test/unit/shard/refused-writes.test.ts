import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RefusedWrites } from '../../../src/shard/refused-writes.js'

/** Resolves with its length when the pause is over. */
function pausing(): { writes: RefusedWrites; over: () => Promise<number> } {
  let tell = () => {}
  const writes = new RefusedWrites({ onPause: () => {}, onOver: () => tell() })
  const over = async () => {
    const since = performance.now()
    await new Promise<void>((resolve) => {
      tell = resolve
    })
    return performance.now() - since
  }
  return { writes, over }
}

describe('the pause of refused writes', () => {
  it('grows with each refusal after it, ends by itself, and is never longer than a quarter of a second', async () => {
    const { writes, over } = pausing()
    const lengths: number[] = []
    for (let i = 0; i < 9; i++) {
      writes.refused(new Error('NOREPLICAS'))
      assert.equal(writes.paused, true)
      lengths.push(await over())
      assert.equal(writes.paused, false)
    }
    assert.ok(lengths[0]! < 60, String(lengths))
    assert.ok(lengths.at(-1)! >= 120, String(lengths))
    assert.ok(Math.max(...lengths) < 400, String(lengths))
  })

  it('is not begun by a refusal that is older than the last one', async () => {
    const { writes, over } = pausing()
    const late = new Error('NOREPLICAS')
    const place = writes.placeOf(late)
    writes.refused(new Error('NOREPLICAS'))
    await over()
    writes.refused(late)
    assert.equal(writes.paused, false)
    assert.equal(writes.placeOf(late), place)
  })

  it('places are in the order of the refusals, whenever they are asked for again', () => {
    const { writes } = pausing()
    const errors = [new Error('1'), new Error('2'), new Error('3')]
    const places = errors.map((error) => writes.placeOf(error))
    assert.deepEqual(
      [...errors].reverse().map((error) => writes.placeOf(error)),
      [...places].reverse(),
    )
    assert.ok(places[0]! < places[1]! && places[1]! < places[2]!)
  })

  it('reset ends it, tells nobody, and leaves no timer', async () => {
    let told = 0
    const writes = new RefusedWrites({ onPause: () => {}, onOver: () => told++ })
    writes.refused(new Error('LOADING'))
    writes.reset()
    await new Promise((resolve) => setTimeout(resolve, 30))
    assert.deepEqual([writes.paused, told], [false, 0])
  })
})
