import { connect, createServer, type Server, type Socket } from 'node:net'
import { type Address, formatAddress } from '../../index.js'

/**
 * A door on loopback before each node of a shard, for `--kill-sim`: to cut this process's own connections and to refuse new
 * ones for a while, as if the network between here and there were gone. No server notices more than a client that leaves.
 */
export class CutDoors {
  readonly #doors = new Map<string, { readonly server: Server; readonly address: Address }>()
  readonly #sockets = new Set<Socket>()
  #cut = false

  /** @param nodes what each node is announced as, and where it is reached */
  static async open(nodes: readonly { announced: Address; address: Address }[]): Promise<CutDoors> {
    const doors = new CutDoors()
    await Promise.all(nodes.map((node) => doors.#open(node)))
    return doors
  }

  /** The door before the node announced so; undefined for a node that has none. */
  doorTo(node: Address): Address | undefined {
    return this.#doors.get(formatAddress(node))?.address
  }

  /** Breaks every connection; new ones are broken at once until `mend`. */
  cut(): void {
    this.#cut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  mend(): void {
    this.#cut = false
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    for (const { server } of this.#doors.values()) server.close()
  }

  async #open({ announced, address: node }: { announced: Address; address: Address }): Promise<void> {
    const server = createServer((inside) => {
      if (this.#cut) {
        inside.destroy()
        return
      }
      const outside = connect(node.port, node.host)
      for (const [socket, other] of [[inside, outside] as const, [outside, inside] as const]) {
        this.#sockets.add(socket)
        socket.setNoDelay(true)
        socket.on('error', () => other.destroy())
        socket.on('close', () => {
          this.#sockets.delete(socket)
          other.destroy()
        })
        socket.pipe(other)
      }
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, '127.0.0.1', resolve)
    })
    const bound = server.address()
    if (bound === null || typeof bound === 'string') return
    this.#doors.set(formatAddress(announced), { server, address: { host: '127.0.0.1', port: bound.port } })
  }
}
