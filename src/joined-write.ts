import { Socket } from 'node:net'

interface Chunk {
  readonly chunk: string | Uint8Array
  /** `'buffer'` for bytes: Node aborts the process when a buffer comes under the name of a text encoding. */
  readonly encoding: BufferEncoding | 'buffer'
}

type Done = (error?: Error | null) => void

/** Above this many bytes (UTF-16 units of text) a copy costs more than a further entry of the system's write vector. */
const MAX_CHUNK = 8 * 1024

const { _write, _writev } = Socket.prototype as unknown as {
  _write(this: Socket, chunk: string | Uint8Array, encoding: string, done: Done): void
  _writev(this: Socket, chunks: readonly Chunk[], done: Done): void
}

/**
 * Node's streams take a `writev` as an option. node-redis writes each command by itself and corks the socket around a
 * flush; Node then hands the system a vector with an entry for every one, which costs more than the bytes do. This joins
 * a flush of small text commands into one string, so that it is one write.
 *
 * Returns how large the flush is where a single command of it may be large: 0 for small text commands.
 */
export function joinedWritev(this: Socket, chunks: readonly Chunk[], done: Done): number {
  let text = ''
  for (const { chunk, encoding } of chunks) {
    if (typeof chunk !== 'string' || chunk.length > MAX_CHUNK || (encoding !== 'utf8' && encoding !== 'utf-8')) {
      return joinWithBytes(this, chunks, done)
    }
    text += chunk
  }
  _write.call(this, text, 'utf8', done)
  return 0
}

/** What is seen of a connection's socket, which node-redis keeps to itself. */
export interface Wire {
  /** Undefined until something was written, and with TLS, whose sockets take no functions of ours. */
  socket: Socket | undefined
  /** The largest write since it was last set to 0, in bytes, more or less; small ones are not noted. */
  largest: number
}

/** The two write functions of one connection, as socket options: they join its chunks, and learn which socket it is. */
export function wireOptions(wire: Wire) {
  return {
    write(this: Socket, chunk: string | Uint8Array, encoding: string, done: Done): void {
      wire.socket = this
      if (chunk.length > MAX_CHUNK) wire.largest = Math.max(wire.largest, chunk.length)
      _write.call(this, chunk, encoding, done)
    },
    writev(this: Socket, chunks: readonly Chunk[], done: Done): void {
      wire.socket = this
      const large = joinedWritev.call(this, chunks, done)
      if (large > wire.largest) wire.largest = large
    },
  }
}

/** Runs of small chunks are joined, bytes too; a large one goes as it is. */
function joinWithBytes(socket: Socket, chunks: readonly Chunk[], done: Done): number {
  let bytes = 0
  const joined: Chunk[] = []
  let run: Buffer[] = []
  const flush = () => {
    if (run.length > 0) joined.push({ chunk: run.length === 1 ? run[0]! : Buffer.concat(run), encoding: 'buffer' })
    run = []
  }
  for (const entry of chunks) {
    const { chunk, encoding } = entry
    bytes += chunk.length
    if (chunk.length > MAX_CHUNK) {
      flush()
      joined.push(entry)
    } else {
      run.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding as BufferEncoding) : asBuffer(chunk))
    }
  }
  flush()
  if (joined.length === 1) _write.call(socket, joined[0]!.chunk, joined[0]!.encoding, done)
  else _writev.call(socket, joined, done)
  return bytes > MAX_CHUNK ? bytes : 0
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
