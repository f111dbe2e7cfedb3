import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type LoadOptions, load } from './load.ts';
import { residentMiB } from './process.ts';
import type { Row } from './rows.ts';

const turnSeconds = 10;

/**
 * Sends the requests of all rows concurrently, up to a total, and prints the memory of the service after each tenth. Memory that grows from
 * line to line would never stop growing.
 *
 * @throws Error if any request fails
 */
export async function mixedLoad(rows: readonly Row[], total: number, { connections, directory }: LoadOptions): Promise<void> {
  const ours = rows.flatMap(({ contenders: [first] }) => (first === undefined ? [] : [first]));
  const [target] = ours.map((contender) => contender.target);
  if (target?.metricsURL === undefined) throw new Error('there is no row of the service');
  const { pid, metricsURL } = target;
  const share = Math.max(1, Math.floor(connections / ours.length));
  const folders = await Promise.all(
    ours.map(async (_, index) => {
      const folder = join(directory, `mixed-${index}`);
      await mkdir(folder);
      return folder;
    }),
  );
  const say = async (sent: number) => {
    const { now, most } = await residentMiB(pid);
    const files = await readdir(`/proc/${pid}/fd`);
    const figures = [`${now.toFixed(0)} MiB`, `${most.toFixed(0)} MiB at most`, `${files.length} open files`, await timersOf(metricsURL)];
    console.log(`${`${sent}`.padStart(9)} requests: ${figures.join(', ')}`);
  };
  await say(0);
  let sent = 0;
  for (let told = 0; sent < total; ) {
    const turn = ours.map(({ request }, index) =>
      load(target.url, request, { seconds: turnSeconds, connections: share, directory: folders[index] ?? directory }),
    );
    sent += (await Promise.all(turn)).reduce((sum, { requests }) => sum + requests, 0);
    const tenth = Math.floor((sent * 10) / total);
    if (tenth > told) await say(sent);
    told = tenth;
  }
}

async function timersOf(metricsURL: string): Promise<string> {
  const text = await (await fetch(`${metricsURL}/metrics`)).text();
  return `${/^nodejs_active_resources\{type="Timeout"\} (\d+)/m.exec(text)?.[1] ?? 'no'} timers`;
}
