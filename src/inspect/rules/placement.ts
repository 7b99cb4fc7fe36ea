import { at, type Finding } from '../finding.js'
import type { NodeReport, ShardReport, TopologyPicture } from '../picture.js'

/** Whether keys are where this pool would look for them, how evenly, and by what clocks they expire. */
export function placementFindings(picture: TopologyPicture): readonly Finding[] {
  return [...picture.shards.flatMap(claim), ...shares(picture), ...picture.shards.flatMap(clocks)]
}

function claim({ name, master, expectedClaim }: ShardReport): Finding[] {
  if (master?.claim === undefined || master.claim === expectedClaim) return []
  if (master.claim === null) {
    return [
      {
        code: 'placement-unclaimed',
        severity: 'notice',
        subject: name,
        cause:
          'nothing on the shard says by which ring its keys were placed, so that a pool with another ring would go unnoticed',
        cure: "connect once with `placementGuard: 'claim'`",
      },
    ]
  }
  return [
    {
      code: 'placement-mismatch',
      severity: 'error',
      subject: name,
      cause: `its data was placed by another ring: it holds "${master.claim}", these options make "${expectedClaim}"`,
      cure: 'use the ring, the labels and weights (and with some presets the order of `masters`) that the data was placed by; to change them on purpose see `plan`',
    },
  ]
}

/** A quarter more or less than its weight entitles it to. */
const SHARE_TOLERANCE = 0.25

function shares({ shards }: TopologyPicture): Finding[] {
  const total = shards.reduce((sum, shard) => sum + shard.weight, 0)
  return shards.flatMap(({ name, weight, share }): Finding[] => {
    if (share === undefined || weight === 0) return []
    const due = weight / total
    if (Math.abs(share - due) <= due * SHARE_TOLERANCE) return []
    const percent = (part: number) => `${(part * 100).toFixed(1)} %`
    return [
      {
        code: 'share-off',
        severity: 'warning',
        subject: name,
        cause: `it owns ${percent(share)} of the hash space, its weight is worth ${percent(due)}`,
        cure: 'give it another weight, or the ring more points; look at what would move with `plan` first',
      },
    ]
  })
}

const SKEW_MS = 2_000

function clocks({ name, master, others }: ShardReport): Finding[] {
  const skewed = [master, ...others].filter(
    (node): node is NodeReport => node?.clockSkewMs !== undefined && Math.abs(node.clockSkewMs) > SKEW_MS,
  )
  return skewed.map((node) => ({
    code: 'clock-skew',
    severity: 'warning',
    subject: name,
    cause: `the clock of ${at(node.address)} is ${(node.clockSkewMs! / 1000).toFixed(1)} s off this machine's: keys expire sooner or later after a failover, and a clock that jumps puts sentinels into TILT`,
    cure: 'run NTP on every machine, this one included',
  }))
}
