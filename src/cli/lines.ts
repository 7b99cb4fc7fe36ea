/** The lines of a stream of text or bytes, without their ends. */
export async function* linesOf(
  stream: AsyncIterable<string | Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    signal.throwIfAborted()
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    const lines = rest.split('\n')
    rest = lines.pop()!
    for (const line of lines) yield line.replace(/\r$/, '')
  }
  if (rest !== '') yield rest.replace(/\r$/, '')
}
