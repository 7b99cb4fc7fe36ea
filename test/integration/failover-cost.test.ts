import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DrillKind, type DrillRow, median, runDrill } from '../drill/failover-drill.js'

// `npm run drill` prints these figures over 30 failovers of each kind. Here a few of each, and bounds for a loud machine.
const WORST_MS = 500

function afterPromotion(rows: readonly DrillRow[]): void {
  const times = rows.map((row) => Math.round(row.writeAfterPromotionMs))
  assert.ok(Math.max(...times) <= WORST_MS, `first kept write after the promotion: ${times} ms`)
  const ahead = rows.map((row) => Math.round(row.writeAfterSwitchMs))
  assert.ok(median(ahead) < 0, `first kept write against the announcement: ${ahead} ms`)
  assert.equal(
    rows.reduce((sum, row) => sum + row.lostAfterSwitch + row.otherErrors, 0),
    0,
  )
}

describe('failover: what it costs an app that writes all the while', () => {
  for (const replicas of [1, 3]) {
    it(`planned, with ${replicas} replica(s): nothing lost, no error, a pause that hardly anybody sees`, async () => {
      const rows = await runDrill('planned', replicas === 1 ? 3 : 1, { replicas })
      afterPromotion(rows)
      for (const row of rows) {
        assert.deepEqual(row.errors, {})
        assert.equal(row.lost, 0)
        assert.ok(row.writePauseMs <= WORST_MS, `paused for ${Math.round(row.writePauseMs)} ms`)
      }
    })

    it(`kill -9, with ${replicas} replica(s): writes go on at the promotion, not at the announcement`, async () => {
      const rows = await runDrill('kill', replicas === 1 ? 2 : 1, { replicas })
      afterPromotion(rows)
      const allowed: Record<DrillKind, string[]> = { planned: [], kill: ['CONNECTION_LOST'] }
      for (const row of rows) {
        assert.deepEqual(
          Object.keys(row.errors).filter((code) => !allowed[row.kind].includes(code)),
          [],
        )
      }
    })
  }
})
