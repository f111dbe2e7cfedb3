/**
 * Two replicas on a real control plane, for longer than a test may take. Each part ends by itself, and fails (exit code 1) if anything
 * was lost, wrong or late.
 *
 * node bench/soak.ts restarts    ten rolling restarts under 200 requests a second [--rounds 10] [--rate 200]
 * node bench/soak.ts revocations 200 rights taken away [--count 200]
 * node bench/soak.ts reviews     1,000,000 reviews of five callers on shared connections [--count 1000000] [--seconds 1800]
 */
import { parseArgs } from 'node:util';
import { grantRights } from '../test/cluster/replicas/callers.ts';
import { HonestLoad } from '../test/cluster/replicas/honest-load.ts';
import { Installation } from '../test/cluster/replicas/installation.ts';
import { interleavedReviews } from '../test/cluster/replicas/interleaved-reviews.ts';
import { Revocations } from '../test/cluster/replicas/revocations.ts';
import { rollingRestart } from '../test/cluster/replicas/rolling-restart.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '200' },
    count: { type: 'string' },
    seconds: { type: 'string', default: '1800' },
  },
});

/** @returns the number of failures */
const parts: Record<string, (installation: Installation) => Promise<number>> = {
  async restarts(installation) {
    const load = await HonestLoad.prepare(installation);
    const { seconds, kinds, lost } = await load.during(
      async () => {
        for (let round = 1; round <= Number(options.rounds); round += 1) {
          await rollingRestart(installation, ({ replica, code, stopMs, startMs }) => {
            console.info(`round ${round}: replica ${replica} ended with ${code} after ${stopMs} ms; the next got work after ${startMs} ms`);
          });
        }
      },
      { perSecond: Number(options.rate) },
    );
    await load.close();
    console.table(kinds);
    const count = Object.values(kinds).reduce((sum, kind) => sum + kind.count, 0);
    console.info(`${count} requests in ${seconds.toFixed(0)} s (${(count / seconds).toFixed(0)}/s), lost ${lost.length}`);
    for (const [sort, lines] of Map.groupBy(lost, (line) => line.slice(line.indexOf(': ')).replaceAll(/\d+/g, '#').slice(0, 80)))
      console.error(`${lines.length} like ${sort}\n   ${lines[0]}`);
    return lost.length;
  },

  async revocations(installation) {
    const revocations = new Revocations(installation);
    const times: { lastYesMs: number; reviewMs: number; listMs: number }[] = [];
    for (let n = 0; n < Number(options.count ?? 200); n += 1) times.push(await revocations.one(n));
    await revocations.close();
    for (const kind of ['reviewMs', 'listMs', 'lastYesMs'] as const) {
      const sorted = times.map((time) => time[kind]).sort((a, b) => a - b);
      const at = (part: number) => `${Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)} ms`;
      console.info(`${kind}: median ${at(0.5)}, 90 % ${at(0.9)}, 99 % ${at(0.99)}, longest ${at(1)}`);
    }
    const late = times.filter(({ lastYesMs }) => lastYesMs > 5_000).length;
    const slow = times.filter(({ lastYesMs }) => lastYesMs > 2_000).length;
    console.info(`${times.length} revocations: ${slow} still answered "allowed" after 2 s, ${late} after 5 s`);
    return late + Math.max(0, slow - times.length / 100);
  },

  async reviews(installation) {
    const count = Number(options.count ?? 1_000_000);
    const report = await interleavedReviews(installation, { count, maxSeconds: Number(options.seconds) });
    const { asked, seconds, wrong, changes, residentMiB } = report;
    console.info(`${asked} reviews in ${seconds.toFixed(0)} s (${(asked / seconds).toFixed(0)}/s), ${changes} changed bindings`);
    console.info(`resident memory of the replicas, start, half, end: ${residentMiB.map((both) => both.join(' and ')).join(', ')} MiB`);
    console.info(`wrong or missing answers: ${wrong.length}`);
    for (const line of wrong.slice(0, 20)) console.error(line);
    return wrong.length + (asked < count ? 1 : 0);
  },
};

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const installation = await Installation.start();
try {
  await grantRights(installation.admin);
  for (const name of positionals.length > 0 ? positionals : Object.keys(parts)) {
    const part = parts[name];
    if (part === undefined) throw new Error(`there is no part ${name}`);
    if ((await part(installation)) > 0) process.exitCode = 1;
  }
} finally {
  await installation.stop();
}
