/** Where the examples find Redis: `MASTERS=a,b SENTINELS=host:26379 node --import tsx examples/…`. */
const list = (name: string, otherwise: string) => (process.env[name] ?? otherwise).split(',')

export const topology = {
  masters: list('MASTERS', 'cache-a,cache-b,cache-c'),
  sentinels: list('SENTINELS', '127.0.0.1:26379'),
}
