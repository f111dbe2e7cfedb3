/**
 * Runs npm scripts in parallel: `node scripts/beside.ts check test:service`. The output of the last script is shown as it arrives, that of
 * the others when they end. The first failure ends all scripts, and so does any end of this process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

const names = process.argv.slice(2);
const running = new Set<ChildProcess>();

/** Each script has its own process group, so that no child of it remains. */
function endAll(): void {
  for (const { pid } of running) if (pid !== undefined) process.kill(-pid, 'SIGTERM');
}

/**
 * Guard beside the script, in its process group: reads until this process has closed the pipe or was killed, and then ends the rest of the
 * group.
 */
const guarded = '(cat <&3; kill -TERM 0) >/dev/null 2>&1 & exec npm run "$0" 3<&-';

async function runScript(name: string, isShown: boolean): Promise<void> {
  const said = isShown ? 'inherit' : 'pipe';
  const script = spawn('sh', ['-c', guarded, name], { detached: true, stdio: ['ignore', said, said, 'pipe'] });
  script.once('exit', () => script.stdio[3]?.destroy());
  running.add(script);
  const heard: Buffer[] = [];
  for (const stream of [script.stdout, script.stderr]) stream?.on('data', (chunk: Buffer) => heard.push(chunk));
  const [code] = await once(script, 'close');
  running.delete(script);
  process.stdout.write(Buffer.concat(heard));
  if (code === 0 || process.exitCode) return;
  console.error(`npm run ${name} failed.`);
  process.exitCode = 1;
  endAll();
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    process.exitCode = 1;
    endAll();
  });
await Promise.all(names.map((name, index) => runScript(name, index === names.length - 1)));
