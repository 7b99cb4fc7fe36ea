import { createRequire } from 'node:module'
import { RESP_TYPES } from 'redis'
import type * as Library from '../../dist/library/index.js'
import type { Connect } from '../contract.js'

const require = createRequire(import.meta.url)

/** The pool. `dist` names another build of the library (see compare.ts); other options go to the pool as numbers. */
export function loadPool(options: URLSearchParams): Connect {
  // Loaded before the clock of a cold start runs, as the bare client's module is.
  const { ShardedSentinelPool } = require(options.get('dist') ?? '../../dist/library/index.js') as typeof Library
  const numbers = [...options].filter(([name]) => name !== 'dist').map(([name, value]) => [name, Number(value)])
  return async ({ masters, sentinels }) => {
    const found = sentinels.length > 0 ? { masters: masters.map(({ name }) => name), sentinels } : { masters }
    const client = new ShardedSentinelPool({ ...found, placementGuard: 'off', ...Object.fromEntries(numbers) })
    client.on('error', (error: unknown) => console.error(error))
    await client.connect()
    const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
    return {
      get: (key) => client.get(key),
      getApart: (key) => client.use(key, (own) => own.get(key)),
      set: (key, value) => client.set(key, value),
      getBytes: (key) => bytes.get(key),
      mGet: (keys) => client.mGet(keys as string[]),
      pipeline: (keys) => {
        const pipeline = client.pipeline()
        for (const key of keys) pipeline.get(key)
        return pipeline.exec() as Promise<unknown[]>
      },
      transaction: (key) =>
        client.use(key, async (own) => {
          await own.watch(key)
          const value = await own.get(key)
          return own.multi().set(key, String(value)).exec()
        }),
      close: () => client.destroy(),
    }
  }
}
