import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Socket } from 'node:net'

/**
 * Open TCP connections of this process to a port, as the operating system sees them: on Linux the kernel's own table,
 * elsewhere Node's list of handles.
 */
export function socketsTo(port: number): number {
  if (process.platform !== 'linux') return handlesTo(port)
  const own = ownSocketInodes()
  return ['tcp', 'tcp6'].reduce((count, table) => {
    const rows = readFileSync(`/proc/self/net/${table}`, 'utf8').trim().split('\n').slice(1)
    return (
      count +
      rows.filter((row) => {
        const fields = row.trim().split(/\s+/)
        const remotePort = Number.parseInt(fields[2]!.split(':')[1]!, 16)
        return remotePort === port && own.has(fields[9]!)
      }).length
    )
  }, 0)
}

/** How many handles and requests of each kind keep this process busy. */
export function activeResources(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

function ownSocketInodes(): Set<string> {
  const inodes = new Set<string>()
  for (const fd of readdirSync('/proc/self/fd')) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1]
      if (inode !== undefined) inodes.add(inode)
    } catch {
      // Closed in between.
    }
  }
  return inodes
}

function handlesTo(port: number): number {
  const { _getActiveHandles } = process as unknown as { _getActiveHandles(): unknown[] }
  return _getActiveHandles.call(process).filter((handle) => (handle as Socket).remotePort === port).length
}
