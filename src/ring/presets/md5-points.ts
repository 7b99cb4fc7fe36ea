import { md5, md5Words } from '../hashes/md5.js'
import { hashText, type PointCollector } from '../point-ring.js'

/** The four points that ketama takes from the MD5 of one label, little-endian. */
export function addMd5Points(points: PointCollector, owner: number, label: string): void {
  hashText(md5, label)
  const [a, b, c, d] = md5Words as unknown as [number, number, number, number]
  points.add(owner, a)
  points.add(owner, b)
  points.add(owner, c)
  points.add(owner, d)
}
