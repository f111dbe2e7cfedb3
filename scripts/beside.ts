/**
 * Runs npm scripts beside each other: `node scripts/beside.ts check test:service`. What the last one says is shown as it comes, what the
 * others say at their end. The first failure ends all of them, and so does the end of this process, however it comes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

const names = process.argv.slice(2);
const running = new Set<ChildProcess>();

/** Each has a process group of its own, so that nothing of it stays. */
function endAll(): void {
  for (const { pid } of running) if (pid !== undefined) process.kill(-pid, 'SIGTERM');
}

/** Beside the script, in its process group: reads until this process has closed the pipe or was killed, and ends what is left of the group. */
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
