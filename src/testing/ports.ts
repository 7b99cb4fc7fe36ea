import { createServer, type Server } from 'node:net'
import { TopologyError } from './topology-error.js'

// Below the range that systems hand out to outgoing connections (32768 on Linux, 49152 on macOS): a killed server's port
// must still be free when it is restarted, and an outgoing connection could otherwise sit on it.
const FIRST_PORT = 10240
const BLOCK_SIZE = 64
const BLOCKS = Math.floor((32768 - FIRST_PORT) / BLOCK_SIZE)

/**
 * A run of 64 ports that no other `LocalTopology` on this machine uses. The first port of the run is held open as long as
 * the block is ours, in this process: it is the lock, and the system frees it should we die. Ports taken by programs that
 * know nothing of this are found by trying to bind, and skipped.
 */
export class PortBlock {
  readonly #guard: Server
  readonly #host: string
  readonly #base: number
  #used = 0

  /** Finds a block whose guard port can be bound on `host`. Throws `START_FAILED` when there is none. */
  static async claim(host: string): Promise<PortBlock> {
    const start = Math.floor(Math.random() * BLOCKS)
    let last: unknown
    for (let i = 0; i < BLOCKS; i++) {
      const base = FIRST_PORT + ((start + i) % BLOCKS) * BLOCK_SIZE
      try {
        return new PortBlock(await listen(host, base), host, base)
      } catch (error) {
        if (!isTaken(error)) throw new TopologyError('START_FAILED', `cannot listen on ${host}`, { cause: error })
        last = error
      }
    }
    throw new TopologyError('START_FAILED', `no free ports on ${host}`, { cause: last })
  }

  private constructor(guard: Server, host: string, base: number) {
    this.#guard = guard
    this.#host = host
    this.#base = base
  }

  /** The next port of the block that can be bound right now. Throws `START_FAILED` when all are used up. */
  async take(): Promise<number> {
    while (this.#used < BLOCK_SIZE - 1) {
      const port = this.#base + ++this.#used
      try {
        const probe = await listen(this.#host, port)
        await close(probe)
        return port
      } catch (error) {
        if (!isTaken(error)) throw error
      }
    }
    throw new TopologyError('START_FAILED', `one topology has at most ${BLOCK_SIZE - 1} ports`)
  }

  release(): Promise<void> {
    return close(this.#guard)
  }
}

function listen(host: string, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', reject)
    server.listen({ host, port, exclusive: true }, () => {
      server.unref()
      resolve(server)
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}

function isTaken(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return code === 'EADDRINUSE' || code === 'EACCES'
}
