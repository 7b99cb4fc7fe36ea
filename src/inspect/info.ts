import { readText } from '../sentinel/index.js'

/** The lines of INFO, `name:value`. Empty for anything else. */
export function infoFields(reply: unknown): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const line of (readText(reply) ?? '').split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon > 0 && !line.startsWith('#')) fields.set(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  return fields
}

export function infoNumber(fields: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = fields.get(name)
  return text !== undefined && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined
}
