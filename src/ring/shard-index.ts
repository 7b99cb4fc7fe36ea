import { InvalidOptionsError } from '../errors.js'

/**
 * Checks what a function of the user gave as the place of a shard.
 * @throws InvalidOptionsError `option`, when it is not a whole number from 0 to count - 1
 */
export function checkShardIndex(value: unknown, count: number, option = 'ring'): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < count) return value
  // A key that was returned by mistake must not get into a message, so only numbers are shown.
  const shown = typeof value === 'number' || typeof value === 'bigint' ? `${value}` : `a value of type ${typeof value}`
  throw new InvalidOptionsError(
    option,
    `the function that places keys returned ${shown}; it must return a whole number from 0 to ${count - 1}`,
  )
}
