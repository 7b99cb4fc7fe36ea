import { suggestion } from '../../nearest.js'
import { crc16 } from '../hashes/crc.js'
import { span } from '../key-bytes.js'
import type { OptionReader } from '../option-reader.js'
import type { Placement } from '../placement.js'
import { countPoints } from '../point-ring.js'
import type { GivenShard } from '../shards.js'
import { refuseWeights } from '../shards.js'
import { bracesTag } from '../tags.js'

/* Redis Cluster's slots: CRC-16/XMODEM of the key or its tag, modulo 16384, and ranges of slots per shard. */

const SLOTS = 16384
const FREE = 0xffff

export function placeSlots(shards: readonly GivenShard[], options: OptionReader): Placement {
  const ranges = options.value('ranges')
  options.finish()
  if (ranges !== undefined) refuseWeights(shards, 'slots')
  const owners = ranges === undefined ? spread(shards) : readRanges(shards, ranges, options)
  const find = (): number => owners[crc16(span.bytes, span.start, span.end) & (SLOTS - 1)]!
  return {
    locateText(key) {
      bracesTag.text(key)
      return find()
    },
    locateBytes(key) {
      bracesTag.bytes(key)
      return find()
    },
    space: () => ({
      kind: 'segments',
      hash: `crc16 slots of ${bracesTag.id}`,
      ends: Float64Array.from({ length: SLOTS }, (_, slot) => (slot + 1) / SLOTS),
      owners,
    }),
    points: countPoints(owners, shards.length),
    facts: ranges === undefined ? 'slots spread' : `slots ${listRanges(shards, owners)}`,
    ordered: ranges === undefined,
  }
}

/** As `redis-cli --cluster create` deals them out: in list order, with C's float, here by weight. */
function spread(shards: readonly GivenShard[]): Uint16Array {
  const f = Math.fround
  const owners = new Uint16Array(SLOTS)
  const total = shards.reduce((sum, shard) => sum + shard.weight, 0)
  const unit = f(SLOTS / f(total))
  const lastWithKeys = shards.reduce((last, shard, i) => (shard.weight > 0 ? i : last), 0)
  let first = 0
  let cursor = 0
  for (const [i, { weight }] of shards.entries()) {
    const step = f(unit * f(weight))
    // C's lround sends halves away from zero; here nothing is below zero.
    const end = i >= lastWithKeys ? SLOTS : Math.min(SLOTS, Math.floor(f(f(cursor + step) - 1) + 0.5) + 1)
    if (weight > 0) {
      owners.fill(i, first, end)
      first = Math.max(first, end)
    }
    cursor = f(cursor + step)
  }
  return owners
}

function readRanges(shards: readonly GivenShard[], value: unknown, options: OptionReader): Uint16Array {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw options.error('ranges', 'must be an object of shard names and lists of [first, last]')
  }
  const names = shards.map((shard) => shard.name)
  const owners = new Uint16Array(SLOTS).fill(FREE)
  for (const [name, ranges] of Object.entries(value)) {
    const owner = names.indexOf(name)
    if (owner < 0) throw options.error('ranges', `names no shard with '${name}'${suggestion(name, names)}`)
    if (!Array.isArray(ranges)) throw options.error('ranges', `must give '${name}' a list of [first, last]`)
    for (const range of ranges as readonly unknown[]) take(owners, owner, name, range, options)
  }
  const free = owners.indexOf(FREE)
  if (free >= 0) throw options.error('ranges', `leaves slot ${free} without a shard`)
  return owners
}

function take(owners: Uint16Array, owner: number, name: string, range: unknown, options: OptionReader): void {
  if (!Array.isArray(range) || range.length !== 2)
    throw options.error('ranges', `must give '${name}' pairs [first, last]`)
  const first = options.checkInteger('ranges', range[0], 0, SLOTS - 1)
  const last = options.checkInteger('ranges', range[1], first, SLOTS - 1)
  for (let slot = first; slot <= last; slot++) {
    if (owners[slot] !== FREE) throw options.error('ranges', `gives slot ${slot} away twice`)
    owners[slot] = owner
  }
}

/** Every run of slots with its owner's label, in slot order: the same text however the ranges were written. */
function listRanges(shards: readonly GivenShard[], owners: Uint16Array): string {
  const runs: string[] = []
  let first = 0
  for (let slot = 1; slot <= SLOTS; slot++) {
    if (slot < SLOTS && owners[slot] === owners[first]) continue
    runs.push(`${first}-${slot - 1}=${JSON.stringify(shards[owners[first]!]!.label)}`)
    first = slot
  }
  return runs.join(',')
}
