import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { TopologyError } from './topology-error.js'

/**
 * The `redis-server` to start: the option, else the environment variable `REDIS_SERVER`, else the first on PATH.
 * Throws `REDIS_SERVER_MISSING`, with one sentence on how to install it.
 */
export function findRedisServer(option?: string, environment: NodeJS.ProcessEnv = process.env): string {
  const named = option ?? environment.REDIS_SERVER
  const found = named ? runnable(named, environment) : runnable('redis-server', environment)
  if (found) return found
  const what = named ? `'${named}' is not a program that can be run` : 'redis-server was not found on PATH'
  throw new TopologyError(
    'REDIS_SERVER_MISSING',
    `${what}: install it (Debian: apt-get install redis-server; macOS: brew install redis), ` +
      'or name it with the option redisServer or the environment variable REDIS_SERVER',
  )
}

/** The `openssl` that makes certificates. Throws `OPENSSL_MISSING`. */
export function findOpenssl(environment: NodeJS.ProcessEnv = process.env): string {
  const found = runnable('openssl', environment)
  if (found) return found
  throw new TopologyError(
    'OPENSSL_MISSING',
    'openssl was not found on PATH and makes the certificates of a TLS topology: ' +
      'install it (Debian: apt-get install openssl; macOS: brew install openssl)',
  )
}

function runnable(name: string, environment: NodeJS.ProcessEnv): string | undefined {
  const candidates = name.includes('/')
    ? [name]
    : (environment.PATH ?? '').split(delimiter).map((folder) => join(folder || '.', name))
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
