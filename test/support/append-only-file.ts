import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** The check of a private Redis' file by Redis' own program; `fix`: it cuts off all after the first damage. */
export function checkAppendOnlyFile(redisDir: string, fix?: 'fix'): { isWhole: boolean; output: string } {
  const file = join(redisDir, 'appendonlydir', 'appendonly.aof.manifest')
  const { status, stdout, stderr } = spawnSync('redis-check-aof', [...(fix ? ['--fix'] : []), file], {
    encoding: 'utf8',
    input: 'y\n',
  })
  return { isWhole: status === 0, output: `${stdout}${stderr}` }
}
