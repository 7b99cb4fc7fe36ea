import { type Address, formatAddress } from '../address.js'
import { readOptions } from '../options.js'
import { ConnectionFactory } from '../redis-client.js'
import { converse } from './ask.js'
import type { InspectOptions, TopologyOptions } from './inspect.js'

/** A sentinel that has begun a failover, or what each of them said instead. */
export type FailoverRequest =
  | { readonly sentinel: Address }
  | {
      readonly sentinel: undefined
      readonly refusals: readonly { readonly sentinel: string; readonly reply: string }[]
    }

/**
 * `SENTINEL FAILOVER <name>`, asked of one sentinel after another until one begins it: without a vote, the old master stays
 * up and becomes a replica. Resolves as soon as it is accepted, about two seconds before the switch is announced. Rejects
 * for wrong options and on abort only.
 * @throws InvalidOptionsError
 */
export async function requestFailover(
  options: TopologyOptions,
  masterName: string,
  { timeoutMs = 2_000, signal }: InspectOptions = {},
): Promise<FailoverRequest> {
  const { sentinels, name } = readOptions(options)
  const factory = new ConnectionFactory({ RESP: 2, ...options.sentinelClient })
  const refusals: { sentinel: string; reply: string }[] = []
  for (const address of sentinels) {
    const result = await converse({ factory, address, name: `${name}:inspect`, timeoutMs, signal }, (questions) =>
      questions.askText(['SENTINEL', 'FAILOVER', masterName], 'SENTINEL FAILOVER'),
    )
    const reply = 'error' in result ? result.error : (result.value ?? 'NOPERM: this user may not SENTINEL FAILOVER')
    if (reply === 'OK') return { sentinel: address }
    refusals.push({ sentinel: formatAddress(address), reply })
  }
  return { sentinel: undefined, refusals }
}
