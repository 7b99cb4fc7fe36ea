import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Of the package that this file lies in, whether built or not. */
export function packageVersion(): string {
  const main = process.argv[1]
  for (let folder = main ? dirname(main) : process.cwd(); ; folder = dirname(folder)) {
    try {
      const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, string>
      if (name === 'sharded-sentinel-pool' && version !== undefined) return version
    } catch {
      // No package here, or the one that only says which kind of modules lies below it.
    }
    if (folder === dirname(folder)) return 'unknown'
  }
}
