import {
  formatAddress,
  type MasterBelief,
  type NodeReport,
  type SentinelReport,
  type ShardReport,
  type TopologyPicture,
} from '../index.js'
import type { Paint } from './io.js'
import { bytes, percent, plural, table } from './text.js'

/** The picture for people: a table of shards, a table of sentinels. */
export function statusText(picture: TopologyPicture, paint: Paint): string {
  const { shards, sentinels, tookMs } = picture
  const head = `${plural(shards.length, 'shard')}, ${plural(sentinels.length, 'sentinel')}, asked in ${Math.round(tookMs)} ms`
  const dim = (words: readonly string[]) => words.map((word) => paint('dim', word))
  const rows = [
    dim(['SHARD', 'MASTER', 'EPOCH', 'SHARE', 'KEYS', 'OPS/S', 'SENTINELS', 'REPLICAS']),
    ...shards.map((shard) => shardRow(shard, picture, paint)),
  ]
  const watchers = [
    dim(['SENTINEL', 'STATE', 'VERSION', 'BELIEVES']),
    ...sentinels.map((one) => sentinelRow(one, picture, paint)),
  ]
  return `${head}\n\n${table(rows)}${sentinels.length > 0 ? `\n\n${table(watchers)}` : ''}\n`
}

function shardRow(shard: ShardReport, picture: TopologyPicture, paint: Paint): string[] {
  const { name, master, others, share } = shard
  const beliefs = beliefsOf(picture, name)
  const agree = beliefs.filter((belief) => isMaster(belief, shard)).length
  const votes = `${agree} of ${picture.sentinels.length}`
  const epoch = Math.max(...beliefs.map((belief) => belief.configEpoch ?? -1))
  return [
    wellServed(shard, picture) ? name : paint('red', `${name} !`),
    masterCell(master, paint),
    epoch >= 0 ? String(epoch) : '?',
    percent(share),
    master?.keys === undefined ? '?' : String(master.keys),
    master?.opsPerSecond === undefined ? '?' : String(master.opsPerSecond),
    agree === picture.sentinels.length ? votes : paint('yellow', `${votes} !`),
    others.length === 0 ? paint('yellow', 'none !') : others.map((node) => replicaCell(node, paint)).join(', '),
  ]
}

function masterCell(master: NodeReport | undefined, paint: Paint): string {
  if (master === undefined) return paint('red', 'none')
  const where = formatAddress(master.address)
  if (master.error !== undefined) return paint('red', `${where} ${master.error} !`)
  if (master.role !== 'master') return paint('red', `${where} says ${master.notYet ?? master.role ?? 'nothing'} !`)
  return paint('green', where)
}

function replicaCell(node: NodeReport, paint: Paint): string {
  const where = formatAddress(node.address)
  if (node.error !== undefined) return paint('yellow', `${where} ${node.error} !`)
  if (node.role === 'master') return paint('red', `${where} says master too !`)
  if (node.link !== 'connected') return paint('yellow', `${where} link ${node.link ?? 'unknown'} !`)
  return node.lagBytes === undefined ? where : `${where} ${paint('dim', `+${bytes(node.lagBytes)}`)}`
}

function sentinelRow(sentinel: SentinelReport, picture: TopologyPicture, paint: Paint): string[] {
  const where = formatAddress(sentinel.address)
  if (sentinel.error !== undefined) return [where, paint('red', `${sentinel.error} !`), '', '']
  const state = sentinel.tilt ? paint('red', 'TILT !') : paint('green', `${sentinel.latencyMs!.toFixed(1)} ms`)
  const believes = picture.shards.map((shard) => {
    const belief = sentinel.beliefs.find(({ masterName }) => masterName === shard.name)
    if (!belief?.address) return paint('yellow', `${shard.name} ${belief?.address === null ? 'unknown' : 'not told'} !`)
    const flags = belief.flags.filter((flag) => flag !== 'master')
    const text = `${shard.name} ${formatAddress(belief.address)}@${belief.configEpoch ?? '?'}${flags.length > 0 ? ` ${flags.join(' ')}` : ''}`
    return isMaster(belief, shard) && flags.length === 0 ? text : paint('yellow', `${text} !`)
  })
  return [where, state, sentinel.version ?? '?', believes.join(', ')]
}

/** A verified master that everybody who answers names. */
export function wellServed(shard: ShardReport, picture: TopologyPicture): boolean {
  const { master, name } = shard
  return (
    master?.error === undefined &&
    master?.role === 'master' &&
    beliefsOf(picture, name).every((belief) => isMaster(belief, shard))
  )
}

function beliefsOf({ sentinels }: TopologyPicture, name: string): readonly MasterBelief[] {
  return sentinels.flatMap(({ beliefs }) => beliefs.filter(({ masterName }) => masterName === name))
}

function isMaster({ address }: MasterBelief, { master }: ShardReport): boolean {
  return Boolean(address && master && formatAddress(address) === formatAddress(master.address))
}
