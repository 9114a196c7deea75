import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isOnPath } from './programs.ts'

/** The socket on which systemd listens to its services, with a Perl on it: Node can't open one, Debian is never without. */
export interface NotifySocket {
  path: string
  /** Each message, its assignments one after the other. */
  messages: string[][]
  close(): Promise<void>
}

const LISTEN = `
use Socket;
socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die $!;
bind($s, sockaddr_un($ARGV[0])) or die $!;
$| = 1; print "listening\\n";
while (defined recv($s, my $text, 4096, 0)) { $text =~ s/\\n/\\t/g; print "$text\\n"; }
`

/** What it takes to hear the real `systemd-notify`. */
export const canNotify = isOnPath('systemd-notify') && isOnPath('perl')

export async function openNotifySocket(): Promise<NotifySocket> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-notify-'))
  const path = join(folder, 'notify')
  const child = spawn('perl', ['-e', LISTEN, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  const messages: string[][] = []
  const lines = createInterface({ input: child.stdout })
  await once(lines, 'line')
  // A barrier is no word of the daemon's: systemd-notify waits by it until it was heard.
  lines.on(
    'line',
    (line) => line.startsWith('BARRIER') || messages.push(line.split('\t').filter((part) => part !== '')),
  )
  return {
    ...{ path, messages },
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
