import { InvalidOptionsError } from '../../errors.js'
import { suggestion } from '../../nearest.js'
import { digestNames, digestOf, isDigest } from '../hashes/digest.js'
import { md5 } from '../hashes/md5.js'
import { utf8 } from '../key-bytes.js'
import type { OptionReader } from '../option-reader.js'
import type { Placement } from '../placement.js'
import { type ByteHash, PointCollector, pointRing } from '../point-ring.js'
import type { GivenShard } from '../shards.js'
import { wholeKey } from '../tags.js'

/*
 * npm hashring 3.2. A server has floor(weight / total * vnodeCount * servers) labels `<server>-<j>`, in doubles and in this
 * order of steps (which makes 39 of 40 for 7 equal servers), and each label as many points as `replicas` says.
 */

export function placeHashring(shards: readonly GivenShard[], options: OptionReader): Placement {
  const algorithm = readAlgorithm(options)
  const compatibility = options.oneOf('compatibility', ['none', 'ketama', 'hash_ring'], 'none')
  const replicasGiven = options.value('replicas') !== undefined
  const replicas = options.integer('replicas', compatibility === 'hash_ring' ? 3 : 4, 1, 64)
  if (compatibility !== 'none' && replicasGiven) {
    throw options.error('replicas', "has no effect in hashring beside 'compatibility'; give one of them")
  }
  const vnodeCount = options.integer('vnodeCount', 40, 1, 65536)
  const defaultPort = options.integer('defaultPort', 0, 1, 65535)
  const vnodes = readVnodes(shards, options)
  options.finish()
  refuseOddWeights(shards, vnodes !== undefined)

  const total = shards.reduce((sum, shard) => sum + shard.weight, 0)
  const digest = digestOf(algorithm)
  const points = new PointCollector()
  for (const [i, shard] of shards.entries()) {
    const server = withoutPort(shard.label, defaultPort)
    const own = vnodes?.[i] ?? vnodeCount
    const share = Math.floor((shard.weight / total) * vnodeCount * shards.length)
    const labels = own === vnodeCount ? share : own
    for (let j = 0; j < labels; j++) {
      const bytes = digest(utf8(`${server}-${j}`))
      for (let r = 0; r < replicas; r++) points.add(i, word(bytes, r * 4))
    }
  }
  const keyHash: ByteHash =
    algorithm === 'md5' ? md5 : (bytes, start, end) => word(digest(bytes.subarray(start, end)), 0)
  const own = vnodes === undefined ? '' : ` vnodes=${listVnodes(shards, vnodes)}`
  const port = defaultPort === 0 ? '' : ` defaultPort=${defaultPort}`
  return pointRing({
    rule: wholeKey,
    hashId: algorithm === 'md5' ? 'md5' : `${algorithm}-le32`,
    hash: keyHash,
    points: points.list('earlier'),
    facts: `hashring algorithm=${algorithm} replicas=${replicas} vnodeCount=${vnodeCount}${port}${own}`,
    ordered: false,
    shardCount: shards.length,
  })
}

function readAlgorithm(options: OptionReader): string {
  const algorithm = options.text('algorithm')?.toLowerCase() ?? 'md5'
  if (isDigest(algorithm)) return algorithm
  throw options.error('algorithm', `does not know '${algorithm}'${suggestion(algorithm, digestNames())}`)
}

/** Little-endian; bytes past the end of a short digest count as 0. */
function word(bytes: Uint8Array, i: number): number {
  return (bytes[i] ?? 0) | ((bytes[i + 1] ?? 0) << 8) | ((bytes[i + 2] ?? 0) << 16) | ((bytes[i + 3] ?? 0) << 24)
}

/** hashring reads a server as host:port and nothing else. */
function withoutPort(server: string, defaultPort: number): string {
  const [host, port] = server.split(':')
  return defaultPort !== 0 && Number(port) === defaultPort ? host! : server
}

/** Labels of every shard that has a number of its own, by its place in the list. */
function readVnodes(shards: readonly GivenShard[], options: OptionReader): readonly (number | undefined)[] | undefined {
  const value = options.value('vnodes')
  if (value === undefined) return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw options.error('vnodes', 'must be an object of shard names and numbers')
  }
  const given = new Map<string, unknown>(Object.entries(value))
  const names = shards.map((shard) => shard.name)
  for (const name of given.keys()) {
    if (!names.includes(name)) throw options.error('vnodes', `names no shard with '${name}'${suggestion(name, names)}`)
  }
  return names.map((name) => {
    const count = given.get(name)
    return count === undefined ? undefined : options.checkInteger('vnodes', count, 1, 65536)
  })
}

function listVnodes(shards: readonly GivenShard[], vnodes: readonly (number | undefined)[]): string {
  const entries = shards.flatMap((shard, i) => (vnodes[i] === undefined ? [] : [[shard.label, vnodes[i]] as const]))
  return JSON.stringify(entries.sort((a, b) => (a[0] < b[0] ? -1 : 1)))
}

/** hashring takes a weight of 0 for 1, and knows either weights or vnodes of a server; neither is guessed at here. */
function refuseOddWeights(shards: readonly GivenShard[], hasVnodes: boolean): void {
  for (const [i, { name, weight }] of shards.entries()) {
    if (weight === 0) {
      throw new InvalidOptionsError(`masters[${i}].weight`, `hashring takes the weight 0 of '${name}' for 1; write 1`)
    }
    if (hasVnodes && weight !== 1) {
      throw new InvalidOptionsError(
        `masters[${i}].weight`,
        `'${name}' has a weight beside ring.vnodes; give one of them`,
      )
    }
  }
}
