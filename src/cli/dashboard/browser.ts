import { spawn } from 'node:child_process'

/** Opens a page as the system does; where it cannot, nothing happens, and the address is on the screen anyway. */
export function openInBrowser(url: string): void {
  const [program, ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
  spawn(program!, [...args, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}
